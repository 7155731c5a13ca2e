"""Trainings on Apache Spark next to the same training in one process: the same bytes, whatever is cut, retried or killed.

The environment names the binary (BOCHNER_BINARY) and the program of executors (BOCHNER_WORKER), and a Python with pyspark is the
one that runs this. Tests marked `long` are left out of `make test`.
"""

import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pyspark
import pytest

BINARY = str(Path(os.environ["BOCHNER_BINARY"]).resolve())
WORKER = str(Path(os.environ["BOCHNER_WORKER"]).resolve())
SPEC = {
    "effort": "fast",
    "kernel": {"name": "gaussian", "bandwidth": 2.5},
    "features": {"count": 256, "seed": 3},
    "lambda": 1e-4,
    "calibration_fraction": 0.1,
}
COLUMNS = ["a", "b", "count", "flag", "y"]


def table(rows, seed):
    draw = numpy.random.default_rng(seed)
    a, b = draw.normal(size=rows), draw.uniform(-2, 2, size=rows)
    count, flag = draw.integers(0, 9, size=rows), draw.random(rows) < 0.3
    y = numpy.sin(2 * a) + b * b + 0.1 * count + flag + 0.1 * draw.normal(size=rows)
    columns = {
        "a": pyarrow.array(a, mask=draw.random(rows) < 0.02),
        "b": pyarrow.array(b.astype("float32")),
        "count": pyarrow.array(count),
        "flag": pyarrow.array(flag),
        "y": pyarrow.array(y, mask=draw.random(rows) < 0.01),
        "note": pyarrow.array([f"row {row}" for row in range(rows)], pyarrow.string()),
    }
    return pyarrow.table(columns)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Eighteen files of very different length, one of them empty, with a space in a name."""
    folder = tmp_path_factory.mktemp("table of parts")
    for part, rows in enumerate([1, 40_000, 0, 2048, 16_384, 16_385, 30_001, *range(3_000, 14_000, 1_000)]):
        pyarrow.parquet.write_table(table(rows, part), folder / f"part {part:05}.parquet", row_group_size=5_000)
    (folder / "_SUCCESS").touch()
    return folder


def train(folder, output, *flags, spec=SPEC, python=sys.executable, **options):
    command = [BINARY, "train", str(folder), "--target", "y", "--ignore", "note", "--spec", json.dumps(spec)]
    command += ["--output", str(output), "--spark-python", python, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def trained(folder, output, *flags, **options):
    done = train(folder, output, *flags, **options)
    assert done.returncode == 0, done.stderr
    return hashlib.sha256(Path(output).read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def expected(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    one, two = (trained(files, folder / f"{n}.bochner", "--threads", n) for n in ("1", "2"))
    assert one == two
    return one


def spark(partitions, master="local[2,4]", *more, program=WORKER):
    conf = ["--spark-conf", "spark.driver.bindAddress=127.0.0.1", "--spark-conf", "spark.driver.host=127.0.0.1"]
    flags = ["--engine", "spark", "--spark-master", master, "--spark-partitions", str(partitions)]
    return [*flags, "--spark-program", program, *conf, *more]


def test_three_partitions_give_the_same_model(files, expected, tmp_path):
    assert trained(files, tmp_path / "m.bochner", *spark(3)) == expected


@pytest.mark.long
@pytest.mark.parametrize("partitions", [1, 16])
def test_the_number_of_partitions_does_not_show(files, expected, tmp_path, partitions):
    assert trained(files, tmp_path / "m.bochner", *spark(partitions)) == expected


def test_statistics_that_are_too_large_for_one_answer_are_merged_on_executors(files, tmp_path):
    """In two steps: eighteen parts of more than 2 MB each."""
    spec = {**SPEC, "features": {"count": 768, "seed": 3}, "error_bars": False}
    expected = trained(files, tmp_path / "local.bochner", spec=spec)
    with Watch(" merge") as merges:
        assert trained(files, tmp_path / "m.bochner", *spark(18), spec=spec) == expected
    assert merges.seen


@pytest.mark.long
def test_rows_that_spark_reads_give_the_same_model(files, expected, tmp_path):
    assert trained(files, tmp_path / "m.bochner", *spark(3), "--spark-reader", "spark") == expected


def children(root):
    """Every process below one, with its command line."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                commands[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has ended meanwhile
    found, level = {}, {root}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level and pid not in found}
        found.update((pid, commands.get(pid, "")) for pid in level)
    return found


class Killer(threading.Thread):
    """Kills, one after the other, the first process below this one that each of some words is in the command line of."""

    def __init__(self, *words):
        super().__init__(daemon=True)
        self.words, self.killed, self.over = list(words), [], False

    def run(self):
        while self.words and not self.over:
            pid = next((pid for pid, command in children(os.getpid()).items() if self.words[0] in command), None)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(self.words.pop(0))
            time.sleep(0.01)


class Watch(threading.Thread):
    """Looks for processes below this one whose command line has some words."""

    def __init__(self, words):
        super().__init__(daemon=True)
        self.words, self.seen, self.over = words, set(), False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()

    def run(self):
        while not self.over:
            self.seen |= {pid for pid, command in children(os.getpid()).items() if command.rstrip().endswith(self.words)}
            time.sleep(0.01)


SPARK_HOME = Path(pyspark.__file__).parent
# Executors of a cluster have a Python of their own.
ENVIRONMENT = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def started(*commands):
    """Processes of a cluster, which are ended in the end."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
    running = [subprocess.Popen(list(map(str, command)), **quiet) for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=30)


@pytest.mark.long
def test_what_is_killed_in_the_middle_is_done_again(files, tmp_path):
    """A native process, an executor, and one of two workers with all it started."""
    spec = {**SPEC, "features": {"count": 512, "seed": 3}, "error_bars": False}
    expected = trained(files, tmp_path / "local.bochner", spec=spec)
    master = f"spark://127.0.0.1:{(port := free_port())}"
    java = [SPARK_HOME / "bin/spark-class"]
    deploy, here = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = [*java, f"{deploy}.worker.Worker", *here, "--cores", "1", "--memory", "700m", "--work-dir", tmp_path, master]
    with started([*java, f"{deploy}.master.Master", *here, "--port", port], worker, worker):
        killer = Killer(" pass gram ", "CoarseGrainedExecutorBackend", "deploy.worker.Worker")
        killer.start()
        cluster = spark(6, master, "--spark-conf", "spark.executor.memory=512m")
        found = trained(files, tmp_path / "m.bochner", *cluster, spec=spec, env=ENVIRONMENT)
        killer.over = True
    assert killer.killed == [" pass gram ", "CoarseGrainedExecutorBackend", "deploy.worker.Worker"]
    assert found == expected


@pytest.mark.long
def test_spark_connect_gives_the_same_model(files, expected, tmp_path):
    port = free_port()
    server = [SPARK_HOME / "bin/spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    server += ["--master", "local[2,4]", "--conf", f"spark.connect.grpc.binding.port={port}"]
    with started(server):
        deadline = time.monotonic() + 480  # a session alone takes minutes on a busy machine
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        flags = ["--engine", "spark", "--spark-master", f"sc://127.0.0.1:{port}", "--spark-partitions", "3"]
        flags += ["--spark-program", WORKER]
        assert trained(files, tmp_path / "m.bochner", *flags, env=ENVIRONMENT) == expected


@pytest.mark.long
def test_an_interrupt_ends_everything(files, tmp_path):
    command = [BINARY, "train", str(files), "--target", "y", "--ignore", "note", "--output", str(tmp_path / "m")]
    command += ["--spec", json.dumps({**SPEC, "features": {"count": 2048}}), "--spark-python", sys.executable, *spark(2)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not any(" pass gram " in command for command in children(process.pid).values()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    begun = set(children(process.pid))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in begun):
        assert time.monotonic() < deadline, [pid for pid in begun if Path(f"/proc/{pid}").exists()]
        time.sleep(0.1)
    assert not (tmp_path / "m").exists()


class Service:
    """A service that may read the tables of the tests, with a cluster."""

    def __init__(self, data, *allowed, master="local[2,4]", python=sys.executable, partitions=2, settings=()):
        conf = ["--spark-conf", "spark.driver.bindAddress=127.0.0.1", "--spark-conf", "spark.driver.host=127.0.0.1"]
        conf += [flag for setting in settings for flag in ("--spark-conf", setting)]
        flags = ["--dataset-locations", ",".join(map(str, allowed)), "--spark-master", master, "--spark-python", python]
        flags += ["--spark-partitions", str(partitions), "--drain-delay", "0", *conf]
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [BINARY, "serve", "--listen", f"127.0.0.1:{port}", "--data-dir", str(data), *flags]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        deadline = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)

    def call(self, path, body=None, method=None, **headers):
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        request.add_header("content-type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=480) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def register(self, folder):
        location = str(folder) if "://" in str(folder) else f"file:{folder}"
        body = {"location": location, "format": "parquet", "name": "parts", "target": "y", "ignore": "note"}
        return self.call("/api/v1/datasets", body)

    def submit(self, spec=SPEC, model="parts"):
        body = {"model": model, "dataset": "parts", "engine": "spark", "spec": spec}
        return self.call("/api/v1/jobs", body)["id"]

    def wait(self, job, *states):
        deadline = time.monotonic() + 480  # a session alone takes minutes on a busy machine
        while (shown := self.call(f"/api/v1/jobs/{job}"))["status"] not in states:
            assert time.monotonic() < deadline, shown
            time.sleep(0.05)
        return shown


def gone(pids):
    """Waits until all of some processes have ended."""
    deadline = time.monotonic() + 30
    while left := [pid for pid in pids if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_a_job_on_spark_gives_the_same_model(files, expected, tmp_path):
    """With a native process killed in the middle."""
    with Service(tmp_path / "data", files.parent) as service:
        dataset = service.register(files)
        assert dataset["location"] == f"file:{files.resolve()}", dataset
        killer = Killer(" pass gram ")
        killer.start()
        try:
            done = service.wait(service.submit(), "succeeded", "failed")
        finally:
            killer.over = True
        assert done["status"] == "succeeded", done["error"]
        assert (done["engine"], done["dataset"]) == ("spark", dataset["id"])
        assert service.call("/api/v1/models/parts/versions/1")["artifact_sha256"] == expected
        begun = set(children(service.process.pid))
    gone(begun)


LARGE = {**SPEC, "features": {"count": 2048}}


def wait_for_passes(service):
    """The processes below a service that runs a pass."""
    deadline = time.monotonic() + 120
    while not any(" pass gram " in command for command in children(service.process.pid).values()):
        assert service.process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return set(children(service.process.pid))


@pytest.mark.long
def test_a_cancelled_job_and_a_killed_service_leave_nothing_running(files, tmp_path):
    data = tmp_path / "data"
    with Service(data, files.parent) as service:
        service.register(files)
        job = service.submit(LARGE)
        begun = wait_for_passes(service)
        assert service.wait(job, "running")["progress"]["stage"] == "accumulate"
        service.call(f"/api/v1/jobs/{job}/cancel", method="POST")
        assert service.wait(job, "canceled")["report"] is None
        gone(begun)
        job = service.submit(LARGE)
        begun = wait_for_passes(service)
        service.process.kill()
        service.process.wait()
        gone(begun)
    with Service(data, files.parent) as service:
        again = service.wait(job, "succeeded", "failed")
        assert (again["status"], again["attempt"]) == ("succeeded", 2), again["error"]


@pytest.mark.long
def test_a_lost_cluster_fails_the_job_with_its_words(files, tmp_path):
    with Service(tmp_path / "data", files.parent) as service:
        service.register(files)
        job = service.submit(LARGE)
        wait_for_passes(service)
        session = next(pid for pid, command in children(service.process.pid).items() if "bochner_spark.py" in command)
        begun = set(children(service.process.pid))
        os.kill(session, signal.SIGKILL)
        lost = service.wait(job, "failed")
        assert lost["error"]["code"] == "engine" and "the Spark session has ended" in lost["error"]["detail"], lost
        gone(begun)
        assert service.call("/api/v1/models")["models"] == []
    with Service(tmp_path / "nobody", files.parent, master=f"spark://127.0.0.1:{free_port()}") as service:
        service.register(files)
        failed = service.wait(service.submit(), "failed")
        assert failed["error"]["code"] == "engine" and "Spark" in failed["error"]["detail"], failed


def refused(folder, tmp_path, *flags, **options):
    output = tmp_path / "none.bochner"
    done = train(folder, output, *flags, **options)
    assert done.returncode == 1 and not output.exists(), done.stderr
    return done.stderr


def test_files_that_do_not_fit_are_refused_by_name(files, tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    assert "no file that ends with .parquet" in refused(folder, tmp_path)
    pyarrow.parquet.write_table(table(100, 1), folder / "a.parquet")
    whole = subprocess.run([BINARY, "train", str(folder), "--target", "y"], capture_output=True, text=True)
    assert whole.returncode == 1 and "column 'note' holds values of type Utf8" in whole.stderr
    assert "--ignore note" in whole.stderr
    other = table(100, 2).rename_columns(["a", "b", "count", "flag", "z", "note"])
    pyarrow.parquet.write_table(other, folder / "b.parquet")
    words = refused(folder, tmp_path)
    assert "file 'b.parquet'" in words and "'a.parquet'" in words and "no column 'y'" in words
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-10])
    assert "file 'b.parquet'" in refused(folder, tmp_path)
    (folder / "b.parquet").unlink()
    for value, words in [(float("inf"), "not a finite number"), (float("nan"), "write null")]:
        bad = table(100, 3).set_column(1, "b", pyarrow.array([1.0] * 70 + [value] + [1.0] * 29, pyarrow.float32()))
        pyarrow.parquet.write_table(bad, folder / "b.parquet")
        said = refused(folder, tmp_path)
        assert "file 'b.parquet': row 71, column 'b'" in said and words in said
    for spec, words in [({"learner": "logistic"}, "/spec/learner"), ({"sample_weight": "b"}, "/spec/sample_weight")]:
        assert words in refused(files, tmp_path, spec=spec)
    assert "not possible for a folder" in refused(files, tmp_path, "--missing", "none")
    alone = subprocess.run([BINARY, "train", str(folder / "a.parquet"), "--engine", "spark"], capture_output=True, text=True)
    assert alone.returncode == 1 and "takes a folder" in alone.stderr
    assert "cannot be started" in refused(files, tmp_path, *spark(1), python="/no/such/python")


@pytest.mark.long
def test_what_an_executor_refuses_reaches_the_command(files, tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    pyarrow.parquet.write_table(table(100, 1), folder / "a.parquet")
    bad = table(100, 3).set_column(1, "b", pyarrow.array([float("inf")] * 100, pyarrow.float32()))
    pyarrow.parquet.write_table(bad, folder / "b.parquet")
    assert "file 'b.parquet': row 1, column 'b'" in refused(folder, tmp_path, *spark(2))
    said = refused(files, tmp_path, *spark(1, program="/no/such/bochner"))
    assert "Spark failed" in said and "/no/such/bochner" in said


# One pass at a time, without Spark.


def task(work, **changes):
    split = {"seed": 3, "validation": 0.2, "calibration": 0.0}
    return {"version": 1, "columns": COLUMNS, "targets": [4], "split": split, "work": work, **changes}


MOMENTS = {"moments": {"unlabelled": False}}


def run_pass(tmp_path, asked, *flags, kind="moments", rows=None, program=BINARY):
    path = tmp_path / "task.json"
    path.write_text(json.dumps(asked))
    return subprocess.run([program, "pass", kind, "--task", str(path), *flags], input=rows, capture_output=True)


def stream(files):
    """Rows as the Spark side sends them."""
    pieces, total = [b"BOCHROWS", (1).to_bytes(4, "little")], 0
    for path in files:
        rows = pyarrow.parquet.read_table(path, columns=COLUMNS)
        name = path.name.encode()
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=777)
        pieces += [len(name).to_bytes(4, "little"), name, sink.getvalue().to_pybytes(), rows.num_rows.to_bytes(8, "little")]
        total += rows.num_rows
    return b"".join([*pieces, (0).to_bytes(4, "little"), total.to_bytes(8, "little")])


def test_a_stream_and_files_give_the_same_statistics_in_any_partition(files, tmp_path):
    paths = sorted(files.glob("*.parquet"))[:8]
    whole = run_pass(tmp_path, task(MOMENTS), "--root", str(files), *map(str, paths))
    assert whole.returncode == 0 and whole.stdout.startswith(b"BOCHPART"), whole.stderr
    streamed = run_pass(tmp_path, task(MOMENTS), rows=stream(paths))
    assert streamed.stdout == whole.stdout, streamed.stderr
    parts = []
    for number, some in enumerate([paths[5:], paths[:2], paths[2:5]]):
        parts.append(tmp_path / f"{number}.part")
        parts[-1].write_bytes(run_pass(tmp_path, task(MOMENTS), "--root", str(files), *map(str, some)).stdout)
    merged = subprocess.run([BINARY, "merge", *map(str, parts)], capture_output=True)
    assert merged.stdout == whole.stdout, merged.stderr
    piped = subprocess.run([BINARY, "merge"], input=b"".join(part.read_bytes() for part in parts), capture_output=True)
    assert piped.stdout == whole.stdout


def test_a_stream_that_was_cut_is_refused_wherever_it_was_cut(files, tmp_path):
    rows = stream(sorted(files.glob("*.parquet"))[:4])
    # Behind every message of Arrow, which is where a cut stream reads as a shorter one, and at some other places.
    cuts = [at for at in range(8, len(rows)) if rows[at : at + 4] == b"\xff\xff\xff\xff"]
    for at in {*cuts[:: max(1, len(cuts) // 12)], 0, 5, 11, len(rows) - 8, len(rows) - 1, len(rows) // 2}:
        cut = run_pass(tmp_path, task(MOMENTS), rows=rows[:at])
        assert cut.returncode == 1 and not cut.stdout, at
        assert b"cut off" in cut.stderr or b"damaged" in cut.stderr, cut.stderr
    longer = run_pass(tmp_path, task(MOMENTS), rows=rows + b"x")
    assert longer.returncode == 1 and b"goes on behind its end" in longer.stderr
    other = run_pass(tmp_path, task(MOMENTS), rows=rows[:8] + b"\2" + rows[9:])
    assert other.returncode == 1 and b"version 2" in other.stderr


def test_tasks_and_statistics_that_do_not_belong_together_are_refused(files, tmp_path):
    paths = list(map(str, sorted(files.glob("*.parquet"))[:2]))
    one = tmp_path / "one.part"
    one.write_bytes(run_pass(tmp_path, task(MOMENTS), *paths).stdout)
    for asked, kind, words in [
        (task({"moments": {"unlabelled": True}}), "moments", "spec hashes differ"),
        (task({"profile": {"sample": 100}}), "profile", "cannot be added"),
    ]:
        other = tmp_path / "other.part"
        other.write_bytes(run_pass(tmp_path, asked, *paths, kind=kind).stdout)
        merged = subprocess.run([BINARY, "merge", str(one), str(other)], capture_output=True, text=True)
        assert merged.returncode == 1 and words in merged.stderr, merged.stderr
    for asked, kind, words in [
        (task(MOMENTS), "gram", "is a pass 'moments', not 'gram'"),
        (task(MOMENTS, version=2), "moments", "another version"),
        (task(MOMENTS, targets=[9]), "moments", "do not fit together"),
        (task(MOMENTS, columns=["a", "b", "count", "flag", "missing"]), "moments", "no column 'missing'"),
        (task(MOMENTS, columns=["a", "b", "count", "flag", "note"]), "moments", "holds values of type Utf8"),
    ]:
        done = run_pass(tmp_path, asked, *paths, kind=kind)
        assert done.returncode == 1 and words in done.stderr.decode(), done.stderr
    one.write_bytes(one.read_bytes()[:-1])
    cut = subprocess.run([BINARY, "merge", str(one)], capture_output=True, text=True)
    assert cut.returncode == 1 and "cut off" in cut.stderr


def test_a_pass_ends_with_its_parent(files, tmp_path):
    """The parent is killed while the pass waits for rows."""
    (tmp_path / "task.json").write_text(json.dumps(task(MOMENTS)))
    code = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).wait()"
    command = [BINARY, "pass", "moments", "--task", str(tmp_path / "task.json")]
    parent = subprocess.Popen([sys.executable, "-c", code, *command])
    while not (found := [pid for pid, command in children(parent.pid).items() if " pass moments " in command]):
        time.sleep(0.01)
    time.sleep(0.5)  # until it has asked to end with its parent
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{found[0]}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
