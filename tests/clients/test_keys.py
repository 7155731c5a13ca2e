"""Keys as the clients of others send them."""

import subprocess

import pytest
import tritonclient.http as triton
from mlflow.utils.rest_utils import MlflowHostCreds, http_request
from tritonclient.http.auth import BasicAuth
from tritonclient.utils import InferenceServerException

import tables
from conftest import start
from service import Service


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A service that asks for keys, and a key that reads and predicts."""
    folder = tmp_path_factory.mktemp("locked")
    with start(folder) as service:
        service.upload(tables.numbers(), "numbers")
        service.train("numbers", "numbers", {"features": {"count": 16}})
        binary = service._process.args[0]
    file = folder / "keys.json"
    make = [binary, "keys", "new", "--file", file, "--scopes", "read,predict"]
    key = subprocess.run(make, check=True, capture_output=True, text=True).stdout.strip()
    service = Service(binary, folder, "--api-keys-file", file)
    yield service, key
    service.stop()


def triton_client(service):
    return triton.InferenceServerClient(f"{service.host}:{service.port}")


def test_without_a_key_only_health_is_answered(locked):
    service, _ = locked
    client = triton_client(service)
    assert client.is_server_live() and client.is_server_ready()
    with pytest.raises(InferenceServerException, match="needs a key"):
        client.get_model_metadata("numbers")


def test_tritons_client_sends_a_key_in_its_headers(locked):
    service, key = locked
    client = triton_client(service)
    for headers in ({"Authorization": f"Bearer {key}"}, {"x-api-key": key}):
        assert client.get_model_metadata("numbers", headers=headers)["name"] == "numbers"


def test_tritons_plugin_sends_a_key_as_password(locked):
    service, key = locked
    client = triton_client(service)
    client.register_plugin(BasicAuth("anyone", key))
    assert client.get_model_metadata("numbers")["name"] == "numbers"
    client.unregister_plugin()
    client.register_plugin(BasicAuth("anyone", "guess"))
    with pytest.raises(InferenceServerException, match="not known"):
        client.get_model_metadata("numbers")


@pytest.mark.parametrize("form", ["token", "password"])
def test_mlflow_sends_a_key_as_its_token_or_password(locked, form):
    """What MLFLOW_TRACKING_TOKEN and MLFLOW_TRACKING_PASSWORD become."""
    service, key = locked
    credentials = {"token": key} if form == "token" else {"username": "anyone", "password": key}
    ask = lambda **given: http_request(MlflowHostCreds(service.url, **given), "/api/v1/models", "GET", max_retries=0)
    assert ask(**credentials).json()["models"][0]["name"] == "numbers"
    assert ask().status_code == 401
