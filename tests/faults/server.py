"""A `bochner serve` to be killed, and a plain client of it."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("BOCHNER_BINARY", ROOT / "target/debug/bochner")).resolve()
# Long enough for a loaded machine; nothing here takes as long on an idle one.
PATIENCE = 60


class Gone(Exception):
    """The service went away before it answered: the request may or may not have been carried out."""


class Answer:
    def __init__(self, status, body):
        self.status = status
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status}: {self.body[:400].decode(errors='replace')}"


class Client:
    """One connection, kept open."""

    def __init__(self, address):
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        self._is_fresh = True

    def send(self, method, path, body=None, media_type="application/json", **headers):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers["content-type"] = media_type
        try:
            return self._send(method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            raise Gone(f"{method} {path}: {error!r}") from error

    def _send(self, method, path, body, headers):
        was_fresh, self._is_fresh = self._is_fresh, False
        try:
            self._connection.request(method, path, body=body, headers=headers)
            answer = self._connection.getresponse()
            return Answer(answer.status, answer.read())
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            self._connection.close()
            # A service that lives may close a connection that is kept open, before it reads a request. One that was killed
            # accepts no new connection, so that nothing is sent twice.
            if was_fresh:
                raise
            self._connection.connect()
            self._is_fresh = True
            return self._send(method, path, body, headers)

    def get(self, path):
        answer = self.send("GET", path)
        assert answer.status == 200, f"GET {path} answered {answer}"
        return answer.json()

    def list(self, resource, page=10):
        """All entries of `/api/v1/{resource}`, from as many pages as there are."""
        entries, cursor = [], ""
        while cursor is not None:
            answer = self.get(f"/api/v1/{resource}?limit={page}{cursor}")
            entries += answer[resource]
            following = answer["next_cursor"]
            cursor = f"&cursor={urllib.parse.quote(following, safe='')}" if following else None
        return entries


class Server:
    """The binary on a free port, with `environment` in addition to that of the test."""

    running = set()

    def __init__(self, data_dir, *flags, environment=None):
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data-dir", data_dir]
        self._process = subprocess.Popen(
            [str(part) for part in [*command, *flags]],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RUST_BACKTRACE": "0", "BOCHNER_DRAIN_DELAY": "0", **(environment or {})},
        )
        self.log = []
        self.address = None
        for line in self._process.stderr:
            self.log.append(line)
            if '"listening"' in line and (entry := json.loads(line)).get("message") == "listening":
                self.address = entry["address"]
                break
        # Else a full pipe would stop the service.
        self._reader = threading.Thread(target=lambda: self.log.extend(self._process.stderr), daemon=True)
        self._reader.start()
        if self.address is None:
            self._process.wait()
            self._reader.join()
            raise Refused(self._process.returncode, "".join(self.log))
        self.running.add(self)

    def client(self):
        return Client(self.address)

    def kill(self):
        """kill -9; what it had written to its log by then is checked for panics."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def terminate(self):
        """SIGTERM; the exit code, and the seconds it took."""
        start = time.monotonic()
        self._process.terminate()
        self._end()
        return self._process.returncode, time.monotonic() - start

    def _end(self):
        self.running.discard(self)
        self._process.wait(timeout=PATIENCE)
        self._reader.join(timeout=PATIENCE)
        self._process.stderr.close()
        panics = [line for line in self.log if "panicked" in line]
        assert not panics, panics


class Refused(Exception):
    """The service did not start."""

    def __init__(self, code, log):
        super().__init__(f"the service ended with {code} before it listened: {log}")
        self.code = code
        self.log = log


def doctor(data_dir, *flags):
    """Exit code and words of `bochner doctor`."""
    done = subprocess.run([BINARY, "doctor", "--data-dir", data_dir, *flags], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def wait_for(what, condition, patience=PATIENCE):
    """What the condition returns as soon as that is true."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {patience} s: {what}")
