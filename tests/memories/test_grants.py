"""Giving and taking back, and who may look at what was given."""

from __future__ import annotations

import pytest

from members.models import Group, Member
from memories.access import Privilege
from memories.models import Grant, Memory
from memories.services import grants, tree
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound

pytestmark = pytest.mark.django_db


def test_a_grant_is_shown_as_it_was_given(api: Api, alice: Member, stranger: Member, shared: Memory) -> None:
    asked = {"principal": stranger.principal, "privileges": ["delete", "read", "read"]}
    given = api.ok("POST", f"/v1/memories/{shared.id}/grants", asked, alice)
    assert given == {
        "id": given["id"],
        "object": "memory.grant",
        "memory_id": shared.id,
        "principal": stranger.principal,
        "privileges": ["read", "delete"],
        "inherited": False,
    }
    assert given in api.get(f"/v1/memories/{shared.id}/grants", alice)["data"]


def test_giving_again_replaces_the_set_and_keeps_the_id(alice: Member, carol: Member, shared: Memory) -> None:
    first = Grant.objects.get(principal=carol.principal)
    again = factories.grant(alice, shared, carol, "write", "create")
    assert again.id == first.id
    assert at(carol, shared).privileges == Privilege.WRITE | Privilege.CREATE


def test_taking_back_undoes_giving(alice: Member, stranger: Member, shared: Memory) -> None:
    given = factories.grant(alice, shared, stranger)
    assert at(stranger, shared).privileges == Privilege.READ
    grants.take_back(at(alice, shared), given.id)
    with pytest.raises(MemoryNotFound):
        at(stranger, shared)


def test_one_may_give_what_one_does_not_hold(alice: Member, carol: Member, stranger: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "delete")
    factories.grant(carol, shared, stranger, "read", "write")
    assert at(stranger, shared).privileges == Privilege.READ | Privilege.WRITE


def test_a_teammate_who_reads_writes_and_creates_cannot_share(bob: Member, stranger: Member, shared: Memory) -> None:
    with pytest.raises(MemoryForbidden):
        factories.grant(bob, shared, stranger)


def test_a_reader_cannot_see_who_else_was_granted(api: Api, carol: Member, shared: Memory) -> None:
    assert api.call("GET", f"/v1/memories/{shared.id}/grants", as_=carol).status == 403


def test_inherited_grants_are_shown_nearest_first_with_where_they_sit(
    api: Api, alice: Member, stranger: Member, shared: Memory
) -> None:
    child = factories.memory(alice, shared)
    factories.grant(alice, child, stranger)
    shown = api.get(f"/v1/memories/{child.id}/grants", alice)["data"]
    assert [(one["memory_id"], one["inherited"]) for one in shown] == [
        (child.id, False),
        (shared.id, True),
        (shared.id, True),
    ]


def test_a_restricted_memory_inherits_no_grant(api: Api, alice: Member, shared: Memory) -> None:
    closed = factories.memory(alice, shared, restricted=True)
    below = factories.memory(alice, closed)
    for memory in (closed, below):
        assert api.get(f"/v1/memories/{memory.id}/grants", alice)["data"] == []


def test_a_grant_on_an_ancestor_that_is_not_seen_is_not_shown(
    api: Api, alice: Member, carol: Member, team: Group
) -> None:
    top = factories.memory(alice)
    factories.grant(alice, top, team)
    child = factories.memory(alice, top)
    factories.grant(alice, child, carol, "delete")
    assert [one["memory_id"] for one in api.get(f"/v1/memories/{child.id}/grants", carol)["data"]] == [child.id]


def test_what_the_maker_holds_is_no_grant(api: Api, alice: Member) -> None:
    memory = factories.memory(alice)
    assert api.get(f"/v1/memories/{memory.id}/grants", alice)["data"] == []


def test_an_inherited_grant_is_not_taken_back_from_below(alice: Member, carol: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    given = Grant.objects.get(principal=carol.principal)
    with pytest.raises(MemoryNotFound):
        grants.take_back(at(alice, child), given.id)
    assert at(carol, child).privileges == Privilege.READ


def test_taking_back_twice_finds_nothing(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    path = f"/v1/memories/{shared.id}/grants/{Grant.objects.get(principal=carol.principal).id}"
    assert api.ok("DELETE", path, None, alice)["deleted"] is True
    assert api.call("DELETE", path, as_=alice).error["code"] == "memory_not_found"


def test_a_grant_is_replaced_only_where_it_sits(alice: Member, carol: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    factories.grant(alice, child, carol, "write")
    assert at(carol, shared).privileges == Privilege.READ
    assert at(carol, child).privileges == Privilege.READ | Privilege.WRITE


@pytest.mark.django_db(transaction=True)
def test_a_grant_on_a_memory_deleted_meanwhile_is_not_found(alice: Member, carol: Member, shared: Memory) -> None:
    place = at(alice, shared)
    tree.delete(at(alice, shared))
    with pytest.raises(MemoryNotFound):
        grants.give(place, carol.principal, Privilege.READ)


def test_grants_are_read_page_by_page(api: Api, alice: Member, shared: Memory) -> None:
    for number in range(3):
        grants.give(at(alice, shared), f"x.robot:{number}", Privilege.READ)
    path, cursor, seen = f"/v1/memories/{shared.id}/grants?limit=2", "", set()
    for _ in range(3):
        page = api.get(path + cursor, alice)
        seen |= {one["id"] for one in page["data"]}
        cursor = f"&cursor={page['next']}"
    assert len(seen) == 5
    assert page["next"] is None


@pytest.mark.parametrize(
    "principal",
    ["member:mbr_1", "group:grp_1", "x.robot:a", "x.a_b-c.d:1", "member:a.b@c+d-e:f", "member:" + "a" * 160],
)
def test_any_well_formed_principal_can_be_granted(api: Api, alice: Member, shared: Memory, principal: str) -> None:
    asked = {"principal": principal, "privileges": ["read"]}
    assert api.ok("POST", f"/v1/memories/{shared.id}/grants", asked, alice)["principal"] == principal


READ = ["read"]
SOMEONE = "member:mbr_1"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "principal"),
        ({"privileges": READ}, "principal"),
        ({"principal": None, "privileges": READ}, "principal"),
        ({"principal": ["member:x"], "privileges": READ}, "principal"),
        ({"principal": "", "privileges": READ}, "principal"),
        ({"principal": "member:", "privileges": READ}, "principal"),
        ({"principal": "mbr_1", "privileges": READ}, "principal"),
        ({"principal": "provider:native", "privileges": READ}, "principal"),
        ({"principal": "harness:x", "privileges": READ}, "principal"),
        ({"principal": "x.:a", "privileges": READ}, "principal"),
        ({"principal": "Member:a", "privileges": READ}, "principal"),
        ({"principal": "member:a b", "privileges": READ}, "principal"),
        ({"principal": "member:a\n", "privileges": READ}, "principal"),
        ({"principal": "member:a\0", "privileges": READ}, "principal"),
        ({"principal": "member:\ud800", "privileges": READ}, "principal"),
        ({"principal": "member:" + "a" * 161, "privileges": READ}, "principal"),
        ({"principal": "x." + "k" * 200 + ":a", "privileges": READ}, "principal"),
        ({"principal": SOMEONE}, "privileges"),
        ({"principal": SOMEONE, "privileges": []}, "privileges"),
        ({"principal": SOMEONE, "privileges": None}, "privileges"),
        ({"principal": SOMEONE, "privileges": "read"}, "privileges"),
        ({"principal": SOMEONE, "privileges": {"read": True}}, "privileges"),
        ({"principal": SOMEONE, "privileges": ["read", "emit"]}, "privileges.1"),
        ({"principal": SOMEONE, "privileges": ["Read"]}, "privileges.0"),
        ({"principal": SOMEONE, "privileges": [["read"]]}, "privileges.0"),
        ({"principal": SOMEONE, "privileges": [1]}, "privileges.0"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_malformed_grant_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, body: dict[str, object], param: str
) -> None:
    before = list(Grant.objects.values())
    answer = api.call("POST", f"/v1/memories/{shared.id}/grants", body, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert list(Grant.objects.values()) == before
