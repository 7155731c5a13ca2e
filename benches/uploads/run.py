"""The same table uploaded as CSV, JSON lines, Arrow and Parquet: seconds, rows a second and peak memory of each.

    python3 benches/uploads/run.py --binary target/release/bochner [--rows 1000000] [--columns 20]

Needs pyarrow. Every format gets a service of its own, so that a peak is that of one upload. A small model is trained on each
dataset afterwards; all of them must have the same bits.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile
import threading
import time

import pyarrow
import pyarrow.csv
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 200e6  # bytes of the service and its child together
# What a prediction depends on; the others name the dataset, or hold times.
SECTIONS = ["HEAD", "INPT", "FEAT", "WGHT"]


def table(rows, columns):
    """Numbers of every size, one column of levels, and a target."""
    numbers = random.Random(7)
    names = [f"x{index}" for index in range(columns - 2)]
    made = {name: [numbers.gauss(10.0**(index % 5), 1.0) for _ in range(rows)] for index, name in enumerate(names)}
    made["district"] = [f"d{numbers.randrange(40)}" for _ in range(rows)]
    made["y"] = [first + numbers.gauss(0, 0.1) for first in made["x0"]]
    return pyarrow.table(made)


def write(data, folder):
    """The files by media type."""
    files = {
        "text/csv": folder / "table.csv",
        "application/x-ndjson": folder / "table.ndjson",
        "application/vnd.apache.arrow.stream": folder / "table.arrows",
        "application/vnd.apache.arrow.file": folder / "table.arrow",
        "application/vnd.apache.parquet": folder / "table.parquet",
    }
    csv, ndjson, stream, file, parquet = files.values()
    pyarrow.csv.write_csv(data, csv)
    with ndjson.open("w") as lines:
        for batch in data.to_batches(max_chunksize=10_000):
            lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
    for path, new in [(stream, pyarrow.ipc.new_stream), (file, pyarrow.ipc.new_file)]:
        with new(path, data.schema) as writer:
            writer.write_table(data, max_chunksize=64_000)
    pyarrow.parquet.write_table(data, parquet, row_group_size=100_000)
    return files


def peak(process):
    """The largest resident memory that a process has had, in bytes."""
    with contextlib.suppress(OSError, ValueError):
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0
    return 0


class Peaks:
    """Watches a service and its children."""

    def __init__(self, service):
        self.service, self.children, self._stop = service, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        tasks = pathlib.Path(f"/proc/{self.service}/task")
        while not self._stop.wait(0.02):
            found = []
            for task in tasks.glob("*/children"):
                with contextlib.suppress(OSError):
                    found += task.read_text().split()
            self.children = max(self.children, sum(peak(child) for child in found))

    def stop(self):
        self._stop.set()
        self._thread.join()
        return peak(self.service), self.children


@contextlib.contextmanager
def service(binary):
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--listen", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0", "--data-dir", folder]
        process = subprocess.Popen([binary, "serve", *flags], stderr=subprocess.PIPE, text=True)
        address = next(entry["address"] for entry in map(json.loads, process.stderr) if entry.get("message") == "listening")
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
        try:
            yield address, process.pid
        finally:
            process.terminate()
            process.wait(timeout=60)
            process.stderr.close()
            drain.wait(timeout=60)


def ask(address, method, path, body=None, **headers):
    connection = http.client.HTTPConnection(address, timeout=3600)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status < 400, f"{method} {path}: {answer.status} {content[:500]}"
    return content


def sections(artifact):
    """The content of each section by its tag: docs/artifact-format.md."""
    found, at = {}, 52
    while at < len(artifact):
        tag, _, length = struct.unpack_from("<4sIQ", artifact, at)
        found[tag.decode()] = artifact[at + 16 : at + 16 + length]
        at += 16 + length
    return found


def measure(binary, media_type, path):
    with service(binary) as (address, pid):
        idle = peak(pid)
        peaks = Peaks(pid)
        start = time.perf_counter()
        with path.open("rb") as body:
            length = str(path.stat().st_size)
            ask(address, "POST", "/api/v1/datasets?name=t&target=y", body, content_type=media_type, content_length=length)
        seconds = time.perf_counter() - start
        own, children = peaks.stop()
        spec = {"effort": "fast", "features": {"count": 64}, "lambda": 0.001, "validation_fraction": 0.9, "error_bars": False,
                "guarantees": {"exact_rows": 0}}
        request = json.dumps({"model": "m", "dataset": "t", "spec": spec})
        job = json.loads(ask(address, "POST", "/api/v1/jobs", request, content_type="application/json", prefer="wait=60"))
        while job["status"] in ("queued", "running"):
            time.sleep(0.5)
            job = json.loads(ask(address, "GET", f"/api/v1/jobs/{job['id']}"))
        assert job["status"] == "succeeded", job
        found = sections(ask(address, "GET", "/api/v1/models/m/versions/1/artifact"))
    return seconds, idle, own, children, [found[tag] for tag in SECTIONS]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", type=pathlib.Path, default=ROOT / "target" / "release" / "bochner")
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--columns", type=int, default=20)
    given = arguments.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        files = write(table(given.rows, given.columns), pathlib.Path(folder))
        print(f"{given.rows} x {given.columns}, load {os.getloadavg()[0]:.1f}")
        first = None
        for media_type, path in files.items():
            seconds, idle, own, children, model = measure(given.binary.resolve(), media_type, path)
            size = path.stat().st_size
            first = first or model
            same = "same model" if model == first else "ANOTHER MODEL"
            print(
                f"{media_type:36} {size / 1e6:7.1f} MB {seconds:6.2f} s {given.rows / seconds:9.0f} rows/s {size / seconds / 1e6:6.1f} MB/s  "
                f"peak {own / 1e6:6.1f} MB (idle {idle / 1e6:.1f}), child {children / 1e6:6.1f} MB  {same}"
            )
            failures += [f"{media_type}: another model"] if model != first else []
            failures += [f"{media_type}: more than {LIMIT / 1e6:.0f} MB"] if own + children >= LIMIT else []
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
