"""scikit-learn on the same problem as `cargo bench --bench training`: RBFSampler + Ridge.

Prints one JSON line: seconds by variant, test error, peak memory. Run by `make bench-peers`.
"""

import json
import resource
import sys
import time

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeCV

n, d, s, ridge = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
inputs = np.fromfile(sys.argv[5], dtype="<f8").reshape(-1, d + 1)
x, y = inputs[:, :d], inputs[:, d]
train, test = slice(0, n), slice(n, None)


def fit(dtype, alphas=None):
    start = time.perf_counter()
    mean, scale = x[train].mean(axis=0), x[train].std(axis=0)
    prepared = ((x - mean) / scale).astype(dtype)
    sampler = RBFSampler(gamma=1 / (2 * 2 * d), n_components=s, random_state=0).fit(prepared[train])
    features = sampler.transform(prepared[train]).astype(dtype)
    centre = y[train].mean()
    target = (y[train] - centre).astype(dtype)
    if alphas is None:
        model = Ridge(alpha=n * ridge, fit_intercept=False, solver="cholesky").fit(features, target)
    else:
        model = RidgeCV(alphas=alphas, fit_intercept=False).fit(features, target)
    seconds = time.perf_counter() - start
    predictions = model.predict(sampler.transform(prepared[test]).astype(dtype)) + centre
    return seconds, float(np.mean((predictions - y[test]) ** 2))


single, single_error = fit(np.float32)
double, double_error = fit(np.float64)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
result = {
    "f32_seconds": single,
    "f64_seconds": double,
    "test_mse_f32": single_error,
    "test_mse_f64": double_error,
    "peak_mb": memory,
}
if len(sys.argv) > 6:
    rows = int(sys.argv[6])  # RidgeCV keeps an n x n or s x s eigendecomposition of everything: on fewer rows
    train = slice(0, rows)
    n = rows
    start = time.perf_counter()
    cv_seconds, _ = fit(np.float64, alphas=n * np.logspace(0, -6, 20))
    result["ridge_cv_seconds"] = cv_seconds
    result["ridge_cv_rows"] = rows
print(json.dumps(result))
