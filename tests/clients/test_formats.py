"""Tables in and answers out: CSV, JSON lines and Arrow say what JSON says."""

import csv
import gzip
import http.client
import io
import json
import random
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest

import tables
from conftest import start

CSV, NDJSON, ARROW, JSON = (
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
    "application/json",
)


@pytest.fixture
def ask(service, models):
    def ask(model, body, media_type, query="", **headers):
        return service.send(f"/api/v1/models/{model}/predict{query}", body, media_type, **headers)

    return ask


def rows(count=300, seed=31):
    return tables.inputs(count, seed)


def to_csv(rows, names=tables.INPUTS):
    return tables.Table(names, rows).to_csv()


def to_ndjson(rows):
    """Every other line a record, the others lists."""
    lines = [dict(zip(tables.INPUTS, row)) if at % 2 else row for at, row in enumerate(rows)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def to_table(rows):
    return pa.table(dict(zip(tables.INPUTS, map(list, zip(*rows)))))


def to_arrow(table, batch_rows=64, options=None):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch_rows)
    return sink.getvalue()


BODIES = {
    CSV: to_csv(rows()),
    NDJSON: to_ndjson(rows()),
    ARROW: to_arrow(to_table(rows())),
    JSON: json.dumps({"rows": rows()}).encode(),
}


def read(answer, media_type):
    """An answer as columns of cells."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == media_type
    if media_type == ARROW:
        return pa.ipc.open_stream(answer.content).read_all().to_pydict()
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    return {name: [line[name] for line in lines] for name in lines[0]}


def number(cell):
    """A cell of CSV or Arrow as a number; none where there is none."""
    return None if cell in ("", None) else float(cell)


def refused(answer, status, code, *words):
    assert answer.status_code == status, (answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["code"] == code, body
    for word in words:
        assert word in body["detail"], body
    return body


@pytest.mark.parametrize("wanted", [CSV, NDJSON, ARROW, JSON])
@pytest.mark.parametrize("sent", [CSV, NDJSON, ARROW, JSON])
def test_every_format_in_and_out(service, ask, sent, wanted):
    expected = service.predict("regression", rows())
    answer = ask("regression", BODIES[sent], sent, accept=wanted)
    assert answer.status_code == 200, answer.text
    if wanted == JSON:
        assert answer.json() == {"model": "regression", "version": 1, "predictions": expected}
    elif wanted == NDJSON:
        assert [json.loads(line) for line in answer.text.splitlines()] == expected
    else:
        columns = read(answer, wanted)
        assert list(columns) == ["value"]
        assert [number(cell) for cell in columns["value"]] == expected


@pytest.mark.parametrize("sent", [CSV, NDJSON, ARROW, JSON])
def test_the_answer_has_the_format_of_the_request(ask, sent):
    for accept in ("*/*", "image/png, */*;q=0.1"):
        assert ask("regression", BODIES[sent], sent, accept=accept).headers["content-type"] == sent
    # CSV is a text: whoever takes applications alone does not take it.
    applied = ask("regression", BODIES[sent], sent, accept="application/*").headers["content-type"]
    assert applied == (JSON if sent == CSV else sent)
    assert ask("regression", BODIES[sent], sent, accept=f"image/png, {ARROW};q=0.5").headers["content-type"] == ARROW
    body = refused(ask("regression", BODIES[sent], sent, accept="image/png, text/html"), 406, "not_acceptable")
    assert CSV in body["detail"] and ARROW in body["detail"]


@pytest.mark.parametrize("sent", [CSV, NDJSON, ARROW, JSON])
def test_compressed_requests(service, ask, sent):
    expected = service.predict("regression", rows())
    for encoding, compress in [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", lambda body: pa.compress(body, codec="zstd", asbytes=True)),
    ]:
        answer = ask("regression", compress(BODIES[sent]), sent, accept=JSON, content_encoding=encoding)
        assert answer.json()["predictions"] == expected, encoding
        cut = ask("regression", compress(BODIES[sent])[:-40], sent, content_encoding=encoding)
        assert 400 <= cut.status_code < 500, (encoding, cut.text[:200])
        refused(ask("regression", b"not compressed", sent, content_encoding=encoding), 400, "unreadable_body")
    refused(ask("regression", BODIES[sent], sent, content_encoding="br"), 415, "unsupported_encoding")


@pytest.mark.parametrize("sent", [CSV, NDJSON, ARROW])
def test_outputs_as_columns(service, ask, sent):
    asked = "?outputs=value,interval,error_bar,certified_error_bar&delta=0.2"
    names = ["value", "interval", "error_bar", "certified_error_bar"]
    expected = service.predict("regression", rows(), outputs=names, delta=0.2)
    for wanted in (CSV, ARROW):
        columns = read(ask("regression", BODIES[sent], sent, asked, accept=wanted), wanted)
        assert list(columns) == (
            ["value", "interval_low", "interval_high", "interval_in_range", "error_bar", "certified_error_bar"]
        )
        assert [number(cell) for cell in columns["value"]] == [row["value"] for row in expected]
        assert [number(cell) for cell in columns["interval_low"]] == [row["interval"]["low"] for row in expected]
        assert [number(cell) for cell in columns["interval_high"]] == [row["interval"]["high"] for row in expected]
        for name in ["error_bar", "certified_error_bar"]:
            assert [number(cell) for cell in columns[name]] == [row[name] for row in expected]
    lines = ask("regression", BODIES[sent], sent, asked, accept=NDJSON).text.splitlines()
    assert [json.loads(line) for line in lines] == expected


def test_labels_as_columns(service, ask):
    asked = "?outputs=label,probabilities,label_set,decision_values&top_k=2&delta=0.1"
    names = ["label", "probabilities", "label_set", "decision_values"]
    expected = service.predict("three_classes", rows(), outputs=names, top_k=2, delta=0.1)
    labels = list(expected[0]["probabilities"])
    assert "high, or so" in labels  # a text that CSV must quote
    for wanted in (CSV, ARROW):
        columns = read(ask("three_classes", BODIES[CSV], CSV, asked, accept=wanted), wanted)
        assert list(columns) == (
            ["label"]
            + [f"probability.{label}" for label in labels]
            + ["label_set", "label_set_in_range"]
            + [f"decision_value.{label}" for label in labels]
            + ["top_1", "top_1_probability", "top_2", "top_2_probability"]
        )
        for at, row in enumerate(expected):
            cell = lambda name: columns[name][at]
            assert cell("label") == row["label"]
            assert [number(cell(f"probability.{label}")) for label in labels] == list(row["probabilities"].values())
            values = [number(cell(f"decision_value.{label}")) for label in labels]
            assert values == list(row["decision_values"].values())
            found = cell("label_set") if wanted == ARROW else json.loads(cell("label_set"))
            assert found == row["label_set"]["labels"]
            for rank, likely in enumerate(row["top_k"], 1):
                assert cell(f"top_{rank}") == likely["label"]
                assert number(cell(f"top_{rank}_probability")) == likely["probability"]
    binary = read(ask("binary", BODIES[ARROW], ARROW, "?outputs=decision_values", accept=ARROW), ARROW)
    assert list(binary) == ["decision_value"]


def test_several_targets_as_columns(service, ask):
    expected = service.predict("two_targets", rows(), outputs=["value", "interval"])
    for wanted in (CSV, ARROW):
        columns = read(ask("two_targets", BODIES[NDJSON], NDJSON, "?outputs=value,interval", accept=wanted), wanted)
        assert list(columns) == [
            "value.price",
            "value.size",
            "interval_low.price",
            "interval_high.price",
            "interval_low.size",
            "interval_high.size",
            "interval_in_range",
        ]
        for target in ("price", "size"):
            assert [number(cell) for cell in columns[f"value.{target}"]] == [row["value"][target] for row in expected]
            ends = [number(cell) for cell in columns[f"interval_high.{target}"]]
            assert ends == [row["interval"][target]["high"] for row in expected]


def test_intervals_without_ends(ask):
    asked = "?outputs=interval&delta=1e-9"
    for wanted, nothing in ((CSV, ""), (ARROW, None)):
        columns = read(ask("regression", BODIES[CSV], CSV, asked, accept=wanted), wanted)
        assert set(columns["interval_low"] + columns["interval_high"]) == {nothing}


def test_arrow_types(service, ask):
    table = to_table(rows())
    expected = service.predict("regression", rows())
    arrow = lambda table, **options: ask("regression", to_arrow(table, **options), ARROW, accept=JSON)

    def changed(name, kind):
        at = table.schema.get_field_index(name)
        return table.set_column(at, name, table[name].cast(kind))

    for same in [
        table,
        table.select(["new", "colour", "y", "x"]),
        table.append_column("note", pa.array([["nested"]] * len(table))),
        table.append_column("extra", pa.nulls(len(table))),
        changed("colour", pa.large_string()),
        changed("colour", pa.string_view()),
        table.set_column(2, "colour", table["colour"].dictionary_encode()),
        table.set_column(2, "colour", table["colour"].cast(pa.dictionary(pa.int8(), pa.large_string()))),
        changed("new", pa.int8()),
        changed("new", pa.float32()),
        table.append_column("big", pa.array(range(len(table)), pa.decimal128(9, 2))),
    ]:
        assert arrow(same).json()["predictions"] == expected, same.schema
    blank = service.predict("regression", [[None, *row[1:]] for row in rows()])
    assert arrow(table.set_column(0, "x", pa.nulls(len(table)))).json()["predictions"] == blank
    for batch_rows in (1, 7, 10_000):
        assert arrow(table, batch_rows=batch_rows).json()["predictions"] == expected
    # Numbers of other types are the numbers they stand for.
    cells = np.random.default_rng(32).integers(0, 100, size=(50, 3))
    whole = service.predict("numbers", cells.tolist())
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"):
        body = to_arrow(pa.table({name: pa.array(cells[:, at].astype(kind)) for at, name in enumerate("abc")}))
        assert ask("numbers", body, ARROW, accept=JSON).json()["predictions"] == whole, kind


def test_arrow_that_does_not_fit(ask):
    table = to_table(rows())
    arrow = lambda table: ask("regression", to_arrow(table), ARROW)
    body = refused(arrow(table.rename_columns(["x", "y", "color", "new"])), 422, "invalid_prediction_request")
    assert "did you mean 'color'?" in body["errors"][0]["detail"]
    twice = pa.Table.from_arrays([table[0], *table.columns], names=["x", *tables.INPUTS])
    refused(arrow(twice), 422, "invalid_prediction_request", "'x' is named twice")
    dates = table.set_column(0, "x", pa.array([0] * len(table), pa.timestamp("s")))
    refused(arrow(dates), 422, "invalid_prediction_request", "/schema/x", "not supported")
    nothing = pa.table({name: pa.nulls(4) for name in tables.INPUTS})
    refused(arrow(nothing), 422, "invalid_prediction_request", "/schema", "null")
    cells = table["x"].to_pylist()
    cells[100] = float("nan")
    body = refused(arrow(table.set_column(0, "x", pa.array(cells))), 422, "invalid_prediction_request", "finite")
    assert body["errors"][0]["pointer"] == "/batches/1/36/x"  # the second batch of 64 rows
    refused(arrow(table.slice(0, 0)), 422, "invalid_prediction_request", "no rows")
    for codec in ("zstd", "lz4"):
        packed = to_arrow(table, options=pa.ipc.IpcWriteOptions(compression=codec))
        refused(ask("regression", packed, ARROW), 400, "malformed_arrow", "compressed buffers are not supported")


def test_csv_in_its_varieties(service, ask):
    expected = service.predict("regression", rows())
    text = BODIES[CSV].decode()
    order = ["note", "new", "colour", "x", "y"]
    shuffled = [["a, b", row[3], row[2], row[0], row[1]] for row in rows()]
    for body, query in [
        (text.replace("\r\n", "\n"), ""),
        (text, "?header=true"),
        (text.split("\r\n", 1)[1], "?header=false"),
        (text.replace(",", ";"), "?delimiter=;"),
        (text.replace(",", "\t"), "?delimiter=tab"),
        (to_csv(shuffled, order), ""),
        (text.replace("red", '"red"'), ""),
        ("\ufeff" + text, ""),
    ]:
        answer = ask("regression", body if isinstance(body, bytes) else body.encode(), CSV, query, accept=JSON)
        assert answer.status_code == 200, (query, answer.text)
        assert answer.json()["predictions"] == expected, query
    body = refused(ask("regression", text.split("\r\n", 1)[1].encode(), CSV), 422, "invalid_prediction_request")
    assert body["errors"][0]["pointer"] == "/lines/1"  # cells that are not the names of columns


def test_tables_that_do_not_fit(ask):
    def bad(body, media_type, place, *words, query=""):
        answer = refused(ask("regression", body, media_type, query), 422, "invalid_prediction_request", *words)
        assert answer["errors"][0]["pointer"] == place, answer

    bad(b"x,y,colour\n1,2,red\n", CSV, "/lines/1", "'new'")
    bad(b"x,y,colour,new,x\n1,2,red,true,1\n", CSV, "/lines/1/x", "two columns")
    bad(b"x,y,colour,new\n1,2,red,true\n1,2,red\n", CSV, "/lines/3", "3 cells")
    bad(b"x,y,colour,new\n1,2,red,maybe\n", CSV, "/lines/2/new", "true, false")
    bad(b"x,y,colour,new\n1,inf,red,true\n", CSV, "/lines/2/y", "not a finite number")
    bad(b"x,y,colour,new\n1,2,\xff,true\n", CSV, "/lines/2/colour", "UTF-8")
    bad(b"x,y,colour,new\n", CSV, "", "no rows")
    bad(b"1,2,red\n", CSV, "/lines/1", "3 cells where 4", query="?header=false")
    bad(b'[1, 2, "red"]\n', NDJSON, "/lines/1", "3 cells")
    bad(b'[1, 2, "red", true]\n\n{"x": 1}\n', NDJSON, "/lines/3", "'y' is missing")
    bad(b'[1, NaN, "red", true]\n', NDJSON, "/lines/1/y", "not a finite number")
    bad(b"7\n", NDJSON, "/lines/1", "object")
    bad(b"\n\n", NDJSON, "", "no rows")
    refused(ask("regression", b'[1, 2, "red", true]\n[1,', NDJSON), 400, "malformed_json", "line 2")
    refused(ask("regression", b'[1, 2, "red", true] [1, 2, "red", true]\n', NDJSON), 400, "malformed_json", "line 1")
    refused(ask("regression", b"", CSV), 400, "empty_body")
    refused(ask("regression", b"", ARROW), 400, "empty_body")
    refused(ask("regression", b"", JSON), 400, "empty_body")
    refused(ask("regression", b"x", "text/html"), 415, "unsupported_media_type", CSV)


def test_queries_that_do_not_fit(ask):
    for query, code, place in [
        ("?outputs=vlaue", "invalid_prediction_request", "?outputs"),
        ("?outputs=label", "invalid_prediction_request", "?outputs"),
        ("?outputs=value,value", "invalid_prediction_request", "?outputs"),
        ("?top_k=1", "invalid_prediction_request", "?top_k"),
        ("?top_k=x", "invalid_parameter", "?top_k"),
        ("?delta=0", "invalid_prediction_request", "?delta"),
        ("?delta=x", "invalid_parameter", "?delta"),
        ("?header=maybe", "invalid_parameter", "?header"),
        ("?delimiter=xx", "invalid_parameter", "?delimiter"),
        ("?output=value", "unknown_parameter", "?output"),
    ]:
        for sent in (CSV, NDJSON, ARROW):
            body = refused(ask("regression", BODIES[sent], sent, query), 422, code)
            assert body["errors"][0]["pointer"] == place, body
    both = json.dumps({"rows": rows(1), "outputs": ["value"]}).encode()
    answer = ask("regression", both, JSON, "?outputs=value")
    refused(answer, 422, "invalid_prediction_request", "in the query and in the body")


def memory(service):
    """Bytes the service holds."""
    with open(f"/proc/{service.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def peak(service, anew=False):
    """The most bytes that the service has held, since the last time it was counted anew."""
    if anew:
        with open(f"/proc/{service.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    with open(f"/proc/{service.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def test_a_long_table_streams(service, ask):
    count = 1_200_000
    bound = 48 << 20  # far below the body, and below its rows as numbers and its answer too
    cells = np.random.default_rng(33).normal(size=(count, 3))
    body = ("a,b,c\n" + "\n".join(f"{a!r},{b!r},{c!r}" for a, b, c in cells.tolist()) + "\n").encode()
    assert len(body) > bound
    ask("numbers", body[:1_000_000].rsplit(b"\n", 1)[0], CSV)  # what is kept for good is there by now
    before = peak(service, anew=True)
    answer = ask("numbers", body, CSV)
    after = peak(service)
    assert answer.status_code == 200, answer.text
    lines = answer.text.splitlines()
    assert lines[0] == "value" and len(lines) == 1 + count
    some = [0, 1, 4095, 4096, 123_456, count - 1]
    assert [float(lines[1 + at]) for at in some] == service.predict("numbers", cells[some].tolist())
    assert after - before < bound, f"{(after - before) >> 20} MiB more for {len(body) >> 20} MiB"
    # Sent bit by bit, without a length.
    chunks = (body[at : at + 100_000] for at in range(0, len(body), 100_000))
    assert ask("numbers", chunks, CSV).content == answer.content
    few = 300_000
    arrow = to_arrow(pa.table({name: cells[:few, at] for at, name in enumerate("abc")}), batch_rows=few)
    table = pa.ipc.open_stream(ask("numbers", arrow, ARROW).content).read_all()
    assert table["value"].to_pylist() == [float(line) for line in lines[1 : 1 + few]]


def test_an_empty_dictionary_is_a_column_of_missing_cells(ask):
    missing = [row[:2] + [None] + row[3:] for row in rows(10)]
    table = to_table(rows(10))
    empty = pa.array([None] * 10, pa.dictionary(pa.int32(), pa.string()))
    assert len(empty.dictionary) == 0 and table.column_names[2] == "colour"
    answer = ask("regression", to_arrow(table.set_column(2, "colour", empty)), ARROW, accept=JSON)
    expected = ask("regression", json.dumps({"rows": missing}).encode(), JSON)
    assert answer.status_code == expected.status_code == 200, answer.text
    assert answer.json()["predictions"] == expected.json()["predictions"]


def test_a_bad_line_in_the_middle_leaves_no_partial_answer(service, ask):
    good = b"0.5,-0.25,1\n" * 150_000
    for bad, line, column in [(b"0.5,oops,1\n", 150_002, "/b"), (b"0.5,1\n", 150_002, "")]:
        body = b"a,b,c\n" + good + bad + good
        refusal = refused(ask("numbers", body, CSV), 422, "invalid_prediction_request")
        assert refusal["errors"][0]["pointer"] == f"/lines/{line}{column}", refusal
    # It is told even where it is the first of very many lines.
    body = b"a,b,c\noops,1,2\n" + b"0.5,-0.25,1\n" * 2_000_000
    refused(ask("numbers", body, CSV), 422, "invalid_prediction_request", "/lines/2/a")


def test_a_refusal_leaves_the_connection_in_use(service, models):
    """However early it comes: the rest of the body is let in."""
    body = b"a,b,c\n" + b"0.5,-0.25,1\n" * 200_000
    connection = http.client.HTTPConnection(service.host, service.port)
    for path, status in [
        ("/api/v1/models/numbers/predict?output=value", 422),
        ("/api/v1/models/nobody/predict", 404),
        ("/v2/models/nobody/infer", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/models/numbers", 405),
        ("/api/v1/models/numbers/predict", 200),
    ]:
        connection.request("POST", path, body, {"content-type": CSV})
        socket = connection.sock
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 0) == (status, True), path
        assert connection.sock is socket, path  # not closed
    connection.close()


def test_tables_beyond_the_limit(tmp_path):
    with start(tmp_path, "--max-upload", "100000") as service:
        service.upload(tables.numbers(100), "numbers")
        service.train("numbers", "numbers", {"features": {"count": 8}, "lambda": 1e-2})
        path = "/api/v1/models/numbers/predict"
        for media_type, body in [
            (CSV, b"a,b,c\n" + b"1,2,3\n" * 50_000),
            (NDJSON, b"[1,2,3]\n" * 50_000),
            (ARROW, to_arrow(pa.table({name: np.zeros(50_000) for name in "abc"}))),
        ]:
            refused(service.send(path, body, media_type), 413, "body_too_large", "100000 bytes")
            refused(service.send(path, iter([body]), media_type), 413, "body_too_large", "100000 bytes")
            bomb = gzip.compress(body)
            assert len(bomb) < 50_000
            refused(service.send(path, bomb, media_type, content_encoding="gzip"), 413, "body_too_large")


def test_hostile_arrow(service, ask):
    good = to_arrow(to_table(rows(20)))
    chance = random.Random(34)
    hostile = [good[:length] for length in (1, 3, 4, 7, 8, 9, 100, len(good) // 2, len(good) - 20)]
    hostile += [chance.randbytes(size) for size in (1, 8, 100, 10_000)]
    hostile += [b"ARROW1\0\0" + good, good + b"tail", good + good, b"\xff" * 1000, b"PAR1" + good]
    # Lengths of ten gigabytes: of the header, and of what follows it.
    hostile += [b"\xff\xff\xff\xff" + struct.pack("<I", 0x7FFF_FFFF) + good[8:]]
    hostile += [b"\xff\xff\xff\xff" + struct.pack("<I", 0xFFFF_FFFF) + good[8:]]
    before = memory(service)
    for body in hostile:
        answer = ask("regression", body, ARROW)
        assert 400 <= answer.status_code < 500, (body[:40], answer.text)
        assert answer.json()["detail"]
    assert memory(service) - before < 60 << 20


def test_arrow_with_bits_flipped(service, ask):
    """Refused or read, never a failure of ours."""
    table = to_table(rows(20))
    good = bytearray(to_arrow(table.set_column(2, "colour", table["colour"].dictionary_encode())))
    chance = random.Random(35)
    before = memory(service)
    for _ in range(1500):
        bad = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            bad[chance.randrange(len(bad))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        answer = ask("regression", bytes(bad), ARROW)
        assert answer.status_code == 200 or 400 <= answer.status_code < 500, (bytes(bad).hex(), answer.text)
    assert memory(service) - before < 100 << 20
