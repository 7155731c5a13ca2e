"""Scoring as MLflow's own client asks for it, and as SageMaker sends it."""

import json

import numpy as np
import pandas as pd
import pytest
from mlflow.pyfunc.scoring_server.client import ScoringServerClient

import tables
from conftest import start

SPEC = {"features": {"count": 128}, "lambda": 1e-4, "calibration_fraction": 0.1}


def serving(folder, table, name, *flags):
    """A service with one model, its table and its name the same."""
    with start(folder, *flags) as service:
        service.upload(table(), name)
        service.train(name, name, SPEC)
        yield service


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("mixed"), tables.regression, "mixed")


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("classes"), tables.three_classes, "classes")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("numbers"), tables.numbers, "numbers")


def invoke(service, data, **params):
    """The predictions as MLflow's client reads them."""
    client = ScoringServerClient(service.host, service.port)
    return client.invoke(data, params or None)["predictions"]


def frame(rows):
    return pd.DataFrame(rows, columns=tables.INPUTS)


def send(service, body, media_type="application/json"):
    body = json.dumps(body) if isinstance(body, dict) else body
    return service.send("/invocations", body, media_type)


def predictions(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert list(answer.json()) == ["predictions"]
    return answer.json()["predictions"]


def refused(answer, status, code, *words):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["error_code"] == code
    for word in words:
        assert word in body["message"], body
    return body


def test_ping_and_version(mixed):
    client = ScoringServerClient(mixed.host, mixed.port)
    client.ping()
    assert mixed.get("/health").json() == {"status": "ok"}
    client.wait_server_ready(timeout=5)
    assert json.loads(client.get_version())["name"] == "bochner"


def test_frames(mixed):
    rows = tables.inputs(100, seed=21, missing=0.0)
    expected = mixed.predict("mixed", rows)
    assert invoke(mixed, frame(rows)) == expected
    assert invoke(mixed, frame(rows)[["new", "colour", "y", "x"]]) == expected
    assert invoke(mixed, frame(rows).assign(note="ignored", when=pd.Timestamp(0))) == expected
    assert invoke(mixed, frame(rows).astype({"colour": "category", "new": int})) == expected
    answer = ScoringServerClient(mixed.host, mixed.port).invoke(frame(rows))
    assert answer.get_predictions()[0].tolist() == expected


def test_frames_whose_columns_nobody_named(tmp_path):
    rng = np.random.default_rng(7)
    cells = rng.normal(size=(80, 3))
    table = pd.DataFrame(cells).assign(y=cells.sum(axis=1))
    with start(tmp_path) as service:
        service.send("/api/v1/datasets?name=bare", table.to_csv(index=False), "text/csv")
        service.train("bare", "bare", SPEC)
        rows = rng.normal(size=(5, 3))
        expected = service.predict("bare", rows.tolist())
        assert invoke(service, pd.DataFrame(rows)) == expected
        assert invoke(service, pd.DataFrame(rows)[[2, 0, 1]]) == expected
        text = pd.DataFrame(rows).to_csv(index=False)
        assert predictions(send(service, text, 'text/csv; header="present"')) == expected
        refused(send(service, text, "text/csv"), 422, "INVALID_PREDICTION_REQUEST", "/lines/1", "header=present")


def test_missing_cells_of_frames(mixed):
    rows = tables.inputs(200, seed=22, missing=0.3)
    expected = mixed.predict("mixed", rows)
    table = frame(rows)
    assert table["x"].isna().any() and table["colour"].isna().any() and table["new"].isna().any()
    assert invoke(mixed, table) == expected
    records = table.to_dict(orient="records")
    assert "NaN" in json.dumps(records)  # and not null: this is what pandas sends
    assert predictions(send(mixed, {"dataframe_records": records})) == expected
    assert predictions(send(mixed, {"dataframe_split": table.to_dict(orient="split")})) == expected


def test_infinity_is_not_a_missing_cell(mixed):
    table = frame(tables.inputs(5, seed=23, missing=0.0))
    table.loc[3, "y"] = np.inf
    for body, place in [
        ({"dataframe_split": table.to_dict(orient="split")}, "/dataframe_split/data/3/y"),
        ({"dataframe_records": table.to_dict(orient="records")}, "/dataframe_records/3/y"),
    ]:
        refused(send(mixed, body), 422, "INVALID_PREDICTION_REQUEST", place, "not a finite number")


def test_where_missing_cells_are_refused(tmp_path):
    with start(tmp_path) as service:
        service.upload(tables.complete(), "complete")
        service.train("complete", "complete", {**SPEC, "missing": "refuse"})
        table = frame([[0.5, np.nan, "red", True]])
        body = {"dataframe_split": table.to_dict(orient="split")}
        refused(send(service, body), 422, "INVALID_PREDICTION_REQUEST", "/dataframe_split/data/0/y", "missing")


def test_arrays(numbers):
    cells = np.random.default_rng(24).normal(size=(60, 3))
    expected = numbers.predict("numbers", cells.tolist())
    assert invoke(numbers, cells) == expected
    assert invoke(numbers, cells.tolist()) == expected
    np.testing.assert_allclose(invoke(numbers, cells.astype("f4")), expected, atol=1e-5)
    cells[4, 2] = np.nan
    for name in ("instances", "inputs"):
        body = {name: cells.tolist()}
        refused(send(numbers, body), 422, "INVALID_PREDICTION_REQUEST", f"/{name}/4/c", "not a finite number")
    by_column = {"inputs": {"a": [1.0, 2.0], "b": [1, float("nan")], "c": [1, 2]}}
    refused(send(numbers, by_column), 422, "INVALID_PREDICTION_REQUEST", "/inputs/b/1", "not a finite number")


def test_params(mixed, classes):
    rows = tables.inputs(20, seed=25)
    found = invoke(mixed, frame(rows), outputs=["value", "interval", "error_bar", "certified_error_bar"], delta=0.2)
    assert found == mixed.predict("mixed", rows, outputs=["value", "interval", "error_bar", "certified_error_bar"], delta=0.2)
    found = invoke(classes, frame(rows), outputs=["label", "probabilities", "label_set"], top_k=2)
    assert found == classes.predict("classes", rows, outputs=["label", "probabilities", "label_set"], top_k=2)
    assert invoke(classes, frame(rows)) == classes.predict("classes", rows)
    body = {"dataframe_split": frame(rows[:1]).to_dict(orient="split")}
    assert predictions(send(mixed, {**body, "params": None})) == mixed.predict("mixed", rows[:1])
    for params, words in [
        ({"outptus": ["value"]}, ["/params/outptus", "did you mean 'outputs'?"]),
        ({"outputs": "value"}, ["/params/outputs", "list"]),
        ({"outputs": ["label"]}, ["/outputs/0", "numbers"]),
        ({"outputs": ["value", "value"]}, ["/outputs/1", "twice"]),
        ({"delta": 0}, ["/delta", "between 0 and 1"]),
        ({"delta": "x"}, ["/params/delta"]),
        ({"top_k": 1}, ["/top_k", "labels"]),
        ([], ["/params", "object"]),
    ]:
        refused(send(mixed, {**body, "params": params}), 422, "INVALID_PREDICTION_REQUEST", *words)


def test_the_four_forms(mixed):
    rows = tables.inputs(30, seed=26)
    expected = mixed.predict("mixed", rows)
    records = [dict(zip(tables.INPUTS, row)) for row in rows]
    columns = {name: list(cells) for name, cells in zip(tables.INPUTS, zip(*rows))}
    for body in [
        {"dataframe_split": {"columns": tables.INPUTS, "data": rows}},
        {"dataframe_split": {"data": rows, "columns": tables.INPUTS, "index": list(range(30))}},
        {"dataframe_split": {"data": rows}},
        {"dataframe_records": records},
        {"instances": rows},
        {"instances": records},
        {"inputs": rows},
        {"inputs": records},
        {"inputs": columns},
        {"inputs": {name: [[cell] for cell in cells] for name, cells in columns.items()}},
        {"inputs": {**columns, "unknown": "whatever"}},
    ]:
        assert predictions(send(mixed, body)) == expected, list(body)
    assert predictions(send(mixed, json.dumps({"instances": rows}), media_type=None)) == expected
    assert predictions(send(mixed, {"instances": rows}, "application/json; charset=utf-8")) == expected


def test_one_column_needs_no_lists(tmp_path):
    with start(tmp_path) as service:
        service.upload(tables.one_input(), "one")
        service.train("one", "one", {"features": {"count": 16}, "lambda": 1e-3})
        expected = service.predict("one", [[2.5], [3.5]])
        assert predictions(send(service, {"instances": [2.5, 3.5]})) == expected
        assert predictions(send(service, {"inputs": {"x": [2.5, 3.5]}})) == expected


def test_csv(mixed):
    rows = tables.inputs(40, seed=27)
    expected = mixed.predict("mixed", rows)
    text = frame(rows).to_csv(index=False)
    assert predictions(send(mixed, text, "text/csv")) == expected
    assert predictions(send(mixed, text, "text/csv; charset=utf-8; header=present")) == expected
    assert predictions(send(mixed, frame(rows).to_csv(index_label="row"), "text/csv")) == expected
    refused(send(mixed, frame(rows).to_csv(), "text/csv"), 422, "INVALID_PREDICTION_REQUEST", "index")
    bare = frame(rows).to_csv(index=False, header=False)
    assert predictions(send(mixed, bare, "text/csv; header=absent")) == expected
    refused(send(mixed, bare, "text/csv"), 422, "INVALID_PREDICTION_REQUEST", "/lines/1")
    wrong = "x,y,colour,new\n1,2,red,true\n1,oops,red,true\n"
    refused(send(mixed, wrong, "text/csv"), 422, "INVALID_PREDICTION_REQUEST", "/lines/3/y")
    refused(send(mixed, "x,y,colour,new\n", "text/csv"), 422, "INVALID_PREDICTION_REQUEST", "no rows")
    refused(send(mixed, "", "text/csv"), 400, "EMPTY_BODY")


@pytest.mark.parametrize(
    "body, words",
    [
        ({}, ["exactly one of"]),
        ({"params": {}}, ["exactly one of"]),
        ({"instances": [[0, 0, "red", True]], "inputs": [[0, 0, "red", True]]}, ["exactly one of"]),
        ({"dataframe_split": {"data": [[0, 0, "red", True]]}, "instances": []}, ["exactly one of"]),
        ({"instance": [[0, 0, "red", True]]}, ["/instance", "did you mean 'instances'?"]),
        ({"instances": []}, ["/instances", "empty"]),
        ({"instances": {}}, ["/instances", "list"]),
        ({"instances": [1]}, ["/instances/0"]),
        ({"instances": [[0, 0, "red"]]}, ["/instances/0", "3 cells where 4"]),
        ({"instances": [[0, 0, "red", True, 1]]}, ["/instances/0", "5 cells where 4"]),
        ({"instances": [[0, "a lot", "red", True]]}, ["/instances/0/y", "number"]),
        ({"instances": [[0, [1], "red", True]]}, ["/instances/0/y"]),
        ({"instances": [{"x": 0, "y": 0, "colour": "red"}]}, ["/instances/0", "'new' is missing"]),
        ({"dataframe_records": [[0, 0, "red", True]]}, ["/dataframe_records/0", "object"]),
        ({"dataframe_records": []}, ["/dataframe_records", "empty"]),
        ({"dataframe_split": []}, ["/dataframe_split", "object"]),
        ({"dataframe_split": {"columns": tables.INPUTS}}, ["/dataframe_split", "data"]),
        ({"dataframe_split": {"columns": [0, 1, 2, 3], "data": [[0, 0, "red", True]]}}, ["/dataframe_split/columns"]),
        ({"dataframe_split": {"columns": ["x", "y", "color", "new"], "data": [[0, 0, "red", True]]}}, ["'color'?"]),
        ({"dataframe_split": {"colums": tables.INPUTS[::-1], "data": [[0, 0, "red", True]]}}, ["did you mean 'columns'?"]),
        ({"inputs": {}}, ["/inputs", "'x'"]),
        ({"inputs": {"x": [1, 2], "y": [1], "colour": ["red", "red"], "new": [True, True]}}, ["/inputs/y", "1 cells"]),
        ({"inputs": {"x": [1], "y": [1, 2], "colour": ["red"], "new": [True]}}, ["/inputs/y", "more than"]),
        ({"inputs": {"x": [0] * 5000}}, ["/inputs"]),
        ({"inputs": {"x": [[1, 2]], "y": [1], "colour": ["red"], "new": [True]}}, ["/inputs/x/0", "one cell"]),
        ({"inputs": {"x": 1, "y": [1], "colour": ["red"], "new": [True]}}, ["/inputs/x", "list"]),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_what_is_no_request(mixed, body, words):
    refused(send(mixed, body), 422, "INVALID_PREDICTION_REQUEST", *words)


def test_what_is_no_body(mixed):
    for body in (b"", b"{", b"[1]", b"null", b"\xff", b'{"instances": [[', b'{"instances": ' + b"[" * 100_000):
        answer = send(mixed, body)
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.json()["error_code"] and answer.json()["message"]
    refused(send(mixed, b"x", "application/x-parquet"), 415, "UNSUPPORTED_MEDIA_TYPE", "text/csv")
    refused(mixed.get("/invocations"), 405, "METHOD_NOT_ALLOWED")
    with pytest.raises(Exception, match="error code 422.*INVALID_PREDICTION_REQUEST"):
        invoke(mixed, pd.DataFrame({"x": [1.0]}))


def test_which_model_answers(tmp_path, service, models):
    body = {"instances": [[0.5, 1e6, "red", True]]}
    refused(send(service, body), 409, "NO_DEFAULT_MODEL", "BOCHNER_DEFAULT_MODEL")
    assert service.get("/ping").status_code == 409
    with start(tmp_path, "--default-model", "two@live") as other:
        other.upload(tables.complete(), "complete")
        for name in ("one", "two"):
            other.train(name, "complete", SPEC)
        refused(send(other, body), 404, "ALIAS_NOT_FOUND", "live")
        assert other.get("/ping").status_code == 404
        assert other.call("PUT", "/api/v1/models/two/aliases/live", {"version": 1}).status_code == 201
        assert other.get("/ping").status_code == 200
        assert predictions(send(other, body)) == other.predict("two", body["instances"])


def test_without_a_model(tmp_path):
    with start(tmp_path) as service:
        assert service.get("/ping").status_code == 404
        refused(send(service, {"instances": [[1]]}), 404, "MODEL_NOT_FOUND")
