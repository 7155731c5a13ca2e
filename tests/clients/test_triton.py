"""The Open Inference Protocol as Triton's own clients speak it."""

import asyncio
import json
import time

import numpy as np
import pytest
import tritonclient.http as triton
import tritonclient.http.aio as triton_aio
from tritonclient.utils import InferenceServerException

import tables

DATATYPES = ["FP64", "FP64", "BYTES", "BOOL"]
NUMPY = {"FP64": np.float64, "BYTES": np.object_, "BOOL": np.bool_}


@pytest.fixture(scope="module")
def client(service, models):
    with triton.InferenceServerClient(f"{service.host}:{service.port}") as client:
        yield client


def by_column(rows, binary=True, module=triton):
    """One input for each column of the mixed tables."""
    inputs = []
    for name, datatype, cells in zip(tables.INPUTS, DATATYPES, zip(*rows)):
        inputs.append(module.InferInput(name, [len(rows)], datatype))
        inputs[-1].set_data_from_numpy(np.array(cells, dtype=NUMPY[datatype]), binary_data=binary)
    return inputs


def matrix(cells, datatype="FP64", binary=True, module=triton):
    """All columns as one input."""
    tensor = module.InferInput("inputs", list(cells.shape), datatype)
    tensor.set_data_from_numpy(cells, binary_data=binary)
    return [tensor]


def outputs(*names, **options):
    return [triton.InferRequestedOutput(name, **options) for name in names]


def rows(count=50, seed=11):
    return tables.inputs(count, seed, missing=0.0)


def numbers(count=50):
    return np.random.default_rng(12).normal(size=(count, 3))


def same_bits(found, expected):
    expected = np.asarray(expected, dtype=np.float64)
    assert found.dtype == np.float64 and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def refused(call, *words):
    """The call raises a message of one readable line with these words in it."""
    with pytest.raises(InferenceServerException) as caught:
        call()
    message = caught.value.message()
    assert "\n" not in message and "{" not in message, message
    for word in words:
        assert word in message, message
    return caught.value


def test_health(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("regression") and client.is_model_ready("regression", "1")
    assert not client.is_model_ready("nobody")
    assert not client.is_model_ready("regression", "99")


def test_metadata(client):
    server = client.get_server_metadata()
    assert server["name"] == "bochner" and "binary_tensor_data" in server["extensions"]
    model = client.get_model_metadata("regression")
    assert model == client.get_model_metadata("regression", "1")
    assert (model["name"], model["versions"], model["platform"]) == ("regression", ["1"], "bochner")
    assert [(i["name"], i["datatype"], i["shape"]) for i in model["inputs"]] == [
        (name, datatype, [-1]) for name, datatype in zip(tables.INPUTS, DATATYPES)
    ]
    assert {o["name"]: (o["datatype"], o["shape"]) for o in model["outputs"]} == {
        "value": ("FP64", [-1]),
        "interval": ("FP64", [-1, 2]),
        "error_bar": ("FP64", [-1]),
        "certified_error_bar": ("FP64", [-1]),
        "contributions": ("FP64", [-1, len(tables.INPUTS)]),
        "in_range": ("BOOL", [-1]),
        "warnings": ("BYTES", [-1]),
    }
    (single,) = client.get_model_metadata("numbers")["inputs"]
    assert (single["name"], single["datatype"], single["shape"]) == ("inputs", "FP64", [-1, 3])
    assert single["parameters"]["columns"] == ["a", "b", "c"]
    classes = {o["name"]: (o["datatype"], o["shape"]) for o in client.get_model_metadata("three_classes")["outputs"]}
    assert classes["label"] == ("BYTES", [-1]) and classes["probabilities"] == ("FP64", [-1, 3])


def test_every_output_has_the_shape_that_was_told(client, models):
    for model in models:
        count = 7
        inputs = matrix(numbers(count)) if model == "numbers" else by_column(rows(count))
        told = client.get_model_metadata(model)["outputs"]
        answer = client.infer(model, inputs, outputs=outputs(*[o["name"] for o in told]), parameters={"delta": 0.3})
        for output in told:
            expected = [count if size == -1 else size for size in output["shape"]]
            assert answer.get_output(output["name"])["shape"] == expected, output
            assert list(answer.as_numpy(output["name"]).shape) == expected, output


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
def test_one_input_a_column(service, client, binary_in, binary_out):
    answer = client.infer("regression", by_column(rows(), binary_in), outputs=outputs("value", binary_data=binary_out))
    assert ("data" in answer.get_output("value")) != binary_out
    same_bits(answer.as_numpy("value"), service.predict("regression", rows()))


def test_without_outputs_everything_plain_comes_as_bytes(service, client):
    same_bits(client.infer("regression", by_column(rows())).as_numpy("value"), service.predict("regression", rows()))
    answer = client.infer("three_classes", by_column(rows()))
    expected = service.predict("three_classes", rows(), outputs=["label", "probabilities"])
    assert [text.decode() for text in answer.as_numpy("label")] == [row["label"] for row in expected]
    labels = list(expected[0]["probabilities"])
    same_bits(answer.as_numpy("probabilities"), [[row["probabilities"][label] for label in labels] for row in expected])


KINDS = [("FP64", "f8"), ("FP32", "f4"), ("FP16", "f2"), ("INT64", "i8"), ("INT32", "i4"), ("UINT8", "u1")]


@pytest.mark.parametrize("datatype, kind", KINDS)
def test_matrices_of_every_type(service, client, datatype, kind):
    cells = (np.abs(numbers()) * 3).astype(kind)
    expected = service.predict("numbers", cells.astype(float).tolist())
    same_bits(client.infer("numbers", matrix(cells, datatype)).as_numpy("value"), expected)
    if datatype != "FP16":  # of which JSON has none
        answer = client.infer("numbers", matrix(cells, datatype, binary=False))
        # JSON carries the digits of an f32 as they are printed.
        np.testing.assert_allclose(answer.as_numpy("value"), expected, rtol=0, atol=1e-6)


def test_columns_of_a_matrix_and_a_column_of_one(service, client):
    cells = numbers(5)
    inputs = []
    for index, name in enumerate(["c", "a", "unknown", "b"]):
        inputs.append(triton.InferInput(name, [5, 1], "FP64"))
        inputs[-1].set_data_from_numpy(cells[:, [[2, 0, 0, 1][index]]])
    same_bits(client.infer("numbers", inputs).as_numpy("value"), service.predict("numbers", cells.tolist()))


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression(service, client, algorithm):
    expected = service.predict("regression", rows(400))
    options = {"request_compression_algorithm": algorithm, "response_compression_algorithm": algorithm}
    for binary in (True, False):
        asked = outputs("value", binary_data=binary)
        answer = client.infer("regression", by_column(rows(400), binary), outputs=asked, **options)
        same_bits(answer.as_numpy("value"), expected)
        assert answer.get_response()["model_version"] == "1"


def test_compressed_answers_are_compressed(client):
    raw = client._post("v2/models/regression/infer", json_body(400), {"Accept-Encoding": "gzip"}, None)
    assert raw.get("content-encoding") == "gzip"
    small = client._post("v2/models/regression/infer", json_body(1), {"Accept-Encoding": "gzip"}, None)
    assert small.get("content-encoding") is None
    refusal = client._post("v2/models/nobody/infer", json_body(1), {"Accept-Encoding": "gzip"}, None)
    assert refusal.get("content-encoding") is None


def json_body(count):
    body, _ = triton.InferenceServerClient.generate_request_body(by_column(rows(count), binary=False))
    return body


def test_intervals_by_their_delta(service, client):
    ask = lambda delta: client.infer(
        "regression", by_column(rows()), outputs=outputs("interval", "value"), parameters={"delta": delta}
    )
    expected = service.predict("regression", rows(), outputs=["interval"], delta=0.2)
    ends = [[row["interval"]["low"], row["interval"]["high"]] for row in expected]
    same_bits(ask(0.2).as_numpy("interval"), ends)
    refused(lambda: ask(1e-9), "too few calibration rows")
    refused(lambda: ask(2), "between 0 and 1")
    refused(lambda: ask("x"), "/parameters/delta", "must be a number")


def test_label_sets_are_json_lists(service, client):
    answer = client.infer("three_classes", by_column(rows()), outputs=outputs("label_set"), parameters={"delta": 0.1})
    expected = service.predict("three_classes", rows(), outputs=["label_set"], delta=0.1)
    found = [json.loads(text) for text in answer.as_numpy("label_set")]
    assert found == [row["label_set"]["labels"] for row in expected]


def test_classification(service, client):
    expected = service.predict("three_classes", rows(), top_k=2)
    labels = list(service.predict("three_classes", rows(1), outputs=["probabilities"])[0]["probabilities"])
    for binary in (True, False):
        asked = outputs("probabilities", class_count=2, binary_data=binary)
        found = client.infer("three_classes", by_column(rows()), outputs=asked).as_numpy("probabilities")
        assert found.shape == (50, 2)
        for texts, row in zip(found, expected):
            for text, likely in zip(texts, row["top_k"]):
                value, index, label = (text.decode() if binary else text).split(":", 2)
                assert (float(value), label) == (likely["probability"], likely["label"])
                assert labels[int(index)] == label
    all_classes = client.infer("three_classes", by_column(rows()), outputs=outputs("probabilities", class_count=99))
    assert all_classes.as_numpy("probabilities").shape == (50, 3)
    # One decision value for two classes is the value of neither.
    decided = client.infer("binary", by_column(rows()), outputs=outputs("decision_values", class_count=1))
    assert all(text.decode().count(":") == 1 for text in decided.as_numpy("decision_values").ravel())
    ask = lambda: client.infer("three_classes", by_column(rows()), outputs=outputs("label", class_count=1))
    refused(ask, "/outputs/0/parameters/classification", "does not apply to 'label'")


def test_ids_versions_and_aliases(service, client):
    answer = client.infer("regression", by_column(rows(1)), request_id="my-id 7", model_version="1").get_response()
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("my-id 7", "regression", "1")
    assert "id" not in client.infer("regression", by_column(rows(1))).get_response()
    alias = service.call("PUT", "/api/v1/models/regression/aliases/live", {"version": 1})
    assert alias.status_code in (200, 201), alias.text
    answer = client.infer("regression@live", by_column(rows()))
    same_bits(answer.as_numpy("value"), service.predict("regression", rows()))
    assert service.call("DELETE", "/api/v1/models/regression/aliases/live").status_code == 204


def test_timeouts(service, client):
    many = np.tile(numbers(1000), (50, 1))
    refused(lambda: client.infer("numbers", matrix(many), timeout=1), "deadline")
    answer = client.infer("numbers", matrix(many), timeout=60_000_000)
    same_bits(answer.as_numpy("value")[:1000], service.predict("numbers", many[:1000].tolist()))


def test_repository(service, client):
    service.train("spare", "numbers", {"features": {"count": 16}, "lambda": 1e-3})
    state = lambda: {(m["name"], m["version"]): m["state"] for m in client.get_model_repository_index()}
    assert state()["spare", "1"] == "READY" and state()["regression", "1"] == "READY"
    before = client.infer("spare", matrix(numbers())).as_numpy("value")
    client.unload_model("spare")
    assert state()["spare", "1"] == "UNAVAILABLE" and state()["regression", "1"] == "READY"
    assert not client.is_model_ready("spare")
    refused(lambda: client.infer("spare", matrix(numbers())), "unloaded")
    client.load_model("spare")
    assert client.is_model_ready("spare") and state()["spare", "1"] == "READY"
    same_bits(client.infer("spare", matrix(numbers())).as_numpy("value"), before)
    refused(lambda: client.load_model("spare", config="{}"), "/parameters/config", "send no parameters")
    refused(lambda: client.load_model("nobody"), "nobody")
    refused(lambda: client.unload_model("nobody"), "nobody")


def test_statistics(client):
    def totals(version=""):
        (one,) = client.get_inference_statistics("numbers", version)["model_stats"]
        assert (one["name"], one["version"]) == ("numbers", "1")
        stats = one["inference_stats"]
        return one["inference_count"], stats["success"]["count"], stats["fail"]["count"]

    before = totals()
    client.infer("numbers", matrix(numbers(8)))
    refused(lambda: client.infer("numbers", matrix(numbers(8)[:, :2])))
    after = totals("1")
    assert np.subtract(after, before).tolist() == [8, 1, 1]
    (one,) = client.get_inference_statistics("numbers")["model_stats"]
    assert abs(one["last_inference"] / 1000 - time.time()) < 60
    client.unload_model("numbers")
    client.load_model("numbers")
    assert totals() == (0, 0, 0), "since it was read into memory"
    assert "numbers" in [model["name"] for model in client.get_inference_statistics()["model_stats"]]
    refused(lambda: client.get_inference_statistics("nobody"), "nobody")


def test_refusals(client):
    infer = lambda model, inputs, **options: lambda: client.infer(model, inputs, **options)
    unknown = refused(infer("nobody", by_column(rows())), "there is no model 'nobody'")
    assert "404" in str(unknown.status())
    refused(infer("regression", by_column(rows()), model_version="99"), "version 99")
    refused(infer("regression", by_column(rows()), model_version="x"), "whole number")
    refused(infer("regression", by_column(rows()), outputs=outputs("vlaue")), "there is no output 'vlaue'", "value")
    refused(infer("numbers", matrix(numbers()[:, :2])), "[50, 2] has 2 columns, but the model has 3")
    refused(infer("regression", by_column(rows())[:3]), "there is no input 'new'")
    short = by_column(rows(4))[:3] + by_column(rows(3))[3:]
    refused(infer("regression", short), "/inputs/3/shape", "[3] should be [4]")
    for wrong in (np.nan, np.inf, -np.inf):
        cells = numbers()
        cells[17, 1] = wrong
        for binary in (True, False):
            refused(infer("numbers", matrix(cells, binary=binary)), "/rows/17/b", "not a finite number")
    text = triton.InferInput("inputs", [1, 3], "BYTES")
    text.set_data_from_numpy(np.array([["1", "two", "3"]], dtype=np.object_))
    refused(infer("numbers", [text]), "/rows/0/b", "expected a number")
    odd = triton.InferInput("inputs", [1, 3], "COMPLEX")
    odd._data = [1, 2, 3]
    refused(infer("numbers", [odd]), "/inputs/0/datatype")
    huge = numbers(2)
    huge[1, 0] = 1.7e308
    caught = refused(infer("numbers", matrix(np.tile(huge, (100_001 // 2 + 1, 1)))), "the limit is 100000")
    assert "422" in str(caught.status())


def test_numbers_as_texts(service, client):
    texts = triton.InferInput("inputs", [2, 3], "BYTES")
    texts.set_data_from_numpy(np.array([["0.5", "1", "-2e-1"], ["1", "2", "3"]], dtype=np.object_))
    expected = service.predict("numbers", [[0.5, 1, -0.2], [1, 2, 3]])
    same_bits(client.infer("numbers", [texts]).as_numpy("value"), expected)


def test_the_asynchronous_client(service, models):
    async def talk():
        async with triton_aio.InferenceServerClient(f"{service.host}:{service.port}") as client:
            assert await client.is_server_live() and await client.is_server_ready()
            assert await client.is_model_ready("numbers")
            assert (await client.get_model_metadata("numbers"))["name"] == "numbers"
            assert await client.get_model_repository_index()
            assert (await client.get_inference_statistics("numbers"))["model_stats"]
            ask = lambda cells: client.infer("numbers", matrix(cells, module=triton_aio))
            cells = numbers(40)
            answers = await asyncio.gather(*[ask(cells[i : i + 1]) for i in range(40)])
            expected = service.predict("numbers", cells.tolist())
            same_bits(np.concatenate([answer.as_numpy("value") for answer in answers]), expected)
            for algorithm in ("gzip", "deflate"):
                options = {"request_compression_algorithm": algorithm, "response_compression_algorithm": algorithm}
                answer = await client.infer("regression", by_column(rows(400), module=triton_aio), **options)
                same_bits(answer.as_numpy("value"), service.predict("regression", rows(400)))
            with pytest.raises(InferenceServerException, match="there is no model 'nobody'"):
                await client.infer("nobody", matrix(cells, module=triton_aio))

    asyncio.run(talk())
