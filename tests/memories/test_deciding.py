"""What somebody decided about a conflict is taken back as every other decision of the inbox is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from members.models import Event, Member
from memories.content import read_changes, read_draft
from memories.models import Conflict, Held, Memory, Refused, ReviewItem, Run, Version
from memories.providers import registry
from memories.providers.base import RecordVersion
from memories.services import deciding, erasure, gate, judging, policies, records, reviewing, undoing
from memories.services.deciding import Decision
from tests import factories
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound, VersionConflict

pytestmark = pytest.mark.django_db

THIS, THAT, NEW = "Rent is 900.", "Rent is 950.", "Rent is 925."


def found(by: Member, memory: Memory, *, single: bool = False) -> Conflict:
    """A conflict that a run left to a person, with its item in the inbox."""
    this = factories.record(by, memory, THIS)
    that = None if single else factories.record(by, memory, THAT)
    owned = {"organisation_id": memory.organisation_id, "memory": memory}
    run = Run.objects.create(**owned, state="completed")
    made = Conflict.objects.create(**owned, run=run, this_id=this.id, that_id=that.id if that else None)
    gate.ask(memory, ReviewItem.Kind.CONFLICT, f"conflict:{made.id}", record_id=this.id, subject=made.id)
    return made


def decide(by: Member, memory: Memory, conflict: Conflict, decision: str) -> ReviewItem:
    """The item about a conflict, decided."""
    draft = read_draft({"content": NEW}) if decision == Decision.NEW else None
    deciding.decide(at(by, memory), conflict.id, Decision(decision), draft)
    return ReviewItem.objects.get(subject=conflict.id)


def current(memory: Memory) -> dict[str, RecordVersion]:
    """What a memory says now."""
    versions = registry.get(memory.provider).versions(memory.id)
    return {one.draft.said: one for one in versions if one.status == "active"}


def history() -> list[tuple[str, int, object]]:
    """Every version there is, with what it says."""
    return [(one.record_id, one.number, one.content) for one in Version.objects.order_by("pk")]


def state() -> object:
    """Everything that taking a decision back could change."""
    versions = list(Version.objects.order_by("pk").values_list("record_id", "number", "status", "invalidated_at"))
    conflicts = list(Conflict.objects.order_by("pk").values())
    return versions, conflicts, list(ReviewItem.objects.order_by("pk").values()), list(Refused.objects.values())


@pytest.mark.parametrize(
    ("decision", "single"),
    [
        *((decision, False) for decision in Decision.values),
        *((decision, True) for decision in ("this", "that", "new")),
    ],
)
def test_a_decision_about_a_conflict_is_taken_back_and_can_be_made_again(
    alice: Member, shared: Memory, decision: str, single: bool
) -> None:
    caller, conflict = factories.caller(alice), found(alice, shared, single=single)
    item = decide(alice, shared, conflict, decision)
    decided, before = set(current(shared)), history()
    assert reviewing.inbox(caller).total == 0
    assert [one.id for one in reviewing.recent(caller)] == [item.id]

    undoing.undo(caller, item.id)

    assert set(current(shared)) == ({THIS} if single else {THIS, THAT})
    # What there was is all there: taking back appends.
    assert history()[: len(before)] == before
    assert [one.conflict.id for one in deciding.listed(at(alice, shared), 10)] == [conflict.id]
    [again] = reviewing.inbox(caller).items
    assert (again.id, again.state, again.reviewer, again.undo) == (item.id, "open", "", None)
    assert not reviewing.recent(caller)
    # What was forgotten for a while may be written by a run again.
    assert not Refused.objects.exists()
    assert Event.objects.filter(action="review.undone", memory_id=shared.id).count() == 1
    decide(alice, shared, conflict, decision)
    assert set(current(shared)) == decided


def test_a_decision_is_not_taken_back_when_somebody_wrote_at_what_it_forgot(
    alice: Member, bob: Member, shared: Memory
) -> None:
    item = decide(alice, shared, conflict := found(alice, shared), "this")
    assert conflict.that_id
    provider, place = registry.get(shared.provider), at(bob, shared)
    changed = read_draft({"content": "Rent is 955."})
    assert provider.reopen(shared.id, conflict.that_id, lambda _: changed, records.writer(place))
    before = state()
    with pytest.raises(VersionConflict):
        undoing.undo(factories.caller(alice), item.id)
    assert state() == before
    assert set(current(shared)) == {THIS, "Rent is 955."}


def test_a_decision_is_not_taken_back_when_somebody_revised_what_was_written_new(
    alice: Member, bob: Member, shared: Memory
) -> None:
    item = decide(alice, shared, found(alice, shared), "new")
    records.revise(at(bob, shared), current(shared)[NEW].id, read_changes({"content": "Rent is 926."}))
    before = state()
    with pytest.raises(VersionConflict):
        undoing.undo(factories.caller(alice), item.id)
    assert state() == before
    assert set(current(shared)) == {"Rent is 926."}


@pytest.mark.parametrize("erased", [False, True])
@pytest.mark.parametrize("decision", ["this", "both"])
def test_a_decision_is_not_taken_back_when_what_was_kept_is_gone(
    alice: Member, bob: Member, shared: Memory, decision: str, erased: bool
) -> None:
    conflict = found(alice, shared)
    item = decide(alice, shared, conflict, decision)
    # Of `this` nothing is left to show; of `that` the item is, which names the other record.
    gone = conflict.this_id if decision == "this" and not erased else conflict.that_id
    assert gone
    if erased:
        erasure.finish(at(alice, shared), erasure.begin(at(alice, shared), [gone]).id)
    else:
        records.forget(at(bob, shared), gone)
    before = state()
    with pytest.raises(VersionConflict):
        undoing.undo(factories.caller(alice), item.id)
    assert state() == before


def test_what_was_revised_since_and_is_not_of_the_decision_stays_revised(
    alice: Member, bob: Member, shared: Memory
) -> None:
    item = decide(alice, shared, conflict := found(alice, shared), "this")
    records.revise(at(bob, shared), conflict.this_id, read_changes({"content": "Rent is 905."}))
    undoing.undo(factories.caller(alice), item.id)
    assert set(current(shared)) == {"Rent is 905.", THAT}


def test_what_was_written_in_place_of_both_and_waits_is_taken_back_too(alice: Member, shared: Memory) -> None:
    conflict = found(alice, shared)
    policies.change(at(alice, shared), mode="hold")
    item = decide(alice, shared, conflict, "new")
    assert current(shared) == {}
    undoing.undo(factories.caller(alice), item.id)
    assert set(current(shared)) == {THIS, THAT}
    assert Held.objects.get().state == "withdrawn"


def test_what_another_reviewer_let_through_in_place_of_both_stays(alice: Member, shared: Memory) -> None:
    other = factories.member(alice.organisation)
    factories.grant(alice, shared, other, "read", "delete")
    conflict = found(alice, shared)
    policies.change(at(alice, shared), mode="hold")
    item = decide(alice, shared, conflict, "new")
    [waiting] = reviewing.inbox(factories.caller(other)).items
    caller = factories.caller(other)
    judging.keep(caller, waiting.id, reviewing.find(caller, waiting.id).fingerprint)
    before = state()
    with pytest.raises(VersionConflict):
        undoing.undo(factories.caller(alice), item.id)
    assert state() == before
    assert set(current(shared)) == {NEW}


def test_only_who_decided_takes_it_back_for_a_day_and_with_write(alice: Member, shared: Memory) -> None:
    other = factories.member(alice.organisation)
    given = factories.grant(alice, shared, other, "read", "write", "delete")
    conflict = found(alice, shared)
    item = decide(other, shared, conflict, "that")
    with pytest.raises(MemoryNotFound):
        undoing.undo(factories.caller(alice), item.id)
    given.delete()
    factories.grant(alice, shared, other, "read", "delete")
    before = state()
    with pytest.raises(MemoryForbidden):
        undoing.undo(factories.caller(other), item.id)
    assert state() == before
    factories.grant(alice, shared, other, "write")
    ReviewItem.objects.update(decided_at=timezone.now() - timedelta(hours=25))
    with pytest.raises(MemoryNotFound):
        undoing.undo(factories.caller(other), item.id)


@pytest.mark.parametrize("close", [judging.dismiss, judging.keep])
def test_what_was_closed_and_then_decided_after_all_is_taken_back_as_well(
    alice: Member, shared: Memory, close: Any
) -> None:
    caller, conflict = factories.caller(alice), found(alice, shared)
    item = ReviewItem.objects.get()
    close(caller, item.id, reviewing.find(caller, item.id).fingerprint)
    assert decide(alice, shared, conflict, "that").state == "kept"
    undoing.undo(caller, item.id)
    assert set(current(shared)) == {THIS, THAT}
    assert ReviewItem.objects.get().state == "open"


def test_a_dismissal_taken_back_decides_nothing(alice: Member, shared: Memory) -> None:
    caller, conflict = factories.caller(alice), found(alice, shared)
    item = ReviewItem.objects.get()
    judging.dismiss(caller, item.id, reviewing.find(caller, item.id).fingerprint)
    undoing.undo(caller, item.id)
    assert ReviewItem.objects.get().state == "open"
    assert [one.conflict.id for one in deciding.listed(at(alice, shared), 10)] == [conflict.id]


def test_the_last_twenty_are_taken_back_conflicts_among_them(alice: Member, shared: Memory) -> None:
    items = [decide(alice, shared, found(alice, shared), "both") for _ in range(21)]
    with pytest.raises(MemoryNotFound):
        undoing.undo(factories.caller(alice), items[0].id)
    assert undoing.undo(factories.caller(alice), items[1].id).state == "open"
