"""What is written beside what its memory says already: said again or otherwise, as reasons of the item about it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from members.models import Member
from memories.content import read_changes, read_draft
from memories.models import Held, Memory, ReviewItem, Version
from memories.providers import alike
from memories.providers.base import RecordVersion, Writer
from memories.services import comparing, erasure, gate, judging, leftovers, policies, records, reviewing
from memories.signals.context import COMPARED, CONFLICT, NEAR_DUPLICATE
from tests import factories
from tests.factories import at
from uhp_site.http.errors import MemoryUnavailable

pytestmark = pytest.mark.django_db

FERRY = "The ferry to the island leaves from pier 2 on weekdays."
OTHER_PIER = "The ferry to the island leaves from pier 3 on weekdays."
CONFLICTS: dict[str, Any] = {"when": {"signals": [CONFLICT]}, "then": "hold"}


def item_of(record: RecordVersion) -> ReviewItem:
    """The item about a record."""
    return ReviewItem.objects.get(record_id=record.id)


def told(record: RecordVersion) -> dict[str, list[str]]:
    """What an item says of a record beside others: by signal, the records that it names."""
    return {one["name"]: one.get("records", []) for one in item_of(record).signals if one["name"] in COMPARED}


def revise(who: Member, memory: Memory, record: RecordVersion, words: str) -> RecordVersion:
    """A record with other words."""
    return records.revise(at(who, memory), record.id, read_changes({"content": words}))


def erase(by: Member, memory: Memory, *gone: RecordVersion) -> erasure.Report:
    """Records erased for good."""
    return erasure.finish(at(by, memory), erasure.begin(at(by, memory), [one.id for one in gone]).id)


def shown(who: Member, item: ReviewItem) -> str:
    """The fingerprint that somebody who looks at an item sends along."""
    return reviewing.find(factories.caller(who), item.id).fingerprint


def writes_only(alice: Member, memory: Memory) -> Member:
    """An agent that may write here, and read nothing."""
    blind = factories.member(alice.organisation, type="agent")
    factories.grant(alice, memory, blind, "write")
    return blind


# What is told.


@pytest.mark.parametrize(
    ("words", "signal"),
    [("the ferry to the island leaves from pier 2 on weekdays", NEAR_DUPLICATE), (OTHER_PIER, CONFLICT)],
)
def test_an_item_tells_a_moment_later_that_its_memory_says_the_same_or_otherwise(
    alice: Member, agent: Member, shared: Memory, words: str, signal: str
) -> None:
    there = factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, words)
    assert told(written) == {}
    assert comparing.sweep() == 1
    assert told(written) == {signal: [there.id]}
    assert item_of(written).weight >= 0.5


def test_what_has_little_in_common_is_no_reason(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, "Tea is at four in the garden.")
    comparing.sweep()
    assert told(written) == {}
    assert not item_of(written).to_compare


def test_what_was_written_later_is_no_reason_against_what_was_there(agent: Member, shared: Memory) -> None:
    first = factories.record(agent, shared, FERRY)
    second = factories.record(agent, shared, OTHER_PIER)
    assert comparing.sweep() == 2
    assert (told(first), told(second)) == ({}, {CONFLICT: [first.id]})


def test_a_record_is_compared_within_its_own_memory_alone(alice: Member, agent: Member, shared: Memory) -> None:
    below, beside = factories.memory(alice, shared), factories.memory(alice)
    for memory in (below, beside):
        factories.record(alice, memory, FERRY)
        factories.record(alice, memory, OTHER_PIER)
    written = factories.record(agent, shared, FERRY)
    comparing.sweep()
    assert told(written) == {}


def test_what_waits_is_never_what_something_is_compared_with(alice: Member, agent: Member, shared: Memory) -> None:
    policies.change(at(alice, shared), mode="hold")
    factories.record(agent, shared, FERRY)
    second = factories.record(agent, shared, OTHER_PIER)
    assert comparing.sweep() == 2
    assert told(second) == {}


@pytest.mark.parametrize("may_read", [True, False])
def test_what_waits_is_compared_only_with_what_its_writer_may_read(
    alice: Member, agent: Member, shared: Memory, may_read: bool
) -> None:
    factories.record(alice, shared, FERRY)
    policies.change(at(alice, shared), mode="hold")
    waiting = factories.record(agent if may_read else writes_only(alice, shared), shared, OTHER_PIER)
    assert comparing.sweep() == 1
    assert (CONFLICT in told(waiting)) is may_read


def test_nobody_compares_what_was_said_in_a_conversation_or_what_something_was_made_of(
    alice: Member, agent: Member, shared: Memory
) -> None:
    factories.record(alice, shared, FERRY, type="episode")
    source = factories.record(alice, shared, FERRY)
    references = [{"rel": "derived_from", "record_id": source.id, "memory_id": shared.id}]
    draft = read_draft({"content": FERRY, "references": references})
    made = gate.remember(shared, draft, Writer("provider", "rules"))
    heard = factories.record(agent, shared, OTHER_PIER, type="episode", attributes={"session_id": "s"})
    comparing.sweep()
    assert (told(made), told(heard)) == ({}, {})


def test_the_same_words_again_are_one_item_that_is_no_duplicate_of_itself(agent: Member, shared: Memory) -> None:
    first = factories.record(agent, shared, FERRY)
    factories.record(agent, shared, FERRY)
    assert comparing.sweep() == 1
    assert (item_of(first).times, told(first)) == (2, {})


def test_an_item_keeps_nothing_of_what_the_other_record_says(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    factories.record(agent, shared, OTHER_PIER)
    comparing.sweep()
    kept = repr(ReviewItem.objects.values().get())
    for word in ("ferry", "island", "pier", "weekdays"):
        assert word not in kept


def test_a_new_version_is_compared_anew(alice: Member, agent: Member, shared: Memory) -> None:
    there = factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    comparing.sweep()
    revise(agent, shared, written, FERRY)
    comparing.sweep()
    assert told(written) == {NEAR_DUPLICATE: [there.id]}
    revise(agent, shared, written, "Something else altogether, about tea.")
    comparing.sweep()
    assert told(written) == {}


# Once, and never against what somebody decided.


def test_comparing_again_changes_nothing(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    comparing.sweep()
    once = ReviewItem.objects.filter(record_id=written.id).values().get()
    assert comparing.sweep() == 0
    ReviewItem.objects.update(to_compare=True)
    assert comparing.sweep() == 1
    assert ReviewItem.objects.filter(record_id=written.id).values().get() == once


def test_what_was_dismissed_stays_dismissed_and_is_not_compared(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    item = item_of(written)
    judging.dismiss(factories.caller(alice), item.id, shown(alice, item))
    factories.record(agent, shared, OTHER_PIER)
    assert comparing.sweep() == 0
    assert (item_of(written).state, told(written)) == ("dismissed", {})
    assert ReviewItem.objects.count() == 1


def test_who_decides_while_it_is_compared_is_left_alone(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    item = item_of(written)
    found = comparing.found_for(item)
    assert found
    judging.keep(factories.caller(alice), item.id, shown(alice, item))
    assert not comparing.complete(item, found)
    assert (item_of(written).state, told(written)) == ("kept", {})


def test_a_reason_does_not_make_what_somebody_looks_at_another(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    item = item_of(factories.record(agent, shared, OTHER_PIER))
    fingerprint = shown(alice, item)
    comparing.sweep()
    assert judging.keep(factories.caller(alice), item.id, fingerprint).state == "kept"


def test_what_was_written_at_meanwhile_is_compared_in_the_next_round(
    alice: Member, agent: Member, shared: Memory
) -> None:
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    stale = item_of(written)
    found = comparing.found_for(stale)
    revise(agent, shared, written, "Something else altogether, about tea.")
    assert not comparing.complete(stale, found)
    assert comparing.sweep() == 1
    assert told(written) == {}


def test_one_item_that_cannot_be_compared_stops_no_other(alice: Member, agent: Member, shared: Memory) -> None:
    lost = factories.memory(alice)
    factories.grant(alice, lost, agent, "read", "write")
    factories.record(agent, lost, FERRY)
    Memory.objects.filter(pk=lost.pk).update(provider="gone")
    factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    assert comparing.sweep() == 1
    assert CONFLICT in told(written)


# Erased.


def test_a_reason_goes_with_the_record_that_it_names(alice: Member, agent: Member, shared: Memory) -> None:
    there = factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    weight = item_of(written).weight
    comparing.sweep()
    assert item_of(written).weight > weight
    report = erase(alice, shared, there)
    assert report.removed["reasons"] == 1
    assert (told(written), item_of(written).weight) == ({}, weight)
    assert not [place for place in leftovers.naming([there.id]) if place.startswith("memories_reviewitem")]


def test_a_reason_stays_as_long_as_another_record_gives_it(alice: Member, agent: Member, shared: Memory) -> None:
    first, second = (factories.record(alice, shared, words) for words in (FERRY, FERRY.upper()))
    written = factories.record(agent, shared, FERRY)
    comparing.sweep()
    assert {*told(written)[NEAR_DUPLICATE]} == {first.id, second.id}
    erase(alice, shared, first)
    assert told(written) == {NEAR_DUPLICATE: [second.id]}
    erase(alice, shared, second)
    assert told(written) == {}


def test_what_was_erased_while_it_was_compared_is_not_named(alice: Member, agent: Member, shared: Memory) -> None:
    there = factories.record(alice, shared, FERRY)
    written = factories.record(agent, shared, OTHER_PIER)
    item = item_of(written)
    found = comparing.found_for(item)
    erase(alice, shared, there)
    assert not comparing.complete(item, found)
    comparing.sweep()
    assert told(written) == {}


# In the inbox.


def test_the_inbox_is_narrowed_down_to_and_ordered_by_what_its_memory_says(
    alice: Member, agent: Member, shared: Memory
) -> None:
    caller = factories.caller(alice)
    factories.record(alice, shared, FERRY)
    plain = factories.record(agent, shared, "Tea is at four in the garden.")
    repeated, against = factories.record(agent, shared, FERRY), factories.record(agent, shared, OTHER_PIER)
    comparing.sweep()

    def found(signal: str) -> list[str]:
        return [one.record_id for one in reviewing.inbox(caller, reviewing.Filters(signal=signal)).items]

    assert found(NEAR_DUPLICATE) == [repeated.id]
    assert found(CONFLICT) == [against.id]
    strongest = [one.record_id for one in reviewing.inbox(caller, order="strongest").items]
    assert strongest == [against.id, repeated.id, plain.id]


def test_the_records_that_a_reason_names_are_those_that_are_there(alice: Member, agent: Member, shared: Memory) -> None:
    there = factories.record(alice, shared, FERRY)
    item = item_of(factories.record(agent, shared, OTHER_PIER))
    comparing.sweep()
    assert list(reviewing.named(reviewing.find(factories.caller(alice), item.id))) == [there.id]
    records.forget(at(alice, shared), there.id)
    assert reviewing.named(reviewing.find(factories.caller(alice), item.id)) == {}


# At the write, where a rule asks.


def test_a_rule_holds_what_says_otherwise_than_a_record(alice: Member, agent: Member, shared: Memory) -> None:
    there = factories.record(alice, shared, FERRY)
    policies.change(at(alice, shared), rules=[CONFLICTS])
    held = factories.record(agent, shared, OTHER_PIER)
    live = factories.record(agent, shared, "Tea is at four in the garden.")
    assert (held.review, live.review) == ("held", "")
    assert told(held) == {CONFLICT: []}
    comparing.sweep()
    assert told(held) == {CONFLICT: [there.id]}
    assert Held.objects.get().record_id == held.id


def test_a_rule_brings_into_the_inbox_what_a_person_repeats(alice: Member, bob: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    rule = {"when": {"signals": [NEAR_DUPLICATE], "writer": "human"}, "then": "flag"}
    policies.change(at(alice, shared), rules=[rule])
    factories.record(bob, shared, OTHER_PIER)
    written = factories.record(bob, shared, FERRY)
    assert [one.record_id for one in ReviewItem.objects.all()] == [written.id]


def test_a_revision_is_not_compared_with_what_it_revises(alice: Member, agent: Member, shared: Memory) -> None:
    record = factories.record(agent, shared, FERRY)
    policies.change(at(alice, shared), rules=[CONFLICTS])
    assert revise(agent, shared, record, OTHER_PIER).review == ""
    policies.change(at(alice, shared), rules=[])
    factories.record(alice, shared, "The ferry to the island leaves from pier 9 on weekdays.")
    policies.change(at(alice, shared), rules=[CONFLICTS])
    assert revise(agent, shared, record, FERRY).review == "held"


def test_a_rule_tells_nobody_of_records_that_they_may_not_read(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    policies.change(at(alice, shared), rules=[CONFLICTS])
    blind = writes_only(alice, shared)
    against = factories.record(blind, shared, OTHER_PIER)
    assert against.review == ""
    comparing.sweep()
    assert CONFLICT in told(against)


def test_where_a_rule_asks_a_comparison_that_fails_stops_the_write(
    alice: Member, agent: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies.change(at(alice, shared), rules=[CONFLICTS])

    def failing(*_: object) -> list[Version]:
        raise RuntimeError

    monkeypatch.setattr(alike, "found", failing)
    with pytest.raises(MemoryUnavailable):
        factories.record(agent, shared, FERRY)
    assert not ReviewItem.objects.exists()


def test_no_write_waits_for_it_but_where_a_rule_asks(alice: Member, agent: Member, shared: Memory) -> None:
    factories.record(alice, shared, FERRY)
    factories.record(agent, shared, "The very first.")

    def cost(words: str) -> tuple[int, bool]:
        place = at(agent, shared)
        with CaptureQueriesContext(connection) as queries:
            records.remember(place, read_draft({"content": words}))
        return len(queries), any("length(v.words)" in one["sql"] for one in queries)

    policies.change(at(alice, shared), rules=[{"when": {"signals": ["secret"]}, "then": "flag"}])
    without, compared = cost("Tea is at four.")
    assert not compared
    # A rule before it that fits decides, and nothing has to be compared.
    policies.change(at(alice, shared), rules=[{"when": {"writer": "agent"}, "then": "flag"}, CONFLICTS])
    assert cost("Tea is at five.") == (without, False)
    policies.change(at(alice, shared), rules=[CONFLICTS])
    asked, compared = cost("Tea is at six.")
    assert compared
    assert asked - without == 4
