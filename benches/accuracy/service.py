"""Our own columns of the accuracy bench: a service is started on an empty folder, trained and asked through its API."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import numpy as np

from tables import CLASSIFICATION, REGRESSION

# How our columns are named, and their specs. `features.seed` is added: it decides the split and the draws. The last is what a
# learned metric is compared with: bandwidth, scaling and lambda are searched for, and all inputs count the same.
SPECS = {
    "bochner {}": {},
    "bochner learner search": {"learner": "search"},
    "bochner thorough": {"effort": "thorough"},
    "bochner isotropic": {"effort": "fast", "kernel": {"bandwidth": "search"}, "features": {"count": 2048}},
}

# Columns that are `{}` for one of the tasks: labels have no choice between random features and the exact method.
SAME_AS_DEFAULT = {("bochner learner search", CLASSIFICATION)}

BATCH = 1000

# Predictions are repeated until they took this much of the processor, whose time is counted in hundredths of a second, or
# that long.
TIMED_SECONDS = 0.3
MOST_SECONDS = 20.0


class Service:
    """The binary, listening on a port of its own choice until it is stopped."""

    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="bochner-accuracy-")
        self.log = open(f"{self.folder}/log", "w+")
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", f"{self.folder}/data", "--log-format", "json"]
        self.process = subprocess.Popen(command, stderr=self.log)
        deadline = time.monotonic() + 30
        while True:
            found = re.search(r'"message":"listening","address":"([^"]+)"', open(self.log.name).read())
            if found:
                self.url = f"http://{found[1]}/api/v1"
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the service did not start: {open(self.log.name).read()}")
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def accepts(self, spec):
        """Whether the binary knows the fields of a spec, asked with a tiny table."""
        dataset = self._call("POST", "/datasets?target=y", b"x,y\n1,2\n2,3\n3,4\n4,5\n5,6\n", "text/csv")
        body = {"model": "probe", "dataset": dataset["id"], "spec": spec}
        try:
            job = self._call("POST", "/jobs", json.dumps(body).encode())
        except urllib.error.HTTPError as refusal:
            if refusal.code == 422:
                return False
            raise
        self._finished(job)  # its processor time belongs to no measurement
        return True

    def measure(self, spec, table, train, test, seed):
        """Predictions for the test rows, processor seconds of training, processor microseconds per predicted row, bytes of
        the model.

        Both times are those of the whole service, all its threads: training with the reading of the table and the writing
        of the model, predictions with HTTP and JSON. What peers take for reading their tables is not counted.
        """
        numbers = table.task == REGRESSION
        write = repr if numbers else (lambda value: str(int(value)))
        header = ",".join([f"x{i}" for i in range(table.inputs.shape[1])] + ["target"])
        lines = [",".join([*map(repr, x.tolist()), write(float(y))])
                 for x, y in zip(table.inputs[train], table.targets[train])]
        numeric = ",".join(f"x{i}" for i in range(table.inputs.shape[1]))
        dataset = self._call("POST", f"/datasets?target=target&task={table.task}&numeric={numeric}",
                             "\n".join([header, *lines]).encode(), "text/csv")
        features = {**spec.get("features", {}), "seed": seed}
        body = {"model": "accuracy", "dataset": dataset["id"], "spec": {**spec, "features": features}}
        start = self._processor_seconds()
        job = self._call("POST", "/jobs", json.dumps(body).encode())
        job = self._finished(job)
        if job["status"] != "succeeded":
            raise SystemExit(f"{table.name}: {json.dumps(job.get('error'))}")
        seconds = self._processor_seconds() - start
        model, rows = self._call("GET", "/models/accuracy"), table.inputs[test].tolist()
        bodies = [json.dumps({"rows": rows[first:first + BATCH]}).encode() for first in range(0, len(rows), BATCH)]
        start, began, repeats = self._processor_seconds(), time.perf_counter(), 0
        while self._processor_seconds() - start < TIMED_SECONDS and time.perf_counter() - began < MOST_SECONDS:
            predictions, repeats = [], repeats + 1
            for body in bodies:
                predictions += self._call("POST", "/models/accuracy/predict", body)["predictions"]
        per_row = 1e6 * (self._processor_seconds() - start) / (repeats * len(rows))
        if not numbers:
            predictions = [float(answer["label"] if isinstance(answer, dict) else answer) for answer in predictions]
        return np.array(predictions, dtype=float), seconds, per_row, model["latest"]["artifact_bytes"]

    def _finished(self, job):
        """A job once it has succeeded or failed."""
        while job["status"] in ("queued", "running"):
            time.sleep(0.1)
            job = self._call("GET", f"/jobs/{job['id']}")
        return job

    def _processor_seconds(self):
        """User and system time of the service so far."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _call(self, method, path, body=None, content_type="application/json"):
        request = urllib.request.Request(self.url + path, data=body, method=method, headers={"content-type": content_type})
        with urllib.request.urlopen(request, timeout=3600) as answer:
            return json.load(answer)

