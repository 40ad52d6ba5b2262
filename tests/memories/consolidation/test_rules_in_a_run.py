"""The default engine in a real run: what comes of it in the database, and what does not happen twice."""

from __future__ import annotations

import pytest

from members.models import Member
from memories.models import Conflict, Memory, Run, Version
from memories.services import records, runs
from memories.services.sight import look
from tests import factories
from tests.memories.plain_engine import done

pytestmark = pytest.mark.django_db


def run(who: Member, memory: Memory) -> Run:
    return done(runs.start(look(factories.caller(who), memory.id), None))


def say(who: Member, memory: Memory, text: str) -> str:
    return factories.record(who, memory, text, type="episode").id


def says(memory: Memory) -> dict[str, Version]:
    found = Version.objects.current().filter(memory=memory).exclude(type="episode")
    return {one.title or one.content[0]["text"]: one for one in found}


def test_a_run_writes_dated_records_and_entities_that_are_pointed_at(alice: Member, shared: Memory) -> None:
    source = say(alice, shared, "Caroline: I joined Globex Ltd on 3 March 2025 as a bridge inspector.")
    made = run(alice, shared)
    assert (made.state, made.engine) == (Run.State.COMPLETED, "rules")
    found = says(shared)
    assert set(found) == {
        "Caroline",
        "Globex Ltd",
        "Caroline: I joined Globex Ltd on 3 March 2025 as a bridge inspector.",
    }
    fact = found["Caroline: I joined Globex Ltd on 3 March 2025 as a bridge inspector."]
    assert {(one["rel"], one["record_id"]) for one in fact.references} == {
        ("subject", found["Caroline"].record_id),
        ("object", found["Globex Ltd"].record_id),
        ("derived_from", source),
    }
    assert fact.valid_from is not None
    assert fact.valid_from.date().isoformat() == "2025-03-03"


def test_what_is_said_again_adds_a_source_and_no_record(alice: Member, shared: Memory) -> None:
    say(alice, shared, "Caroline: The budget of Heron is 5,000 euros.")
    run(alice, shared)
    before = set(says(shared))
    say(alice, shared, "Caroline: The budget of Heron is 5,000 euros!")
    again = run(alice, shared)
    assert set(says(shared)) == before
    assert (again.created, again.supported) == (0, 1)


def test_another_number_is_asked_about_and_replaces_nothing(alice: Member, shared: Memory) -> None:
    say(alice, shared, "Caroline: The budget of Heron is 5,000 euros.")
    run(alice, shared)
    say(alice, shared, "Caroline: The budget of Heron is 6,000 euros.")
    second = run(alice, shared)
    assert (second.superseded, second.conflicts) == (0, 1)
    assert Conflict.objects.filter(memory=shared).count() == 1
    assert {"Caroline: The budget of Heron is 5,000 euros.", "Caroline: The budget of Heron is 6,000 euros."} <= set(
        says(shared)
    )


def test_what_changed_is_replaced_and_what_a_person_wrote_is_not(alice: Member, shared: Memory) -> None:
    say(alice, shared, "Caroline: I live in Berlin with two cats.")
    run(alice, shared)
    factories.record(alice, shared, "The deadline of Heron is 3 March 2026.")
    say(alice, shared, "Caroline: I moved to Munich. The deadline of Heron is now 5 March 2026.")
    second = run(alice, shared)
    found = says(shared)
    assert (second.superseded, second.conflicts) == (1, 1)
    assert "The deadline of Heron is 3 March 2026." in found
    assert not any("live in Berlin" in text for text in found)


def test_what_a_person_forgot_does_not_come_back(alice: Member, shared: Memory) -> None:
    say(alice, shared, "Caroline: The code of the gate is 4711.")
    run(alice, shared)
    (fact,) = (one for text, one in says(shared).items() if "4711" in text)
    records.forget(look(factories.caller(alice), shared.id), fact.record_id)
    say(alice, shared, "Caroline: The code of the gate is 4711.")
    run(alice, shared)
    assert not any("4711" in text for text in says(shared))


def test_the_same_words_in_two_memories_never_meet(alice: Member, shared: Memory) -> None:
    other = factories.memory(alice, shared)
    for memory in (shared, other):
        say(alice, memory, "Caroline: The budget of Heron is 5,000 euros.")
    run(alice, shared)
    assert says(other) == {}
    run(alice, other)
    ids = {one.record_id for one in says(shared).values()}
    assert not any(one["record_id"] in ids for version in says(other).values() for one in version.references)
