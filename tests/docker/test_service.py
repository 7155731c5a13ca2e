"""The service as docker/compose.yaml starts it."""

import subprocess
import unittest

from deployment import ROOT, TOOLS, Deployment, run, wait_for
from ledger import LONG, train, waves

MEMORY = 1 << 30


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Deployment("service", memory=str(MEMORY))
        cls.addClassCleanup(cls.service.down)
        seconds = cls.service.up()
        print(f"\ncold start to ready: {seconds:.2f} s")

    def process_status(self):
        """/proc/1/status of the container."""
        container = f"--pid=container:{self.service.container()}"
        lines = run("docker", "run", "--rm", container, "--entrypoint=cat", TOOLS, "/proc/1/status").splitlines()
        return {name: value.split() for name, value in (line.split(":", 1) for line in lines)}

    def test_it_becomes_healthy_alone_and_is_published_on_loopback_only(self):
        self.service.healthy()
        project = f"label=com.docker.compose.project={self.service.project}"
        self.assertEqual(len(run("docker", "ps", "--quiet", "--filter", project).split()), 1)
        published = run("docker", "port", self.service.container())
        self.assertEqual(published, f"8080/tcp -> {self.service.address}")

    def test_it_made_keys_at_its_first_start_and_says_where(self):
        self.assertEqual(self.service.log().count("made a key"), 2)
        self.assertIn("/secrets/admin.key", self.service.log())
        self.assertNotIn(self.service.key, self.service.log())
        status = lambda path, key, body=None: self.service.send(path, body, key=key)[0]
        self.assertEqual(status("/api/v1/models", None), 401)
        self.assertEqual(status("/api/v1/models", "bochner_00000000_" + 43 * "0"), 401)
        self.assertEqual(status("/api/v1/models", self.service.key), 200)
        read = self.service.secret("read")
        self.assertEqual(status("/api/v1/models", read), 200)
        self.assertEqual(status("/api/v1/jobs", read, {}), 403)
        self.assertEqual(status("/metrics", None), 200)
        before = self.service.key
        self.service.restart()
        self.assertEqual(self.service.key, before)
        new = ["docker", "exec", self.service.container(), "bochner", "keys", "new", "--scopes", "predict"]
        made = run(*new)
        wait_for("the new key", lambda: status("/version", made) == 200)
        self.assertEqual(status("/api/v1/models", made), 403)

    def test_it_has_no_rights_to_lose(self):
        status = self.process_status()
        self.assertEqual(status["Uid"], ["10001"] * 4)
        self.assertEqual(status["Gid"], ["10001"] * 4)
        for capabilities in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]:
            self.assertEqual(int(status[capabilities][0], 16), 0, capabilities)
        self.assertEqual(status["NoNewPrivs"], ["1"])
        self.assertEqual(status["Seccomp"], ["2"])

    def test_it_can_write_nowhere_but_to_its_data(self):
        serve = ["docker", "exec", self.service.container(), "bochner", "serve", "--listen", "127.0.0.1:0"]
        done = run(*serve, "--data-dir", "/elsewhere", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Read-only file system", done.stderr)

    def test_it_knows_its_memory_limit_and_stays_within(self):
        limits = self.service.ask("/api/v1/info")["limits"]
        self.assertEqual(limits["memory_bytes"], MEMORY)
        self.assertEqual(limits["training_memory_bytes"], MEMORY // 2)
        self.assertEqual(limits["model_memory_bytes"], MEMORY // 8)

        self.service.ask("/api/v1/datasets?name=waves&target=y", waves(), content_type="text/csv")
        status, answer = self.service.send(
            "/api/v1/jobs", {"model": "huge", "dataset": "waves", "spec": {"features": {"count": 16384}}}
        )
        self.assertEqual(status, 507, answer)
        self.assertIn(b"the limit is 512 MiB", answer)

        train(self.service, "large", "waves", LONG)
        self.assertEqual(self.service.inspect("{{.State.OOMKilled}} {{.RestartCount}}"), "false 0")
        peak = int(self.process_status()["VmHWM"][0]) * 1024
        print(f"\npeak of a training: {peak >> 20} MiB of {MEMORY >> 20} MiB")
        self.assertLess(peak, MEMORY)


class Smoke(unittest.TestCase):
    def test_the_smoke_test_passes_on_the_published_port(self):
        service = Deployment("smoke")
        self.addCleanup(service.down)
        service.up()
        script = [str(ROOT / "tests/smoke.sh"), "--container", service.container(), service.address]
        done = subprocess.run(script, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + service.log())
        print(f"\n{done.stdout.strip()}")
