"""The Open Inference Protocol by hand: what its specification says, and what senders get wrong."""

import json
import struct

import numpy as np
import pytest
import requests

ROWS = [[0.5, 1.0, -0.25], [1.5, -2.0, 3.0]]
TENSOR = {"name": "inputs", "shape": [2, 3], "datatype": "FP64"}
BYTES = np.array(ROWS).tobytes()


@pytest.fixture
def infer(service, models):
    def infer(body, model="numbers", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        return service.send(f"/v2/models/{model}/infer", body, **headers)

    return infer


@pytest.fixture
def expected(service, models):
    return service.predict("numbers", ROWS)


def values(answer):
    """The numbers of an answer in JSON."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["model_name"] == "numbers" and body["model_version"] == "1"
    (output,) = body["outputs"]
    assert (output["name"], output["datatype"], output["shape"]) == ("value", "FP64", [2])
    return output["data"]


def refused(answer, *words):
    """A refusal that every client of the protocol can read."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert isinstance(error, str) and error
    for word in words:
        assert word in error, error


def binary(size=len(BYTES), tail=BYTES, shape=(2, 3), datatype="FP64", length=None):
    """A body with bytes after its JSON, and the header that says where they begin."""
    tensor = {**TENSOR, "shape": shape, "datatype": datatype, "parameters": {"binary_data_size": size}}
    text = json.dumps({"inputs": [tensor]}).encode()
    return text + tail, {"inference_header_content_length": len(text) if length is None else length}


def test_flat_and_nested_data(infer, expected):
    flat = [cell for row in ROWS for cell in row]
    for data in (flat, ROWS, [[[cell] for cell in row] for row in ROWS]):
        assert values(infer({"inputs": [{**TENSOR, "data": data}]})) == expected


def test_the_content_type_does_not_matter(infer, expected):
    body = {"inputs": [{**TENSOR, "data": ROWS}]}
    for media_type in (None, "application/json", "application/octet-stream", "text/plain; charset=utf-8", "nonsense"):
        assert values(infer(body, media_type=media_type)) == expected
    # A client that sends no header at all that it need not.
    address = infer(body).url
    bare = requests.Request("POST", address, data=json.dumps(body)).prepare()
    assert "content-type" not in bare.headers
    assert values(requests.Session().send(bare)) == expected


def test_unknown_members_are_passed_over(infer, expected):
    tensor = {**TENSOR, "data": ROWS, "colour": {"red": [1, None]}, "parameters": {"content_type": "np"}}
    body = {"inputs": [tensor], "parameters": {"priority": 3, "foo": [{}]}, "extra": [1, {"a": None}], "raw": None}
    body["outputs"] = [{"name": "value", "parameters": {"foo": 1}, "shape": "any"}]
    assert values(infer(body)) == expected
    assert values(infer({**body, "outputs": []})) == expected  # none in particular


def test_binary_data(infer, expected):
    body, headers = binary()
    assert values(infer(body, **headers)) == expected
    swapped = np.array(ROWS).astype(">f8").tobytes()  # the protocol is little-endian
    body, headers = binary(tail=swapped)
    assert infer(body, **headers).json().get("outputs", [{}])[0].get("data") != expected
    text = json.dumps({"inputs": [{**TENSOR, "data": ROWS}], "parameters": {"binary_data_output": True}})
    answer = infer(text.encode())
    length = int(answer.headers["inference-header-content-length"])
    assert answer.headers["content-type"] == "application/octet-stream"
    (output,) = json.loads(answer.content[:length])["outputs"]
    assert output["parameters"] == {"binary_data_size": 16} and "data" not in output
    assert answer.content[length:] == np.array(expected).tobytes()


def test_bare_tokens_are_refused_with_their_place(infer):
    for token in ("NaN", "Infinity", "-Infinity"):
        body = json.dumps({"inputs": [{**TENSOR, "data": ROWS}]}).replace("3.0", token)
        refused(infer(body.encode()), "/rows/1/c", "not a finite number")
    refused(infer({"inputs": [{**TENSOR, "data": ROWS}]}, model="regression"), "columns")
    for overflow in ("1e999", "-1e999"):
        body = json.dumps({"inputs": [{**TENSOR, "data": ROWS}]}).replace("3.0", overflow)
        refused(infer(body.encode()))


def test_lengths_that_lie(infer):
    for length, word in [
        (10**9, "larger than the body"),
        (2**64, "whole number"),
        (-1, "whole number"),
        ("x", "whole number"),
        ("", "whole number"),
        (0, "JSON"),
        (5, "JSON"),
    ]:
        body, headers = binary(length=length)
        refused(infer(body, **headers), word)
    body, _ = binary()
    refused(infer(body))  # bytes that nobody announced
    for size, word in [
        (47, "not a multiple of the size of an element"),
        (40, "does not match the 5 elements"),
        (49, "48 bytes are left"),
        (10**18, "48 bytes are left"),
        (-8, "whole number"),
        ("48", "whole number"),
        (None, "whole number"),
        (4.5, "whole number"),
    ]:
        body, headers = binary(size=size)
        refused(infer(body, **headers), word)
    body, headers = binary(tail=BYTES + b"left over")
    refused(infer(body, **headers), "9 bytes after the last binary tensor")
    body, headers = binary(tail=b"")
    refused(infer(body, **headers), "0 bytes are left")


def test_texts_that_lie(infer):
    for tail in (struct.pack("<I", 2**32 - 1) + b"x", b"\1\0\0", struct.pack("<I", 1) + b"\xff", struct.pack("<I", 1)):
        body, headers = binary(size=len(tail), tail=tail, shape=[1], datatype="BYTES")
        refused(infer(body, **headers), "/inputs/0")


def test_shapes_that_lie(infer):
    for shape in ([3, 2], [], [2, -3], [2, 3.0], [2, 4], "2x3", None, [2**63, 2**63], [0, 3], [2, 0]):
        refused(infer({"inputs": [{**TENSOR, "shape": shape, "data": ROWS}]}), "/inputs/0/shape")
    for shape in ([6], [2, 3, 1]):
        flat = {**TENSOR, "shape": shape, "data": sum(ROWS, [])}
        refused(infer({"inputs": [flat]}), "/inputs/0/shape", f"{shape} should be [rows, 3]")
        # Under another name it could be one of the columns.
        refused(infer({"inputs": [{**flat, "name": "other"}]}), "/inputs", "there is no input 'a'")
    for shape in ([6], [1, 6], [3, 2]):
        refused(infer({"inputs": [{**TENSOR, "shape": shape, "data": ROWS}]}), "/inputs/0/shape", "differs from the nesting of data, [2, 3]")
    ragged = [ROWS[0] + ROWS[1][:1], ROWS[1][1:]]
    refused(infer({"inputs": [{**TENSOR, "data": ragged}]}), "/inputs/0/data", "ragged")
    # Rows that cost the sender nothing cost us nothing.
    for shape in ([10**5, 0], [10**15, 0], [0, 10**15]):
        refused(infer({"inputs": [{**TENSOR, "shape": shape, "data": []}]}), "/inputs")


def tensor(members):
    """A request with one tensor that has these members, written as JSON."""
    return ('{"inputs": [{"name": "inputs", "shape": [1, 3], "datatype": "FP64", ' + members).encode()


FINE = '"data": [1, 2, 3]'
NO_REQUESTS = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"{} {}",
    b"\xff\xfe",
    b"{}",
    b'{"inputs": null}',
    b'{"inputs": {}}',
    b'{"inputs": []}',
    b'{"inputs": [1]}',
    b'{"inputs": [[]]}',
    b'{"inputs": [{}]}',
    tensor('"parameters": {}}]}'),
    tensor(f'{FINE}, "name": 1}}]}}'),
    tensor(f'{FINE}, "datatype": "fp64"}}]}}'),
    tensor(f'{FINE}, "datatype": null}}]}}'),
    tensor('"data": 1}]}'),
    tensor('"data": null}]}'),
    tensor('"data": [1, null, 3]}]}'),
    tensor('"data": [1, "2", 3]}]}'),
    tensor('"data": ["1", "2", "3"]}]}'),
    tensor('"data": [true, true, true]}]}'),
    tensor('"data": [0, 1, 2], "datatype": "BOOL"}]}'),
    tensor('"data": [{"a": 1}]}]}'),
    tensor(f'{FINE}, "parameters": 1}}]}}'),
    tensor(f'{FINE}}}], "outputs": {{}}}}'),
    tensor(f'{FINE}}}], "outputs": [1]}}'),
    tensor(f'{FINE}}}], "outputs": [{{}}]}}'),
    tensor(f'{FINE}}}], "outputs": [{{"name": "value", "parameters": {{"classification": 0}}}}]}}'),
    tensor(f'{FINE}}}], "parameters": []}}'),
    tensor(f'{FINE}}}], "parameters": {{"delta": "x"}}}}'),
    tensor('"data": ' + "[" * 100_000),
    tensor('"data": ' + "[" * 50 + "1" + "]" * 50 + "}]}"),
    b'{"other": ' + b'{"a":' * 100_000,
    tensor('"data": [1, 2, 3'),
]


@pytest.mark.parametrize("body", NO_REQUESTS, ids=lambda body: body[:60].decode(errors="replace"))
def test_what_is_no_request(infer, body):
    refused(infer(body))


def test_compression_that_lies(infer):
    refused(infer(b"not gzip", content_encoding="gzip"), "gzip")
    refused(infer(b"not deflate", content_encoding="deflate"), "deflate")
    refused(infer(b"x", content_encoding="br"), "gzip, deflate")


def test_times_that_are_none(infer):
    body = {"inputs": [{**TENSOR, "data": ROWS}]}
    for wrong in ("", "0", "-1", "1.5", "soon"):
        refused(infer(body, x_timeout_ms=wrong), "x-timeout-ms")
    for right in (0, None, 2**64 - 1):
        assert infer({**body, "parameters": {"timeout": right}}).status_code == 200
    for wrong in (-5, 1.5, "x", [], 2**64):
        refused(infer({**body, "parameters": {"timeout": wrong}}), "/parameters/timeout")


def test_other_routes_refuse_in_the_same_words(service, models):
    for path in ("/v2/nothing", "/v2/models/nobody", "/v2/models/nobody/ready", "/v2/models/numbers/versions/0"):
        refused(service.get(path))
    refused(service.get("/v2/models/numbers/infer"))
    refused(service.send("/v2/models/numbers", b""))
    refused(service.send("/v2/repository/models/numbers@live/unload", b""))


def test_the_server_is_described_with_and_without_a_slash(service):
    assert service.get("/v2").json() == service.get("/v2/").json()
    assert service.get("/v2/health/live").json() == {"live": True}
    assert service.get("/v2/health/ready").json() == {"ready": True, "live": True}
