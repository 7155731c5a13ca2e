"""Scores, seconds and sizes of our specs and of other people's methods on public tables: `make bench-accuracy`.

    BOCHNER_DATA=folder python run.py --binary target/release/bochner --results results.csv [--seeds 5] [--rows 4000]

Every line of the results is one fit. What is there already is not measured again, unless --again names its method: results of
other packages stay while ours change. Seeds come first, so that a run that is stopped has all tables for some seeds.
"""

import argparse
import csv
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the packages that read it

import pathlib
import subprocess
import sys

import numpy as np

import peers
import service
import tables

COLUMNS = ["table", "task", "rows", "inputs", "classes", "seed", "method", "release", "score", "rmse",
           "train_cpu_seconds", "predict_cpu_us_per_row", "model_bytes", "load"]


def main():
    asked = arguments()
    folder = os.environ.get("BOCHNER_DATA") or sys.exit("set BOCHNER_DATA to the folder of the tables (NAME.csv.gz)")
    results = pathlib.Path(asked.results)
    known = read(results)
    if asked.again:
        known = [line for line in known if line["method"] not in asked.again]
        write(results, known)
    done = {(line["table"], line["seed"], line["method"]) for line in known}
    methods = asked.methods or [*peers.METHODS, *service.SPECS]
    running = service.Service(asked.binary) if any(method in service.SPECS for method in methods) else None
    try:
        if running:
            for method in [method for method in methods if method in service.SPECS]:
                if not running.accepts(service.SPECS[method]):
                    print(f"skipped: this binary does not know the spec of '{method}'", flush=True)
                    methods = [other for other in methods if other != method]
        release = revision(asked.binary) if running else ""
        for seed in range(asked.seeds):
            for name in asked.tables or tables.names():
                own = [method for method in methods if (method, tables.task(name)) not in service.SAME_AS_DEFAULT]
                left = [method for method in own if (name, str(seed), method) not in done]
                if not left:
                    continue
                table = tables.load(name, folder, asked.rows)
                train, test = tables.split(table, seed)
                for method in left:
                    line = measure(method, running, table, (train, test), seed, release)
                    write(results, [line], append=True)
                    print(", ".join(str(line[column]) for column in COLUMNS), flush=True)
    finally:
        if running:
            running.stop()


def measure(method, running, table, rows, seed, release):
    train, test = rows
    load = os.getloadavg()[0]
    if method in service.SPECS:
        found = running.measure(service.SPECS[method], table, train, test, seed)
    else:
        found, release = peers.measure(method, table, train, test, seed), peers.METHODS[method][1]
    predictions, seconds, per_row, size = found
    truth, rmse = table.targets[test], ""
    if table.task == tables.REGRESSION:
        squares = np.mean((predictions - truth) ** 2)
        score, rmse = 1 - squares / np.var(truth), f"{np.sqrt(squares):.6g}"
    else:
        score = np.mean(predictions == truth)
    classes = "" if rmse else len(np.unique(table.targets))
    return dict(zip(COLUMNS, [table.name, table.task, len(table.targets), table.inputs.shape[1], classes, seed, method,
                              release, f"{score:.5f}", rmse, f"{seconds:.3f}", f"{per_row:.2f}", size, f"{load:.1f}"]))


def revision(binary):
    """The version of the binary, and the commit of the sources beside it."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    command = ["git", "-C", str(pathlib.Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = os.environ.get("BOCHNER_COMMIT") or subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return f"{said} ({commit})" if commit else said


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path, lines, append=False):
    fresh = not (append and path.exists())
    with path.open("w" if fresh else "a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/bochner")
    parser.add_argument("--results", default=str(pathlib.Path(__file__).parent / "results.csv"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4_000, help="most rows of a table")
    parser.add_argument("--tables", nargs="*", help="only these")
    parser.add_argument("--methods", nargs="*", help="only these")
    parser.add_argument("--again", nargs="*", help="measure these methods again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
