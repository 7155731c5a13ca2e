"""Clocks that jump, and a stop in the middle of work."""

import pathlib
import threading
import time

import pytest

from filled import ROW, fill, predict, train
from server import Gone, Server, doctor

LIBRARIES = ["/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"]


@pytest.fixture
def clock(tmp_path):
    """Sets the clock of a server, in seconds from now, while it runs."""
    library = next((path for path in LIBRARIES if pathlib.Path(path).exists()), None)
    if library is None:
        pytest.skip("SKIPPED: clock jumps were not tested, since libfaketime is not installed")
    return Clock(tmp_path / "clock", library)


class Clock:
    def __init__(self, file, library):
        self._file = file
        self.set(0)
        # Sleeps and timeouts keep to the real, monotonic clock, as they do when a clock is set.
        self.environment = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds):
        self._file.write_text(f"{seconds:+d}s\n")


def test_a_clock_that_jumps_loses_nothing(data_dir, clock):
    server = Server(data_dir, environment=clock.environment)
    client = server.client()
    before = fill(client)
    versions = 1
    for jump in (-86_400, 86_400 * 365, -86_400 * 3650, 3600, 0):
        clock.set(jump)
        train(client, "waves", "waves")
        versions += 1
        shown = client.get("/api/v1/models/waves")
        numbers = [entry["version"] for entry in shown["versions"]]
        assert sorted(numbers) == list(range(1, versions + 1)), numbers
        assert shown["latest"]["version"] == versions, "the newest version is the last one made, whatever the clock says"
        name = f"at{versions}"
        table = f"a,b,y\n1,2,{versions}\n3,4,5\n5,6,7\n".encode()
        assert client.send("POST", f"/api/v1/datasets?name={name}", table, "text/csv").status == 201
        assert client.get(f"/api/v1/datasets/{name}")["rows"] == 3
        assert predict(client) == before
    # Pages of a listing have every dataset once, though their times are out of order.
    names, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/api/v1/datasets?limit=2&cursor={cursor}")
        names += [entry["name"] for entry in page["datasets"]]
        cursor = page["next_cursor"]
    assert sorted(names) == sorted(["waves", *(f"at{number}" for number in range(2, versions + 1))])
    jobs = client.get("/api/v1/jobs?limit=100")["jobs"]
    assert len(jobs) == versions and all(job["status"] == "succeeded" for job in jobs)
    server.kill()
    clock.set(-86_400)
    server = Server(data_dir, environment=clock.environment)
    assert predict(server.client()) == before
    assert len(server.client().get("/api/v1/models/waves")["versions"]) == versions
    assert server.terminate()[0] == 0
    assert doctor(data_dir)[0] == 0


class Load(threading.Thread):
    """Predicts until the service refuses or is gone; every answer that came must be right."""

    def __init__(self, server, expected):
        super().__init__(daemon=True)
        self._client = server.client()
        self._expected = expected
        self.answered = 0
        self.wrong = []

    def run(self):
        while True:
            try:
                answer = self._client.send("POST", "/api/v1/models/waves/predict", {"rows": [ROW]})
            except Gone:
                return
            if answer.status != 200 or answer.json()["predictions"] != self._expected:
                self.wrong.append(str(answer))
                return
            self.answered += 1


def test_sigterm_under_load_answers_what_was_asked_and_requeues_what_ran(data_dir):
    server = Server(data_dir)
    client = server.client()
    before = fill(client)
    long = "a,b,c,d,y\n" + "".join(",".join(f"{i * (k + 0.37) % 1:.5f}" for k in range(5)) + "\n" for i in range(20_000))
    assert client.send("POST", "/api/v1/datasets?name=long", long.encode(), "text/csv").status == 201
    spec = {"effort": "fast", "features": {"count": 2048}, "guarantees": {"exact_rows": 0}}
    submit = lambda: client.send("POST", "/api/v1/jobs", {"model": "long", "dataset": "long", "spec": spec}).json()["id"]
    running, waiting = submit(), submit()
    while client.get(f"/api/v1/jobs/{running}")["status"] == "queued":
        time.sleep(0.01)
    loads = [Load(server, before) for _ in range(4)]
    for load in loads:
        load.start()
    time.sleep(0.5)
    code, seconds = server.terminate()
    for load in loads:
        load.join()
    assert code == 0 and seconds < 30, f"exit code {code} after {seconds:.1f} s"
    assert all(load.answered > 0 and not load.wrong for load in loads), [load.wrong for load in loads]
    assert doctor(data_dir)[0] == 0
    server = Server(data_dir)
    client = server.client()
    for job in (running, waiting):
        state = client.get(f"/api/v1/jobs/{job}")
        assert state["status"] in ("queued", "running") and state["attempt"] <= 1, state
        client.send("POST", f"/api/v1/jobs/{job}/cancel", {})
    assert predict(client) == before
    server.kill()
