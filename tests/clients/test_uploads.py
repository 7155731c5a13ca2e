"""Uploads in the formats that other programs write: the same table is the same dataset, and damaged files harm nobody.

`BOCHNER_MUTATIONS=10000` sends that many damaged files."""

import collections
import io
import json
import os
import pathlib
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

CSV, NDJSON, JSON = "text/csv", "application/x-ndjson", "application/json"
STREAM, FILE = "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"
PARQUET = "application/vnd.apache.parquet"


def table(rows=300, seed=7):
    draw = random.Random(seed)
    return pa.table(
        {
            "x": [draw.gauss(0, 1e3) for _ in range(rows)],
            "whole": pa.array([None if row % 7 == 0 else row - 40 for row in range(rows)], pa.int32()),
            "even": [row % 2 == 0 for row in range(rows)],
            "colour": [["red", 'say "hi", you', "é"][row % 3] for row in range(rows)],
            "y": [draw.random() for _ in range(rows)],
        }
    )


def written(write):
    target = io.BytesIO()
    write(target)
    return target.getvalue()


def with_writer(open_writer, data):
    def write(target):
        with open_writer(target, data.schema) as writer:
            writer.write_table(data)

    return written(write)


def bodies(data):
    frame = {
        "csv": (CSV, written(lambda target: pyarrow.csv.write_csv(data, target))),
        "ndjson": (NDJSON, "\n".join(map(json.dumps, data.to_pylist())).encode()),
        "records": (JSON, json.dumps(data.to_pylist()).encode()),
        "columns": (JSON, json.dumps(data.to_pydict()).encode()),
        "stream": (STREAM, with_writer(pa.ipc.new_stream, data)),
        "file": (FILE, with_writer(pa.ipc.new_file, data)),
    }
    for codec in ("none", "snappy", "gzip", "lz4", "zstd"):
        content = written(lambda target: pa.parquet.write_table(data, target, compression=codec, row_group_size=100))
        frame[f"parquet-{codec}"] = (PARQUET, content)
    return frame


def content(service, body, media_type):
    """What does not depend on the file: columns with their statistics, and every row."""
    answer = service.send("/api/v1/datasets?target=y", body, media_type)
    assert answer.status_code in (200, 201), answer.text
    dataset = answer.json()
    preview = service.get(f"/api/v1/datasets/{dataset['id']}/preview?rows=1000").json()
    return dataset["columns"], preview["rows"]


def test_pyarrow_files_are_the_same_dataset(service):
    files = bodies(table())
    expected = content(service, *reversed(files["csv"]))
    for name, (media_type, body) in files.items():
        assert content(service, body, media_type) == expected, name
        assert content(service, body, None if name != "csv" else media_type) == expected, name


def test_polars_files_are_the_same_dataset(service):
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(table())
    expected = content(service, frame.write_csv().encode(), CSV)
    for media_type, write in ((PARQUET, frame.write_parquet), (FILE, frame.write_ipc), (STREAM, frame.write_ipc_stream), (NDJSON, frame.write_ndjson), (JSON, frame.write_json)):
        assert content(service, written(write), media_type) == expected, media_type


def test_duckdb_files_are_the_same_dataset(service, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    data = table()
    connection = duckdb.connect()
    connection.register("data", data)
    expected = content(service, *reversed(bodies(data)["csv"]))
    for media_type, name, options in (
        (PARQUET, "a.parquet", "FORMAT parquet"),
        (PARQUET, "b.parquet", "FORMAT parquet, COMPRESSION zstd"),
        (CSV, "a.csv", "FORMAT csv, HEADER"),
        (NDJSON, "a.ndjson", "FORMAT json"),
    ):
        path = tmp_path / name
        connection.execute(f"COPY data TO '{path}' ({options})")
        assert content(service, path.read_bytes(), media_type) == expected, name


def test_types_and_refusals(service):
    nested = pa.table({"parts": [[1.0], [2.0]], "y": [1, 2]})
    answer = service.send("/api/v1/datasets", bodies(table())["parquet-snappy"][1], CSV)
    assert (answer.status_code, answer.json()["detail"]) == (415, f"this is a Parquet file: send it as {PARQUET}")
    answer = service.send("/api/v1/datasets", written(lambda target: pa.parquet.write_table(nested, target)), PARQUET)
    assert (answer.status_code, answer.json()["detail"]) == (422, "column 'parts' holds lists; write one column for each value")
    for codec, media_type, write in (
        ("brotli", PARQUET, lambda target: pa.parquet.write_table(table(), target, compression="brotli")),
        ("compressed buffers", FILE, lambda target: pa.feather.write_feather(table(), target, compression="lz4")),
    ):
        answer = service.send("/api/v1/datasets", written(write), media_type)
        assert answer.status_code == 422 and codec in answer.json()["detail"], answer.text


def mutated(body, draw):
    body = bytearray(body)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(body))
        kind = draw.random()
        if kind < 0.6:
            body[at] = draw.randrange(256)
        elif kind < 0.8:
            body[at] = 0xFF
        elif kind < 0.9:
            del body[max(at, 16) :]
        else:
            body[at] ^= 1 << draw.randrange(8)
    return bytes(body)


def test_damaged_files_harm_nobody(service):
    """Each is read or refused with a reason; the memory of the service stays where it was."""
    files = bodies(table())
    draw = random.Random(os.environ.get("BOCHNER_HOSTILE_SEED", "21"))
    seen = collections.Counter()
    for _ in range(int(os.environ.get("BOCHNER_MUTATIONS", "300"))):
        media_type, body = files[draw.choice(["parquet-snappy", "parquet-zstd", "stream", "file"])]
        answer = service.send("/api/v1/datasets?target=y", mutated(body, draw), media_type)
        assert answer.status_code in (200, 201, 415, 422), answer.text
        assert answer.status_code < 300 or answer.json()["detail"]
        seen[answer.status_code] += 1
    assert seen[422] > 0, seen
    peak = next(line for line in pathlib.Path(f"/proc/{service.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(f"{sum(seen.values())} damaged files, by status {dict(seen)}; the service: {' '.join(peak.split())}")
    assert int(peak.split()[1]) < 400 << 10, peak
