"""The program of executors: it needs nothing of the system, and finds the same bytes as the service's program, for many inputs and
with any instructions. What does not belong together is refused by name, and nothing is left running.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
import uuid
import zipfile
import zipimport
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from test_spark import BINARY, MOMENTS, WORKER, children, files, free_port, refused, run_pass, spark, task, train

__all__ = ["files"]  # a fixture

# As in files, with the word of /proc/cpuinfo.
SCALAR, AVX2, AVX512, NEON = 1, 2, 3, 4
FLAGS = {AVX2: "avx2", AVX512: "avx512f", NEON: "asimd"}
HEADER = 104


def has(number):
    return number == SCALAR or FLAGS[number] in Path("/proc/cpuinfo").read_text().split()


@pytest.mark.long  # the static program is built for the long tests alone
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the root folder")
def test_it_runs_in_a_folder_where_nothing_else_is(tmp_path):
    (tmp_path / "worker").write_bytes(Path(WORKER).read_bytes())
    (tmp_path / "worker").chmod(0o755)

    def enter():
        os.chroot(tmp_path)
        os.chdir("/")

    alone = subprocess.run(["/worker", "merge"], input=b"", capture_output=True, preexec_fn=enter)
    assert alone.returncode == 1 and b"there are no statistics to merge" in alone.stderr


class Task:
    """Stands for the task of Spark that a Python worker runs."""

    get = staticmethod(lambda: Task)
    partitionId = staticmethod(lambda: 7)


def test_output_travels_in_tiles_and_a_refusal_comes_before_them(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "clients" / "spark")
    monkeypatch.setattr("pyspark.TaskContext", Task)
    from bochner_spark import tiles_of_output

    def tiles_of(code):
        with open(tmp_path / "words", "w+b") as words:
            process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=words)
            for batch in tiles_of_output()(process, words):
                batch.validate(full=True)
                yield from (tuple(row.values()) for row in batch.to_pylist())

    # Importers of zip files, whose directories every task would read again, are not kept.
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("nothing.py", "")
    sys.path_importer_cache[str(archive)] = zipimport.zipimporter(str(archive))
    write = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40_000); sys.stdout.flush()"
    found = list(tiles_of(write))
    assert str(archive) not in sys.path_importer_cache
    assert [(part, tile, len(piece)) for part, tile, piece in found] == [(7, 0, 4 << 20), (7, 1, 4 << 20), (7, 2, 1_851_392)]
    assert b"".join(piece for *_, piece in found) == bytes(range(256)) * 40_000
    refused = list(tiles_of(f"{write}; sys.exit('bochner: no such column')"))
    assert sorted(refused)[0] == (7, -1, b"no such column") and len(refused) == 4
    with pytest.raises(RuntimeError, match="signal 9"):
        list(tiles_of(f"{write}; import os; os.kill(os.getpid(), 9)"))


def wide_files(folder, inputs):
    """Two files of numbers, and the columns."""
    draw = numpy.random.default_rng(inputs)
    names = [f"x{column}" for column in range(inputs)]
    paths = []
    for part, rows in enumerate([5_000, 2_300]):
        values = draw.normal(size=(rows, inputs))
        columns = {name: values[:, column] for column, name in enumerate(names)}
        columns["y"] = numpy.sin(values[:, 0]) + draw.normal(size=rows)
        paths.append(folder / f"{part}.parquet")
        pyarrow.parquet.write_table(pyarrow.table(columns), paths[-1])
    return paths, [*names, "y"]


def works(inputs):
    """A pass over a Gram matrix and one over errors, for features of every kind."""
    draw = numpy.random.default_rng(7)
    draws, order = 70, max(64, 1 << (inputs - 1).bit_length())
    dense = {"dense": (draw.normal(size=(draws, inputs)) / inputs**0.5).tolist()}
    blocks = -(-draws // order)
    structured = {
        "structured": {
            "input_dim": inputs,
            "norms": draw.uniform(0.5, 2, size=draws).tolist(),
            "signs": [bool(sign) for sign in draw.random(3 * order * blocks) < 0.5],
        }
    }
    square = draw.normal(size=(inputs, inputs)) / inputs
    scaling = {"fill": [0.0] * inputs, "offset": [0.1] * inputs, "factor": [0.9] * inputs, "metric_root": None}
    metric = {**scaling, "metric_root": (square @ square.T + numpy.eye(inputs)).tolist()}
    pair = {"kernel": {"gaussian": {"bandwidth": 1.0}}, "kind": "pair", "phases": []}
    laplace = {"kernel": {"laplace": {"bandwidth": 1.0}}, "kind": "pair", "phases": []}
    coding = {"shift": [0.0], "unit": [1.0]}
    grid = {"feature": 0, "weight": 14, "targets": [4]}
    weights = draw.normal(size=(2 * draws, 1)).tolist()
    for prepared, features, frequencies, double in [
        (scaling, pair, dense, False),
        (metric, pair, dense, False),
        (metric, pair, dense, True),
        (scaling, laplace, dense, False),
        (scaling, pair, structured, False),
        (scaling, pair, structured, True),
        (scaling, laplace, structured, False),
    ]:
        common = {"inputs": prepared, "map": {**features, "frequencies": frequencies}, "double": double}
        yield "gram", {"gram": {**common, "coding": coding, "grid": grid}}
        yield "errors", {"errors": {**common, "weights": weights, "intercepts": [0.5]}}


@pytest.mark.parametrize("inputs", [5, 200])
def test_both_programs_find_the_same_bytes_with_any_instructions(tmp_path, inputs):
    paths, columns = wide_files(tmp_path, inputs)
    sets = [number for number in (SCALAR, AVX2, AVX512, NEON) if has(number)]
    compared = 0
    for kind, work in works(inputs):
        found = {}
        for number in [None, *sets]:
            asked = task(work, columns=columns, targets=[inputs])
            if number is not None:
                asked["instructions"] = number
            one, other = (
                run_pass(tmp_path, asked, *map(str, paths), kind=kind, program=program) for program in (BINARY, WORKER)
            )
            assert one.returncode == 0, one.stderr
            assert one.stdout == other.stdout, (kind, number)
            assert number in (None, int.from_bytes(one.stdout[52:56], "little"))
            found[number] = one.stdout[HEADER:]
        assert len(set(found.values())) == 1, (kind, work)
        compared += len(found)
    assert compared >= 14 * 2


def changed(partial, at, value):
    """Statistics with another number in the header, and the checksum of that."""
    partial = bytearray(partial)
    partial[at : at + 4] = value.to_bytes(4, "little")
    partial[72:HEADER] = bytes(32)
    partial[72:HEADER] = hashlib.sha256(partial).digest()
    return bytes(partial)


def merged(*partials):
    return subprocess.run([WORKER, "merge"], input=b"".join(partials), capture_output=True)


def test_statistics_of_other_instructions_or_versions_are_not_merged(files, tmp_path):
    paths = list(map(str, sorted(files.glob("*.parquet"))[:2]))
    own = run_pass(tmp_path, task(MOMENTS), *paths, program=WORKER).stdout
    assert merged(own, changed(own, 8, 1)).returncode == 0
    other = NEON if has(AVX2) else AVX2
    for at, value, words in [
        (52, other, "different instructions"),
        (52, other, "--spark-instructions"),
        (52, 9, "instruction set 9"),
        (8, 2, "version 2"),
        (12, 9, "pass 9"),
    ]:
        done = merged(own, changed(own, at, value))
        assert done.returncode == 1 and not done.stdout and words in done.stderr.decode(), done.stderr
    damaged = merged(own, own[:200] + bytes([own[200] ^ 1]) + own[201:])
    assert damaged.returncode == 1 and b"checksum" in damaged.stderr
    foreign = NEON if not has(NEON) else AVX2
    lacking = run_pass(tmp_path, {**task(MOMENTS), "instructions": foreign}, *paths, program=WORKER)
    assert lacking.returncode == 1 and b"this machine does not have" in lacking.stderr
    unknown = run_pass(tmp_path, {**task(MOMENTS), "instructions": 9}, *paths, program=WORKER)
    assert unknown.returncode == 1 and b"do not fit together" in unknown.stderr


def test_a_merge_ends_with_its_parent():
    """The parent is killed while the merge waits for statistics, on a pipe that this process holds open."""
    reading, writing = os.pipe()
    code = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=0).wait()"
    parent = subprocess.Popen([sys.executable, "-c", code, WORKER, "merge"], stdin=reading)
    while not (found := [pid for pid, command in children(parent.pid).items() if command.startswith(WORKER)]):
        time.sleep(0.01)
    time.sleep(0.5)  # until it has asked to end with its parent
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{found[0]}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.close(reading)
    os.close(writing)


@pytest.fixture
def watched():
    """An environment whose processes are all gone soon after the command."""
    mark = f"BOCHNER_MARK={uuid.uuid4()}"
    name, value = mark.split("=")
    yield {**os.environ, name: value}

    def left():
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # it has ended meanwhile
        return found

    deadline = time.monotonic() + 20
    while running := left():
        assert time.monotonic() < deadline, running
        time.sleep(0.2)


@pytest.mark.long
def test_instructions_are_forced_on_a_cluster(files, tmp_path, watched):
    """The model is the same bytes; a set that the machine lacks is refused by name."""
    if not has(AVX2):
        pytest.skip("this machine has no second set of instructions")
    spec = {"effort": "fast", "kernel": {"name": "gaussian", "bandwidth": 2.5}, "features": {"count": 64}, "lambda": 1e-4}
    flags = spark(2, "local[2,4]", "--spark-instructions")
    for name, output in [(None, "own"), ("avx2", "avx2")]:
        done = train(files, tmp_path / output, *([*flags, name] if name else []), spec=spec, env=watched)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "own").read_bytes() == (tmp_path / "avx2").read_bytes()
    said = refused(files, tmp_path, *flags, "neon", spec=spec, env=watched)
    assert "NEON instructions are asked for, which this machine does not have" in said


@pytest.mark.long
def test_a_master_that_is_not_there_is_refused(files, tmp_path, watched):
    said = refused(files, tmp_path, *spark(1, "nonsense"), env=watched)
    assert "Spark failed" in said and "nonsense" in said
    said = refused(files, tmp_path, *spark(1, f"spark://127.0.0.1:{free_port()}"), env=watched)
    assert "Spark failed" in said


@pytest.mark.long
def test_nothing_is_left_of_a_refusal(files, tmp_path, watched):
    """Whoever reads the files, a value that no pass takes ends the training with its place."""
    folder = tmp_path / "table"
    folder.mkdir()
    columns = {"a": [1.0] * 90 + [float("nan")], "y": list(map(float, range(91)))}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    for reader in ("workers", "spark"):
        command = [BINARY, "train", str(folder), "--target", "y", "--output", str(tmp_path / "none"), "--spark-python"]
        command += [sys.executable, *spark(1), "--spark-reader", reader, "--spec", json.dumps({"features": {"count": 16}})]
        done = subprocess.run(command, capture_output=True, text=True, env=watched, timeout=300)
        assert done.returncode == 1 and "file 'a.parquet': row 91, column 'a'" in done.stderr, done.stderr
        assert not (tmp_path / "none").exists()
