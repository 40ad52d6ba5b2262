"""Harnesses through the API: what is stored, what is refused, who sees and manages them."""

from __future__ import annotations

from typing import Any

import pytest

from harnesses.models import Harness
from members import services
from members.ids import mint
from members.models import Credential, Event, Member
from memories.models import Memory
from tests import factories
from tests.conftest import Api
from tests.harnesses.conftest import Engage
from tests.pages.people import client_of

WHOLE = {
    "name": "Support",
    "base": "claude-code",
    "default_model": "opus",
    "system_prompt": "  Be kind.\n",
    "mcp_servers": [{"name": "crm", "url": "https://crm.example/mcp", "enabled": False}],
    "skills": [{"name": "greet", "content": "---\nname: greet\n---\nSay hello."}],
    "disabled_tools": ["WebSearch"],
    "max_step": 40,
    "timeout_seconds": 900,
}


def test_a_harness_is_read_back_as_it_was_written(api: Api, alice: Member) -> None:
    created = api.ok("POST", "/v1/harnesses", WHOLE, alice)
    assert created["id"].startswith("chrn_")
    assert created == api.get(f"/v1/harnesses/{created['id']}", alice)
    assert created["object"] == "harness"
    assert (created["base"], created["baseLabel"]) == ("claude-code", "Claude Code")
    assert (created["defaultModel"], created["systemPrompt"]) == ("opus", "  Be kind.\n")
    assert created["disabledTools"] == ["WebSearch"]
    assert (created["maxStep"], created["timeoutSeconds"]) == (40, 900)
    assert (created["plugins"], created["environment"]) == ([], "")
    assert created["mcpServers"][0]["enabled"] is False
    assert created["createdAt"] > 1_700_000_000_000


def test_what_was_read_can_be_written_back(api: Api, alice: Member) -> None:
    created = api.ok("POST", "/v1/harnesses", WHOLE, alice)
    again = api.ok("PUT", f"/v1/harnesses/{created['id']}", created, alice)
    assert {**again, "updatedAt": 0} == {**created, "updatedAt": 0}


def test_both_spellings_are_taken_and_two_values_are_not(api: Api, alice: Member) -> None:
    camel = {"base": "codex", "defaultModel": "gpt-5", "maxStep": 3, "disabledTools": ["a"], "systemPrompt": "x"}
    created = api.ok("POST", "/v1/harnesses", camel, alice)
    assert (created["defaultModel"], created["maxStep"], created["disabledTools"]) == ("gpt-5", 3, ["a"])
    refused = api.call("POST", "/v1/harnesses", {"base": "mcp", "max_step": 1, "maxStep": 2}, as_=alice)
    assert (refused.status, refused.error["code"], refused.error["param"]) == (422, "invalid_input", "maxStep")


def test_a_name_that_is_left_out_is_the_label_of_the_base(api: Api, alice: Member) -> None:
    assert api.ok("POST", "/v1/harnesses", {"base": "cursor"}, alice)["name"] == "Cursor"


def test_an_update_replaces_and_what_is_left_out_returns_to_its_default(api: Api, alice: Member) -> None:
    created = api.ok("POST", "/v1/harnesses", WHOLE, alice)
    changed = api.ok("PUT", f"/v1/harnesses/{created['id']}", {"name": "Desk"}, alice)
    assert (changed["id"], changed["base"], changed["createdAt"]) == (
        created["id"],
        created["base"],
        created["createdAt"],
    )
    assert (changed["name"], changed["defaultModel"], changed["systemPrompt"]) == ("Desk", "", "")
    assert (changed["mcpServers"], changed["skills"], changed["disabledTools"]) == ([], [], [])
    assert (changed["maxStep"], changed["timeoutSeconds"]) == (None, None)
    assert Member.objects.get(pk=created["id"]).name == "Desk"


REFUSED: list[tuple[dict[str, Any], int, str, str | None]] = [
    ({}, 422, "unsupported_base", "base"),
    ({"base": "made-up"}, 422, "unsupported_base", "base"),
    ({"base": "mcp", "colour": "red"}, 422, "invalid_input", "colour"),
    ({"base": "codex", "default_model": "opus"}, 422, "model_unavailable", "default_model"),
    ({"base": "mcp", "default_model": "opus"}, 422, "model_unavailable", "default_model"),
    ({"base": "mcp", "name": 1}, 422, "invalid_input", "name"),
    ({"base": "mcp", "name": "x" * 121}, 422, "invalid_input", "name"),
    ({"base": "mcp", "system_prompt": ["x"]}, 422, "invalid_input", "system_prompt"),
    ({"base": "mcp", "system_prompt": "a\u0000b"}, 422, "invalid_input", "system_prompt"),
    ({"base": "mcp", "max_step": 0}, 422, "invalid_input", "max_step"),
    ({"base": "mcp", "timeout_seconds": 1.5}, 422, "invalid_input", "timeout_seconds"),
    ({"base": "mcp", "disabled_tools": "x"}, 422, "invalid_input", "disabled_tools"),
    ({"base": "mcp", "plugins": [{"files": []}]}, 422, "invalid_input", "plugins"),
    ({"base": "mcp", "environment": mint("henv_")}, 404, "environment_not_found", "environment"),
]


@pytest.mark.parametrize(("body", "status", "code", "param"), REFUSED)
def test_what_cannot_be_stored_is_refused_and_stores_nothing(
    api: Api, alice: Member, body: dict[str, Any], status: int, code: str, param: str | None
) -> None:
    before = Member.objects.count()
    answer = api.call("POST", "/v1/harnesses", body, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (status, code, param)
    assert Member.objects.count() == before
    assert not Harness.objects.exists()


def test_an_unknown_base_is_told_which_there_are(api: Api, alice: Member, settings: Any) -> None:
    settings.HARNESS_BASES = [{"name": "one", "label": "One", "models": ["m"]}, {"name": "two"}]
    answer = api.call("POST", "/v1/harnesses", {"base": "three"}, as_=alice)
    assert answer.error["detail"] == {"supported": ["one", "two"]}


def test_empty_plugins_and_an_empty_environment_are_what_there_is(api: Api, alice: Member) -> None:
    body: dict[str, Any] = {"base": "mcp", "plugins": [], "environment": "", "default_model": None, "max_step": None}
    assert api.ok("POST", "/v1/harnesses", body, alice)["plugins"] == []


def test_the_base_of_a_harness_does_not_change(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    answer = api.call("PUT", f"/v1/harnesses/{made.id}", {"base": "codex", "name": "Other"}, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["detail"]) == (409, "harness_mismatch", {"base": "mcp"})
    assert api.get(f"/v1/harnesses/{made.id}", alice)["name"] == "Clerk"


def test_a_model_that_is_not_declared_any_more_stays_until_it_is_changed(
    api: Api, alice: Member, settings: Any
) -> None:
    created = api.ok("POST", "/v1/harnesses", {"base": "codex", "default_model": "gpt-5"}, alice)
    settings.HARNESS_BASES = [{"name": "mcp", "label": "Any", "models": []}]
    address = f"/v1/harnesses/{created['id']}"
    kept = api.ok("PUT", address, api.get(address, alice), alice)
    assert (kept["base"], kept["baseLabel"], kept["defaultModel"]) == ("codex", "codex", "gpt-5")
    assert api.call("PUT", address, {"default_model": "gpt-5-codex"}, as_=alice).error["code"] == "model_unavailable"


def test_nothing_can_run_and_the_catalogue_says_so(api: Api, alice: Member, engage: Engage) -> None:
    backends = api.get("/v1/models", alice)["backends"]
    assert list(backends) == ["claude-code", "codex", "cursor", "mcp"]
    assert backends["claude-code"]["default"] == "sonnet"
    assert all(model["available"] is False for one in backends.values() for model in one["models"])
    made = engage(alice, base="claude-code", default_model="haiku")
    shown = api.get(f"/v1/harnesses/{made.id}/models", alice)
    assert (shown["harness_id"], shown["backend"]) == (made.id, "claude-code")
    assert (shown["default"], shown["fallback"]) == ("haiku", "sonnet")
    assert shown["models"] == backends["claude-code"]["models"]


def test_creating_a_harness_creates_its_agent_in_everyone_and_no_other_group(
    alice: Member, engage: Engage, api: Api
) -> None:
    made = engage(alice)
    assert (made.agent.type, made.agent.name, made.agent.principal) == ("agent", "Clerk", f"member:{made.id}")
    caller = factories.caller(made.agent)
    assert len(caller.principals) == 2
    common = factories.memory(alice)
    everyone = next(one for one in caller.principals if one.startswith("group:"))
    api.ok("POST", f"/v1/memories/{common.id}/grants", {"principal": everyone, "privileges": ["read"]}, alice)
    assert [one["id"] for one in api.get("/v1/memories", made.agent)["data"]] == [common.id]


def test_deleting_a_harness_ends_its_agent_at_once_and_what_it_wrote_still_names_it(
    api: Api, alice: Member, engage: Engage, shared: Memory
) -> None:
    made = engage(alice)
    factories.grant(alice, shared, made.agent, "read", "write")
    written = api.ok("POST", f"/v1/memories/{shared.id}/records", {"content": "From the agent."}, made.agent)
    deleted = api.ok("DELETE", f"/v1/harnesses/{made.id}", None, alice)
    assert deleted == {"id": made.id, "object": "harness", "deleted": True, "sessions": 0, "restorableUntil": None}
    assert api.call("GET", f"/v1/memories/{shared.id}/records", as_=made.agent).status == 401
    assert api.call("GET", f"/v1/harnesses/{made.id}", as_=alice).error["code"] == "harness_not_found"
    assert api.get("/v1/harnesses", alice)["harnesses"] == []
    read = api.get(f"/v1/memories/{shared.id}/records/{written['id']}", alice)
    assert read["written_by"] == {"kind": "member", "id": made.id, "type": "agent"}
    assert not Credential.objects.live().filter(member=made.agent).exists()


def test_the_agent_of_a_deleted_harness_never_acts_again(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    api.get("/v1/memories", made.agent)
    api.ok("DELETE", f"/v1/harnesses/{made.id}", None, alice)
    with pytest.raises(services.Refused, match="retired with its harness"):
        services.reactivate(Member.objects.get(pk=made.id))
    page = f"/console/{alice.organisation.slug}/people/{made.id}"
    assert "Let act again" not in client_of(alice).get(page).content.decode()
    assert "was retired" in client_of(alice).post(f"{page}/reactivate", follow=True).content.decode()
    assert not Member.objects.get(pk=made.id).is_active
    assert api.call("GET", "/v1/memories", as_=made.agent).status == 401


def test_an_agent_that_was_only_deactivated_acts_again(alice: Member, engage: Engage) -> None:
    made = engage(alice)
    services.deactivate(made.agent)
    services.reactivate(made.agent)
    assert Member.objects.get(pk=made.id).is_active


def test_who_sees_and_who_manages_a_harness(
    api: Api, alice: Member, bob: Member, carol: Member, engage: Engage
) -> None:
    made = engage(bob)
    address = f"/v1/harnesses/{made.id}"
    for manager in (alice, bob):
        assert api.call("GET", address, as_=manager).status == 200
        assert api.call("PUT", address, {"name": "Clerk"}, as_=manager).status == 200
    assert api.call("GET", address, as_=made.agent).status == 200
    for method, path in (("PUT", ""), ("DELETE", ""), ("PUT", "/memories"), ("GET", "/x-keys"), ("POST", "/x-keys")):
        refused = api.call(method, address + path, {"nonsense": 1}, as_=made.agent)
        assert (refused.status, refused.error["code"]) == (403, "insufficient_scope"), path
    assert api.get("/v1/harnesses", carol)["harnesses"] == []
    assert [one["id"] for one in api.get("/v1/harnesses", made.agent)["harnesses"]] == [made.id]


def test_an_unseen_harness_is_a_made_up_one_to_the_byte(
    api: Api, alice: Member, carol: Member, mallory: Member, engage: Engage
) -> None:
    made = engage(alice)
    compared = 0
    for method, path in [
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/models"),
        ("GET", "/memories"),
        ("PUT", "/memories"),
        ("GET", "/skills/x/files"),
        ("GET", "/x-keys"),
        ("POST", "/x-keys"),
        ("DELETE", "/x-keys/key_1"),
    ]:
        for body in ({"base": 1}, "not JSON"):
            for who in (carol, mallory):
                unseen = api.call(method, f"/v1/harnesses/{made.id}{path}", body, as_=who)
                made_up = api.call(method, f"/v1/harnesses/{mint('chrn_')}{path}", body, as_=who)
                assert (unseen.status, unseen.error["code"]) == (404, "harness_not_found")
                assert (unseen.raw, unseen.headers) == (made_up.raw, made_up.headers)
                compared += 1
    assert compared == 40


@pytest.mark.parametrize("made_up", ["chrn_", "1", "%00", "%ff", "chrn_" + "0" * 32, "H" * 2000])
def test_an_id_of_any_shape_is_an_unknown_harness(api: Api, alice: Member, made_up: str) -> None:
    assert api.call("GET", f"/v1/harnesses/{made_up}", as_=alice).error["code"] == "harness_not_found"


def test_only_owners_create_harnesses_where_the_settings_say_so(
    api: Api, alice: Member, bob: Member, settings: Any
) -> None:
    settings.HARNESSES_BY_OWNERS_ONLY = True
    refused = api.call("POST", "/v1/harnesses", "not JSON", as_=bob)
    assert (refused.status, refused.error["code"]) == (403, "insufficient_scope")
    assert api.call("POST", "/v1/harnesses", {"base": "mcp"}, as_=alice).status == 200


def test_what_happens_to_a_harness_is_an_event_without_what_it_says(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice, system_prompt="A secret plan.")
    api.ok("PUT", f"/v1/harnesses/{made.id}", {"name": "Desk", "system_prompt": "Another secret plan."}, alice)
    api.ok("DELETE", f"/v1/harnesses/{made.id}", None, alice)
    about = Event.objects.filter(subject=f"member:{made.id}").order_by("id")
    assert [one.action for one in about if one.action.startswith("harness")] == [
        "harness.created",
        "harness.changed",
        "harness.deleted",
    ]
    assert all(one.actor == alice.principal and "secret" not in str(one.detail) for one in about)


def test_a_repeated_create_with_a_key_makes_one_agent(api: Api, alice: Member) -> None:
    headers = {"Idempotency-Key": "once"}
    first, second = (api.call("POST", "/v1/harnesses", WHOLE, as_=alice, headers=headers) for _ in range(2))
    assert first.json == second.json
    assert Harness.objects.count() == 1


def test_a_key_of_the_agent_is_shown_once_and_ends_at_once(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    issued = api.ok("POST", f"/v1/harnesses/{made.id}/x-keys", {"name": "Laptop"}, alice)
    bearer = {"Authorization": f"Bearer {issued['token']}"}
    assert api.call("GET", "/v1/memories", headers=bearer).status == 200
    listed = api.get(f"/v1/harnesses/{made.id}/x-keys", alice)["data"]
    assert [one["id"] for one in listed] == [issued["id"]]
    assert "token" not in listed[0]
    api.ok("DELETE", f"/v1/harnesses/{made.id}/x-keys/{issued['id']}", None, alice)
    assert api.call("GET", "/v1/memories", headers=bearer).status == 401
    gone = api.call("DELETE", f"/v1/harnesses/{made.id}/x-keys/{issued['id']}", as_=alice)
    assert (gone.status, gone.error["code"]) == (404, "heartwood_key_not_found")


def test_no_answer_that_holds_a_key_is_kept(api: Api, alice: Member, engage: Engage) -> None:
    from members.models import KeptAnswer

    made = engage(alice)
    headers = {"Idempotency-Key": "once"}
    address = f"/v1/harnesses/{made.id}/x-keys"
    tokens = {api.call("POST", address, {}, as_=alice, headers=headers).json["token"] for _ in range(2)}
    assert len(tokens) == 2
    assert not KeptAnswer.objects.exists()


def test_a_key_ends_in_the_future(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    answer = api.call("POST", f"/v1/harnesses/{made.id}/x-keys", {"expires_at": "2020-01-01T00:00:00Z"}, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "invalid_input", "expires_at")


def test_discovery_claims_the_management_of_harnesses_and_nothing_that_runs_them(api: Api) -> None:
    claimed = api.call("GET", "/v1/uhp").json["capabilities"]
    assert claimed["harness_management"] is True
    for capability in ("streaming", "sessions", "cancellation", "plugins", "environments", "harness_retirement"):
        assert claimed[capability] is False
    assert api.call("POST", "/v1/responses", {}).status == 404
