"""The past, replayed from events: now it is what is there, and at any instant it is what was there then."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from members import services as membership
from members.callers import Caller, caller_for
from members.models import Group, Member, Membership
from memories import past
from memories.access import Holding, Node, Privilege, effective, explain
from memories.models import Grant, Memory
from memories.services import asking, ownership, tree
from memories.services.sight import look
from tests.access.test_parity import creates, cuts, deletes, gives, moves, number, regroups, takes
from tests.access.worlds import Step, Truth, World
from uhp_site.http.errors import UHPError


@dataclass(frozen=True)
class Switch:
    """Deactivate a member, or let them act again."""

    member: int
    active: bool

    def take(self, world: World) -> None:
        member = world.members[self.member % len(world.members)]
        (membership.reactivate if self.active else membership.deactivate)(member)


@dataclass(frozen=True)
class Rename:
    actor: int
    memory: int
    name: str

    def take(self, world: World) -> None:
        if memory := world.nth(self.memory):
            tree.change(look(world.actor(self.actor, memory), memory.id), name=self.name)


@dataclass(frozen=True)
class HandOver:
    leaving: int
    to: int

    def take(self, world: World) -> None:
        leaving, to = (world.members[one % len(world.members)] for one in (self.leaving, self.to))
        owner = caller_for(leaving)
        owner.member.is_owner = True
        ownership.hand_over(Caller(owner.member, owner.principals), leaving, to)


switches = st.builds(Switch, number, st.booleans())
renames = st.builds(Rename, number, number, st.sampled_from(["One", "Other"]))
hand_overs = st.builds(HandOver, number, number)
histories = st.lists(
    st.one_of(creates, moves, cuts, gives, gives, takes, regroups, deletes, switches, renames, hand_overs),
    min_size=3,
    max_size=12,
)

State = dict[str, Any]


def live(world: World) -> State:
    """Everything that the rule depends on, as it is stored."""
    organisation = world.organisation
    grants: dict[str, set[Holding]] = {}
    for grant in Grant.objects.filter(organisation=organisation):
        grants.setdefault(grant.memory_id, set()).add(Holding(grant.principal, grant.held, grant.id))
    return {
        "memories": {
            one.id: (one.name, one.parent_id, one.restricted, one.creator, frozenset(grants.get(one.id, ())))
            for one in Memory.objects.of(organisation.id)
        },
        "active": {one.principal for one in Member.objects.of(organisation.id).active()},
        "members": {one.principal: (one.name, one.type) for one in Member.objects.of(organisation.id)},
        "groups": {one.principal: one.name for one in Group.objects.filter(organisation=organisation)},
        "memberships": {
            (f"member:{one.member_id}", f"group:{one.group_id}")
            for one in Membership.objects.filter(organisation=organisation)
        },
    }


def replayed(then: past.Past) -> State:
    """The same of the past."""
    return {
        "memories": {
            one.id: (one.name, one.parent_id, one.restricted, one.creator, frozenset(one.grants.values()))
            for one in then.memories.values()
        },
        "active": {one.principal for one in then.members.values() if one.active},
        "members": {one.principal: (one.name, one.type) for one in then.members.values()},
        "groups": then.groups,
        "memberships": then.memberships,
    }


class TestPast(TestCase):
    world: ClassVar[World]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = World.begin()

    @settings(max_examples=25)
    @given(histories)
    def test_every_instant_is_what_was_there_then(self, history: list[Step]) -> None:
        kept: list[tuple[datetime, State]] = [(timezone.now(), live(self.world))]
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
            kept.append((timezone.now(), live(self.world)))
        for moment, state in kept:
            assert replayed(asking.at_instant(self.world.organisation.id, moment)) == state

    @settings(max_examples=12)
    @given(histories)
    def test_the_past_is_judged_by_the_rule_of_today(self, history: list[Step]) -> None:
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        truth, then = Truth(self.world), asking.at_instant(self.world.organisation.id, timezone.now())
        people = {one.principal: one for one in then.people()}
        assert set(people) == live(self.world)["active"]
        for member in self.world.members:
            principals = truth.principals(member)
            assert then.principals(member.principal) == principals
            if member.principal in people:
                assert people[member.principal].principals == principals
            held = truth.held[member.id]
            assert {one: effective(principals, then.upward(one)) for one in then.memories} == held
            assert {one: some for one, (_, some, _) in past.held(then, principals).items()} == held

    @settings(max_examples=12)
    @given(histories, number)
    def test_now_and_then_give_the_same_answers(self, history: list[Step], visitor: int) -> None:
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        now = timezone.now()
        caller = caller_for(self.world.members[visitor % len(self.world.members)])
        for memory in self.world.memories:
            with contextlib.suppress(UHPError):
                place = look(caller, memory.id)
                listed, then = asking.who(place, 50), asking.who(place, 50, at=now)
                assert comparable(listed) == comparable(then)
                for member in self.world.members:
                    for privilege in (1, 8):
                        asked = (place, member.principal, Privilege(privilege))
                        one, other = asking.why(*asked), asking.why(*asked, now)
                        assert (one.yes, one.cause, one.hidden) == (other.yes, other.cause, other.hidden)
                        assert set(one.reasons) == set(other.reasons)
        for member in self.world.members:
            for changes in (False, True):
                one_list = asking.what(caller, member.principal, 200, changes=changes)
                other_list = asking.what(caller, member.principal, 200, at=now, changes=changes)
                assert one_list.memories == other_list.memories


def comparable(audience: asking.Audience) -> object:
    """An audience without the order in which equals are named, and without groups that make no difference to it."""
    return (
        audience.where,
        audience.total,
        [
            (replace(one.person, principals=frozenset()), one.privileges, set(one.reasons), one.hidden)
            for one in audience.people
        ],
    )


def test_what_replay_does_not_know_changes_nothing() -> None:
    now = timezone.now()
    events = [
        past.Happened(now, "record.erased", "hmem_1"),
        past.Happened(now, "memory.moved", "hmem_1", "", {"to": None}),
    ]
    assert replayed(past.replay(events, now))["memories"] == {}


def test_a_deleted_memory_takes_all_below_with_it() -> None:
    now = timezone.now()

    def made(name: str, parent: str | None) -> past.Happened:
        return past.Happened(
            now, "memory.created", name, "", {"name": name, "parent_id": parent, "creator": "member:a"}
        )

    events = [made("a", None), made("b", "a"), made("c", "b"), made("d", None)]
    then = past.replay([*events, past.Happened(now, "memory.deleted", "a")], now)
    assert set(then.memories) == {"d"}
    assert explain({"member:a"}, then.upward("c")).privileges == 0
    assert then.upward("d") == [Node("d", False, (Holding("member:a", Privilege.ALL),))]
