"""What must be true of a service: everything it acknowledged, and nothing that nobody asked for.

A world belongs to one client, whose names begin with its own prefix, so that clients do not disturb each other. A client
sends one request at a time. When the service dies, at most that one request is in doubt: it was carried out as a whole or
not at all. Jobs run in the background and add versions by themselves.
"""

import collections
import random
import re

from server import Gone

ROWS = [[0.3, -1.2], [0.9, 0.4]]
SMALL = {"effort": "fast", "features": {"count": 16}, "lambda": 1e-3, "updatable": True, "guarantees": {"exact_rows": 0}}
ENDED = ("succeeded", "failed", "canceled")
MOST_DATASETS, MOST_VERSIONS, MOST_JOBS, MOST_ENDED = 5, 8, 6, 20


class World:
    def __init__(self, prefix, seed):
        self._prefix = prefix
        self._draw = random.Random(f"{prefix} {seed}")
        self._count = 0
        self.datasets = {}  # name: the cells of its first rows
        self.versions = {}  # (model, version): what it predicts
        self.aliases = {}  # (model, alias): version
        self.jobs = {}  # id: its last known state
        self.canceled = set()  # ids of jobs that may be canceled
        self.seen = set()  # every (model, version) there ever was
        self.doubt = None  # the request that was not answered: (kind, its object)
        self.ended = collections.Counter()  # how many jobs came to which end
        self.acknowledged = 0
        self.doubtful = 0

    # Requests

    def walk(self, client):
        """Sends random requests until the service is gone; every answer must be as expected."""
        steps = [
            (self._upload, 5 if len(self.datasets) < MOST_DATASETS else 0),
            (self._train, 6 if self.datasets and self._unfinished() < MOST_JOBS else 0),
            (self._update, 2 if self.datasets and self.versions and self._unfinished() < MOST_JOBS else 0),
            (self._certify, 2 if self.versions and self._unfinished() < MOST_JOBS else 0),
            (self._cancel, 1 if self._unfinished() else 0),
            (self._delete_job, 12 if len(self._ended()) > MOST_ENDED else 0),
            (self._import, 2 if self.versions and len(self.versions) < MOST_VERSIONS else 0),
            (self._predict, 2 if self.versions else 0),
            (self._point_alias, 3 if self.versions else 0),
            (self._delete_alias, 1 if self.aliases else 0),
            (self._delete_version, 8 if len(self.versions) > MOST_VERSIONS else 1 if self.versions else 0),
            (self._delete_model, 1 if len(self.versions) > MOST_VERSIONS else 0),
            (self._delete_dataset, 4 if len(self.datasets) >= MOST_DATASETS else 1 if self.datasets else 0),
            (self._look, 3),
        ]
        step = self._draw.choices([step for step, _ in steps], [weight for _, weight in steps])[0]
        self.doubt = None
        try:
            step(client)
        except Gone:
            self.doubtful += self.doubt is not None
            raise
        self.doubt = None

    def _acknowledge(self, answer, *statuses):
        assert answer.status in statuses, f"{self.doubt}: {answer}"
        self.acknowledged += answer.status < 300
        return answer

    def _name(self, kind):
        self._count += 1
        return f"{self._prefix}-{kind}{self._count}"

    def _unfinished(self):
        return sum(job["status"] not in ENDED for job in self.jobs.values())

    def _ended(self):
        return sorted(id for id, job in self.jobs.items() if job["status"] in ENDED)

    def _any_version(self):
        return self._draw.choice(sorted(self.versions))

    def _upload(self, client):
        name = self._name("d")
        rows = [[round(self._draw.gauss(0, 1), 6) for _ in range(3)] for _ in range(self._draw.choice([40, 60, 2000]))]
        text = "a,b,y\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
        self.doubt = ("upload", name, rows[:3])
        self._acknowledge(client.send("POST", f"/api/v1/datasets?name={name}", text.encode(), "text/csv"), 201)
        self.datasets[name] = rows[:3]

    def _train(self, client):
        model = f"{self._prefix}-m{self._draw.randrange(3)}"
        self.doubt = ("submit", model)
        body = {"model": model, "dataset": self._draw.choice(sorted(self.datasets)), "spec": SMALL}
        self._submitted(client.send("POST", "/api/v1/jobs", body))

    def _update(self, client):
        model, _ = self._any_version()
        self.doubt = ("submit", model)
        body = {"dataset": self._draw.choice(sorted(self.datasets))}
        # Its newest version may come from a file that cannot be updated, or a job may have added or removed one.
        self._submitted(client.send("POST", f"/api/v1/models/{model}/update", body), 404, 409, 422)

    def _certify(self, client):
        model, version = self._any_version()
        self.doubt = ("submit", model)
        body = {"type": "certify", "model": model, "version": version}
        # The dataset of the version may have been deleted.
        self._submitted(client.send("POST", "/api/v1/jobs", body), 404, 409, 422)

    def _submitted(self, answer, *refusals):
        if self._acknowledge(answer, 200, 202, *refusals).status < 300:
            job = answer.json()
            self.jobs[job["id"]] = job

    def _cancel(self, client):
        job = self._draw.choice(sorted(id for id, job in self.jobs.items() if job["status"] not in ENDED))
        self.doubt = ("cancel", job)
        self.canceled.add(job)
        self._acknowledge(client.send("POST", f"/api/v1/jobs/{job}/cancel", {}), 200, 202, 409)

    def _delete_job(self, client):
        job = self._draw.choice(self._ended())
        self.doubt = ("delete job", job)
        self._acknowledge(client.send("DELETE", f"/api/v1/jobs/{job}"), 204)
        del self.jobs[job]

    def _import(self, client):
        model, version = self._any_version()
        artifact = client.send("GET", f"/api/v1/models/{model}/versions/{version}/artifact")
        assert artifact.status == 200, artifact
        target = f"{self._prefix}-m{self._draw.randrange(3)}"
        self.doubt = ("import", target)
        answer = client.send("POST", f"/api/v1/models/{target}/versions", artifact.body, "application/octet-stream")
        self._add((target, self._acknowledge(answer, 201).json()["version"]), self.versions[model, version])

    def _predict(self, client):
        which = self._any_version()
        assert predictions(client, which) == self.versions[which], f"{which} predicts something else"

    def _point_alias(self, client):
        model, version = self._any_version()
        alias = self._draw.choice(["live", "next"])
        self.doubt = ("alias", (model, alias), version)
        self._acknowledge(client.send("PUT", f"/api/v1/models/{model}/aliases/{alias}", {"version": version}), 200, 201)
        self.aliases[model, alias] = version

    def _delete_alias(self, client):
        model, alias = self._draw.choice(sorted(self.aliases))
        self.doubt = ("alias", (model, alias), None)
        self._acknowledge(client.send("DELETE", f"/api/v1/models/{model}/aliases/{alias}"), 204)
        del self.aliases[model, alias]

    def _delete_version(self, client):
        model, version = self._any_version()
        self.doubt = ("delete version", (model, version))
        answer = client.send("DELETE", f"/api/v1/models/{model}/versions/{version}")
        held = version in (at for (name, _), at in self.aliases.items() if name == model)
        if self._acknowledge(answer, 409 if held else 204).status == 204:
            del self.versions[model, version]

    def _delete_model(self, client):
        model, _ = self._any_version()
        self.doubt = ("delete model", model)
        held = any(name == model for name, _ in self.aliases)
        answer = client.send("DELETE", f"/api/v1/models/{model}")
        if self._acknowledge(answer, 409 if held else 204).status == 204:
            # A job may have added a version just before; it is gone too.
            self.versions = {which: value for which, value in self.versions.items() if which[0] != model}

    def _delete_dataset(self, client):
        name = self._draw.choice(sorted(self.datasets))
        self.doubt = ("delete dataset", name)
        statuses = (204, 409) if self._unfinished() else (204,)
        if self._acknowledge(client.send("DELETE", f"/api/v1/datasets/{name}"), *statuses).status == 204:
            del self.datasets[name]

    def _look(self, client):
        """Compares everything, without a crash between."""
        self.compare(client)

    # Comparison

    def compare(self, client):
        """Compares what is there with what must be, and takes over what jobs and the request in doubt did."""
        self._compare_datasets(client)
        self._compare_jobs(client)
        self._compare_versions(client)
        for job in self.jobs.values():
            if job["status"] == "failed":
                self._explain_failure(job)
        self.doubt = None

    def _is_doubt(self, kind, *which):
        return self.doubt is not None and self.doubt[0] == kind and self.doubt[1] in which

    def _compare_datasets(self, client):
        there = {entry["name"] for entry in client.list("datasets") if entry["name"].startswith(f"{self._prefix}-")}
        for name in self.datasets.keys() - there:
            assert self._is_doubt("delete dataset", name), f"the acknowledged dataset {name} is lost"
            del self.datasets[name]
        for name in there - self.datasets.keys():
            assert self._is_doubt("upload", name), f"the dataset {name} is there and should not be"
            self.datasets[name] = self.doubt[2]
        for name, rows in self.datasets.items():
            preview = client.get(f"/api/v1/datasets/{name}/preview?rows=3")
            assert preview["rows"] == rows, f"{name} has {preview['rows']} and should have {rows}"

    def _compare_jobs(self, client):
        there = {job["id"]: job for job in client.list("jobs") if job["model"].startswith(f"{self._prefix}-")}
        for id in self.jobs.keys() - there.keys():
            assert self._is_doubt("delete job", id), f"the acknowledged job {id} is lost"
            del self.jobs[id]
        new = there.keys() - self.jobs.keys()
        assert not new or (len(new) == 1 and self._is_doubt("submit", *(there[id]["model"] for id in new))), new
        for id, job in there.items():
            before = self.jobs.get(id)
            if before is not None and before["status"] in ENDED:
                assert job["status"] == before["status"], f"{before} became {job}"
            elif job["status"] in ENDED:
                self.ended[job["status"]] += 1
            if job["status"] == "canceled":
                assert id in self.canceled, f"nobody canceled {job}"
            self.jobs[id] = job

    def _explain_failure(self, job):
        code = job["error"]["code"]
        interrupted = code == "interrupted" and job["attempt"] >= 3
        # What an update or a certification began with may have been deleted, and so may the version of a training that
        # was published just before a crash, before the next start could report it.
        number = re.search(r"has no version (\d+)$", job["error"]["detail"])
        gone = number is not None and (job["model"], int(number[1])) not in self.versions
        # A model is gone with its last version, and may be back since.
        gone |= job["type"] != "train" and "there is no model" in job["error"]["detail"]
        assert interrupted or gone, f"failed without a reason of ours: {job}"

    def _compare_versions(self, client):
        models = [model for model in client.get("/api/v1/models?limit=1000")["models"] if model["name"].startswith(f"{self._prefix}-")]
        there = {(model["name"], entry["version"]) for model in models for entry in model["versions"]}
        for which in self.versions.keys() - there:
            deleted = self._is_doubt("delete version", which) or self._is_doubt("delete model", which[0])
            assert deleted, f"the acknowledged version {which} is lost"
            del self.versions[which]
        for which in sorted(there - self.versions.keys()):
            made = any(job["model"] == which[0] and job["type"] != "certify" for job in self.jobs.values())
            assert made or self._is_doubt("import", which[0]), f"the version {which} is there and should not be"
            assert which not in self.seen, f"the number of {which} was used before"
            self._add(which, predictions(client, which))
        for which, values in self.versions.items():
            assert predictions(client, which) == values, f"{which} predicts something else"
        aliases = {(model["name"], alias): version for model in models for alias, version in model["aliases"].items()}
        if self.doubt is not None and self.doubt[0] == "alias" and aliases.get(self.doubt[1]) == self.doubt[2]:
            self.aliases.pop(self.doubt[1], None)
            self.aliases.update({self.doubt[1]: self.doubt[2]} if self.doubt[2] is not None else {})
        assert aliases == self.aliases, f"aliases are {aliases} and should be {self.aliases}"

    def _add(self, which, values):
        self.versions[which] = values
        self.seen.add(which)


def predictions(client, which):
    model, version = which
    answer = client.send("POST", f"/api/v1/models/{model}/versions/{version}/predict", {"rows": ROWS})
    assert answer.status == 200, f"{which}: {answer}"
    return answer.json()["predictions"]
