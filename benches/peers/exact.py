"""scikit-learn's KernelRidge on the same rows as `cargo bench --bench exact`. Run by `make bench-peers`.

Prints one JSON line: the seconds of one fit, and the peak resident memory.
"""

import json
import os
import resource
import sys
import time

import numpy as np
from sklearn.kernel_ridge import KernelRidge

path, d, bandwidth, ridge = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
table = np.fromfile(path, dtype="<f8").reshape(-1, d + 1)
x, y = table[:, :d], table[:, d]
start = time.perf_counter()
KernelRidge(alpha=len(x) * ridge, kernel="rbf", gamma=1 / (2 * bandwidth**2)).fit(x, y)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
print(json.dumps({"seconds": seconds, "peak_mb": peak, "blas_threads": threads}))
