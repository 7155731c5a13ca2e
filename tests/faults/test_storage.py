"""Disks that are full, read-only, shared or damaged."""

import contextlib
import os
import pathlib
import shutil
import subprocess

import pytest

from filled import MODEL, ROW, fill, predict, train
from server import Refused, Server, doctor, wait_for

PREDICTED = f"/api/v1/models/{MODEL}/predict"


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of its own, or a loud skip where one cannot be mounted."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"SKIPPED: a full disk was not tested, since no file system can be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def table(rows):
    """A table of so many rows that look alike to nobody."""
    return ("a,b,y\n" + "".join(f"{i * 0.37 % 1:.6f},{i * 0.61 % 1:.6f},{i % 97}\n" for i in range(rows))).encode()


def test_a_full_disk_refuses_uploads_and_serves_predictions(tmp_path):
    with small_disk(tmp_path / "disk", "6m") as disk:
        server = Server(disk / "data")
        client = server.client()
        before = fill(client)
        statuses = []
        for number in range(60):
            answer = client.send("POST", f"/api/v1/datasets?name=more{number}", table(20_000 + number), "text/csv")
            statuses.append(answer.status)
            if answer.status != 201:
                assert answer.status == 507 and answer.json()["code"] == "disk_full", answer
                break
        assert statuses[-1] == 507, f"the disk never was full: {statuses}"
        assert predict(client) == before
        assert client.send("GET", "/readyz").status == 200
        # What is acknowledged is there, on the full disk, after a crash too.
        server.kill()
        server = Server(disk / "data")
        client = server.client()
        names = {entry["name"] for entry in client.get("/api/v1/datasets?limit=1000")["datasets"]}
        assert names == {"waves", *(f"more{number}" for number in range(len(statuses) - 1))}
        assert predict(client) == before
        # Deleting needs no room, and makes some.
        for number in range(len(statuses) - 1):
            assert client.send("DELETE", f"/api/v1/datasets/more{number}").status == 204
        assert client.send("POST", "/api/v1/datasets?name=again", table(20_000), "text/csv").status == 201
        train(client, "again", "again")
        assert server.terminate()[0] == 0
        assert doctor(disk / "data")[0] == 0


def test_a_training_on_a_full_disk_leaves_the_rest_alone(tmp_path):
    with small_disk(tmp_path / "disk", "6m") as disk:
        server = Server(disk / "data")
        client = server.client()
        before = fill(client)
        with open(disk / "stuffing", "wb", buffering=0) as stuffing, contextlib.suppress(OSError):
            while stuffing.write(b"x" * 4096):
                pass
        answer = client.send("POST", "/api/v1/jobs", {"model": "late", "dataset": "waves", "spec": {"effort": "fast", "lambda": 1e-3}})
        assert answer.status in (202, 507), answer
        assert predict(client) == before
        server.kill()
        (disk / "stuffing").unlink()
        server = Server(disk / "data")
        client = server.client()
        if answer.status == 202:
            state = lambda: client.get(f"/api/v1/jobs/{answer.json()['id']}")["status"]
            assert wait_for("the end of the job", lambda: state() in ("succeeded", "failed"))
        assert predict(client) == before
        train(client, "late", "waves")
        assert server.terminate()[0] == 0
        assert doctor(disk / "data")[0] == 0


def test_a_read_only_directory_is_refused_by_name(tmp_path):
    with small_disk(tmp_path / "disk", "6m") as disk:
        server = Server(disk / "data")
        before = fill(server.client())
        server.terminate()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(Refused) as refused:
            Server(disk / "data")
        assert refused.value.code == 1 and str(disk / "data") in refused.value.log, refused.value.log
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        server = Server(disk / "data")
        assert predict(server.client()) == before
        server.kill()


def test_a_second_server_on_the_same_directory_is_refused(data_dir):
    server = Server(data_dir)
    before = fill(server.client())
    with pytest.raises(Refused) as refused:
        Server(data_dir)
    assert refused.value.code == 1 and "another process is using the data directory" in refused.value.log
    assert predict(server.client()) == before
    server.kill()
    Server(data_dir).kill()  # the lock went with the process


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0x40
    path.write_bytes(content)


def cut(path, at):
    os.truncate(path, at)


def empty(path, _):
    path.write_bytes(b"")


def noise(path, _):
    path.write_bytes(os.urandom(path.stat().st_size))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A data directory to be copied and damaged, and what its model predicts."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    server = Server(folder)
    before = fill(server.client())
    assert server.terminate()[0] == 0
    return folder, before


@pytest.mark.parametrize("damage", [flip, cut, empty, noise])
@pytest.mark.parametrize("file", ["bochner.sqlite", "datasets/*.table", "artifacts/*.bochner", "cards/ds-*.card", "cards/model-*.card"])
def test_damage_is_found_and_spreads_no_further(filled, data_dir, file, damage):
    folder, before = filled
    shutil.copytree(folder, data_dir)
    path = next(pathlib.Path(data_dir).glob(file))
    damage(path, path.stat().st_size // 2)
    kind = file.split("/")[0]
    try:
        server = Server(data_dir)
    except Refused as refused:
        # A database that cannot be trusted is refused, with the way out; nothing is deleted.
        assert kind == "bochner.sqlite" and "doctor --repair" in refused.log, refused
        assert doctor(data_dir, "--repair")[0] in (0, 3)
        server = Server(data_dir)
    client = server.client()
    assert client.send("GET", "/livez").status == 200
    answer = client.send("POST", PREDICTED, {"rows": [ROW]})
    if kind == "artifacts":
        # Never a number from a damaged model.
        assert answer.status in (404, 500) and b"predictions" not in answer.body, answer
    else:
        assert answer.status == 200 and answer.json()["predictions"] == before, answer
    preview = client.send("GET", "/api/v1/datasets/waves/preview?rows=2")
    if kind == "datasets":
        assert preview.status in (200, 500), preview
        if preview.status == 500:
            assert preview.json()["code"] == "dataset_damaged", preview
        answer = client.send("POST", "/api/v1/jobs", {"model": "m", "dataset": "waves", "spec": {"effort": "fast", "lambda": 1e-3}}, prefer="wait=30")
        assert answer.json()["status"] == "failed" or answer.status >= 400, answer
    else:
        assert preview.status == 200, preview
    assert server.terminate()[0] == 0
