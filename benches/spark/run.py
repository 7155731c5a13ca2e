"""One training in one process and on Apache Spark: processor seconds, peak memory and bytes of the model.

    python3 benches/spark/run.py --binary target/release/bochner --rows 1000000 [--features 1024] [--cluster standalone]

Needs Java, and a Python with the packages of tests/spark/requirements.txt, which runs this and the session. The table is made in
`--folder` once and kept. λ and the bandwidth are given and error bars are off, so that four passes read all rows.
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import pyarrow
import pyarrow.parquet
import pyspark

INPUTS = 20
MOST_FILE_ROWS = 625_000
TICKS = os.sysconf("SC_CLK_TCK")
# What a process is, by words of its command line; the first that fits.
KINDS = [
    ("pass", " pass "),
    ("merge", " merge"),
    ("session", "bochner_spark.py"),
    ("Python worker", "pyspark.daemon"),
    ("executor JVM", "CoarseGrainedExecutorBackend"),
    ("master of the cluster", "deploy.master.Master"),
    ("worker of the cluster", "deploy.worker.Worker"),
    ("driver JVM", "java"),
    ("command", " train "),
]


def make_table(folder, rows):
    """Eight files or more of normal inputs and a smooth target with noise, each from a seed of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    file_rows = min(MOST_FILE_ROWS, -(-rows // 8))
    for part, first in enumerate(range(0, rows, file_rows)):
        path = folder / f"part-{part:05}.parquet"
        if path.exists():
            continue
        draw = numpy.random.default_rng([7, part])
        x = draw.normal(size=(min(file_rows, rows - first), INPUTS))
        y = numpy.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + numpy.cos(x[:, 3:].mean(axis=1)) + 0.3 * draw.normal(size=len(x))
        columns = {f"x{place}": x[:, place] for place in range(INPUTS)} | {"y": y}
        pyarrow.parquet.write_table(pyarrow.table(columns), path.with_suffix(".new"), row_group_size=125_000)
        path.with_suffix(".new").rename(path)
    return sum(file.stat().st_size for file in folder.iterdir())


class Observer(threading.Thread):
    """Looks at every process below one, ten times a second: its own processor seconds and its peak memory."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.seen, self.over = root, {}, False

    def run(self):
        while not self.over:
            self.look()
            time.sleep(0.1)

    def look(self):
        children = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                    children.setdefault(int(fields[1]), []).append((entry, fields))
        below = [self.root]
        while below:
            for entry, fields in children.get(below.pop(), []):
                below.append(int(entry.name))
                with contextlib.suppress(OSError, StopIteration):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    kind = next((kind for kind, words in KINDS if words in command), None)
                    peak = next(line for line in (entry / "status").read_text().splitlines() if line.startswith("VmHWM"))
                    if kind is not None:  # else it is about to become what it is
                        seconds = (int(fields[11]) + int(fields[12])) / TICKS
                        self.seen[entry.name, fields[19]] = (kind, seconds, int(peak.split()[1]) / 1000)

    def totals(self):
        """Kind → processes, processor seconds of all, and the largest peak memory of one in MB."""
        found = {}
        for kind, seconds, peak in self.seen.values():
            count, total, most = found.get(kind, (0, 0.0, 0.0))
            found[kind] = (count + 1, total + seconds, max(most, peak))
        return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def cluster(kind, executor_memory, scratch):
    """The master to ask: threads of one JVM, or a cluster of two workers of one core each."""
    if kind == "local":
        yield "local[2,4]"
        return
    master = f"spark://127.0.0.1:{(port := free_port())}"
    java, deploy = str(pathlib.Path(pyspark.__file__).parent / "bin/spark-class"), "org.apache.spark.deploy"
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = [java, f"{deploy}.worker.Worker", *here, "--cores", "1", "--memory", executor_memory]
    commands = [[java, f"{deploy}.master.Master", *here, "--port", str(port)]]
    commands += [[*worker, "--work-dir", scratch, master]] * 2
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        yield master
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=60)


def train(arguments, folder, features, *flags):
    """Seconds, what was seen of the processes, and the SHA-256 of the model."""
    spec = {"effort": "fast", "kernel": {"name": "gaussian", "bandwidth": 5.0}, "features": {"count": features, "seed": 3}}
    spec |= {"lambda": 1e-6, "error_bars": False}
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch) / "model.bochner"
        command = [arguments.binary, "train", folder, "--target", "y", "--spec", json.dumps(spec), "--output", output, *flags]
        observer = Observer(os.getpid())
        observer.start()
        start = time.monotonic()
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seconds = time.monotonic() - start
        observer.over = True
        observer.join()
        if done.returncode != 0:
            sys.exit(f"training failed: {done.stderr[-2000:]}")
        return seconds, observer.totals(), hashlib.sha256(output.read_bytes()).hexdigest()


def show(title, seconds, totals, model):
    print(f"{title}: {seconds:.1f} s, load {os.getloadavg()[0]:.1f}, model {model[:16]}")
    for kind, (count, total, peak) in sorted(totals.items()):
        print(f"  {kind:<34} {count:5} processes {total:9.1f} CPU s {peak:7.0f} MB at most")
    print(f"  {'all':<34} {'':15} {sum(total for _, total, _ in totals.values()):9.1f} CPU s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/bochner")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=1_024)
    parser.add_argument("--cluster", choices=["local", "standalone"], default="local")
    parser.add_argument("--driver-memory", default="1g")
    parser.add_argument("--executor-memory", default="1g", help="of a standalone cluster")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("target/spark-tables"))
    parser.add_argument("--program", help="what executors run; by default as the command finds it")
    parser.add_argument("--only", choices=["process", "spark"])
    arguments = parser.parse_args()
    folder = arguments.folder / f"{arguments.rows}x{INPUTS}"
    size = make_table(folder, arguments.rows)
    print(f"{arguments.rows:,} rows x {INPUTS} inputs, {size / 1e6:.0f} MB of Parquet, {arguments.features} features", flush=True)
    found = {}
    if arguments.only != "spark":
        found["one process"] = train(arguments, folder, arguments.features, "--threads", "2")
        show("one process", *found["one process"])
    if arguments.only != "process":
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
        with tempfile.TemporaryDirectory() as scratch, cluster(arguments.cluster, arguments.executor_memory, scratch) as master:
            settings = {"driver.bindAddress": "127.0.0.1", "driver.host": "127.0.0.1", "driver.memory": arguments.driver_memory}
            settings |= {"executor.memory": arguments.executor_memory}
            flags = ["--engine", "spark", "--spark-master", master, "--spark-python", sys.executable]
            for name, value in settings.items():
                flags += ["--spark-conf", f"spark.{name}={value}"]
            if arguments.program:
                flags += ["--spark-program", arguments.program]
            found["spark"] = train(arguments, folder, arguments.features, *flags)
            show(f"Spark ({arguments.cluster})", *found["spark"])
    if len(found) == 2:
        whole = sum(total for _, total, _ in found["spark"][1].values())
        alone = sum(total for _, total, _ in found["one process"][1].values())
        native = sum(found["spark"][1][kind][1] for kind in ("pass", "merge") if kind in found["spark"][1])
        print(f"CPU seconds on Spark: {whole / alone:.2f} times one process, {whole / native:.2f} times its own native work")
        if found["spark"][2] != found["one process"][2]:
            sys.exit("the models differ")


if __name__ == "__main__":
    main()
