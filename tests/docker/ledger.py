"""What a service has acknowledged, to be asked for again after a crash or an upgrade."""

import math
import random

from deployment import ROOT, wait_for

ROW = [94.9, 4, 8, "harbour", True]
# A training on `waves` that takes long enough to be interrupted.
LONG = {"features": {"count": 2048}, "guarantees": {"exact_rows": 0}}


def holds(new, old, tolerance):
    """Whether all of an old answer is in a new one, which may say more, and may put warnings in other words."""
    if isinstance(old, dict):
        same = lambda key: key == "warnings" or (key in new and holds(new[key], old[key], tolerance))
        return isinstance(new, dict) and all(map(same, old))
    if isinstance(old, list):
        same = lambda pair: holds(*pair, tolerance)
        return isinstance(new, list) and len(new) >= len(old) and all(map(same, zip(new, old)))
    if isinstance(old, float):
        return isinstance(new, (int, float)) and math.isclose(new, old, rel_tol=tolerance)
    return new == old


class Ledger:
    """Requests, each with the answer it was given."""

    def __init__(self, answers=()):
        self.answers = [tuple(entry) for entry in answers]

    def note(self, service, path, body=None):
        self.answers.append((path, body, service.ask(path, body)))

    def check(self, service, tolerance=0.0):
        """Every request must be answered as it was; how many there were. Another processor or version may round
        otherwise, by a relative tolerance."""
        for path, body, answer in self.answers:
            again = service.ask(path, body)
            if not holds(again, answer, tolerance):
                raise AssertionError(f"{path} answered {answer} and now {again}")
        return len(self.answers)


def train(service, model, dataset, spec):
    """Trains to the end."""
    job = submit(service, model, dataset, spec)
    return finished(service, job)


def submit(service, model, dataset, spec):
    """The id of an acknowledged job."""
    return service.ask("/api/v1/jobs", {"model": model, "dataset": dataset, "spec": spec})["id"]


def finished(service, job):
    """The job when it has ended, which must be well."""
    ended = ("succeeded", "failed", "canceled")
    ask = lambda: service.ask(f"/api/v1/jobs/{job}")
    wait_for(f"the end of {job}", lambda: ask()["status"] in ended)
    if (last := ask())["status"] != "succeeded":
        raise AssertionError(f"{job} ended as {last}")
    return last


def fill(service):
    """Uploads tables, trains models, moves an alias; the ledger of all that."""
    upload = lambda query, table: service.ask(f"/api/v1/datasets?{query}", table, content_type="text/csv")
    houses = (ROOT / "examples/houses.csv").read_bytes()
    upload("name=houses&target=price", houses)
    upload("name=districts&target=district", houses)
    upload("name=waves&target=y", waves())
    jobs = [
        train(service, "houses", "houses", {"lambda": 1e-5, "features": {"count": 256}}),
        train(service, "houses", "houses", {"lambda": "certified"}),
        train(service, "districts", "districts", {"learner": "squared_hinge", "features": {"count": 256}}),
    ]
    service.ask("/api/v1/models/houses/aliases/live", {"version": 1}, method="PUT")

    ledger = Ledger()
    for path in ["/api/v1/datasets", "/api/v1/models/houses", "/api/v1/models/districts"]:
        ledger.note(service, path)
    for job in jobs:
        ledger.note(service, f"/api/v1/jobs/{job['id']}")
    for path in ["houses/versions/1/artifact", "houses/versions/2/artifact", "districts/versions/1/artifact"]:
        ledger.note(service, f"/api/v1/models/{path}")
    for model in ["houses", "houses@live", "houses/versions/1"]:
        ledger.note(service, f"/api/v1/models/{model}/predict", {"rows": [ROW], "outputs": ["value", "interval"]})
    cells = {"area": 94.9, "rooms": 4, "age": 8, "garden": True, "price": 353.7}
    body = {"records": [cells], "outputs": ["label", "decision_values"]}
    ledger.note(service, "/api/v1/models/districts/predict", body)
    return ledger


def waves(rows=4000, columns=8):
    """A table that takes a while to train on."""
    draw = random.Random(1)
    lines = [",".join(f"x{j}" for j in range(columns)) + ",y"]
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(columns)]
        lines.append(",".join(f"{value:.6f}" for value in [*x, sum(x) + draw.gauss(0, 0.1)]))
    return "\n".join(lines).encode()
