"""What was acknowledged is there after a restart and after kill -9."""

import unittest

from deployment import Deployment, wait_for
from ledger import LONG, fill, finished, submit


class Durability(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Deployment("durability")
        cls.addClassCleanup(cls.service.down)
        cls.service.up()
        cls.ledger = fill(cls.service)
        cls.artifacts = {}

    def interrupt(self, name, interruption):
        """Interrupts a training with another one waiting; both are carried out afterwards."""
        running, waiting = (submit(self.service, "long", "waves", LONG) for _ in range(2))
        state = lambda job: self.service.ask(f"/api/v1/jobs/{job}")["status"]
        wait_for("the start of the training", lambda: state(running) == "running")
        interruption()
        self.assertIn(state(running), ("queued", "running"), "the training was not interrupted")
        answers = self.ledger.check(self.service)
        versions = [finished(self.service, job)["version"] for job in (running, waiting)]
        for version in versions:
            answer = self.service.ask(f"/api/v1/models/long/versions/{version}/artifact")
            self.artifacts[f"{name} {version}"] = answer["sha256"]
        # The same data, spec and seed give the same model, interrupted or not.
        self.assertEqual(len(set(self.artifacts.values())), 1, self.artifacts)
        print(f"\n{name}: {answers} acknowledged answers as before, 2 trainings carried out, the same bit for bit")

    def test_a_restart_in_the_middle_of_a_training(self):
        self.interrupt("restart", self.service.restart)

    def test_kill_9_in_the_middle_of_a_training(self):
        self.interrupt("kill -9", self.service.kill)
