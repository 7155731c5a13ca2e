"""A running `bochner serve`, to be called by any client."""

import json
import os
import subprocess

import requests


class Service:
    """The built binary on a free port and an empty data directory."""

    def __init__(self, binary, folder, *flags):
        self._log = open(folder / "log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0", "--data-dir", folder / "data", *flags],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_BACKTRACE": "0"},  # it would read the debug information of the whole binary
        )
        self.host, self.port = self._read_address()
        self.url = f"http://{self.host}:{self.port}"
        # The rest of the log goes to a file: a full pipe would stop the service.
        self._drain = subprocess.Popen(["cat"], stdin=self._process.stderr, stdout=self._log)
        self._session = requests.Session()

    def _read_address(self):
        for line in self._process.stderr:
            entry = json.loads(line)
            if entry.get("message") == "listening":
                host, port = entry["address"].rsplit(":", 1)
                return host, int(port)
        raise RuntimeError("the service ended before it listened")

    @property
    def pid(self):
        return self._process.pid

    def stop(self):
        self._session.close()
        self._process.terminate()
        code = self._process.wait(timeout=60)
        self._process.stderr.close()
        self._drain.wait(timeout=60)
        self._log.close()
        assert code == 0, f"the service ended with {code}"

    def get(self, path):
        return self._session.get(self.url + path)

    def post(self, path, body, **headers):
        return self._session.post(self.url + path, json=body, headers=headers)

    def call(self, method, path, body=None):
        return self._session.request(method, self.url + path, json=body)

    def send(self, path, body, media_type=None, **headers):
        """Posts bytes as they are; without a media type unless one is given. Underscores in names are hyphens."""
        headers = {name.replace("_", "-"): str(value) for name, value in headers.items()}
        if media_type is not None:
            headers["content-type"] = media_type
        return self._session.post(self.url + path, data=body, headers=headers)

    def upload(self, table, name, **parameters):
        """Uploads a table of columns; a cell that is None is missing."""
        answer = self._session.post(
            f"{self.url}/api/v1/datasets",
            params={"name": name, **parameters},
            data=table.to_csv(),
            headers={"content-type": "text/csv"},
        )
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def train(self, model, dataset, spec):
        """Trains to the end, with effort fast unless the spec says otherwise, and gives the version."""
        body = {"model": model, "dataset": dataset, "spec": {"effort": "fast", **spec}}
        answer = self.post("/api/v1/jobs", body, prefer="wait=60")
        assert answer.status_code == 200, answer.text
        job = answer.json()
        assert job["status"] == "succeeded", job
        return job["version"]

    def predict(self, model, rows, **options):
        """The predictions for rows of cells."""
        answer = self.post(f"/api/v1/models/{model}/predict", {"rows": rows, **options})
        assert answer.status_code == 200, answer.text
        return answer.json()["predictions"]
