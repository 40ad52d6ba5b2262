"""How every answer looks: versions, credentials, methods, bodies, ids; and that a refused request changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .client import JSON, Client, Reply, path
from .conftest import Cast
from .trees import ids, open_root, plant, question, remember, signals, unchanged

UNSUPPORTED = "1999-01-01"


@pytest.fixture(scope="module")
def memory(owner: Client, document: JSON) -> Iterator[JSON]:
    """A memory with a child and a record that every refused request must leave alone."""
    root, _ = open_root(owner)
    plant(owner, "child", root)
    remember(owner, root, "As it was.")
    yield root
    owner.delete(path(root["id"]))


@pytest.fixture
def record(owner: Client, memory: JSON) -> JSON:
    """The record in that memory."""
    return owner.get(path(memory["id"], "records")).data[0]


def invalid(reply: Reply, param: str | None = None) -> None:
    """A body or parameter of the wrong kind; the error names the field, or something inside it."""
    assert (reply.status, reply.code) == (422, "memory_invalid"), str(reply)
    if param is not None:
        named = reply.param or ""
        assert named == param or named.startswith(f"{param}."), f"param should name {param}: {reply}"


# Discovery and versions.


def test_discovery_needs_no_credential_and_minds_none(
    discovery: JSON, owner: Client, nobody: Client, document: JSON
) -> None:
    assert discovery["default_version"] in discovery["versions"]
    assert owner.get("/v1/uhp").body == discovery
    wrong = nobody.send("GET", "/v1/uhp", headers={"Authorization": "Bearer not-a-credential"}, expect=200)
    assert wrong.body == discovery


def test_every_supported_version_is_served_and_said(discovery: JSON, owner: Client) -> None:
    assert owner.get("/v1/uhp").headers["UHP-Version"] == discovery["default_version"]
    for version in discovery["versions"]:
        for target in ("/v1/uhp", path()):
            reply = owner.send("GET", target, headers={"UHP-Version": version}, expect=200)
            assert reply.headers["UHP-Version"] == version
        missing = owner.send("GET", path("no-such-memory"), headers={"UHP-Version": version}, expect=404)
        assert missing.headers["UHP-Version"] == version


@pytest.mark.parametrize("version", [UNSUPPORTED, "latest", "2026-10-4", "2026-10-19, 2026-10-04", "x" * 300])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/uhp"),
        ("GET", "/v1/memories"),
        ("POST", "/v1/memories"),
        ("GET", "/v1/memories/no-such-memory"),
        ("DELETE", "/v1/memories/providers"),
        ("PATCH", "/v1/memories/no-such-memory"),
        ("GET", "/v1/no-such-route"),
        ("GET", "/v1/"),
    ],
)
def test_an_unsupported_version_is_refused_before_anything_else(
    discovery: JSON, nobody: Client, owner: Client, method: str, target: str, version: str
) -> None:
    for caller in (nobody, owner):
        refused = caller.send(method, target, headers={"UHP-Version": version}, expect=400)
        assert refused.code == "unsupported_protocol_version"
        assert refused.body["error"]["detail"]["supported"] == discovery["versions"]
        assert refused.headers["UHP-Version"] == discovery["default_version"]


# Credentials.


@pytest.mark.parametrize("target", ["/v1/memories", "/v1/memories/providers", "/v1/memories/types"])
def test_a_request_without_a_credential_is_refused(nobody: Client, target: str) -> None:
    assert nobody.get(target, expect=401).code == "missing_credential"


@pytest.mark.parametrize(
    "value",
    ["Bearer", "Bearer not-a-credential", "Bearer a b", "Basic dTpw", "Token x", "Bearer " + "x" * 3000],
)
def test_a_credential_that_is_not_one_is_refused(nobody: Client, value: str) -> None:
    refused = nobody.send("GET", path(), headers={"Authorization": value}, expect=401)
    assert refused.code == "invalid_credential"
    assert value.removeprefix("Bearer ").strip() in {"", "Bearer"} or value[-40:] not in refused.text


def test_a_credential_with_one_letter_changed_is_refused(owner: Client, nobody: Client) -> None:
    assert owner.key is not None
    for at in (len(owner.key) - 1, len(owner.key) // 2):
        changed = owner.key[:at] + ("a" if owner.key[at] != "a" else "b") + owner.key[at + 1 :]
        refused = nobody.send("GET", path(), headers={"Authorization": f"Bearer {changed}"}, expect=401)
        assert refused.code == "invalid_credential"
        assert changed not in refused.text


def test_the_credential_is_checked_before_the_memory_and_the_body(nobody: Client, memory: JSON) -> None:
    for target in (path(memory["id"]), path("no-such-memory"), path(memory["id"], "records")):
        assert nobody.send("GET", target, expect=401).code == "missing_credential"
    assert nobody.send("POST", path(), raw=b"{", expect=401).code == "missing_credential"


# Routes, methods, content types.


@pytest.mark.parametrize(
    "target",
    [
        "/v1/no-such-route",
        "/v1/memories/a/no-such-route",
        "/v1/memories/a/records/b/no-such-route",
        "/v1/",
        "/v1/uhp/x",
    ],
)
def test_an_unknown_route_answers_with_the_envelope(owner: Client, target: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        owner.send(method, target, expect=404)


@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("DELETE", ""),
        ("PATCH", ""),
        ("POST", "/providers"),
        ("DELETE", "/types"),
        ("PATCH", "/{id}"),
        ("POST", "/{id}"),
        ("PUT", "/{id}/records"),
        ("DELETE", "/{id}/records"),
        ("POST", "/{id}/records/{rid}"),
        ("PUT", "/{id}/records/{rid}"),
        ("POST", "/{id}/records/{rid}/history"),
        ("GET", "/{id}/recall"),
        ("PUT", "/{id}/grants"),
        ("GET", "/{id}/grants/{rid}"),
        ("TRACE", "/{id}"),
        ("FROB", "/{id}"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_405(
    owner: Client, memory: JSON, record: JSON, method: str, tail: str
) -> None:
    target = "/v1/memories" + tail.replace("{id}", memory["id"]).replace("{rid}", record["id"])
    with unchanged(owner, memory):
        refused = owner.send(method, target, expect=405)
    assert refused.headers.get("Allow"), "a 405 says what is allowed"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_no_path_redirects_to_one_with_or_without_a_slash(owner: Client, memory: JSON, method: str) -> None:
    for target in ("/v1/uhp/", f"{path(memory['id'])}/", f"{path(memory['id'], 'records')}/"):
        with unchanged(owner, memory):
            owner.send(method, target, expect=404)


@pytest.mark.parametrize(
    "accept",
    ["application/json", "text/html", "*/*", "image/png", "application/json;version=9", "nonsense", None],
)
def test_no_accept_header_is_refused(
    owner: Client, memory: JSON, record: JSON, document: JSON, accept: str | None
) -> None:
    headers = {"Accept": accept}
    for method, target, body, status in (
        ("GET", "/v1/uhp", None, 200),
        ("GET", path(), None, 200),
        ("GET", path(memory["id"], "records", record["id"]), None, 200),
        ("POST", path(memory["id"], "recall"), question(document, "it"), 200),
        ("GET", path("no-such-memory"), None, 404),
        ("GET", "/v1/no-such-route", None, 404),
        ("DELETE", path(), None, 405),
    ):
        raw = json.dumps(body).encode() if body else None
        reply = owner.send(method, target, raw=raw, headers=headers, expect=status)
        assert reply.headers["Content-Type"].startswith("application/json")
        assert reply.body


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"]
)
def test_the_content_type_never_makes_the_server_fail(owner: Client, memory: JSON, kind: str | None) -> None:
    reply = owner.send(
        "PUT", path(memory["id"]), raw=b'{"description": "made by a test"}', headers={"Content-Type": kind}
    )
    assert reply.status in {200, 400, 415}, str(reply)
    if kind is None or "json" in kind:
        assert reply.status == 200, str(reply)


def test_creates_and_deletes_answer_200_with_a_body(owner: Client, memory: JSON) -> None:
    child = plant(owner, "short-lived", memory)
    note = remember(owner, child, "short-lived")
    principal = f"{note['written_by']['kind']}:{note['written_by']['id']}"
    grant = owner.post(path(child["id"], "grants"), {"principal": principal, "privileges": ["read"]}).valid(
        "MemoryGrant"
    )
    assert owner.delete(path(child["id"], "grants", grant["id"])).valid("GrantDeletion")["id"] == grant["id"]
    assert owner.delete(path(child["id"], "records", note["id"])).valid("MemoryRecord")["id"] == note["id"]
    assert owner.delete(path(child["id"])).valid("MemoryDeletion")["memories"] == [child["id"]]


def test_unknown_fields_are_ignored(owner: Client, memory: JSON) -> None:
    extra = {"no_such_field": {"x": [1]}, "id": "chosen", "object": "other", "trust": "trusted", "privileges": []}
    child = plant(owner, "with more", memory, **extra, ancestors=["x"], createdAt=1, children=7)
    assert child["id"] != "chosen"
    assert child["ancestors"] == [memory["id"]]
    note = remember(owner, child, "c", **extra, version=9, status="forgotten", supersedes=8, written_by=None)
    assert note["id"] != "chosen"
    assert (note["version"], note["status"], note["trust"]) == (1, "active", "untrusted")
    stamped = {"written_at": "2001-01-01T00:00:00Z", "invalidated_at": "2001-01-01T00:00:00Z"}
    dated = remember(owner, child, "c", time={**stamped, "valid_from": "2001-02-03T04:05:06Z"})
    assert not dated["time"]["written_at"].startswith("2001")
    assert dated["time"]["invalidated_at"] is None
    assert dated["time"]["valid_from"].startswith("2001-02-03T04:05:06")
    owner.put(path(child["id"]), {**extra, "description": "d"}).valid("Memory")
    owner.delete(path(child["id"]))


# Bodies.


def writes(memory: JSON, record: JSON) -> list[tuple[str, str]]:
    """Every route of the first necessity that takes a body."""
    own = path(memory["id"])
    return [
        ("POST", path()),
        ("PUT", own),
        ("POST", f"{own}/grants"),
        ("POST", f"{own}/records"),
        ("PATCH", f"{own}/records/{record['id']}"),
        ("POST", f"{own}/recall"),
    ]


NO_OBJECTS = [
    b"{",
    b'{"name": "x"',
    b"{'name': 'x'}",
    b"name=x",
    b'{"name": "\xff\xfe"}',
    b'{"name": "x"} {"name": "y"}',
    b'{"name": "tab\tinside"}',
    b"[1]",
    b'"a string"',
    b"7",
    b"null",
    b"true",
    b"[" * 100_000,
    b'{"name": ' + b"9" * 10_000 + b"}",
]


def test_a_body_that_is_no_json_object_is_invalid_input(
    owner: Client, memory: JSON, record: JSON, subtests: pytest.Subtests
) -> None:
    with unchanged(owner, memory):
        for raw in NO_OBJECTS:
            with subtests.test(raw[:20].decode(errors="replace")):
                for method, target in writes(memory, record):
                    refused = owner.send(method, target, raw=raw, expect=400)
                    assert refused.code == "invalid_input"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_number_that_json_does_not_know_is_refused(owner: Client, memory: JSON, number: str) -> None:
    raw = f'{{"content": "c", "attributes": {{"x": {number}}}}}'.encode()
    with unchanged(owner, memory):
        refused = owner.send("POST", path(memory["id"], "records"), raw=raw)
        assert refused.status in {400, 422}, str(refused)


def test_a_missing_body_is_refused_where_something_is_required(owner: Client, memory: JSON, record: JSON) -> None:
    with unchanged(owner, memory):
        for method, target in writes(memory, record):
            if method == "POST":
                refused = owner.send(method, target)
                assert refused.status in {400, 422}, str(refused)


def test_a_body_over_the_limit_is_413(cast: Cast, owner: Client, memory: JSON) -> None:
    raw = b'{"content": "' + b"x" * cast.body_limit + b'"}'
    with unchanged(owner, memory):
        for target in (path(), path(memory["id"], "records"), path(memory["id"], "recall")):
            refused = owner.send("POST", target, raw=raw, expect=413)
            assert (refused.body["error"]["detail"] or {}).get("max_bytes", 0) <= cast.body_limit


SUBJECTS = [{"rel": "subject", "record_id": "a"}, {"rel": "subject", "record_id": "b"}]
TEXT = {"type": "text", "text": "fine"}
Case = tuple[JSON, str]


def each(field: str, *values: object, within: JSON | None = None) -> list[Case]:
    """A body for each wrong value of one field, with the name of that field."""
    return [({**(within or {}), field: value}, field) for value in values]


def content(at: str, *parts: object) -> Case:
    """A body whose content is wrong in one place."""
    return {"content": list(parts)}, f"content.{at}"


NAMED, READ, WORDS, ASKED = {"name": "n"}, {"privileges": ["read"]}, {"content": "c"}, {"query": "q"}
WRONG: dict[str, list[Case]] = {
    "memory": [
        ({}, "name"),
        *each("name", "", "   ", 7, None, ["x"], {}),
        *each("description", 7, ["x"], {}, within=NAMED),
        *each("restricted", "yes", 1, "true", [], within=NAMED),
        *each("provider", 7, "no-such-provider", [], within=NAMED),
        *each("parent_id", 7, ["x"], {}, True, within=NAMED),
    ],
    "update": [
        *each("name", "", "   ", 7, ["x"]),
        *each("description", 7, ["x"]),
        *each("restricted", "yes", 1),
        *each("parent_id", 7, ["x"]),
        *each("provider", "another-provider"),
    ],
    "grants": [
        (READ, "principal"),
        *each("principal", 7, "", "member", "member:", "provider:native", "harness:x", "MEMBER:x", ["x"], within=READ),
        ({"principal": "member:x"}, "privileges"),
        *each("privileges", [], "read", 7, [7], ["emit"], ["read", "own"], {}, None, within={"principal": "member:x"}),
    ],
    "records": [
        ({}, "content"),
        *each("content", 7, {}, [], None, "", "   ", [7], ["text"], [None]),
        content("0.text", {"type": "text"}),
        content("0.text", {"type": "text", "text": " "}),
        content("1.text", TEXT, {"type": "text", "text": 7}),
        content("2.type", TEXT, TEXT, {"type": "image"}),
        content("0.type", {"text": "no type"}),
        content("0.type", {"type": 7, "text": "x"}),
        content("0.role", {**TEXT, "role": "narrator"}),
        content("0.role", {**TEXT, "role": 7}),
        content("1.file", TEXT, {"type": "file"}),
        content("1.file", TEXT, {"type": "file", "file": {}}),
        content("1.file", TEXT, {"type": "file", "file": {"id": 7}}),
        *each("type", 7, ["fact"], {}, "", within=WORDS),
        *each("title", 7, ["x"], "x" * 301, "a\nb", within=WORDS),
        *each("attributes", 7, [], "x", within=WORDS),
        *each("references", 7, "x", {}, SUBJECTS, within=WORDS),
        ({**WORDS, "references": [7]}, "references.0"),
        ({**WORDS, "references": [{}]}, "references.0.record_id"),
        ({**WORDS, "references": [{"record_id": 7}]}, "references.0.record_id"),
        ({**WORDS, "references": [{"record_id": "r", "rel": 7}]}, "references.0.rel"),
        ({**WORDS, "references": [{"record_id": "r", "memory_id": 7}]}, "references.0.memory_id"),
        *each("time", 7, [], "x", within=WORDS),
        ({**WORDS, "time": {"valid_from": 7}}, "time.valid_from"),
        ({**WORDS, "time": {"valid_from": "yesterday"}}, "time.valid_from"),
        ({**WORDS, "time": {"valid_to": "2026-13-45T00:00:00Z"}}, "time.valid_to"),
    ],
    "revision": [
        ({}, ""),
        *each("content", 7, {}, [7], "  "),
        content("1.text", TEXT, {"type": "text", "text": 7}),
        *each("title", 7, "x" * 301, "a\nb"),
        *each("attributes", 7, [], "x"),
        *each("references", 7, [7], SUBJECTS),
        ({"time": {"valid_from": "yesterday"}}, "time.valid_from"),
    ],
    "recall": [
        ({}, ""),
        ({"limit": 5}, ""),
        *each("query", 7, ["x"], {}),
        *each("text", 7, ["x"], {}),
        *each("types", "fact", [7], {}, 7, within=ASKED),
        *each("as_of", 7, "yesterday", [], "2026-02-30T00:00:00Z", within=ASKED),
        *each("include", "some", 7, [], within=ASKED),
        *each("depth", -1, True, "1", 1.5, [], within=ASKED),
        *each("limit", 0, -1, 101, "8", True, 1.5, within=ASKED),
    ],
}


def described(case: object) -> str:
    """A short name for a test case."""
    return json.dumps(case)[:60] if not isinstance(case, str) else case


@pytest.mark.parametrize("where", WRONG)
def test_a_wrong_type_or_value_is_refused_and_named(
    owner: Client, memory: JSON, record: JSON, document: JSON, where: str, subtests: pytest.Subtests
) -> None:
    own = path(memory["id"])
    method, target = {
        "memory": ("POST", path()),
        "update": ("PUT", own),
        "grants": ("POST", f"{own}/grants"),
        "records": ("POST", f"{own}/records"),
        "revision": ("PATCH", f"{own}/records/{record['id']}"),
        "recall": ("POST", f"{own}/recall"),
    }[where]
    with unchanged(owner, memory):
        for body, param in WRONG[where]:
            provider = {"provider": document["id"]} if where == "memory" else {}
            with subtests.test(described(body)):
                refused = owner.send(method, target, body={**provider, **body})
                if where == "revision" and not document.get("revise"):
                    assert refused.status == 422, str(refused)
                else:
                    invalid(refused, param or None)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"field": "attributes.x", "op": op, "value": 7} for op in ("like", "", 7)),
        {"field": "attributes.x", "op": "in", "value": "x"},
        {"field": "no_such_field", "value": 7},
        {"field": 7, "value": 7},
        {"and": {}},
        {"or": [7]},
        {},
        [],
        "x",
        7,
    ],
    ids=described,
)
def test_a_malformed_filter_is_refused_where_filters_are_declared(
    owner: Client, memory: JSON, document: JSON, wrong: object
) -> None:
    reply = owner.post(path(memory["id"], "recall"), {"query": "q", "filters": wrong}, expect=None)
    if "filters" in signals(document):
        invalid(reply, "filters")
    elif reply.status == 200:
        assert "filters:not_supported" in reply.valid("MemoryRecall")["degraded"]
    else:
        invalid(reply, "filters")


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"include": "some"}, "include"),
        ({"as_of": "yesterday"}, "as_of"),
        ({"limit": "0"}, "limit"),
        ({"limit": "-5"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"cursor": "not-a-cursor"}, "cursor"),
        ({"cursor": "\0"}, "cursor"),
        ({"cursor": "é" * 50}, "cursor"),
    ],
    ids=described,
)
def test_a_wrong_query_parameter_is_refused_and_named(
    owner: Client, memory: JSON, params: dict[str, str], param: str
) -> None:
    invalid(owner.get(path(memory["id"], "records"), expect=None, **params), param)


def test_a_limit_above_the_most_is_no_error(owner: Client, memory: JSON) -> None:
    assert owner.get(path(memory["id"], "records"), limit="100000").valid("RecordPage")["data"]


# Text that cannot be kept.


def poisoned(memory: JSON, record: JSON, bad: str) -> list[tuple[str, str, JSON]]:
    """A request for every field of text, with text in it that no store can keep."""
    own = path(memory["id"])
    at, records, grants, revise = f"{own}/recall", f"{own}/records", f"{own}/grants", f"{own}/records/{record['id']}"
    return [
        ("POST", path(), {"name": bad, "parent_id": memory["id"]}),
        ("POST", path(), {"name": "n", "description": bad, "parent_id": memory["id"]}),
        ("POST", path(), {"name": "n", "provider": bad}),
        ("PUT", own, {"name": bad}),
        ("PUT", own, {"description": bad}),
        ("POST", grants, {"principal": f"member:{bad}", "privileges": ["read"]}),
        ("POST", grants, {"principal": "member:x", "privileges": [bad]}),
        ("POST", records, {"content": bad}),
        ("POST", records, {"content": [{"type": "text", "text": bad}]}),
        ("POST", records, {"content": [{"type": "text", "text": "fine", "role": bad}]}),
        ("POST", records, {"content": [{"type": "file", "file": {"id": bad}}]}),
        ("POST", records, {"content": [{"type": "x.example", "field": {"deep": [bad]}}]}),
        ("POST", records, {"content": [{"type": "x.example", bad: 1}]}),
        ("POST", records, {"content": [{"type": f"x.{bad}"}]}),
        ("POST", records, {"content": "c", "title": bad}),
        ("POST", records, {"content": "c", "type": bad}),
        ("POST", records, {"content": "c", "attributes": {"key": bad}}),
        ("POST", records, {"content": "c", "attributes": {bad: "value"}}),
        ("POST", records, {"content": "c", "attributes": {"deep": [{"er": bad}]}}),
        ("POST", records, {"content": "c", "references": [{"record_id": bad}]}),
        ("POST", records, {"content": "c", "references": [{"record_id": "r", "rel": bad}]}),
        ("POST", records, {"content": "c", "references": [{"record_id": "r", "memory_id": bad}]}),
        ("POST", records, {"content": "c", "time": {"valid_from": bad}}),
        ("PATCH", revise, {"content": bad}),
        ("PATCH", revise, {"title": bad}),
        ("PATCH", revise, {"attributes": {"key": bad}}),
        ("POST", at, {"query": bad}),
        ("POST", at, {"text": bad}),
        ("POST", at, {"query": "q", "types": [bad]}),
        ("POST", at, {"query": "q", "as_of": bad}),
    ]


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800b"], ids=["NUL", "half a surrogate pair"])
def test_text_that_cannot_be_kept_is_refused_in_every_field(
    owner: Client, memory: JSON, record: JSON, bad: str, subtests: pytest.Subtests
) -> None:
    with unchanged(owner, memory):
        for method, target, body in poisoned(memory, record, bad):
            with subtests.test(described(body)):
                refused = owner.send(method, target, body=body)
                assert refused.status == 422, str(refused)


def test_a_parent_id_that_cannot_be_kept_names_no_memory(owner: Client, memory: JSON) -> None:
    with unchanged(owner, memory):
        for bad in ("a\0b", "a\ud800b"):
            refused = owner.post(path(), {"name": "n", "parent_id": bad}, expect=None)
            assert refused.status in {404, 422}, str(refused)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f332 \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "עברית \u202e ltr",
        "a\u0301",
        "\ufeff",
        "\u2028x",
        "<script>&amp;",
        "%s {0} $1 \\ '",
    ],
    ids=described,
)
def test_all_other_text_comes_back_as_it_was(owner: Client, memory: JSON, text: str) -> None:
    content = f"before {text} after"
    note = remember(owner, memory, content, attributes={text or "k": text})
    read = owner.get(path(memory["id"], "records", note["id"])).valid("MemoryRecord")
    assert read["content"] == [{"type": "text", "text": content}]
    assert read["attributes"] == {text: text}
    owner.delete(path(memory["id"], "records", note["id"]))


# Ids.

ODD_IDS = [
    "x",
    "0",
    "-1",
    " ",
    "with spaces",
    "..",
    ".",
    "../..",
    "a/b",
    "a/../b",
    "%",
    "%2e%2e",
    "a%2Fb",
    "?x=1",
    "#x",
    "a;b",
    "'; DROP TABLE memories_memory; --",
    '" OR 1=1',
    "\\",
    "*",
    "null",
    "hmem_",
    "hmem_" + "0" * 32,
    "HMEM_" + "f" * 32,
    "x" * 1000,
    "\U0001f332\U0001f332",
    "é",
    "\0",
    "a\nb",
    "\r\nX-Injected: 1",
]


@pytest.mark.parametrize("odd", ODD_IDS, ids=lambda odd: ascii(odd)[:40])
def test_an_id_of_any_shape_is_not_found(owner: Client, memory: JSON, odd: str) -> None:
    plain = owner.get(path("no-such-memory"), expect=404)
    for method, tail, body in (
        ("GET", "", None),
        ("PUT", "", {"name": "n"}),
        ("DELETE", "", None),
        ("GET", "/records", None),
        ("POST", "/records", {"content": "c"}),
        ("POST", "/recall", {"query": "q"}),
        ("GET", "/grants", None),
    ):
        raw = json.dumps(body).encode() if body else None
        reply = owner.send(method, path(odd) + tail, raw=raw, expect=404)
        assert reply.content == plain.content
        assert "X-Injected" not in reply.headers
    for name in ("parent", "ancestor"):
        assert owner.get(path(), expect=404, **{name: odd}).code == "memory_not_found"
    if odd != "\0":
        assert owner.post(path(), {"name": "n", "parent_id": odd}, expect=404).code == "memory_not_found"


def test_a_record_or_grant_id_of_any_shape_is_not_found(owner: Client, memory: JSON, subtests: pytest.Subtests) -> None:
    with unchanged(owner, memory):
        for odd in ODD_IDS:
            with subtests.test(ascii(odd)[:40]):
                for method, tail, body in (
                    ("GET", "", None),
                    ("PATCH", "", {"content": "c"}),
                    ("DELETE", "", None),
                    ("GET", "/history", None),
                ):
                    raw = json.dumps(body).encode() if body else None
                    reply = owner.send(method, path(memory["id"], "records", odd) + tail, raw=raw, expect=404)
                    assert reply.code == "memory_record_not_found", str(reply)
                assert owner.delete(path(memory["id"], "grants", odd), expect=404).code == "memory_not_found"


@pytest.mark.parametrize("raw", ["%ff", "%ed%a0%80", "%c0%ae%c0%ae", "%zz", "%", "a//b"])
def test_a_path_that_is_no_text_is_not_found(owner: Client, raw: str) -> None:
    assert owner.send("GET", f"/v1/memories/{raw}", expect=404)


def test_the_words_of_the_paths_are_no_memory_ids(owner: Client) -> None:
    """`providers` and `types` are words of the protocol: below them there is no memory."""
    for word in ("providers", "types"):
        assert owner.get(path(word)).body["object"] == "list"
        owner.get(path(word, "records"), expect=404)


def test_listing_memories_pages_to_the_end(owner: Client, memory: JSON) -> None:
    made = [plant(owner, f"page {number}", memory) for number in range(3)]
    listed: list[Any] = ids(list(owner.pages(path(), "MemoryList", parent=memory["id"], limit="2")))
    assert len(listed) == len(set(listed)) == 4
    assert set(ids(made)) <= set(listed)
    for child in made:
        owner.delete(path(child["id"]))
