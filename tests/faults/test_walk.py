"""The random walk in short; walk.py by itself makes it as long as one likes."""

import pytest

from server import Server
from walk import Walk
from world import World


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path):
    walk = Walk(tmp_path, seed=1)
    walk.run(10)
    print(walk.summary())


def test_nothing_acknowledged_is_lost_by_a_power_cut(tmp_path):
    walk = Walk(tmp_path, seed=2, power_cuts=True)
    walk.run(5)
    print(walk.summary())


def test_more_jobs_than_a_page_are_all_found(tmp_path):
    """A walk of hundreds of rounds once took jobs on the second page for lost."""
    server = Server(tmp_path / "data")
    client, world = server.client(), World("c0", 0)
    world._upload(client)
    for _ in range(25):
        world._train(client)
    world.compare(client)
    assert len(world.jobs) == len(client.list("jobs", page=7)) == 25
    assert len(client.get("/api/v1/jobs?limit=10")["jobs"]) == 10
    server.kill()


def test_a_disk_that_only_pretends_to_sync_is_caught(tmp_path):
    walk = Walk(tmp_path, seed=3, power_cuts=True)
    walk.power.ignore_syncs()
    with pytest.raises(AssertionError, match="lost"):
        walk.run(10)
