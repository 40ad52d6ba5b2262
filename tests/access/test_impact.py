"""What a change would do is what it does: predicted, done, measured by the listings, and undone again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from members import services as membership
from members.callers import Caller, caller_for
from members.models import Group, Member, Organisation
from memories.access import Privilege, Tally
from memories.models import Grant, Memory, Version
from memories.services import grants, impact, tree
from memories.services.impact import Impact
from memories.services.ownership import acting_principals, nobody_left
from memories.services.sight import Place, look
from tests import factories
from tests.access.test_parity import creates, cuts, gives, moves, number, regroups
from tests.access.test_past import switches
from tests.access.worlds import Step, World
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, UHPError

Held = dict[str, dict[str, Privilege]]
worlds = st.lists(
    st.one_of(creates, creates, moves, cuts, gives, gives, regroups, switches, switches), min_size=2, max_size=10
)


def held(organisation: Organisation) -> Held:
    """Member to memory to privileges, as every listing shows them."""
    found: Held = {}
    for member in Member.objects.of(organisation.id):
        mine = Memory.objects.of(organisation.id).with_privileges(caller_for(member).principals)
        some = {one.id: Privilege(one.held) for one in mine if one.held}
        found[member.id] = some if member.is_active else {}
    return found


def orphaned(organisation: Organisation) -> set[str]:
    """The memories that nobody active can administer."""
    tree_ = Memory.objects.of(organisation.id)
    administered = tree_.held_by(acting_principals(organisation.id), Privilege.DELETE)
    return set(tree_.values_list("id", flat=True)) - set(administered.values_list("id", flat=True))


def records_in(memory_ids: set[str]) -> int:
    return Version.objects.current().filter(memory__in=memory_ids).count()


def check(organisation: Organisation, seen: Caller, predict: Callable[[], Impact], act: Callable[[], object]) -> None:
    """Predict, do, compare, undo. What is counted is what the caller sees."""
    predicted = predict()
    before, alone = held(organisation), orphaned(organisation)
    visible = set(Memory.objects.of(organisation.id).held_by(seen.principals).values_list("id", flat=True))
    records: dict[str, int] = {one: records_in({one}) for one in visible}
    with transaction.atomic():
        act()
        after, alone_after = held(organisation), orphaned(organisation)
        transaction.set_rollback(True)
    tallies: dict[str, Tally] = {}
    concerned: set[str] = set()
    elsewhere = False
    for member, memories in before.items():
        tally = Tally()
        for one in memories.keys() | after[member].keys():
            was, becomes = (some.get(one, Privilege.NONE) for some in (memories, after[member]))
            if was != becomes and one in visible:
                tally.count(was, becomes)
                concerned.add(one)
            elsewhere |= was != becomes and one not in visible
        if tally.changed:
            tallies[member] = tally
    assert predicted.tallies == tallies
    assert predicted.memories == len(concerned)
    assert predicted.records == sum(records[one] for one in concerned)
    assert predicted.orphans == bool((alone_after & set(Memory.objects.values_list("id", flat=True))) - alone)
    names = dict(Member.objects.of(organisation.id).values_list("id", "name"))
    assert set(predicted.losing.names) == {names[one] for one, tally in tallies.items() if tally.loses}
    gaining = {names[one] for one, tally in tallies.items() if tally.gains and not tally.loses}
    assert set(predicted.gaining.names) == gaining


class TestImpact(TestCase):
    world: ClassVar[World]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = World.begin()
        for memory in cls.world.memories:
            maker = next(one for one in cls.world.members if one.principal == memory.creator)
            factories.record(maker, memory)

    def place(self, history: list[Step], actor: int, memory: int) -> Place | None:
        """A memory of the world after a history, looked at by somebody who administers it, if there is one."""
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        chosen = self.world.nth(memory)
        with contextlib.suppress(UHPError):
            assert chosen is not None
            place = look(self.world.actor(actor, chosen), chosen.id)
            place.require(Privilege.DELETE)
            return place
        return None

    def predicted(self, place: Place | None, predict: Callable[[Place], Impact], act: Callable[[Place], Any]) -> None:
        if place is not None:
            with contextlib.suppress(UHPError):
                predict(place)
                check(self.world.organisation, place.caller, lambda: predict(place), lambda: act(place))

    @settings(max_examples=15)
    @given(worlds, number, number)
    def test_closing_and_opening(self, history: list[Step], actor: int, memory: int) -> None:
        place = self.place(history, actor, memory)
        for restricted in (True, False):
            self.predicted(
                place,
                lambda at, to=restricted: impact.of_restricting(at, to),  # type: ignore[misc]
                lambda at, to=restricted: tree.change(at, restricted=to),  # type: ignore[misc]
            )

    @settings(max_examples=15)
    @given(worlds, number, number, st.none() | number)
    def test_moving(self, history: list[Step], actor: int, memory: int, to: int | None) -> None:
        place = self.place(history, actor, memory)
        target = None if to is None else self.world.nth(to)
        parent_id = target.id if target else None
        if place is not None and parent_id != tree.seen_parent_id(place):
            self.predicted(
                place, lambda at: impact.of_moving(at, parent_id), lambda at: tree.change(at, parent_id=parent_id)
            )

    @settings(max_examples=12)
    @given(worlds, number, number, number, st.integers(1, 15))
    def test_giving_and_taking_back(
        self, history: list[Step], actor: int, memory: int, to: int, privileges: int
    ) -> None:
        place = self.place(history, actor, memory)
        principals = [*(one.principal for one in self.world.members), *(one.principal for one in self.world.groups)]
        principal = principals[to % len(principals)]
        self.predicted(
            place,
            lambda at: impact.of_giving(at, principal, Privilege(privileges)),
            lambda at: grants.give(at, principal, Privilege(privileges)),
        )
        for grant in Grant.objects.filter(memory=place.memory) if place else ():
            self.predicted(
                place,
                lambda at, one=grant.id: impact.of_taking_back(at, one),  # type: ignore[misc]
                lambda at, one=grant.id: grants.take_back(at, one),  # type: ignore[misc]
            )

    @settings(max_examples=12)
    @given(worlds, number, number)
    def test_leaving_a_group_and_being_deactivated(self, history: list[Step], leaving: int, owner: int) -> None:
        self.place(history, 0, 0)
        members = self.world.members
        member, boss = members[leaving % len(members)], members[owner % len(members)]
        boss.is_owner = True
        caller = caller_for(boss)
        for group in self.world.groups[:2]:
            check(
                self.world.organisation,
                caller,
                lambda to=group: impact.of_leaving_group(caller, to, member),  # type: ignore[misc]
                lambda to=group: membership.remove_from_group(to, member),  # type: ignore[misc]
            )
        check(
            self.world.organisation,
            caller,
            lambda: impact.of_deactivating(caller, member),
            lambda: membership.deactivate(member),
        )

    @settings(max_examples=12)
    @given(worlds, number)
    def test_what_nobody_can_administer_is_found_at_the_top_of_each_branch(
        self, history: list[Step], owner: int
    ) -> None:
        self.place(history, 0, 0)
        boss = self.world.members[owner % len(self.world.members)]
        boss.is_owner = True
        alone = orphaned(self.world.organisation)
        memories = {one.id: one for one in self.world.memories}
        tops = {one for one in alone if memories[one].restricted or memories[one].parent_id not in alone}
        found = nobody_left(caller_for(boss), 200)
        assert {one.id for one in found.memories} == tops
        assert found.next is None

    @settings(max_examples=12)
    @given(worlds, number, number)
    def test_deleting(self, history: list[Step], actor: int, memory: int) -> None:
        place = self.place(history, actor, memory)
        if place is None:
            return
        predicted = impact.of_deleting(place)
        before = held(self.world.organisation)
        seen = Memory.objects.of(self.world.organisation.id).held_by(place.caller.principals)
        visible = set(seen.values_list("id", flat=True))
        with transaction.atomic():
            gone = set(tree.delete(place).memories)
            after = held(self.world.organisation)
            transaction.set_rollback(True)
        assert gone <= visible
        lost = {
            member: Tally(loses=len((memories.keys() - after[member].keys()) & visible))
            for member, memories in before.items()
        }
        assert predicted.tallies == {member: tally for member, tally in lost.items() if tally.loses}
        assert predicted.memories == len(gone)
        assert predicted.records == records_in(gone)
        assert not predicted.orphans


@pytest.mark.django_db
def test_the_fingerprint_changes_with_what_was_shown(alice: Member, carol: Member, shared: Memory) -> None:
    first = impact.of_restricting(at(alice, shared), True)
    assert impact.of_restricting(at(alice, shared), True).fingerprint == first.fingerprint
    factories.grant(alice, shared, carol, "read", "write")
    assert impact.of_restricting(at(alice, shared), True).fingerprint != first.fingerprint


@pytest.mark.django_db
def test_what_is_below_changes_the_fingerprint_too(alice: Member, team: Group, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    first = impact.of_restricting(at(alice, child), True)
    factories.memory(alice, child)
    assert impact.of_restricting(at(alice, child), True).fingerprint != first.fingerprint


@pytest.mark.django_db
def test_nobody_left_is_foreseen(organisation: Organisation, alice: Member, carol: Member) -> None:
    memory = factories.memory(carol)
    grant = factories.grant(carol, memory, alice, "delete", "read")
    membership.deactivate(carol)
    foreseen = impact.of_taking_back(at(alice, memory), grant.id)
    assert (foreseen.orphans, foreseen.locks_out_self) == (True, True)
    assert impact.of_giving(at(alice, memory), alice.principal, Privilege.READ).orphans
    assert impact.of_deactivating(factories.caller(alice), alice).orphans
    assert not impact.of_deactivating(factories.caller(alice), carol).orphans


@pytest.mark.django_db
def test_what_an_owner_does_not_see_is_said_to_be_concerned_and_not_counted(
    organisation: Organisation, alice: Member, bob: Member, team: Group
) -> None:
    factories.grant(bob, factories.memory(bob), team, "read")
    owner = factories.caller(alice)
    leaving = impact.of_deactivating(owner, bob)
    assert (leaving.elsewhere, leaving.memories, leaving.records, leaving.tallies) == (True, 0, 0, {})
    assert impact.of_leaving_group(owner, team, next(one for one in team.members.all() if one != bob)).elsewhere


@pytest.mark.django_db
def test_only_an_owner_is_told_what_becomes_of_a_member(carol: Member, bob: Member, team: Group) -> None:
    with pytest.raises(MemoryForbidden):
        impact.of_deactivating(factories.caller(carol), bob)
    with pytest.raises(MemoryForbidden):
        impact.of_leaving_group(factories.caller(carol), team, bob)


@pytest.mark.django_db
def test_a_preview_refuses_what_the_change_would_refuse(bob: Member, alice: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    with pytest.raises(UHPError) as refused:
        impact.of_moving(at(alice, shared), child.id)
    assert refused.value.status == 422
    place = at(bob, shared)
    asks: list[Callable[[], Impact]] = [
        lambda: impact.of_deleting(place),
        lambda: impact.of_restricting(place, True),
        lambda: impact.of_moving(place, None),
        lambda: impact.of_giving(place, bob.principal, Privilege.ALL),
        lambda: impact.of_taking_back(place, "x"),
    ]
    for ask in asks:
        with pytest.raises(MemoryForbidden):
            ask()


@pytest.mark.django_db
def test_previews_cost_the_same_queries_however_much_is_below(
    organisation: Organisation, alice: Member, shared: Memory
) -> None:
    asks: list[Callable[[], Impact]] = [
        lambda: impact.of_restricting(at(alice, shared), True),
        lambda: impact.of_moving(at(alice, shared), None),
        lambda: impact.of_deleting(at(alice, shared)),
        lambda: impact.of_deactivating(factories.caller(alice), alice),
    ]

    def costs() -> list[int]:
        found = []
        for ask in asks:
            with CaptureQueriesContext(connection) as queries:
                ask()
            found.append(len(queries))
        return found

    factories.memory(alice, shared)
    few = costs()
    for _ in range(8):
        member = factories.member(organisation)
        factories.grant(alice, factories.memory(alice, shared), member)
        factories.group(organisation, member)
    assert costs() == few
