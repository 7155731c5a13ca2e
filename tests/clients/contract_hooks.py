"""What schemathesis needs to send and to judge requests of this contract."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl", "application/ndjson")
def json_lines(context, value):
    """A value per line; a body that is no list is one line."""
    if isinstance(value, (bytes, str)):
        return value
    return "\n".join(json.dumps(line) for line in (value if isinstance(value, list) else [value])).encode()


@schemathesis.hook
def filter_case(context, case):
    """Leaves out what only looks invalid: unknown headers, which HTTP tells servers to ignore, and empty query parameters,
    which count as absent."""
    unknown = "x-schemathesis-unknown-property" in {name.lower() for name in case.headers or {}}
    return not unknown and not any(value in ("", [], {}) for value in (case.query or {}).values())


@schemathesis.serializer(
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
    "text/x-libsvm",
)
def plain_bytes(context, value):
    """Formats that schemathesis does not know, as bytes."""
    return value if isinstance(value, (bytes, str)) else str(value).encode()
