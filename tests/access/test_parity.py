"""After anything that can happen to a tree, what the queries say is what the rule says."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from members.callers import Caller, caller_for, principals_by_member
from members.models import Member
from memories.access import WORDS, Privilege, audience, explain
from memories.models import Memory, Reach
from memories.reader import Reader
from memories.recall import scope
from memories.services import asking, listing
from memories.services.listing import Which
from memories.services.sight import look
from tests.access.worlds import Change, Create, Delete, Give, Regroup, Step, TakeBack, Truth, World
from uhp_site.http.errors import MemoryNotFound, UHPError

number = st.integers(0, 11)
places = st.none() | number
creates = st.builds(Create, number, places, st.booleans())
moves = st.builds(Change, number, number, places, st.none() | st.booleans())
cuts = st.builds(Change, number, number, st.just(-1), st.booleans())
gives = st.builds(Give, number, number, number, st.integers(1, 15))
takes = st.builds(TakeBack, number, number)
regroups = st.builds(Regroup, number, number, st.booleans())
deletes = st.builds(Delete, number, number)
histories = st.lists(
    st.one_of(creates, moves, moves, cuts, cuts, gives, takes, regroups, deletes), min_size=3, max_size=16
)

EACH = (Privilege.NONE, *WORDS.values())


class TestParity(TestCase):
    world: ClassVar[World]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = World.begin()

    @settings(max_examples=20)
    @given(histories, st.integers(0, 3))
    def test_queries_and_rule_agree_after_any_history(self, history: list[Step], visitor: int) -> None:
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        check(self.world, self.world.members[visitor])


def check(world: World, visitor: Member) -> None:
    """Compare what is asked of a tree with what the rule says; the visitor goes through every single memory."""
    truth = Truth(world)
    rows = Reach.objects.filter(organisation=world.organisation)
    assert set(rows.values_list("ancestor_id", "descendant_id", "distance", "open")) == truth.reach()
    assert principals_by_member(world.organisation.id) == {one: truth.principals(one) for one in world.members}
    for member in world.members:
        caller = caller_for(member)
        assert caller.principals == truth.principals(member)
        check_queries(truth, caller)
        check_listings(truth, caller)
        check_reader(truth, caller)
    check_each_memory(truth, caller_for(visitor))


def check_queries(truth: Truth, caller: Caller) -> None:
    tree, who, member = Memory.objects.of(caller.organisation_id), caller.principals, caller.member
    for privilege in EACH:
        assert ids(tree.held_by(who, privilege)) == truth.holding(member, privilege), f"{member} {privilege!r}"
        tops = tree.tops(who, privilege)
        under = Reach.objects.filter(ancestor__in=tops, open=True).values_list("descendant_id", flat=True)
        assert set(under) == truth.holding(member, privilege), f"{member} {privilege!r}"
        upper = Reach.objects.filter(descendant__in=tops, ancestor__in=tops, open=True, distance__gt=0)
        assert not upper.exists(), "a top below another"
        for field in ("pk", "parent"):
            one_by_one, at_once = tree.held_q(who, privilege, field=field), tree.covered_by(who, privilege, field=field)
            assert ids(tree.filter(at_once)) == ids(tree.filter(one_by_one)), f"{member} {privilege!r} {field}"
            assert ids(tree.filter(~at_once)) == ids(tree.filter(~one_by_one)), f"not {member} {privilege!r} {field}"
    both: Any = tree.with_privileges(who).with_privileges(who, field="parent", alias="held_above")
    held = truth.held[member.id]
    seen = {one for one, some in held.items() if some}
    assert ids(tree.seen_below(seen, who)) == {one for one in seen if truth.memories[one].parent_id in seen}
    assert set(both.values_list("id", "held", "held_above")) == {
        (one, int(some), int(held.get(truth.memories[one].parent_id or "", 0))) for one, some in held.items()
    }
    assert ids(tree.entry_points(who)) == truth.entries(member)
    assert ids(tree.granted_to(who)) == truth.granted(member)


def check_listings(truth: Truth, caller: Caller) -> None:
    assert listed(truth, caller, Which()) == truth.entries(caller.member)
    assert listed(truth, caller, Which(granted=True)) == truth.granted(caller.member)


def check_reader(truth: Truth, caller: Caller) -> None:
    reader, member = Reader(caller), caller.member
    seen = reader.tree.with_privileges(reader.principals).filter(pk__in=truth.holding(member, Privilege.NONE))
    for view in reader.memories(list(seen)):
        assert view.ancestors == truth.visible_ancestors(member, view.memory.id)
        assert view.parent_id == (view.ancestors[-1] if view.ancestors else None)
        children = [one for one, memory in truth.memories.items() if memory.parent_id == view.memory.id]
        assert view.child_count == len(truth.holding(member, Privilege.NONE, children))


def check_each_memory(truth: Truth, caller: Caller) -> None:
    for memory_id, expected in truth.held[caller.member.id].items():
        try:
            decided = look(caller, memory_id).privileges
        except MemoryNotFound:
            decided = Privilege.NONE
        assert decided == expected
        if Privilege.READ in expected:
            check_what_lies_below(truth, caller, memory_id)
        if Privilege.DELETE in expected:
            check_who_reaches(truth, caller, memory_id)


def check_what_lies_below(truth: Truth, caller: Caller, memory_id: str) -> None:
    below, member = truth.below(memory_id), caller.member
    children = {one for one, distance in below.items() if distance == 1}
    assert listed(truth, caller, Which(parent=memory_id)) == truth.holding(member, Privilege.NONE, children)
    assert listed(truth, caller, Which(ancestor=memory_id)) == truth.holding(member, Privilege.NONE, below)
    for depth, reached in ((None, set(below)), (1, children)):
        searched = scope.readable(truth.memories[memory_id], caller.principals, depth).memories
        assert set(searched) == {memory_id, *truth.holding(member, Privilege.READ, reached)}


def check_who_reaches(truth: Truth, caller: Caller, memory_id: str) -> None:
    place, upward = look(caller, memory_id), truth.upward(memory_id)
    found, after, total = list[asking.Reaching](), None, -1
    while total < 0 or after:
        page = asking.who(place, 2, after)
        assert total in {-1, page.total}
        found, after, total = [*found, *page.people], page.next, page.total
    assert total == len(found)
    expected = audience(upward, [(one.principal, truth.principals(one)) for one in truth.members])
    assert {one.person.principal: one.privileges for one in found} == expected
    assert [one.person.name for one in found] == sorted(one.person.name for one in found)
    seen = truth.held[caller.member.id]
    by_principal = {one.principal: one for one in truth.members}
    for one in found:
        explained = explain(truth.principals(by_principal[one.person.principal]), upward)
        sources = {
            (source.memory_id, source.holding.principal, source.holding.grant_id) for source in explained.sources
        }
        named = {source for source in sources if seen[source[0]]}
        assert {(why.memory.id, why.principal, why.grant_id) for why in one.reasons} == named
        assert one.hidden == (named != sources)


def listed(truth: Truth, caller: Caller, which: Which) -> set[str]:
    """The ids of a listing, which must show each memory once, and with the privileges that the rule gives."""
    page = listing.memories(caller, which, limit=200)
    shown = {one.id: Privilege(one.held) for one in page.memories}
    assert shown == {one: truth.held[caller.member.id][one] for one in shown}
    assert len(shown) == len(page.memories)
    return set(shown)


def ids(memories: Iterable[Memory]) -> set[str]:
    """The ids of a queryset, which must hold each memory once."""
    found = [memory.id for memory in memories]
    assert len(found) == len(set(found))
    return set(found)
