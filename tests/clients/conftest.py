"""What the tests share: a service, its tables, and one model of each kind."""

import contextlib
import os
import pathlib

import pytest

import tables
from service import Service

BINARY = pathlib.Path(__file__).parents[2] / "target" / "debug" / "bochner"


@contextlib.contextmanager
def start(folder, *flags):
    """A service with flags of its own, on an empty data directory."""
    service = Service(os.environ.get("BOCHNER_BINARY", BINARY), folder, *flags)
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    """The built binary, with every table uploaded under its name."""
    with start(tmp_path_factory.mktemp("service"), "--allow-model-control") as service:
        for table in (tables.regression, tables.complete, tables.binary, tables.three_classes, tables.one_input):
            service.upload(table(), table.__name__)
        service.upload(tables.numbers(), "numbers")
        service.upload(tables.two_targets(), "two_targets", target="price,size")
        yield service


@pytest.fixture(scope="session")
def models(service):
    """The names of models of every kind, trained once."""
    spec = {"features": {"count": 128}, "lambda": 1e-4, "calibration_fraction": 0.1}
    names = ["regression", "binary", "three_classes", "numbers", "two_targets"]
    for name in names:
        service.train(name, name, spec)
    return names
