"""The checks that every answer passes through refuse what they should."""

from __future__ import annotations

import json

import httpx
import pytest

from .client import JSON, Reply, check, path

ERROR: JSON = {
    "type": "invalid_request_error",
    "code": "memory_not_found",
    "message": "No.",
    "param": None,
    "detail": None,
}


def reply(status: int = 404, *, body: object = None, headers: dict[str, str] | None = None) -> Reply:
    """An answer made by hand; right unless told otherwise."""
    sent = {"UHP-Version": "2026-10-19", "Content-Type": "application/json", **(headers or {})}
    content = json.dumps({"error": ERROR} if body is None else body).encode()
    return Reply("GET /v1/x", status, httpx.Headers({name: value for name, value in sent.items() if value}), content)


def test_a_right_error_and_a_right_answer_pass() -> None:
    check(reply(), "secret-key")
    check(reply(200, body={"id": "x"}), "secret-key")


@pytest.mark.parametrize(
    "wrong",
    [
        reply(headers={"UHP-Version": ""}),
        reply(headers={"UHP-Version": "latest"}),
        reply(200, body={}, headers={"UHP-Version": ""}),
        reply(headers={"Content-Type": "text/html"}),
        reply(401),
        reply(403),
        reply(500, body={"error": {**ERROR, "type": "server_error"}}),
        reply(301),
        reply(201, body={}),
        reply(204, body={}),
        reply(406),
        reply(body={"detail": "Not found."}),
        reply(body={"error": {**ERROR, "message": 'Traceback: File "/srv/x.py"'}}),
        reply(body={"error": {key: ERROR[key] for key in ("type", "code", "message", "param")}}),
        reply(body={"error": {**ERROR, "message": "secret-key is wrong"}}),
    ],
    ids=str,
)
def test_an_answer_that_breaks_a_common_rule_is_refused(wrong: Reply) -> None:
    with pytest.raises(AssertionError):
        check(wrong, "secret-key")


def test_a_path_quotes_every_segment() -> None:
    assert path() == "/v1/memories"
    assert path("a/b", "records", "..\0é") == "/v1/memories/a%2Fb/records/..%00%C3%A9"
