"""A client that openapi-python-client generates from openapi.yaml: without a warning, and every operation through it."""

import importlib
import io
import pathlib
import re
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest
import yaml

from conftest import start
from test_contract import new_key

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = "bochner_client"
METHODS = {"get", "put", "post", "patch", "delete"}


def snake_case(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


class Generated:
    """The generated package, and which of its operations were called."""

    def __init__(self, service, key, folder):
        self.folder = folder.resolve()
        self._client = self.module("client").AuthenticatedClient(
            base_url=service.url, token=key, raise_on_unexpected_status=True, timeout=65
        )
        contract = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text())
        operations = (item[method] for item in contract["paths"].values() for method in METHODS & item.keys())
        self.tags = {operation["operationId"]: operation["tags"][0] for operation in operations}
        self.called = set()

    @staticmethod
    def module(path):
        return importlib.import_module(f"{PACKAGE}.{path}")

    def model(self, name, content):
        """An object of a generated class."""
        return getattr(self.module("models"), name).from_dict(content)

    def file(self, content):
        return self.module("types").File(payload=io.BytesIO(content))

    def respond(self, operation, *arguments, **parameters):
        """The whole response to an operation, parsed as the contract says."""
        module = self.module(f"api.{self.tags[operation]}.{snake_case(operation)}")
        self.called.add(operation)
        return module.sync_detailed(*arguments, client=self._client, **parameters)

    def call(self, operation, *arguments, **parameters):
        """The parsed answer, which is a success."""
        response = self.respond(operation, *arguments, **parameters)
        assert response.status_code < 300, (operation, response.content)
        return response.parsed


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The client, generated as its users do it, for a service with keys."""
    folder = tmp_path_factory.mktemp("generated")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", ROOT / "openapi/openapi.yaml"]
    options = ["--config", HERE / "generated_client.yaml", "--meta", "none", "--output-path", folder / PACKAGE]
    done = subprocess.run([*command, *options, "--fail-on-warning"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "warning" not in said.lower() and "error" not in said.lower(), said
    sys.path.insert(0, str(folder))
    key = new_key(folder / "keys.json")
    flags = ["--allow-model-control", "--default-model", "houses", "--api-keys-file", folder / "keys.json"]
    flags += ["--dataset-locations", folder]
    with start(folder, *flags) as service:
        yield Generated(service, key, folder)
    sys.path.remove(str(folder))


ROW = [94.9, 4, 8, "harbour", True]
COLUMNS = ["area", "rooms", "age", "district", "garden"]
RECORD = dict(zip(COLUMNS, ROW))
SPEC = {"effort": "fast", "features": {"count": 64}, "lambda": 1e-4, "updatable": True, "explanations": True}


def test_every_operation_is_reached_by_a_generated_client(generated):
    look_around(generated)
    upload(generated)
    train(generated)
    compare(generated)
    read_models(generated)
    predict(generated)
    infer(generated)
    change_models(generated)
    delete(generated)
    assert generated.called == generated.tags.keys(), generated.tags.keys() - generated.called


def look_around(generated):
    call = generated.call
    assert call("getLiveness").live and call("getReadiness").ready
    assert call("serverLive").live and call("serverReady").ready
    assert call("getVersion").name == "bochner" == call("serverMetadata").name == call("serverMetadataWithSlash").name
    assert call("getInfo").limits.columns == 4096
    assert b"bochner_build_info" in call("getMetrics")
    whole = generated.respond("getContract").content
    assert yaml.safe_load(whole) == call("getContractAsJson").to_dict()


def upload(generated):
    call = generated.call
    houses = (ROOT / "examples/houses.csv").read_bytes()
    dataset = call("uploadDataset", body=generated.file(houses), name="houses", target="price", categorical=["district"])
    assert (dataset.name, dataset.target, dataset.columns[-1].kind.value) == ("houses", "price", "target")
    records = [generated.model("UploadDatasetJsonBodyType0Item", {"x": x, "y": x * x}) for x in range(20)]
    assert call("uploadDataset", body=records, name="squares").rows == 20
    columns = {"x": list(range(20)), "y": list(range(20))}
    assert call("uploadDataset", body=generated.model("UploadDatasetJsonBodyType1", columns), name="lines").rows == 20
    (generated.folder / "rides").mkdir()
    rides = pyarrow.table({"km": [float(km) for km in range(60)], "fare": [3.0 + 2 * km for km in range(60)]})
    pyarrow.parquet.write_table(rides, generated.folder / "rides/part-0.parquet")
    located = generated.model("LocatedTable", {"location": f"file:{generated.folder}/rides", "name": "rides"})
    assert call("uploadDataset", body=located).location == f"file:{generated.folder}/rides"
    half = b"".join(houses.splitlines(keepends=True)[: len(houses.splitlines()) // 2])
    assert call("putDataset", "half", body=generated.file(half), target="price").name == "half"
    listed = call("listDatasets", limit=2)
    assert len(listed.datasets) == 2 and call("listDatasets", limit=2, cursor=listed.next_cursor).datasets
    shown = generated.respond("getDataset", "houses")
    assert shown.parsed.sha256 == dataset.sha256
    assert generated.respond("getDataset", "houses", if_none_match=shown.headers["etag"]).status_code == 304
    assert len(call("previewDataset", "houses", rows=3).rows) == 3
    roles = generated.model("SchemaFields", {"ignore": ["age"], "categorical": ["rooms"]})
    assert call("patchDataset", "half", body=roles).id != dataset.id
    refused = generated.respond("getDataset", "nobody")
    assert (refused.status_code, refused.parsed.code.value) == (404, "dataset_not_found")


def train(generated):
    call = generated.call
    request = {"model": "houses", "dataset": "houses", "spec": SPEC}
    body = generated.model("TrainRequest", request)
    assert call("estimateJob", body=body).memory_bytes > 0
    for _ in range(2):  # the same job, because of the key
        job = call("submitJob", body=body, prefer="wait=60", idempotency_key="houses-1")
    assert (job.status.value, job.version) == ("succeeded", 1), job
    assert job.report.training_rows > 100
    shown = call("getJob", job.id)
    assert shown.report == job.report
    assert call("listJobs", model="houses").jobs[0].to_dict().get("report") is None
    include = generated.module("models").ListJobsInclude.REPORT
    assert call("listJobs", model="houses", include=include).jobs[0].report == job.report
    events = generated.respond("watchJob", job.id).content.decode()
    assert "event: state" in events and "id: end" in events
    assert generated.respond("watchJob", job.id, last_event_id="end").status_code == 204
    engine = {"model": "rides", "dataset": "rides", "engine": "local", "spec": {"effort": "fast", "features": {"count": 16}}}
    rides = call("submitJob", body=generated.model("TrainRequest", engine), prefer="wait=60")
    assert (rides.status.value, rides.engine.value) == ("succeeded", "local"), rides
    certify = generated.model("CertifyRequest", {"type": "certify", "model": "houses"})
    assert call("submitJob", body=certify, prefer="wait=60").status.value == "succeeded"
    update = generated.model("UpdateModelBody", {"dataset": "houses"})
    queued = call("updateModel", "houses", body=update)
    while call("getJob", queued.id).status.value not in ("succeeded", "failed"):
        pass
    assert call("getJob", queued.id).version == 2


def compare(generated):
    call = generated.call
    request = {"type": "compare", "dataset": "houses", "samplings": ["plain", "orthogonal"], "features": [8], "repeats": 2}
    job = call("submitJob", body=generated.model("CompareRequest", request), prefer="wait=60")
    assert job.status.value == "succeeded", job
    assert call("getComparisonTable", job.id).startswith(b"sampling,")
    assert b"<svg" in call("getComparisonChart", job.id)
    long = generated.model("CompareRequest", {**request, "features": [256], "repeats": 1000})
    running = call("submitJob", body=long)
    assert call("cancelJob", running.id).status.value in ("canceling", "canceled")
    while call("getJob", running.id).status.value != "canceled":
        pass
    assert generated.respond("deleteJob", running.id).status_code == 204


def read_models(generated):
    call = generated.call
    assert [model.name for model in call("listModels").models] == ["houses", "rides"]
    sorted_by = generated.module("models").ListModelVersionsSort.ERROR
    versions = call("listModelVersions", "houses", sort=sorted_by).versions
    assert sorted(version.version for version in versions) == [1, 2] and versions[0].scores.error > 0
    assert call("getModel", "houses").latest.version == 2
    assert call("getModelVersion", "houses", 1).artifact_sha256
    report = call("getGuarantees", "houses", delta=0.1, all_=True)
    assert len(report.guarantees) > 10 and report.summary.verdict
    assert call("getVersionGuarantees", "houses", 1, id="wang.theorem1").guarantees[0].id == "wang.theorem1"
    assert call("getSpectrum", "houses").model == "houses"
    assert call("getVersionSpectrum", "houses", 1).version == 1
    assert call("getExplanations", "houses").model == "houses"
    assert call("getVersionExplanations", "houses", 1).version == 1
    assert call("getDrift", "houses").model == "houses"
    assert call("getVersionDrift", "houses", 1).version == 1
    for plots, plot, version in (("listPlots", "getPlot", []), ("listVersionPlots", "getVersionPlot", [1])):
        assert any(entry.name == "spectrum" for entry in call(plots, "houses", *version).plots)
        assert b"<svg" in call(plot, "houses", *version, "spectrum.svg")
    models = generated.module("models")
    plan = models.PlanRequest(dataset="houses", target=models.PlanRequestTarget(delta_spectral=0.5))
    assert call("plan", body=plan).choices


def predict(generated):
    call = generated.call
    rows = generated.model("PredictRows", {"rows": [ROW], "columns": COLUMNS})
    (value,) = call("predict", "houses", body=rows).predictions
    records = generated.model("PredictRecords", {"records": [RECORD], "outputs": ["value", "interval"]})
    (again,) = call("predictWithVersion", "houses", 2, body=records).predictions
    assert again.value == value and again.interval.low < value < again.interval.high
    assert call("ping") and call("scoringHealth")  # there is a default model now
    split = {"dataframe_split": {"columns": COLUMNS, "data": [ROW]}}
    assert call("invoke", body=generated.model("ScoringRequest", split)).predictions == [value]


def infer(generated):
    call = generated.call
    kinds = {"area": "FP64", "rooms": "FP64", "age": "FP64", "district": "BYTES", "garden": "BOOL"}
    inputs = [{"name": name, "shape": [1], "datatype": kind, "data": [RECORD[name]]} for name, kind in kinds.items()]
    body = generated.model("InferRequest", {"inputs": inputs})
    assert call("infer", "houses", body=body).outputs[0].data == call("inferWithVersion", "houses", 2, body=body).outputs[0].data
    assert call("modelMetadata", "houses").name == call("versionMetadata", "houses", 1).name == "houses"
    assert call("modelReady", "houses").ready and call("versionReady", "houses", 1).ready
    for statistics in (call("statistics"), call("modelStatistics", "houses"), call("versionStatistics", "houses", 2)):
        assert any(entry.inference_count > 0 for entry in statistics.model_stats)
    assert {entry.name for entry in call("repositoryIndex")} == {"houses", "rides"}
    call("unloadModel", "houses")
    assert generated.respond("predict", "houses", body=generated.model("PredictRows", {"rows": [ROW]})).status_code == 409
    call("loadModel", "houses")


def change_models(generated):
    call = generated.call
    target = call("setAlias", "houses", "live", body=generated.model("SetAliasBody", {"version": 1}))
    assert target.version == 1 and call("getModel", "houses@live").latest.version == 1
    assert generated.respond("deleteAlias", "houses", "live").status_code == 204
    artifact = call("exportModelVersion", "houses", 1).payload.read()
    assert call("importModelVersion", "moved", body=generated.file(artifact), origin="a test").imported.origin == "a test"
    assert len(call("downloadOnnx", "houses", 1).payload.read()) > 1000


def delete(generated):
    for operation, *names in (
        ("deleteModelVersion", "houses", 1),
        ("deleteModel", "houses"),
        ("deleteDataset", "squares"),
    ):
        assert generated.respond(operation, *names).status_code == 204, operation
    assert [model.name for model in generated.call("listModels").models] == ["moved", "rides"]
