"""With another member's eyes: exactly what both the member reaches and the viewer looks after, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import ClassVar

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis.extra.django import TestCase

from members import services as members
from members.events import Origin
from members.models import Event, Group, Member
from memories.access import Privilege
from memories.models import Memory
from memories.providers.base import Question, View
from memories.recall.pipeline import Ask
from memories.services import viewing
from memories.services.viewing import Eyes
from tests import factories
from tests.access.test_parity import histories
from tests.access.worlds import Step, Truth, World
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound, UHPError


def eyes(viewer: Member, member: Member) -> Eyes:
    return viewing.with_eyes_of(factories.caller(viewer), member)


def walked(seen: Eyes, parent: Memory | None = None) -> Mapping[str, Privilege]:
    """Every memory that is come to from the entry points, with what is said to be held there."""
    found: dict[str, Privilege] = {}
    after = None
    while True:
        level = viewing.level(seen, parent, 2, after)
        for memory in level.memories:
            found[memory.id] = Privilege(memory.held)
            if Privilege.READ in found[memory.id]:
                found |= walked(seen, memory)
        if (after := level.next) is None:
            return found


class TestLaws(TestCase):
    world: ClassVar[World]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.world = World.begin()

    @settings(max_examples=20)
    @given(histories)
    def test_what_is_shown_is_what_both_hold(self, history: list[Step]) -> None:
        for step in history:
            with contextlib.suppress(UHPError):
                step.take(self.world)
        truth = Truth(self.world)
        for viewer in self.world.members[:2]:
            for member in self.world.members:
                self.check(truth, viewer, member)

    def check(self, truth: Truth, viewer: Member, member: Member) -> None:
        seen, held = eyes(viewer, member), truth.held[member.id]
        shown = truth.holding(viewer, Privilege.DELETE) & truth.holding(member, Privilege.NONE)
        read = shown & truth.holding(viewer, Privilege.READ) & truth.holding(member, Privilege.READ)
        assert set(seen.shown.values_list("id", flat=True)) == shown
        assert set(seen.readable.values_list("id", flat=True)) == read

        def comes_to(memory_id: str) -> bool:
            above = truth.memories[memory_id].parent_id
            return above not in shown or (Privilege.READ in held[above] and comes_to(above))

        assert walked(seen) == {one: held[one] for one in shown if comes_to(one)}
        counts = viewing.counts(seen, list(seen.shown))
        for one in shown:
            assert counts[one].children == sum(truth.memories[below].parent_id == one for below in shown)
            assert (counts[one].records is None) == (one not in read)


@pytest.mark.django_db
def test_what_the_viewer_does_not_look_after_takes_no_part_in_a_recall(
    alice: Member, bob: Member, carol: Member, shared: Memory, team: Group
) -> None:
    factories.grant(alice, shared, carol, "read", "delete")
    hidden = factories.memory(alice, shared, "Hidden", restricted=True)
    factories.grant(alice, hidden, bob, "read")
    factories.record(alice, hidden, "The password is kept in the blue safe.", title="Secret")
    factories.record(alice, shared, "The safe was painted.", title="Known")
    seen = eyes(carol, bob)
    found = viewing.recall(seen, viewing.look(seen, shared.id), Ask(Question("blue safe", "", View(), 8)))
    assert [hit.version.draft.title for hit in found.hits] == ["Known"]
    assert hidden.id not in found.searched
    assert [one.id for one in viewing.level(seen, shared, 10).memories] == []
    with pytest.raises(MemoryNotFound):
        viewing.look(seen, hidden.id)


@pytest.mark.django_db
def test_whoever_looks_after_a_memory_without_reading_it_is_shown_no_record(
    alice: Member, carol: Member, bob: Member, shared: Memory
) -> None:
    administered = factories.memory(alice, shared, restricted=True)
    factories.grant(alice, administered, carol, "delete")
    factories.grant(alice, administered, bob, "read")
    seen = eyes(carol, bob)
    place = viewing.look(seen, administered.id)
    assert not viewing.may_read(seen, administered)
    with pytest.raises(MemoryForbidden):
        viewing.recall(seen, place, Ask(Question("anything", "", View(), 8)))


@pytest.mark.django_db
def test_a_reader_sees_nothing_with_the_eyes_of_others(
    alice: Member, bob: Member, carol: Member, shared: Memory
) -> None:
    assert not eyes(carol, bob).shown.exists()
    assert eyes(alice, bob).shown.exists()


@pytest.mark.django_db
def test_with_the_eyes_of_somebody_deactivated_nothing_is_seen(alice: Member, bob: Member, shared: Memory) -> None:
    members.deactivate(bob)
    bob.refresh_from_db()
    seen = eyes(alice, bob)
    assert walked(seen) == {}
    assert not seen.shown.exists()


@pytest.mark.django_db
def test_looking_is_noted_with_who_looked_and_from_where(alice: Member, bob: Member, shared: Memory) -> None:
    viewer = factories.caller(alice)
    viewer = type(viewer)(viewer.member, viewer.principals, Origin("console", "192.0.2.7"))
    with transaction.atomic():
        viewing.note(viewing.with_eyes_of(viewer, bob), shared.id)
    event = Event.objects.of(alice.organisation_id).newest_first()[0]
    assert (event.action, event.actor, event.subject) == ("viewed.as", alice.principal, bob.principal)
    assert (event.memory_id, event.via, event.address) == (shared.id, "console", "192.0.2.7")
