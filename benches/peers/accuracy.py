"""Test accuracy of classifiers trained by a running service, through its API.

    python3 accuracy.py URL TRAIN.csv.gz TEST.csv.gz|SHARE SPEC

TEST is a table of its own, or the share of the rows, chosen by a fixed seed, that is kept for the test. The
target is the last column. Nothing but the standard library is needed.
"""

import csv
import gzip
import json
import random
import sys
import time
import urllib.request

BATCH = 1000


def call(method, url, body, **headers):
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(error.read().decode())


def read(path):
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def main():
    url, train_path, test, spec = sys.argv[1:5]
    header, train = read(train_path)
    if test.endswith(".gz"):
        _, held_out = read(test)
    else:
        random.Random(0).shuffle(train)
        count = int(float(test) * len(train))
        held_out, train = train[:count], train[count:]

    text = "\n".join(",".join(row) for row in [header, *train]) + "\n"
    query = "?task=classification&target=" + header[-1]
    dataset = call("POST", f"{url}/api/v1/datasets{query}", gzip.compress(text.encode(), 1),
                   **{"content-type": "text/csv", "content-encoding": "gzip"})
    name = "accuracy"
    job = json.dumps({"model": name, "dataset": dataset["id"], "spec": json.loads(spec)}).encode()
    job = call("POST", f"{url}/api/v1/jobs", job, **{"content-type": "application/json"})
    start = time.time()
    while job["status"] in ("queued", "running"):
        time.sleep(0.5)
        job = call("GET", f"{url}/api/v1/jobs/{job['id']}", None)
    seconds = time.time() - start
    if job["status"] != "succeeded":
        sys.exit(json.dumps(job["error"]))

    kinds = {column["name"]: column["kind"] for column in dataset["columns"]}
    convert = [float if kinds[column] == "numeric" else str for column in header[:-1]]
    right = 0
    for first in range(0, len(held_out), BATCH):
        batch = held_out[first:first + BATCH]
        rows = [[kind(cell) for kind, cell in zip(convert, row)] for row in batch]
        body = json.dumps({"rows": rows}).encode()
        answer = call("POST", f"{url}/api/v1/models/{name}/predict", body, **{"content-type": "application/json"})
        right += sum(label == row[-1] for label, row in zip(answer["predictions"], batch))
    report = job["report"]
    shown = ["lambda", "bandwidth", "validation_accuracy", "validation_log_loss", "passes", "converged", "stage_seconds"]
    print(json.dumps({"test_accuracy": right / len(held_out), "seconds": seconds,
                      **{key: report.get(key) for key in shown}}))


main()
