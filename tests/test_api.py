"""Every way in which a request can fail, and what every answer has in common."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import RequestFactory, override_settings

from members.models import Credential, Member
from memories.models import Memory, Version
from memories.providers import registry
from memories.providers.native import NativeProvider
from memories.services import listing
from tests import factories
from tests.access.test_routes import protocol_routes
from tests.conftest import Answer, Api
from uhp_site import urls
from uhp_site.http.errors import MemoryUnavailable

pytestmark = pytest.mark.django_db

TYPES = {401: "authentication_error", 403: "permission_error", 500: "server_error", 503: "server_error"}


def assert_failed(answer: Answer, status: int, code: str, param: str | None = None) -> None:
    """The one envelope, all five keys present, and the headers that every answer carries."""
    assert (answer.status, answer.error["code"], answer.error["param"]) == (status, code, param)
    assert set(answer.json) == {"error"}
    assert set(answer.error) == {"type", "code", "message", "param", "detail"}
    assert answer.error["type"] == TYPES.get(status, "invalid_request_error")
    assert answer.error["message"].endswith(".")
    assert answer.headers["UHP-Version"] == "2026-10-19"
    assert answer.headers["Content-Type"] == "application/json"


UNREADABLE = [
    b"{",
    b"[]",
    b'"words"',
    b"null",
    b"1",
    b"true",
    b"name=New",
    b"{'name': 1}",
    b'{"name": 1} x',
    b'{"name": NaN}',
    b'{"name": Infinity}',
    b'{"name": -Infinity}',
    b'{"name": "\xff"}',
    b"\xff\xfe{\x00}\x00",
    b'{"name": ' + b"1" * 5000 + b"}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b"\0",
]


@pytest.mark.parametrize("body", UNREADABLE, ids=lambda body: ascii(body[:20]))
def test_a_body_that_is_no_json_object_is_400(api: Api, alice: Member, shared: Memory, body: bytes) -> None:
    for path in ("/v1/memories", f"/v1/memories/{shared.id}/records", f"/v1/memories/{shared.id}/recall"):
        assert_failed(api.call("POST", path, body, as_=alice), 400, "invalid_input")
    assert list(Memory.objects.all()) == [shared]


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("", "missing_credential"),
        ("Bearer", "invalid_credential"),
        ("Bearer ", "invalid_credential"),
        ("Bearer hw_unknown", "invalid_credential"),
        ("Bearer \x00é", "invalid_credential"),
        ("Basic YTpi", "invalid_credential"),
        ("hw_unknown", "invalid_credential"),
        ("Bearer " + "x" * 4000, "invalid_credential"),
    ],
)
def test_a_request_without_a_good_credential_is_401(api: Api, shared: Memory, header: str, code: str) -> None:
    headers = {"Authorization": header} if header else {}
    for path in ("/v1/memories", f"/v1/memories/{shared.id}", "/v1/memories/unknown"):
        answer = api.call("GET", path, headers=headers)
        assert_failed(answer, 401, code)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_key_is_accepted_whatever_the_case_of_its_scheme(api: Api, alice: Member) -> None:
    answer = api.call("GET", "/v1/memories", headers={"Authorization": f"bearer  {api.key(alice)} "})
    assert answer.status == 200


def test_a_session_is_no_credential_here(api: Api, client: Any, alice: Member) -> None:
    user = factories.member(alice.organisation, email="ann@example.com").user
    assert user is not None
    client.force_login(user)
    assert client.get("/v1/memories").status_code == 401


def test_credentials_come_before_the_body(api: Api, shared: Memory) -> None:
    assert_failed(api.call("POST", f"/v1/memories/{shared.id}/records", b"{"), 401, "missing_credential")


def test_sight_and_privilege_come_before_the_body(api: Api, carol: Member, stranger: Member, shared: Memory) -> None:
    path = f"/v1/memories/{shared.id}/records"
    for body in (b"{", b'{"content": 1}', b"x" * (5 * 1024 * 1024)):
        assert_failed(api.call("POST", path, body, as_=stranger), 404, "memory_not_found")
        assert_failed(api.call("POST", path, body, as_=carol), 403, "memory_forbidden")


def test_an_address_that_does_not_exist_is_404(api: Api, alice: Member) -> None:
    for path in ("/v1", "/v1/", "/v1/nothing", "/v1/memories/x/nothing", "/v1/uhp/", "/v1/%00", "/v1/%ff"):
        assert_failed(api.call("GET", path, as_=alice), 404, "heartwood_route_not_found")


def test_a_trailing_slash_is_another_address_and_never_a_redirect(api: Api, alice: Member) -> None:
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        assert_failed(api.call(method, "/v1/memories/", {}, as_=alice), 404, "heartwood_route_not_found")


def test_an_address_outside_the_protocol_is_a_page(api: Api) -> None:
    answer = api.call("GET", "/nothing-here")
    assert answer.status == 404
    assert "UHP-Version" not in answer.headers
    assert answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_a_method_that_is_not_taken_is_405(api: Api, alice: Member, method: str) -> None:
    assert_failed(api.call(method, "/v1/memories", as_=alice), 405, "heartwood_method_not_allowed")


def test_a_body_over_the_limit_is_413_and_says_the_limit(api: Api, alice: Member) -> None:
    body = json.dumps({"name": "New"}).encode()
    with override_settings(MAX_BODY_BYTES=len(body)):
        assert api.call("POST", "/v1/memories", body, as_=alice).status == 200
        answer = api.call("POST", "/v1/memories", body + b" ", as_=alice)
    assert_failed(answer, 413, "file_too_large")
    assert answer.error["detail"] == {"max_bytes": len(body)}
    assert Memory.objects.count() == 1


@pytest.mark.parametrize("bad", ["\\u0000", "\\ud800", "\\udc00\\ud800"])
def test_text_that_cannot_be_kept_is_422_wherever_it_stands(api: Api, alice: Member, shared: Memory, bad: str) -> None:
    one = f"/v1/memories/{shared.id}"
    record = f"{one}/records/{factories.record(alice, shared).id}"
    requests = [
        ("POST", "/v1/memories", {"name": "?"}, "name"),
        ("POST", "/v1/memories", {"name": "n", "description": "?"}, "description"),
        ("POST", "/v1/memories", {"name": "n", "provider": "?"}, "provider"),
        ("POST", "/v1/memories", {"name": "n", "parent_id": "?"}, "parent_id"),
        ("PUT", one, {"name": "?"}, "name"),
        ("PUT", one, {"parent_id": "?"}, "parent_id"),
        ("POST", f"{one}/grants", {"principal": "member:?", "privileges": ["read"]}, "principal"),
        ("POST", f"{one}/grants", {"principal": "member:a", "privileges": ["?"]}, "privileges.0"),
        ("POST", f"{one}/records", {"content": "?"}, "content"),
        ("POST", f"{one}/records", {"content": [{"type": "x.a", "?": 1}]}, "content.0"),
        ("POST", f"{one}/records", {"content": [{"type": "text", "text": "w", "role": "?"}]}, "content.0.role"),
        ("POST", f"{one}/records", {"title": "?"}, "title"),
        ("POST", f"{one}/records", {"title": "t", "type": "a?"}, "type"),
        ("POST", f"{one}/records", {"title": "t", "attributes": {"a": ["?"]}}, "attributes.a.0"),
        ("POST", f"{one}/records", {"title": "t", "references": [{"record_id": "?"}]}, "references.0.record_id"),
        ("POST", f"{one}/records", {"title": "t", "time": {"valid_from": "?"}}, "time.valid_from"),
        ("PATCH", record, {"title": "?"}, "title"),
        ("POST", f"{one}/recall", {"query": "?"}, "query"),
        ("POST", f"{one}/recall", {"text": "?"}, "text"),
        ("POST", f"{one}/recall", {"query": "q", "types": ["?"]}, "types.0"),
        ("POST", f"{one}/recall", {"query": "q", "include": "?"}, "include"),
    ]
    before = (Memory.objects.count(), Version.objects.count())
    for method, path, body, param in requests:
        raw = json.dumps(body).replace("?", bad)
        assert_failed(api.call(method, path, raw, as_=alice), 422, "memory_invalid", param)
    assert (Memory.objects.count(), Version.objects.count()) == before


def test_unknown_fields_are_ignored_whatever_they_hold(api: Api, alice: Member, shared: Memory) -> None:
    body = '{"content": "w", "written_by": {"id": "\\u0000"}, "\\ud800": ["\\ud800"], "id": 5}'
    assert api.call("POST", f"/v1/memories/{shared.id}/records", body, as_=alice).status == 200


def test_a_failure_nobody_foresaw_is_500_and_tells_nothing(
    api: Api, alice: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the password is swordfish, in /srv/heartwood")

    monkeypatch.setattr(listing, "memories", fail)
    answer = api.call("GET", "/v1/memories", as_=alice)
    assert_failed(answer, 500, "heartwood_server_error")
    assert len(answer.error["detail"]["correlation_id"]) == 32
    assert b"swordfish" not in answer.raw
    assert b"/srv" not in answer.raw


def test_a_failure_outside_the_endpoints_is_the_same_envelope(
    rf: RequestFactory,
) -> None:
    answered = json.loads(urls.handler500(rf.get("/v1/memories")).content)
    assert answered["error"]["code"] == "heartwood_server_error"
    assert urls.handler500(rf.get("/accounts/login/"))["Content-Type"].startswith("text/html")


def test_nothing_that_is_answered_is_kept_by_a_cache(api: Api, alice: Member, shared: Memory) -> None:
    for path in ("/v1/uhp", "/v1/memories", f"/v1/memories/{shared.id}", "/v1/memories/unknown", "/v1/nothing"):
        for who in (alice, None):
            assert api.call("GET", path, as_=who).headers["Cache-Control"] == "no-store"


def test_a_provider_that_is_gone_is_503_for_records_and_no_reason_not_to_see_the_tree(
    api: Api, alice: Member, shared: Memory
) -> None:
    Memory.objects.filter(pk=shared.pk).update(provider="unplugged")
    path = f"/v1/memories/{shared.id}"
    assert_failed(api.call("GET", f"{path}/records", as_=alice), 503, "memory_unavailable")
    assert_failed(api.call("POST", f"{path}/records", {"content": "w"}, as_=alice), 503, "memory_unavailable")
    assert_failed(api.call("POST", f"{path}/recall", {"query": "w"}, as_=alice), 503, "memory_unavailable")
    assert api.get(path, alice)["records"] == {"count": None}


def test_a_provider_that_does_not_answer_never_makes_up_a_count(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise MemoryUnavailable()

    monkeypatch.setattr(NativeProvider, "count", unavailable)
    assert api.get(f"/v1/memories/{shared.id}", alice)["records"] == {"count": None}


def test_the_version_asked_for_is_the_version_served(api: Api, alice: Member) -> None:
    for version in ("2026-10-19", "2026-10-04"):
        answer = api.call("GET", "/v1/memories", as_=alice, headers={"UHP-Version": version})
        assert (answer.status, answer.headers["UHP-Version"]) == (200, version)


@pytest.mark.parametrize("version", ["2025-01-01", "latest", "2026-10-19, 2026-10-04", "2026-10-19é"])
def test_another_version_is_refused_before_anything_else(api: Api, version: str) -> None:
    for path in ("/v1/uhp", "/v1/memories", "/v1/nothing"):
        answer = api.call("GET", path, headers={"UHP-Version": version})
        assert_failed(answer, 400, "unsupported_protocol_version", "UHP-Version")
        assert answer.error["detail"] == {"supported": ["2026-10-19", "2026-10-04"]}


@pytest.mark.parametrize("accept", ["application/json", "text/html", "image/png", "*/*;q=0", "nonsense", ""])
def test_what_a_client_accepts_is_never_a_reason_to_refuse(api: Api, alice: Member, accept: str) -> None:
    answer = api.call("GET", "/v1/memories", as_=alice, headers={"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")


@pytest.mark.parametrize(
    "sent",
    ["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "x", ""],
)
def test_a_body_is_json_whatever_it_is_called(api: Api, alice: Member, sent: str) -> None:
    answer = api.call("POST", "/v1/memories", {"name": "New"}, as_=alice, headers={"Content-Type": sent})
    assert answer.json["name"] == "New"


@pytest.mark.parametrize("sent", ["application/json", "multipart/form-data", "application/x-www-form-urlencoded"])
def test_no_body_is_an_empty_object(api: Api, alice: Member, sent: str) -> None:
    answer = api.call("POST", "/v1/memories", as_=alice, headers={"Content-Type": sent})
    assert_failed(answer, 422, "memory_invalid", "name")


def test_a_head_request_is_answered_like_a_get_without_the_body(
    api: Api, alice: Member, stranger: Member, shared: Memory
) -> None:
    answer = api.call("HEAD", f"/v1/memories/{shared.id}", as_=alice)
    assert (answer.status, answer.raw) == (200, b"")
    assert api.call("HEAD", f"/v1/memories/{shared.id}", as_=stranger).status == 404


def test_discovery_is_the_same_for_everyone(api: Api, alice: Member) -> None:
    answer = api.call("GET", "/v1/uhp")
    assert answer.json["versions"] == ["2026-10-19", "2026-10-04"]
    assert answer.json["capabilities"]["memories"] is True
    assert all(isinstance(value, bool) for value in answer.json["capabilities"].values())
    assert api.call("GET", "/v1/uhp", as_=alice).raw == answer.raw
    assert api.call("GET", "/v1/uhp", headers={"Authorization": "Bearer wrong"}).raw == answer.raw
    assert not Credential.objects.exclude(last_used_at=None).exists()


def test_the_providers_declare_only_what_is_there(api: Api, alice: Member, shared: Memory) -> None:
    [document] = api.get("/v1/memories/providers", alice)["data"]
    assert document["id"] == registry.connected()[0].id == shared.provider
    assert {"id", "isolation"} <= set(document)
    declared: dict[str, tuple[str, str, Any]] = {
        "prime": ("GET", "prime", None),
        "consolidate": ("POST", "consolidations", None),
        "observe": ("POST", "observe", {"episodes": [{"content": "Said."}]}),
    }
    for capability, (method, route, body) in declared.items():
        assert document.get(capability)
        assert api.call(method, f"/v1/memories/{shared.id}/{route}", body, as_=alice).status == 200


def test_the_schema_describes_every_route_that_does_something(api: Api) -> None:
    described = set(api.call("GET", "/v1/schema").json["paths"])
    served = {f"/{route}".replace("<str:", "{").replace(">", "}") for route in protocol_routes()}
    expected = {route for route in served if "/schema" not in route}
    assert described == expected
