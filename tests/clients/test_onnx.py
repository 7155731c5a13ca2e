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
        ({"name": "gaussian"}, ["plain", "orthogonal", "structured", "quasi_monte_carlo", "leverage", "lkrf", "elss2"]),
        ({"name": "matern", "nu": 0.5}, ["plain", "orthogonal", "structured", "quasi_monte_carlo"]),
        ({"name": "matern", "nu": 1.5}, ["plain", "orthogonal", "structured", "quasi_monte_carlo"]),
        ({"name": "laplace"}, ["plain", "quasi_monte_carlo", "elss1"]),
        ({"name": "cauchy"}, ["plain", "quasi_monte_carlo"]),
    ]:
        for sampling in samplings:
            for kind in ("pair", "phase"):
                yield kernel, {"map": kind, "sampling": sampling}
    for name in ("angular", "linear"):
        for sampling in ("plain", "quasi_monte_carlo", "elss1"):
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


@pytest.mark.parametrize("kind", ["pair", "phase"])
def test_capped_draws(service, kind):
    spec = {"features": {"count": 64, "map": kind, "sampling": "capped"}, "lambda": 1e-3}
    version = train(service, "capped", "one_input", spec)
    rows = [[cell] for cell in np.linspace(1.5, 6, ROWS).tolist()]
    found, _ = run(service, "capped", version, rows)
    assert_close(found["value"][:, 0], service.predict("capped", rows))


EXACT = [
    {"name": "gaussian"},
    {"name": "laplace"},
    {"name": "matern", "nu": 0.5},
    {"name": "matern", "nu": 1.5},
    {"name": "matern", "nu": 2.5},
    {"name": "cauchy"},
    {"name": "angular"},
    {"name": "linear"},
]


@pytest.mark.parametrize("lam", [1e-2, 1e-6])
@pytest.mark.parametrize("kernel", EXACT, ids=str)
def test_the_exact_method(service, kernel, lam):
    version = train(service, "exact", "regression", {"learner": "exact_krr", "kernel": kernel, "lambda": lam})
    rows = tables.inputs(ROWS, seed=11)
    found, about = run(service, "exact", version, rows)
    assert_close(found["value"][:, 0], service.predict("exact", rows))
    one, _ = run(service, "exact", version, rows[:1])
    assert abs(one["value"][0, 0] - found["value"][0, 0]) < 1e-9


def test_the_exact_method_at_several_targets_and_at_the_training_rows(service):
    version = train(service, "exact", "two_targets", {"learner": "exact_krr", "lambda": 1e-4})
    rows = tables.inputs(400, seed=1)
    found, _ = run(service, "exact", version, rows)
    assert_close(found["value"], [[row["price"], row["size"]] for row in service.predict("exact", rows)])


def test_an_angle_to_nothing(service):
    """Unscaled, a row of zeros has no direction: it is like itself and like nothing else."""
    spec = {"learner": "exact_krr", "kernel": {"name": "angular"}, "lambda": 1e-3, "scaling": "none"}
    table = tables.numbers(60)
    table.rows[7][:3] = table.rows[8][:3] = [0.0, 0.0, 0.0]
    service.upload(table, "with_zeros")
    version = train(service, "zeros", "with_zeros", spec)
    rows = [[0.0, 0.0, 0.0], *[row[:3] for row in table.rows[:20]], *[[-cell for cell in row[:3]] for row in table.rows[:20]]]
    found, _ = run(service, "zeros", version, rows)
    assert_close(found["value"][:, 0], service.predict("zeros", rows))


@pytest.mark.parametrize("order", [2, 4, 10])
def test_exact_splines(service, order):
    spec = {"learner": "exact_krr", "kernel": {"name": "spline", "order": order}, "lambda": 1e-3}
    version = train(service, "exact_spline", "one_input", spec)
    rows = [[cell] for cell in np.linspace(1.5, 6, ROWS).tolist()]
    found, _ = run(service, "exact_spline", version, rows)
    assert_close(found["value"][:, 0], service.predict("exact_spline", rows))


def test_exact_kernels_without_operators_are_refused(service):
    spec = {"learner": "exact_krr", "kernel": {"name": "matern", "nu": 1.2}, "lambda": 1e-2}
    version = train(service, "bessel", "regression", spec)
    answer = service.get(f"/api/v1/models/bessel/versions/{version}/onnx")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_exportable")
    assert "nu 0.5, 1.5 or 2.5" in answer.json()["detail"]


LEARNERS = ["ridge", "logistic", "hinge", "squared_hinge"]


@pytest.mark.parametrize("weights", ["none", "balanced"])
@pytest.mark.parametrize("dataset", ["binary", "three_classes"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_of_labels(service, learner, dataset, weights):
    check_labels(service, dataset, {"learner": learner, "class_weight": weights})


@pytest.mark.parametrize("kernel, features", list(kernels()), ids=str)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_kernel_map_and_sampling_of_labels(service, learner, kernel, features):
    check_labels(service, "three_classes", {"learner": learner, "kernel": kernel, "features": {"count": 64, **features}})


@pytest.mark.parametrize("learner", LEARNERS)
def test_splines_of_labels(service, learner):
    table = tables.one_input()
    service.upload(tables.Table(["x", "kind"], [[x, "above" if y > 0.6 else "below"] for x, y in table.rows]), "sides")
    rows = [[cell] for cell in np.linspace(2, 5, ROWS).tolist()]
    check_labels(service, "sides", {"learner": learner, "kernel": {"name": "spline", "order": 4}}, rows)


def check_labels(service, dataset, spec, rows=None):
    """Decision values, probabilities and labels of a classifier against our own."""
    spec = {"features": {"count": 128}, "lambda": 1e-3, "calibration_fraction": 0.1, **spec}
    version = train(service, "labels", dataset, spec)
    rows = rows or tables.inputs(ROWS, seed=8)
    found, about = run(service, "labels", version, rows)
    expected = service.predict("labels", rows, outputs=["label", "probabilities", "decision_values"])
    labels = about["labels"]
    values = [row["decision_values"] for row in expected]
    two = len(labels) == 2
    values = np.array([[value] if two else [value[label] for label in labels] for value in values])
    assert_close(found["decision_values"], values)
    probabilities = [[row["probabilities"][label] for label in labels] for row in expected]
    assert np.max(np.abs(found["probabilities"] - np.array(probabilities))) < TOLERANCE
    # A row on the border may fall to either side of it.
    margins = np.abs(values[:, 0]) if two else np.diff(np.sort(values, axis=1)[:, -2:])[:, 0]
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
