"""What is told before records are forgotten or erased is what happens then; and what points at one, for each reader."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from members.ids import mint
from members.models import Member
from memories.content import read_draft
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from memories.services import erasure, forecast, holds, jobs, pointing, records
from memories.services.pointing import pointing_at
from memories.tasks import KINDS
from tests import factories
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, RecordNotFound

pytestmark = pytest.mark.django_db


def to(record: RecordVersion, rel: str = "derived_from") -> dict[str, str]:
    return {"record_id": record.id, "memory_id": record.memory_id, "rel": rel}


def derived(memory: Memory, *sources: RecordVersion) -> RecordVersion:
    """A record that a provider wrote from others."""
    draft = read_draft({"content": "Derived.", "references": [to(one) for one in sources]})
    return registry.get("native").remember(memory.id, draft, Writer("provider", "native"))


def test_an_erasure_removes_what_was_told_and_leaves_what_was_told(alice: Member, shared: Memory) -> None:
    source, other = factories.record(alice, shared), factories.record(alice, shared)
    first = derived(shared, source)
    second = derived(factories.memory(alice), first, other)
    held = derived(shared, second)
    holds.place_hold(at(alice, shared), "Needed.", held.id)
    beyond = derived(shared, held)
    by_hand = factories.record(alice, shared, references=[to(second)])
    place = at(alice, shared)
    told = forecast.of_erasing(place, [source.id, source.id, mint("hrec_")])
    assert [one.record_id for one in told.going] == [source.id]
    assert {one.record_id for one in told.derived} == {first.id, second.id}
    assert {one.record_id for one in told.unreachable} == {held.id, by_hand.id}
    job = erasure.begin(place, [source.id])
    jobs.run(job.id, KINDS)
    report = erasure.report(place, erasure.find(place, job.id))
    assert set(report.erased) == {source.id, first.id, second.id}
    assert set(report.unreachable) == {held.id, by_hand.id}
    assert report.removed["versions"] == told.versions
    assert records.get(place, beyond.id)


def test_records_that_wait_for_each_other_are_walked_once(alice: Member, shared: Memory) -> None:
    source = factories.record(alice, shared)
    first = derived(shared, source)
    second = derived(shared, source, first)
    told = forecast.of_erasing(at(alice, shared), [source.id, second.id])
    assert [one.record_id for one in told.derived] == [first.id]
    assert not told.unreachable


def test_what_is_forgotten_already_is_not_forgotten_again(alice: Member, shared: Memory) -> None:
    kept, gone = factories.record(alice, shared, title="Kept"), factories.record(alice, shared, title="Gone")
    place = at(alice, shared)
    records.forget(place, gone.id)
    fates = forecast.of_forgetting(place, [gone.id, kept.id, mint("hrec_")])
    assert [(one.title, one.refused) for one in fates] == [("Gone", "It is forgotten already."), ("Kept", "")]
    with pytest.raises(RecordNotFound):
        forecast.of_forgetting(place, [mint("hrec_")])


def test_a_record_of_another_memory_has_no_fate_here(alice: Member, shared: Memory) -> None:
    elsewhere = factories.record(alice, factories.memory(alice))
    with pytest.raises(RecordNotFound):
        forecast.of_erasing(at(alice, shared), [elsewhere.id])


def test_only_pointers_from_memories_that_are_read_are_told(alice: Member, carol: Member, shared: Memory) -> None:
    target = factories.record(alice, shared, title="Target")
    hidden = factories.memory(alice, shared, restricted=True)
    factories.record(alice, hidden, title="Hidden", references=[to(target, "about")])
    inside = {"record_id": target.id, "rel": "subject"}
    factories.record(alice, shared, title="Beside", references=[inside, to(factories.record(alice, shared), "about")])
    elsewhere = {**to(target, "about"), "memory_id": factories.memory(alice).id}
    factories.record(alice, shared, title="Elsewhere", references=[elsewhere])
    assert told(carol, shared, target) == [("Beside", "subject")]
    assert told(alice, shared, target) == [("Beside", "subject"), ("Hidden", "about")]


def test_a_record_that_does_not_name_it_any_more_is_not_told(alice: Member, shared: Memory) -> None:
    target = factories.record(alice, shared)
    former = factories.record(alice, shared, references=[to(target, "about")])
    place = at(alice, shared)
    assert len(told(alice, shared, target)) == 1
    records.forget(place, former.id)
    assert told(alice, shared, target) == []


def test_pointers_beyond_what_is_listed_are_said_to_be_there(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pointing, "MOST", 2)
    target = factories.record(alice, shared)
    counts: list[Any] = []
    for number in range(3):
        factories.record(alice, shared, title=f"Number {number}", references=[to(target, "about")])
        with CaptureQueriesContext(connection) as queries:
            found, more = pointing_at(at(alice, shared), target.id)
        counts.append((len(queries), [one.title for one in found], more))
    assert len({cost for cost, _, _ in counts}) == 1
    assert [(titles, more) for _, titles, more in counts] == [
        (["Number 0"], False),
        (["Number 1", "Number 0"], False),
        (["Number 2", "Number 1"], True),
    ]


def test_without_read_nobody_is_told_of_pointers(alice: Member, bob: Member) -> None:
    memory = factories.memory(alice)
    target = factories.record(alice, memory)
    factories.grant(alice, memory, bob, "write")
    with pytest.raises(MemoryForbidden):
        pointing_at(at(bob, memory), target.id)


def told(who: Member, memory: Memory, record: RecordVersion) -> list[tuple[str, str]]:
    found, more = pointing_at(at(who, memory), record.id)
    assert not more
    return sorted((one.title, one.rel) for one in found)
