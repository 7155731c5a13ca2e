"""The golden artifacts of format 2, read by docs/artifact-format.md alone and by the service."""

import hashlib
import pathlib

import numpy as np
import pytest

from artifact_reader import HEADER, Model, sections

FOLDER = pathlib.Path(__file__).parents[1] / "fixtures" / "artifacts" / "format-2"
# Mixed precision: the service makes its features in f32, the reader in f64.
TOLERANCE = 2e-6
WITH_LEVELS = ["ridge", "laplace", "exact", "logistic", "structured-hinge", "many-levels"]
OF_NUMBERS = ["cauchy", "angular", "linear", "structured", "updatable-phase", "double", "squared-hinge", "two-targets"]
OF_NUMBERS += ["chosen", "chosen-phase"]


def rows_of(model):
    """Cells of every kind: known and unknown levels, missing ones."""
    cells = [[0.3, -0.7, None, 0.0], [True, False, None, True], ["red", "green", None, "no such level"]]
    return [[cells[kind][row] for _, kind, _ in model.columns] for row in range(4)]


@pytest.mark.parametrize("name", WITH_LEVELS + OF_NUMBERS)
def test_a_reader_by_the_document_predicts_what_the_service_predicts(service, name):
    file = (FOLDER / f"{name}.bochner").read_bytes()
    answer = service.send(f"/api/v1/models/{name}/versions", file, "application/octet-stream")
    assert answer.status_code == 201, answer.text
    model = Model(file)
    rows = rows_of(model)
    found = model.outputs(rows)
    if model.labels is None:
        expected = service.predict(name, rows)
        if len(model.targets) > 1:
            expected = [[row[target] for target in model.targets] for row in expected]
        assert np.max(np.abs(found - np.reshape(expected, found.shape))) < TOLERANCE * max(1, np.max(np.abs(found)))
        return
    outputs = ["decision_values"] + (["probabilities"] if model.slope is not None else [])
    expected = service.predict(name, rows, outputs=outputs)
    values = [row["decision_values"] for row in expected]
    if len(model.labels) > 2:
        values = [[row[label] for label in model.labels] for row in values]
    assert np.max(np.abs(found - np.reshape(values, found.shape))) < TOLERANCE * max(1, np.max(np.abs(found)))
    if model.slope is not None:
        shares = [[row["probabilities"][label] for label in model.labels] for row in expected]
        assert np.max(np.abs(model.probabilities(rows) - shares)) < 10 * TOLERANCE


def test_sections_of_later_releases(service):
    """A section that neither knows: skipped where it is optional, refused by name where it is required."""
    file = (FOLDER / "ridge.bochner").read_bytes()
    for flags, status in [(0, 201), (1, 422)]:
        payload = file[HEADER.size :] + b"NEXT" + flags.to_bytes(4, "little") + (3).to_bytes(8, "little") + b"abc"
        sealed = HEADER.pack(b"BOCHNER\0", 2, len(payload), hashlib.sha256(payload).digest()) + payload
        answer = service.send("/api/v1/models/later/versions", sealed, "application/octet-stream")
        assert answer.status_code == status, answer.text
        if flags:
            assert "section 'NEXT' is required" in answer.text
            with pytest.raises(ValueError, match="NEXT"):
                sections(sealed)
        else:
            assert "NEXT" in sections(sealed)
