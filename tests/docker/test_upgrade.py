"""A new image on the volume of an old one."""

import os
import subprocess
import unittest

import old_volume
from deployment import IMAGE, Deployment, run, wait_for
from ledger import LONG, fill, finished, submit

# An image to upgrade from; by default one that differs from the new one in nothing but its id.
OLD_IMAGE = os.environ.get("BOCHNER_UPGRADE_FROM")


class Upgrade(unittest.TestCase):
    def test_in_place_in_the_middle_of_a_training(self):
        old = OLD_IMAGE or self.relabelled()
        service = Deployment("upgrade", old)
        self.addCleanup(service.down)
        service.up()
        image = lambda: service.inspect("{{.Image}}")
        before = image()
        ledger = fill(service)
        running, waiting = (submit(service, "long", "waves", LONG) for _ in range(2))
        wait_for("the start", lambda: service.ask(f"/api/v1/jobs/{running}")["status"] == "running")

        service.image = IMAGE
        seconds = service.up()
        self.assertNotEqual(image(), before)
        answers = ledger.check(service, tolerance=1e-9)
        versions = [finished(service, job)["version"] for job in (running, waiting)]
        self.assertEqual(versions, [1, 2])
        print(
            f"\nupgrade in place from {old} ({before[7:19]}) to {IMAGE} ({image()[7:19]}): ready after {seconds:.2f} s, "
            f"{answers} acknowledged answers as before, the interrupted training and the waiting one carried out"
        )

    def test_from_the_volume_of_every_earlier_version(self):
        archives = sorted(old_volume.FOLDER.glob("*.tar.gz"))
        self.assertTrue(archives, "no volume of an earlier version is kept")
        for number, archive in enumerate(archives):
            with self.subTest(archive.name):
                service = Deployment(f"volume-{number}")
                self.addCleanup(service.down)
                ledger, interrupted = old_volume.restore(archive, service.volume)
                seconds = service.up()
                answers = ledger.check(service, tolerance=1e-9)
                finished(service, interrupted)
                print(
                    f"\nupgrade of volume {archive.name}: ready after {seconds:.2f} s, {answers} acknowledged answers "
                    "as before, the training that kill -9 interrupted carried out"
                )

    def relabelled(self):
        """The image under another id."""
        tag = f"{IMAGE}-old"
        lines = f'FROM {IMAGE}\nLABEL upgrade="from here"\n'
        subprocess.run(["docker", "build", "--quiet", "--tag", tag, "-"], input=lines.encode(), check=True, capture_output=True)
        self.addCleanup(run, "docker", "image", "rm", tag)
        return tag
