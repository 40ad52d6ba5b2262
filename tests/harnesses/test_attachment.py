"""What memories have to do with a harness: two settings, and a list that is read off the grants."""

from __future__ import annotations

import pytest

from members import services as members
from members.ids import mint
from members.models import Member
from memories.models import Memory
from memories.services import tree
from memories.services.sight import look
from tests import factories
from tests.conftest import Api
from tests.harnesses.conftest import Engage


def of(engaged: object) -> str:
    return f"/v1/harnesses/{getattr(engaged, 'id')}/memories"  # noqa: B009


def test_a_new_agent_holds_nothing(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    assert api.get(of(made), alice) == {
        "object": "harness.memories",
        "principal": f"member:{made.id}",
        "default_memory_id": None,
        "observe": True,
        "data": [],
    }


def test_the_list_is_what_was_granted_highest_first_and_empty_after_it_was_taken_back(
    api: Api, alice: Member, engage: Engage, shared: Memory
) -> None:
    made = engage(alice)
    child = factories.memory(alice, shared, name="Below")
    factories.memory(alice, child, name="Not granted by itself")
    other = factories.memory(alice, name="Another root")
    low, high = (factories.grant(alice, one, made.agent, "read") for one in (child, shared))
    members.add_to_group(factories.group(alice.organisation, name="Desk"), made.agent)
    factories.grant(alice, other, made.agent.groups.get(), "write")
    found = api.get(of(made), alice)["data"]
    assert [(one["id"], one["privileges"]) for one in found] == [
        (other.id, ["write"]),
        (shared.id, ["read"]),
        (child.id, ["read"]),
    ]
    for grant, memory in ((low, child), (high, shared)):
        api.ok("DELETE", f"/v1/memories/{memory.id}/grants/{grant.id}", None, alice)
    members.remove_from_group(made.agent.groups.get(), made.agent)
    assert api.get(of(made), alice)["data"] == []


def test_what_the_agent_made_is_in_the_list(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    own = factories.memory(made.agent, name="Its own")
    found = api.get(of(made), made.agent)["data"]
    assert found == [
        {"id": own.id, "name": "Its own", "privileges": ["read", "write", "create", "delete"], "default": False}
    ]


def test_whoever_manages_it_is_shown_only_memories_that_they_see(api: Api, alice: Member, engage: Engage) -> None:
    made = engage(alice)
    own = factories.memory(made.agent, name="Its own")
    api.ok("PUT", of(made), {"observe": False}, alice)
    shown = api.get(of(made), alice)
    assert shown["data"] == []
    assert own.id not in str(shown)


def test_the_default_memory_may_lie_below_what_was_granted(
    api: Api, alice: Member, engage: Engage, shared: Memory
) -> None:
    made = engage(alice)
    child = factories.memory(alice, shared)
    factories.grant(alice, shared, made.agent, "read", "write")
    changed = api.ok("PUT", of(made), {"default_memory_id": child.id, "observe": False}, alice)
    assert (changed["default_memory_id"], changed["observe"]) == (child.id, False)
    assert changed == api.get(of(made), alice)
    marked = api.ok("PUT", of(made), {"default_memory_id": shared.id}, alice)
    assert marked["data"][0]["default"] is True
    assert marked["observe"] is False


def test_a_default_memory_that_the_agent_may_not_write_is_refused(
    api: Api, alice: Member, engage: Engage, shared: Memory
) -> None:
    made = engage(alice)
    for _ in ("nothing held", "read only"):
        refused = api.call("PUT", of(made), {"default_memory_id": shared.id}, as_=alice)
        assert (refused.status, refused.error["code"]) == (422, "memory_invalid")
        assert refused.error["param"] == "default_memory_id"
        factories.grant(alice, shared, made.agent, "read")


def test_a_default_memory_that_the_caller_does_not_see_is_a_made_up_one(
    api: Api, alice: Member, stranger: Member, engage: Engage
) -> None:
    made = engage(alice)
    hidden = factories.memory(stranger)
    factories.grant(stranger, hidden, made.agent, "write")
    unseen = api.call("PUT", of(made), {"default_memory_id": hidden.id}, as_=alice)
    made_up = api.call("PUT", of(made), {"default_memory_id": mint("hmem_")}, as_=alice)
    assert (unseen.status, unseen.error["code"]) == (404, "memory_not_found")
    assert unseen.raw == made_up.raw


def test_a_default_memory_is_none_once_the_agent_may_not_write_there(
    api: Api, alice: Member, engage: Engage, shared: Memory
) -> None:
    made = engage(alice)
    grant = factories.grant(alice, shared, made.agent, "write")
    api.ok("PUT", of(made), {"default_memory_id": shared.id}, alice)
    api.ok("DELETE", f"/v1/memories/{shared.id}/grants/{grant.id}", None, alice)
    assert api.get(of(made), alice)["default_memory_id"] is None
    factories.grant(alice, shared, made.agent, "write")
    assert api.get(of(made), alice)["default_memory_id"] == shared.id
    tree.delete(look(factories.caller(alice), shared.id))
    assert api.get(of(made), alice)["default_memory_id"] is None


def test_null_takes_the_default_memory_away(api: Api, alice: Member, engage: Engage, shared: Memory) -> None:
    made = engage(alice)
    factories.grant(alice, shared, made.agent, "write")
    api.ok("PUT", of(made), {"default_memory_id": shared.id}, alice)
    assert api.ok("PUT", of(made), {"default_memory_id": None}, alice)["default_memory_id"] is None


def test_saving_the_harness_loses_neither_setting(api: Api, alice: Member, engage: Engage, shared: Memory) -> None:
    made = engage(alice)
    factories.grant(alice, shared, made.agent, "write")
    before = api.ok("PUT", of(made), {"default_memory_id": shared.id, "observe": False}, alice)
    api.ok("PUT", f"/v1/harnesses/{made.id}", {"name": "Renamed"}, alice)
    assert api.get(of(made), alice) == before


def test_an_old_list_of_memories_attaches_nothing(api: Api, alice: Member, engage: Engage, shared: Memory) -> None:
    made = engage(alice)
    body = {"memories": [{"memory_id": shared.id, "access": "write"}]}
    assert api.ok("PUT", of(made), body, alice)["data"] == []


@pytest.mark.parametrize(
    ("body", "param"), [({"observe": 1}, "observe"), ({"default_memory_id": 1}, "default_memory_id")]
)
def test_settings_of_another_type_are_refused(
    api: Api, alice: Member, engage: Engage, body: dict[str, object], param: str
) -> None:
    refused = api.call("PUT", of(engage(alice)), body, as_=alice)
    assert (refused.status, refused.error["code"], refused.error["param"]) == (422, "memory_invalid", param)


def test_a_member_without_a_harness_has_no_such_list(api: Api, alice: Member, agent: Member) -> None:
    assert api.call("GET", f"/v1/harnesses/{agent.id}/memories", as_=alice).error["code"] == "harness_not_found"
