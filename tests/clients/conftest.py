"""What the tests share: a service, its tables, and one model of each kind."""

import os
import pathlib

import pytest

import tables
from service import Service

BINARY = pathlib.Path(__file__).parents[2] / "target" / "debug" / "bochner"


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """The built binary, with every table uploaded under its name."""
    binary = os.environ.get("BOCHNER_BINARY", BINARY)
    service = Service(binary, tmp_path_factory.mktemp("service"))
    for table in (tables.regression, tables.complete, tables.binary, tables.three_classes, tables.one_input):
        service.upload(table(), table.__name__)
    service.upload(tables.two_targets(), "two_targets", target="price,size")
    yield service
    service.stop()


@pytest.fixture(scope="session")
def models(service):
    """The names of a regression model, a binary and a three-class classifier, trained once."""
    spec = {"features": {"count": 128}, "lambda": 1e-4, "calibration_fraction": 0.1}
    for name in ("regression", "binary", "three_classes"):
        service.train(name, name, spec)
    return ["regression", "binary", "three_classes"]
