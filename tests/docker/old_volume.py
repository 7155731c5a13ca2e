"""Volumes as images of earlier versions left them, kept in tests/fixtures/volumes.

To keep one: python3 tests/docker/old_volume.py IMAGE VERSION. It is taken after kill -9 in the middle of a training.
"""

import json
import subprocess
import sys

from deployment import ROOT, TOOLS, Deployment, run, wait_for
from ledger import LONG, Ledger, fill, submit

FOLDER = ROOT / "tests/fixtures/volumes"


def restore(archive, volume):
    """Fills a new volume; the ledger kept beside it, and the job that was interrupted."""
    run("docker", "volume", "create", volume)
    into = ["docker", "run", "--rm", "--interactive", "--volume", f"{volume}:/data", "--entrypoint=tar", TOOLS]
    with archive.open("rb") as file:
        run(*into, "--extract", "--gzip", "--same-owner", "--directory=/data", stdin=file)
    kept = json.loads(archive.with_name(archive.name.replace(".tar.gz", ".json")).read_text())
    return Ledger(kept["answers"]), kept["interrupted"]


def keep(image, version):
    """Writes the volume that an image leaves, and the ledger."""
    service = Deployment("keep", image)
    try:
        service.up()
        ledger = fill(service)
        job = submit(service, "interrupted", "waves", LONG)
        wait_for("the start", lambda: service.ask(f"/api/v1/jobs/{job}")["status"] == "running")
        run("docker", "kill", "--signal", "KILL", service.container())
        FOLDER.mkdir(parents=True, exist_ok=True)
        files = ["docker", "run", "--rm", "--volume", f"{service.volume}:/data", "--entrypoint=tar", TOOLS]
        with (FOLDER / f"{version}.tar.gz").open("wb") as archive:
            subprocess.run([*files, "--create", "--gzip", "--directory=/data", "."], stdout=archive, check=True)
        kept = {"interrupted": job, "answers": ledger.answers}
        (FOLDER / f"{version}.json").write_text(json.dumps(kept, indent=1) + "\n")
    finally:
        service.down()


if __name__ == "__main__":
    keep(*sys.argv[1:])
