"""A deployment of docker/compose.yaml with a project name, a port and a volume of its own."""

import hashlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = os.environ.get("BOCHNER_IMAGE", "bochner:local")
# The stage that built the image: unlike the image it has a shell.
TOOLS = "bochner:build"
PATIENCE = 300


def run(*command, env=None, check=True, stdin=None):
    """The standard output of a command; what it wrote to standard error if it fails."""
    done = subprocess.run(command, env={**os.environ, **(env or {})}, stdin=stdin, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip() if check else done


def compose_command():
    """The current compose where there is one, else the older one."""
    current = ["docker", "compose"]
    return current if run(*current, "version", check=False).returncode == 0 else ["docker-compose"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, condition):
    """What the condition returns as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


class Deployment:
    """One service, reached at `address`."""

    def __init__(self, name, image=IMAGE, memory="2g"):
        self.project = f"bochner-test-{os.getpid()}-{name}"
        self.volume = f"{self.project}_data"
        self.address = f"127.0.0.1:{free_port()}"
        self.image = image
        self.memory = memory
        self.key = None

    def compose(self, *arguments):
        settings = {"BOCHNER_PUBLISH": self.address, "BOCHNER_IMAGE": self.image, "BOCHNER_MEMORY": self.memory}
        file = str(ROOT / "docker/compose.yaml")
        return run(*compose_command(), "--project-name", self.project, "--file", file, *arguments, env=settings)

    def up(self):
        """Starts the service, or replaces it by one of another image; seconds from its start until it is ready."""
        self.compose("up", "--detach", "--no-build")
        return self.ready()

    def ready(self):
        try:
            wait_for("readiness", lambda: self.status("/readyz") == 200)
        except AssertionError as late:
            raise AssertionError(f"{late}; the log: {self.log()}") from late
        self.key = self.secret("admin")
        return time.time() - self.started()

    def secret(self, name):
        """A key that the service made at its first start; none of an image that knows no keys."""
        done = run("docker", "exec", self.container(), "bochner", "keys", "secret", name, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def healthy(self):
        wait_for("health", lambda: self.inspect("{{.State.Health.Status}}") == "healthy")

    def down(self):
        self.compose("down", "--volumes", "--remove-orphans")

    def container(self):
        return self.compose("ps", "--quiet", "bochner")

    def inspect(self, template):
        return run("docker", "inspect", "--format", template, self.container())

    def started(self):
        seconds, _, fraction = self.inspect("{{.State.StartedAt}}").rstrip("Z").partition(".")
        return datetime.fromisoformat(f"{seconds}+00:00").timestamp() + float(f"0.{fraction}")

    def log(self):
        done = run("docker", "logs", self.container(), check=False)
        return done.stdout + done.stderr

    def restart(self):
        """SIGTERM, then a start."""
        run("docker", "restart", "-t", "60", self.container())
        self.ready()

    def kill(self):
        """SIGKILL from outside, as the kernel would for lack of memory; the engine starts the service again."""
        before = self.started()
        process = self.inspect("{{.State.Pid}}")
        run("docker", "run", "--rm", "--pid=host", "--entrypoint=sh", TOOLS, "-c", f"kill -KILL {process}")
        wait_for("the engine's restart", lambda: self.started() > before)
        self.ready()

    def send(self, path, body=None, content_type="application/json", method=None, key=True):
        """Status and bytes of the answer to a GET, or to a POST if there is a body, or to what the method says. With the
        admin key, or with another one, or with none if that is given."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data=body, method=method)
        if body is not None:
            request.add_header("content-type", content_type)
        key = self.key if key is True else key
        if key:
            request.add_header("authorization", f"Bearer {key}")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()

    def status(self, path):
        """The status of a GET, 0 while nothing answers."""
        try:
            return self.send(path)[0]
        except (OSError, urllib.error.URLError):
            return 0

    def ask(self, path, body=None, **options):
        """The answer as JSON, of other bytes their hash; it must be a success."""
        status, answer = self.send(path, body, **options)
        if status >= 300:
            raise AssertionError(f"{path} answered {status}: {answer.decode(errors='replace')}")
        try:
            return json.loads(answer)
        except ValueError:
            return {"sha256": hashlib.sha256(answer).hexdigest()}
