"""Kills a service at random moments while clients use it: walk.py --rounds 1000 [--power-cuts] [--seed N]

Each round starts the service on the data directory that the last one left, compares everything with what was
acknowledged, lets two clients send random requests, and ends with kill -9. With --power-cuts every write that was not
synced is lost too.
"""

import argparse
import collections
import pathlib
import random
import shutil
import tempfile
import threading
import time

from power_cut import PowerCut
from server import Gone, Server, doctor, wait_for
from world import ENDED, World

CLIENTS = 2
# The longest time that clients have before the kill; a training takes some of it.
LONGEST = 0.35


class Walk:
    def __init__(self, folder, seed, power_cuts=False):
        self._draw = random.Random(seed)
        self._data_dir = folder / "data"
        self._worlds = [World(f"c{number}", seed) for number in range(CLIENTS)]
        self.power = PowerCut(folder, self._data_dir) if power_cuts else None
        self._server = None
        self.rounds = 0
        self.killed_at_start = 0
        self.lost_files = 0

    def run(self, rounds):
        try:
            for _ in range(rounds):
                self._start()
                self._round()
                self.rounds += 1
            self._start()
            self._finish()
        except BaseException:
            self._server.kill()
            raise

    def _start(self):
        environment = self.power.environment if self.power else None
        flags = ["--training-threads", "1", "--prediction-threads", "1"]
        self._server = Server(self._data_dir, *flags, environment=environment)

    def _round(self):
        if self._draw.random() < 0.1:
            # In the middle of recovery, before anybody has looked.
            time.sleep(self._draw.uniform(0, 0.03))
            self._kill()
            self.killed_at_start += 1
            return
        self._compare()
        threads = [Client(world, self._server) for world in self._worlds]
        for thread in threads:
            thread.start()
        time.sleep(self._draw.uniform(0, LONGEST))
        self._kill()
        for thread in threads:
            thread.join()
            if thread.failure is not None:
                raise thread.failure

    def _kill(self):
        self._server.kill()
        if self.power:
            self.lost_files += self.power.strike()

    def _compare(self):
        client = self._server.client()
        for world in self._worlds:
            world.compare(client)

    def _finish(self):
        """Every acknowledged job is carried out in the end, and the data directory is in order."""
        client = self._server.client()
        unfinished = lambda: [job for job in client.list("jobs") if job["status"] not in ENDED]
        wait_for("the end of all jobs", lambda: not unfinished())
        self._compare()
        code, seconds = self._server.terminate()
        assert code == 0, f"SIGTERM: {code} after {seconds:.1f} s"
        left = list((self._data_dir / "tmp").iterdir())
        assert not left, f"half-written files are left: {left}"
        code, words = doctor(self._data_dir)
        assert code == 0, words

    def summary(self):
        ended = sum((world.ended for world in self._worlds), collections.Counter())
        quarantine = self._data_dir / "quarantine"
        parts = [
            f"{self.rounds} rounds of {'power cuts' if self.power else 'kill -9'}, {self.killed_at_start} right after the start",
            f"{sum(world.acknowledged for world in self._worlds)} changes acknowledged and none lost",
            f"{sum(world.doubtful for world in self._worlds)} requests cut off, each done as a whole or not at all",
            f"{ended['succeeded']} jobs succeeded, {ended['canceled']} were canceled, {ended['failed']} failed for a known reason",
            f"{sum(1 for _ in quarantine.iterdir()) if quarantine.exists() else 0} files without an entry in quarantine",
        ]
        if self.power:
            parts.append(f"{self.lost_files} unsynced files or names lost")
        return "; ".join(parts)


class Client(threading.Thread):
    """Sends the requests of one world until the service is gone."""

    def __init__(self, world, server):
        super().__init__(daemon=True)
        self._world = world
        self._client = server.client()
        self.failure = None

    def run(self):
        try:
            while True:
                self._world.walk(self._client)
        except Gone:
            pass
        except Exception as failure:
            self.failure = failure


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--power-cuts", action="store_true")
    arguments = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bochner-walk-"))
    walk = Walk(folder, arguments.seed, arguments.power_cuts)
    start = time.monotonic()
    try:
        walk.run(arguments.rounds)
    except BaseException:
        print(f"failed in round {walk.rounds + 1}; the data directory is kept in {folder}")
        raise
    finally:
        print(f"{walk.summary()}; {time.monotonic() - start:.0f} s", flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
