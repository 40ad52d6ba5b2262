"""MCP servers of a harness: their secrets go in, are kept sealed, and come out nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from harnesses import vault
from harnesses.errors import HarnessInvalid, UnsupportedTransport
from harnesses.models import Server
from harnesses.remotes import read_servers
from members.models import Member
from tests.conftest import Api
from tests.harnesses.conftest import Engage

CRM = {
    "name": "crm",
    "url": "https://crm.example/mcp",
    "auth": "token-c4f3",
    "headers": {"X-Api-Key": "header-9b1d"},
}


def kept(name: str = "crm") -> dict[str, Any]:
    sealed = Server.objects.get(name=name).sealed
    return vault.unseal(bytes(sealed)) if sealed else {}


def stored() -> str:
    """Everything in the database, as text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        found = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')  # noqa: S608
            found += [row for (row,) in cursor.fetchall()]
    return "\n".join(found)


def test_secrets_are_named_and_never_shown(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    shown = {"name": "crm", "transport": "http", "url": CRM["url"], "enabled": True}
    assert made.json["mcpServers"] == [{**shown, "secrets": ["auth", "headers.X-Api-Key"]}]
    for path in ("", "/memories", "/models"):
        raw = api.call("GET", f"/v1/harnesses/{made.id}{path}", as_=alice).raw
        assert b"c4f3" not in raw
        assert b"9b1d" not in raw


def test_secrets_stand_nowhere_in_the_database(api: Api, alice: Member) -> None:
    body = {"base": "mcp", "mcp_servers": [CRM]}
    assert api.call("POST", "/v1/harnesses", body, as_=alice, headers={"Idempotency-Key": "k"}).status == 200
    rows = stored()
    assert "crm.example" in rows
    for secret in ("token-c4f3", "header-9b1d", b"token-c4f3".hex(), b"header-9b1d".hex()):
        assert secret not in rows
    assert kept() == {"auth": "token-c4f3", "headers": {"X-Api-Key": "header-9b1d"}}


def test_an_update_that_leaves_them_out_keeps_them(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    written = api.ok("PUT", f"/v1/harnesses/{made.id}", made.json, alice)
    assert written["mcpServers"] == made.json["mcpServers"]
    assert kept() == {"auth": "token-c4f3", "headers": {"X-Api-Key": "header-9b1d"}}


def test_each_of_them_is_replaced_or_removed_by_itself(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    entry = made.json["mcpServers"][0]
    address = f"/v1/harnesses/{made.id}"
    api.ok("PUT", address, {"mcp_servers": [{**entry, "auth": "other"}]}, alice)
    assert kept() == {"auth": "other", "headers": {"X-Api-Key": "header-9b1d"}}
    api.ok("PUT", address, {"mcp_servers": [{**entry, "headers": {}}]}, alice)
    assert kept() == {"auth": "other"}
    assert api.ok("PUT", address, {"mcp_servers": [{**entry, "auth": ""}]}, alice)["mcpServers"][0]["secrets"] == []
    assert Server.objects.get().sealed is None


def test_a_kept_secret_goes_to_no_other_host(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    address, entry = f"/v1/harnesses/{made.id}", made.json["mcpServers"][0]
    for url in ("https://evil.example/mcp", "http://crm.example/mcp", "https://crm.example:8443/mcp"):
        refused = api.call("PUT", address, {"mcp_servers": [{**entry, "url": url}]}, as_=alice)
        assert (refused.status, refused.error["param"]) == (422, "mcp_servers.0.url")
    assert Server.objects.get().url == CRM["url"]
    api.ok("PUT", address, {"mcp_servers": [{**entry, "url": "https://crm.example/v2"}]}, alice)
    assert kept()["auth"] == "token-c4f3"
    api.ok("PUT", address, {"mcp_servers": [{**entry, "url": "https://b.example", "auth": "b", "headers": {}}]}, alice)
    assert kept() == {"auth": "b"}


def test_a_server_by_another_name_has_none_of_them(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    entry = {**made.json["mcpServers"][0], "name": "crm2"}
    assert api.ok("PUT", f"/v1/harnesses/{made.id}", {"mcp_servers": [entry]}, alice)["mcpServers"][0]["secrets"] == []


def test_deleting_the_harness_removes_them(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    api.ok("DELETE", f"/v1/harnesses/{made.id}", None, alice)
    assert not Server.objects.exists()


def test_a_new_secret_key_opens_what_the_one_before_sealed() -> None:
    with override_settings(SECRET_KEY="first"):
        sealed = vault.seal({"auth": "x"})
    with override_settings(SECRET_KEY="second", SECRET_KEY_FALLBACKS=["first"]):
        assert vault.unseal(sealed) == {"auth": "x"}
    with override_settings(SECRET_KEY="second"), pytest.raises(vault.Unreadable):
        vault.unseal(sealed)


def test_what_cannot_be_opened_any_more_has_to_be_sent_again(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, mcp_servers=[CRM])
    address = f"/v1/harnesses/{made.id}"
    Server.objects.update(sealed=b"scrambled")
    refused = api.call("PUT", address, made.json, as_=alice)
    assert (refused.status, refused.error["param"]) == (422, "mcp_servers.0")
    assert api.ok("PUT", address, {"mcp_servers": [CRM]}, alice)["mcpServers"][0]["secrets"]


REFUSED: list[tuple[Any, str]] = [
    ({}, "mcp_servers"),
    ([1], "mcp_servers.0"),
    ([{"url": "https://a.example"}], "mcp_servers.0.name"),
    ([{"name": "a"}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "ftp://a.example"}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "https://user:pass@a.example"}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "https://a.example/#x"}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "https://a.example:99999"}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "https://["}], "mcp_servers.0.url"),
    ([{"name": "a", "url": "https://a.example", "enabled": 1}], "mcp_servers.0.enabled"),
    ([{"name": "a", "url": "https://a.example", "auth": 1}], "mcp_servers.0.auth"),
    ([{"name": "a", "url": "https://a.example", "headers": []}], "mcp_servers.0.headers"),
    ([{"name": "a", "url": "https://a.example", "headers": {"a b": "c"}}], "mcp_servers.0.headers"),
    ([{"name": "a", "url": "https://a.example", "headers": {"X": "a\r\nY: b"}}], "mcp_servers.0.headers.X"),
    ([{"name": "a", "url": "https://a.example"}] * 2, "mcp_servers"),
]


@pytest.mark.parametrize(("value", "param"), REFUSED)
def test_what_is_no_server_is_refused_by_name(value: Any, param: str) -> None:
    with pytest.raises(HarnessInvalid) as refused:
        read_servers(value)
    assert refused.value.param == param


def test_a_process_of_its_own_is_no_remote_server() -> None:
    with pytest.raises(UnsupportedTransport) as refused:
        read_servers([{"name": "a", "url": "https://a.example", "transport": "stdio"}])
    assert refused.value.detail == {"transport": "stdio"}


def test_a_server_shows_no_secret_when_it_is_printed() -> None:
    (draft,) = read_servers([CRM])
    assert "c4f3" not in repr(draft)
    assert "9b1d" not in repr(draft)
