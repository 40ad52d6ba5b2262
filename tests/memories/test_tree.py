"""The verbs on the tree, and the ways of listing it."""

from __future__ import annotations

import pytest
from django.test import override_settings

from members import services as membership
from members.models import Group, Member, Organisation
from memories.access import Privilege
from memories.models import Embedding, Grant, Job, Memory, Reach, Record, Version
from memories.models.tree import MAX_DEPTH
from memories.services import jobs, listing, tree
from memories.services.listing import Which
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound

pytestmark = pytest.mark.django_db


def names(who: Member, which: Which | None = None) -> list[str]:
    return [one.name for one in listing.memories(factories.caller(who), which or Which(), 200).memories]


def test_a_memory_starts_with_everything_held_by_its_maker(api: Api, alice: Member) -> None:
    made = api.ok("POST", "/v1/memories", {"name": " Plans ", "description": "What we plan"}, alice)
    assert made["name"] == "Plans"
    assert made["privileges"] == ["read", "write", "create", "delete"]
    assert (made["parent_id"], made["ancestors"], made["restricted"], made["provider"]) == (None, [], False, "native")
    assert (made["records"], made["children"]) == ({"count": 0}, {"count": 0})
    assert api.get(f"/v1/memories/{made['id']}", alice) == made


def test_a_child_names_its_ancestors_root_first(api: Api, alice: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    shown = api.get(f"/v1/memories/{factories.memory(alice, child).id}", alice)
    assert shown["parent_id"] == child.id
    assert shown["ancestors"] == [shared.id, child.id]


def test_who_may_only_create_owns_what_they_create(alice: Member, carol: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "create")
    assert at(carol, factories.memory(carol, shared)).privileges == Privilege.ALL
    assert at(carol, shared).privileges == Privilege.CREATE


def test_creating_under_a_memory_needs_create_there(carol: Member, stranger: Member, shared: Memory) -> None:
    with pytest.raises(MemoryForbidden):
        factories.memory(carol, shared)
    with pytest.raises(MemoryNotFound):
        factories.memory(stranger, shared)


def test_a_memory_can_be_restricted_from_its_first_instant(alice: Member, bob: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    with pytest.raises(MemoryNotFound):
        at(bob, hidden)


def test_an_unknown_provider_is_refused(alice: Member) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        factories.memory(alice, provider="elsewhere")
    assert refused.value.param == "provider"


def test_the_provider_of_a_memory_stays(alice: Member, shared: Memory) -> None:
    tree.change(at(alice, shared), provider="native")
    with pytest.raises(MemoryInvalid) as refused:
        tree.change(at(alice, shared), provider="other")
    assert refused.value.param == "provider"


def test_roots_can_be_kept_to_owners(alice: Member, bob: Member, shared: Memory) -> None:
    with override_settings(ROOTS_BY_OWNERS_ONLY=True):
        assert factories.memory(alice).parent is None
        with pytest.raises(MemoryForbidden):
            factories.memory(bob)
        mine = factories.memory(bob, shared)
        with pytest.raises(MemoryForbidden):
            tree.change(at(bob, mine), parent_id=None)


def test_a_tree_has_a_greatest_depth(alice: Member) -> None:
    memory = None
    for _ in range(MAX_DEPTH):
        memory = factories.memory(alice, memory)
    with pytest.raises(MemoryInvalid):
        factories.memory(alice, memory)
    top = factories.memory(alice)
    with pytest.raises(MemoryInvalid):
        tree.change(
            at(alice, Memory.objects.get(parent=None, creator=alice.principal, pk__lt=top.pk)), parent_id=top.id
        )


def test_writing_is_enough_to_rename_and_describe(api: Api, bob: Member, shared: Memory) -> None:
    changed = api.ok("PUT", f"/v1/memories/{shared.id}", {"name": "New", "description": "Words"}, bob)
    assert (changed["name"], changed["description"]) == ("New", "Words")
    changed = api.ok("PUT", f"/v1/memories/{shared.id}", {"description": ""}, bob)
    assert (changed["name"], changed["description"]) == ("New", "")


def test_a_change_of_nothing_changes_nothing(alice: Member, shared: Memory) -> None:
    tree.change(at(alice, shared))
    again = Memory.objects.get(pk=shared.pk)
    assert (again.name, again.restricted, again.parent) == (shared.name, False, None)


def test_restricting_needs_delete(bob: Member, shared: Memory) -> None:
    with pytest.raises(MemoryForbidden):
        tree.change(at(bob, shared), restricted=True)


def test_with_delete_alone_one_restricts_but_does_not_rename(alice: Member, carol: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "delete")
    assert tree.change(at(carol, shared), restricted=True).restricted
    with pytest.raises(MemoryForbidden):
        tree.change(at(carol, shared), restricted=False, name="Mine")
    assert Memory.objects.get(pk=shared.pk).restricted


def test_restricting_and_opening_decide_who_is_in(alice: Member, bob: Member, shared: Memory) -> None:
    leaf = factories.memory(alice, factories.memory(alice, shared, name="Branch"))
    branch = Memory.objects.get(name="Branch")
    tree.change(at(alice, branch), restricted=True)
    with pytest.raises(MemoryNotFound):
        at(bob, leaf)
    tree.change(at(alice, branch), restricted=False)
    assert at(bob, leaf).privileges == at(bob, shared).privileges


def test_one_may_lock_oneself_out_and_is_told_so(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    theirs = factories.memory(alice, shared)
    factories.grant(alice, shared, bob, "delete")
    answer = api.ok("PUT", f"/v1/memories/{theirs.id}", {"restricted": True}, bob)
    assert answer["privileges"] == []
    assert api.call("GET", f"/v1/memories/{theirs.id}", as_=bob).status == 404


def test_a_rename_does_not_undo_a_cut_made_meanwhile(alice: Member, bob: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    renaming, renaming_as_bob = at(alice, child), at(bob, child)
    tree.change(at(alice, child), restricted=True)
    tree.change(renaming, name="Renamed")
    assert Memory.objects.get(pk=child.pk).restricted
    with pytest.raises(MemoryNotFound):
        tree.change(renaming_as_bob, name="Renamed by somebody who was cut off")


def test_a_rename_does_not_undo_a_move_made_meanwhile(alice: Member, shared: Memory) -> None:
    child, elsewhere = factories.memory(alice, shared), factories.memory(alice)
    renaming = at(alice, child)
    tree.change(at(alice, child), parent_id=elsewhere.id)
    tree.change(renaming, description="Renamed")
    assert Memory.objects.get(pk=child.pk).parent_id == elsewhere.id


def test_a_move_takes_everything_below_along(alice: Member, bob: Member, shared: Memory) -> None:
    branch = factories.memory(alice)
    leaf = factories.memory(alice, branch)
    with pytest.raises(MemoryNotFound):
        at(bob, leaf)
    tree.change(at(alice, branch), parent_id=shared.id)
    assert at(bob, leaf).privileges == at(bob, shared).privileges
    tree.change(at(alice, branch), parent_id=None)
    with pytest.raises(MemoryNotFound):
        at(bob, leaf)


def test_a_memory_cannot_be_moved_under_itself(alice: Member, shared: Memory) -> None:
    leaf = factories.memory(alice, factories.memory(alice, shared))
    for target in (shared, leaf):
        with pytest.raises(MemoryInvalid) as refused:
            tree.change(at(alice, shared), parent_id=target.id)
        assert refused.value.param == "parent_id"


def test_a_move_needs_create_where_it_goes(alice: Member, carol: Member, bob: Member, shared: Memory) -> None:
    hers, his = factories.memory(carol), factories.memory(bob)
    with pytest.raises(MemoryForbidden):
        tree.change(at(carol, hers), parent_id=shared.id)
    with pytest.raises(MemoryNotFound):
        tree.change(at(carol, hers), parent_id=his.id)
    assert tree.change(at(bob, his), parent_id=shared.id).parent_id == shared.id


def test_a_refused_move_renames_nothing(alice: Member, carol: Member, shared: Memory) -> None:
    hers = factories.memory(carol, name="Hers")
    with pytest.raises(MemoryForbidden):
        tree.change(at(carol, hers), name="Other", restricted=True, parent_id=shared.id)
    kept = Memory.objects.get(pk=hers.pk)
    assert (kept.name, kept.restricted, kept.parent) == ("Hers", False, None)


def test_sending_back_the_parent_one_was_shown_moves_nothing(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    child = factories.memory(alice, factories.memory(alice, shared, restricted=True))
    factories.grant(alice, child, carol, "read", "write")
    shown = api.get(f"/v1/memories/{child.id}", carol)
    assert shown["parent_id"] is None
    api.ok("PUT", f"/v1/memories/{child.id}", {"name": "New", "parent_id": None, "restricted": False}, carol)
    assert Memory.objects.get(pk=child.pk).parent_id == child.parent_id


def test_deleting_takes_everything_below_and_its_job_what_it_held(alice: Member, team: Group, shared: Memory) -> None:
    leaf = factories.memory(alice, factories.memory(alice, shared))
    factories.record(alice, leaf)
    factories.grant(alice, leaf, team)
    kept = factories.memory(alice)
    tree.delete(at(alice, shared))
    assert list(Memory.objects.of(alice.organisation_id)) == [kept]
    assert Reach.objects.filter(organisation=alice.organisation).count() == 1
    jobs.run(Job.objects.get(kind=tree.PURGE).id, KINDS)
    for model in (Record, Version, Embedding, Grant):
        assert not model.objects.filter(organisation=alice.organisation).exists()


def test_deleting_leaves_what_is_beside(alice: Member, shared: Memory) -> None:
    one, other = factories.memory(alice, shared), factories.memory(alice, shared)
    record = factories.record(alice, other)
    tree.delete(at(alice, one))
    assert Version.objects.get(record=record.id).memory_id == other.id
    assert at(alice, other).memory == other


def test_deleting_names_only_what_was_seen(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    plain = factories.memory(alice, shared)
    factories.grant(alice, shared, carol, "delete")
    answer = api.ok("DELETE", f"/v1/memories/{shared.id}", None, carol)
    assert answer == {"id": shared.id, "object": "memory", "deleted": True, "memories": [shared.id, plain.id]}
    assert not Memory.objects.filter(pk=hidden.pk).exists()


def test_whoever_looked_before_it_was_deleted_finds_nothing(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    tree.delete(at(alice, shared))
    with pytest.raises(MemoryNotFound):
        tree.change(place, restricted=True)
    with pytest.raises(MemoryNotFound):
        tree.delete(place)


def test_one_enters_where_one_was_granted(alice: Member, carol: Member, shared: Memory) -> None:
    deep = factories.memory(alice, factories.memory(alice, name="Top"), name="Deep")
    factories.grant(alice, deep, carol)
    assert names(carol) == ["Deep", "Shared"]
    assert names(alice) == ["Shared", "Top"]


def test_a_deep_entry_point_shows_nothing_above_it(api: Api, alice: Member, carol: Member) -> None:
    top = factories.memory(alice)
    deep = factories.memory(alice, factories.memory(alice, top))
    factories.grant(alice, deep, carol)
    factories.grant(alice, top, carol)
    tree.change(at(alice, Memory.objects.get(pk=deep.parent_id)), restricted=True)
    shown = api.get(f"/v1/memories/{deep.id}", carol)
    assert (shown["parent_id"], shown["ancestors"]) == (None, [])


def test_children_that_are_not_seen_are_neither_listed_nor_counted(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    factories.memory(alice, shared, name="open")
    factories.memory(alice, shared, name="closed", restricted=True)
    assert names(carol, Which(parent=shared.id)) == ["open"]
    assert api.get(f"/v1/memories/{shared.id}", carol)["children"] == {"count": 1}
    assert api.get(f"/v1/memories/{shared.id}", alice)["children"] == {"count": 2}


def test_one_level_is_by_name_whatever_its_case(alice: Member, shared: Memory) -> None:
    for name in ("beta", "Alpha", "Gamma", "alpha"):
        factories.memory(alice, shared, name=name)
    assert [name.lower() for name in names(alice, Which(parent=shared.id))] == ["alpha", "alpha", "beta", "gamma"]


def test_a_whole_branch_is_listed_parents_first_without_its_top(alice: Member, shared: Memory) -> None:
    upper = factories.memory(alice, shared, name="Z upper")
    factories.memory(alice, upper, name="A lower")
    assert names(alice, Which(ancestor=shared.id)) == ["Z upper", "A lower"]


def test_listing_below_needs_read(alice: Member, carol: Member, stranger: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "write")
    for which in (Which(parent=shared.id), Which(ancestor=shared.id)):
        with pytest.raises(MemoryForbidden):
            names(carol, which)
        with pytest.raises(MemoryNotFound):
            names(stranger, which)


def test_granted_lists_where_access_begins_and_changes(alice: Member, carol: Member, shared: Memory) -> None:
    same = factories.memory(alice, shared, name="Same")
    factories.grant(alice, same, carol, "read")
    more = factories.memory(alice, shared, name="More")
    factories.grant(alice, more, carol, "write")
    again = factories.memory(alice, factories.memory(alice, shared, restricted=True), name="Again")
    factories.grant(alice, again, carol)
    assert names(carol, Which(granted=True)) == ["Shared", "More", "Again"]


def test_granted_leaves_out_an_entry_that_cannot_be_read(alice: Member, carol: Member) -> None:
    factories.grant(alice, factories.memory(alice, name="Write only"), carol, "write")
    assert names(carol) == ["Write only"]
    assert names(carol, Which(granted=True)) == []


def test_a_listing_is_read_page_by_page(api: Api, alice: Member, shared: Memory) -> None:
    for number in range(5):
        factories.memory(alice, shared, name=f"Child {number}")
    path, cursor, seen = f"/v1/memories?parent={shared.id}&limit=2", "", []
    for _ in range(3):
        page = api.get(path + cursor, alice)
        seen += [one["name"] for one in page["data"]]
        cursor = f"&cursor={page['next']}"
    assert seen == [f"Child {number}" for number in range(5)]
    assert page["next"] is None


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("granted=perhaps", "granted"),
        ("granted=true&parent=x", "granted"),
        ("parent=x&ancestor=y", "ancestor"),
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=many", "limit"),
        ("limit=%EF%BC%91", "limit"),
        ("cursor=!", "cursor"),
        ("cursor=WzFd", "cursor"),
        ("cursor=%00", "cursor"),
        ("cursor=" + "W1tb" * 500, "cursor"),
        ("cursor=Wy05OTk5OTk5OTk5OTk5OTk5OTk5LCIiLCIiXQ", "cursor"),
    ],
)
def test_a_malformed_listing_is_refused_by_its_field(api: Api, alice: Member, query: str, param: str) -> None:
    answer = api.call("GET", f"/v1/memories?{query}", as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "name"),
        ({"name": None}, "name"),
        ({"name": 5}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "n" * 121}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "a\ud800b"}, "name"),
        ({"name": "n", "description": 1}, "description"),
        ({"name": "n", "description": "d" * 2001}, "description"),
        ({"name": "n", "description": "a\0b"}, "description"),
        ({"name": "n", "restricted": "yes"}, "restricted"),
        ({"name": "n", "restricted": None}, "restricted"),
        ({"name": "n", "restricted": 1}, "restricted"),
        ({"name": "n", "provider": 1}, "provider"),
        ({"name": "n", "provider": "elsewhere"}, "provider"),
        ({"name": "n", "parent_id": 1}, "parent_id"),
        ({"name": "n", "parent_id": ["x"]}, "parent_id"),
        ({"name": "n", "parent_id": "a\0b"}, "parent_id"),
    ],
    ids=ascii,
)
def test_a_malformed_memory_is_refused_by_its_field(
    api: Api, alice: Member, body: dict[str, object], param: str
) -> None:
    answer = api.call("POST", "/v1/memories", body, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert not Memory.objects.of(alice.organisation_id).exists()


def test_another_organisations_principal_gives_nothing_here(mallory: Member, shared: Memory, alice: Member) -> None:
    factories.grant(alice, shared, mallory, "read", "write", "create", "delete")
    assert names(mallory) == []
    with pytest.raises(MemoryNotFound):
        at(mallory, shared)


def test_leaving_a_group_takes_effect_at_once(api: Api, team: Group, agent: Member, shared: Memory) -> None:
    assert api.get(f"/v1/memories/{shared.id}", agent)["privileges"] == ["read", "write", "create"]
    membership.remove_from_group(team, agent)
    assert api.call("GET", f"/v1/memories/{shared.id}", as_=agent).status == 404


def test_everyone_is_everyone_here(organisation: Organisation, alice: Member, stranger: Member, shared: Memory) -> None:
    factories.grant(alice, shared, organisation.groups.get(is_everyone=True))
    assert at(stranger, shared).privileges == Privilege.READ
