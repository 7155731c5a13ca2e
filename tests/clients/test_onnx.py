"""Exported files in onnxruntime against our own predictions."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

import tables

ROWS = 1000
TOLERANCE = 1e-5  # of the spread of the outputs
MIXED, DOUBLE = 1e-4, 1e-9  # by lambda the service chooses the precision of features


def export(service, model, version):
    """The exported file as onnxruntime's session, checked, and what it says about itself."""
    answer = service.get(f"/api/v1/models/{model}/versions/{version}/onnx")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f'attachment; filename="{model}-{version}.onnx"'
    file = onnx.load_from_string(answer.content)
    onnx.checker.check_model(file, full_check=True)
    assert (file.ir_version, file.opset_import[0].version) == (8, 17)
    assert (file.producer_name, file.model_version, file.graph.name) == ("bochner", version, model)
    about = {entry.key: json.loads(entry.value) for entry in file.metadata_props}
    session = onnxruntime.InferenceSession(answer.content, providers=["CPUExecutionProvider"])
    return session, about


def encode(rows, columns):
    """Cells to the inputs of the file, by what it says about its columns."""
    encoded = []
    for row in rows:
        cells = []
        for cell, column in zip(row, columns):
            if column["kind"] == "categorical":
                cells += [np.nan if cell is None else float(cell == level) for level in column["levels"]]
            else:
                cells.append(np.nan if cell is None else float(cell))
        encoded.append(cells)
    return np.array(encoded)


def train(service, model, dataset, spec):
    quick = {"error_bars": False, "guarantees": {"exact_rows": 0}}
    return service.train(model, dataset, {**quick, **spec})


def run(service, model, version, rows):
    session, about = export(service, model, version)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"inputs": encode(rows, about["columns"])}))), about


def assert_close(found, expected, tolerance=TOLERANCE):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    error = np.max(np.abs(found - expected) / np.std(expected, axis=0))
    assert error < tolerance, error


def kernels():
    """Every kernel with the maps and samplings that serve it."""
    for kernel, samplings in [
        ({"name": "gaussian"}, ["plain", "orthogonal", "structured", "quasi_monte_carlo"]),
        ({"name": "matern", "nu": 0.5}, ["plain", "orthogonal", "structured", "quasi_monte_carlo"]),
        ({"name": "matern", "nu": 1.5}, ["plain", "orthogonal", "structured", "quasi_monte_carlo"]),
        ({"name": "laplace"}, ["plain", "quasi_monte_carlo"]),
        ({"name": "cauchy"}, ["plain", "quasi_monte_carlo"]),
    ]:
        for sampling in samplings:
            for kind in ("pair", "phase"):
                yield kernel, {"map": kind, "sampling": sampling}
    for name in ("angular", "linear"):
        for sampling in ("plain", "quasi_monte_carlo"):
            yield {"name": name}, {"sampling": sampling}


@pytest.mark.parametrize("lam", [MIXED, DOUBLE])
@pytest.mark.parametrize("kernel, features", list(kernels()), ids=str)
def test_every_kernel_map_and_sampling(service, kernel, features, lam):
    spec = {"kernel": kernel, "features": {"count": 256, **features}, "lambda": lam}
    version = train(service, "kernels", "regression", spec)
    rows = tables.inputs(ROWS, seed=7)
    found, _ = run(service, "kernels", version, rows)
    expected = service.predict("kernels", rows)
    assert_close(found["value"][:, 0], expected, TOLERANCE)


@pytest.mark.parametrize("order", [2, 4, 6, 10])
def test_splines(service, order):
    version = train(service, "spline", "one_input", {"kernel": {"name": "spline", "order": order}, "lambda": 1e-3})
    rows = [[cell] for cell in np.linspace(1.5, 6, ROWS).tolist()]
    found, _ = run(service, "spline", version, rows)
    assert_close(found["value"][:, 0], service.predict("spline", rows))


@pytest.mark.parametrize("weights", ["none", "balanced"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "angular"])
@pytest.mark.parametrize("dataset", ["binary", "three_classes"])
@pytest.mark.parametrize("learner", ["ridge", "logistic", "hinge", "squared_hinge"])
def test_every_learner_of_labels(service, learner, dataset, kernel, weights):
    spec = {"learner": learner, "kernel": {"name": kernel}, "features": {"count": 128}, "lambda": 1e-3}
    spec |= {"class_weight": weights, "calibration_fraction": 0.1}
    version = train(service, "labels", dataset, spec)
    rows = tables.inputs(ROWS, seed=8)
    found, about = run(service, "labels", version, rows)
    expected = service.predict("labels", rows, outputs=["label", "probabilities", "decision_values"])
    labels = about["labels"]
    values = [row["decision_values"] for row in expected]
    values = np.array([[value] if dataset == "binary" else [value[label] for label in labels] for value in values])
    assert_close(found["decision_values"], values)
    probabilities = [[row["probabilities"][label] for label in labels] for row in expected]
    assert np.max(np.abs(found["probabilities"] - np.array(probabilities))) < TOLERANCE
    # A row on the border may fall to either side of it.
    margins = np.abs(values[:, 0]) if dataset == "binary" else np.diff(np.sort(values, axis=1)[:, -2:])[:, 0]
    clear = margins > TOLERANCE * np.std(values)
    assert np.count_nonzero(clear) > ROWS - 5
    assert np.array_equal(found["label"][clear], np.array([row["label"] for row in expected])[clear])


def test_without_calibration_there_are_no_probabilities(service):
    version = train(service, "hinge", "binary", {"learner": "hinge", "lambda": 1e-3, "calibration_fraction": 0.0})
    found, _ = run(service, "hinge", version, tables.inputs(5, seed=9))
    assert set(found) == {"decision_values", "label"}


def test_several_targets(service):
    version = train(service, "targets", "two_targets", {"features": {"count": 256}, "lambda": MIXED})
    rows = tables.inputs(ROWS, seed=10)
    found, about = run(service, "targets", version, rows)
    expected = service.predict("targets", rows)
    assert about["targets"] == ["price", "size"]
    assert_close(found["value"], [[row["price"], row["size"]] for row in expected])


def test_an_unknown_level_and_one_row_alone(service, models):
    session, about = export(service, models[0], 1)
    rows = [[0.5, 1e6, "pink", True]]
    assert about["inputs"] == ["x", "y", "colour=blue", "colour=green", "colour=red", "new"]
    assert about["model"] == "regression" and about["version"] == 1
    value = session.run(["value"], {"inputs": encode(rows, about["columns"])})[0]
    assert value.shape == (1, 1)
    assert abs(value[0, 0] - service.predict(models[0], rows)[0]) < 1e-5


def test_where_missing_cells_are_refused_they_stay_nan(service):
    version = train(service, "refusing", "complete", {"missing": "refuse", "lambda": MIXED})
    found, about = run(service, "refusing", version, [[None, 1e6, "red", True], [0.5, 1e6, "red", True]])
    assert about["missing"] == "refuse"
    assert np.array_equal(np.isnan(found["value"][:, 0]), [True, False])


def test_refusals(service, models):
    for path, status, code in [
        ("nobody/versions/1", 404, "model_not_found"),
        (f"{models[0]}/versions/99", 404, "version_not_found"),
        (f"{models[0]}/versions/0", 422, "invalid_version"),
    ]:
        answer = service.get(f"/api/v1/models/{path}/onnx")
        assert (answer.status_code, answer.json()["code"]) == (status, code)
