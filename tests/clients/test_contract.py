"""schemathesis sends what openapi.yaml allows, and what it does not, with a key and without, and compares the answers."""

import os
import pathlib
import subprocess
import sys

from conftest import BINARY, start

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
# The budget of one run. BOCHNER_CONTRACT_SEED=random and more seconds are for those who look for something new.
SECONDS = os.environ.get("BOCHNER_CONTRACT_SECONDS", "45")
SEED = os.environ.get("BOCHNER_CONTRACT_SEED", "1")


def new_key(file):
    """A key that may do everything."""
    binary = os.environ.get("BOCHNER_BINARY", BINARY)
    command = [binary, "keys", "new", "--file", file, "--scopes", "admin"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(line for line in shown.splitlines() if line.startswith("bochner_"))


def test_the_service_keeps_its_contract(tmp_path):
    authorization = f"Bearer {new_key(tmp_path / 'keys.json')}"
    with start(tmp_path, "--allow-model-control", "--api-keys-file", tmp_path / "keys.json") as service:
        # What the examples of the contract name.
        houses = (ROOT / "examples/houses.csv").read_bytes()
        headers = {"content-type": "text/csv", "authorization": authorization}
        path = "/api/v1/datasets?name=houses&target=price"
        assert service.send(path, houses, **headers).status_code == 201
        spec = {"effort": "fast", "features": {"count": 64}, "lambda": 1e-4, "updatable": True}
        body = {"model": "houses", "dataset": "houses", "spec": spec}
        trained = service.post("/api/v1/jobs", body, prefer="wait=60", authorization=authorization)
        assert trained.json()["status"] == "succeeded", trained.text
        seed = ["--seed", SEED] if SEED != "random" else []
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "--no-color", "run"]
        options = ["--url", service.url, "--max-time", SECONDS, "--request-timeout", "65", "--warnings", "off", *seed]
        done = subprocess.run(
            [*command, ROOT / "openapi/openapi.yaml", *options, "--header", f"Authorization: {authorization}"],
            env={**os.environ, "SCHEMATHESIS_HOOKS": "contract_hooks", "PYTHONPATH": str(HERE)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert service.get("/readyz").status_code == 200
