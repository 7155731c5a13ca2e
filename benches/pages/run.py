"""The pages of the console with 1,000 models and 10,000 jobs: milliseconds of each, median and worst of some requests, and the
processor time of one, which does not depend on what else the machine does.

    python3 benches/pages/run.py --binary target/release/bochner [--models 1000] [--jobs 10000] [--requests 20]

A model is trained once; its file is imported under other names, and its job is copied in the database of a stopped service.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
LIMIT = 50  # milliseconds


@contextlib.contextmanager
def service(binary, folder):
    flags = ["--listen", "127.0.0.1:0", "--log-format", "json", "--drain-delay", "0", "--data-dir", folder]
    process = subprocess.Popen([binary, "serve", *flags], stderr=subprocess.PIPE, text=True)
    address = next(entry["address"] for entry in map(json.loads, process.stderr) if entry.get("message") == "listening")
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
    connection = http.client.HTTPConnection(address, timeout=600)

    def ask(method, path, body=None, **headers):
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status < 400, f"{method} {path}: {answer.status} {content[:500]}"
        return content

    def processor():
        """Seconds of processor time so far, in all threads."""
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    try:
        yield ask, processor
    finally:
        connection.close()
        process.terminate()
        process.wait(timeout=60)
        process.stderr.close()
        drain.wait(timeout=60)


def fill(binary, folder, models, jobs):
    """A store of many models and jobs; gives the id of the dataset and of one job."""
    with service(binary, folder) as (ask, _):
        table = (ROOT / "examples" / "houses.csv").read_bytes()
        ask("POST", "/api/v1/datasets?name=houses&target=price", table, content_type="text/csv")
        spec = {"effort": "fast", "features": {"count": 128}, "explanations": True}
        request = json.dumps({"model": "houses", "dataset": "houses", "spec": spec})
        job = json.loads(ask("POST", "/api/v1/jobs", request, content_type="application/json", prefer="wait=300"))
        assert job["status"] == "succeeded", job
        file = ask("GET", "/api/v1/models/houses/versions/1/artifact")
        for index in range(models - 1):
            ask("POST", f"/api/v1/models/model-{index:04}/versions", file, content_type="application/octet-stream")
        dataset = json.loads(ask("GET", "/api/v1/datasets/houses"))["id"]
    with sqlite3.connect(folder / "bochner.sqlite") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
        known = dict(zip(columns, database.execute("SELECT * FROM jobs").fetchone()))
        place = ", ".join("?" for _ in columns)
        rows = ({**known, "id": f"{known['id'][:-5]}{index:05}", "idempotency_key": None} for index in range(jobs - 1))
        database.executemany(f"INSERT OR IGNORE INTO jobs VALUES ({place})", ([row[name] for name in columns] for row in rows))
        count = database.execute("SELECT count(*) FROM jobs").fetchone()[0]
    database.close()
    return dataset, job["id"], count


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--binary", type=pathlib.Path, default=ROOT / "target" / "release" / "bochner")
    arguments.add_argument("--models", type=int, default=1000)
    arguments.add_argument("--jobs", type=int, default=10_000)
    arguments.add_argument("--requests", type=int, default=20)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        dataset, job, count = fill(given.binary.resolve(), folder, given.models, given.jobs)
        print(f"{given.models} models, {count} jobs, load {os.getloadavg()[0]:.1f}")
        pages = ["/", "/datasets", f"/datasets/{dataset}", "/train", f"/train?dataset={dataset}&model=m", "/jobs", f"/jobs/{job}"]
        pages += ["/models", "/models?q=model-09", "/models/houses", "/models/houses/try", "/docs", "/docs/guarantees", "/docs?q=interval"]
        slow = []
        with service(given.binary.resolve(), folder) as (ask, processor):
            for page in pages:
                ask("GET", page)  # loads the model, if the page is about one
                times, before = [], processor()
                for _ in range(given.requests):
                    start = time.perf_counter()
                    size = len(ask("GET", page))
                    times.append(1000 * (time.perf_counter() - start))
                used = 1000 * (processor() - before) / given.requests
                median = statistics.median(times)
                slow += [page] if median >= LIMIT else []
                shown = page.replace(dataset, "ID").replace(job, "ID")
                print(f"{shown:32} median {median:7.1f} ms  best {min(times):7.1f}  worst {max(times):7.1f}  processor {used:6.1f}  {size / 1024:6.0f} KiB")
        if slow:
            raise SystemExit(f"slower than {LIMIT} ms: {', '.join(slow)}")


if __name__ == "__main__":
    main()
