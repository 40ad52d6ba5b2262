"""The default engine as a whole: what it makes of a small conversation, and of one that wants to hurt it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from benchmarks.shelf import Shelf, cited, episode
from memories.consolidation.base import Kept, Kind
from memories.consolidation.engine import RulesEngine, tokens_in
from memories.fence import fenced

MONDAY = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def conversation(*lines: tuple[str, str]) -> list[Kept]:
    return [episode(f"e{number}", text, MONDAY, who, session="s") for number, (who, text) in enumerate(lines)]


def test_a_conversation_becomes_dated_statements_about_named_people() -> None:
    shelf = Shelf()
    lines = (
        ("Ann", "Hey Bob! How are you?"),
        ("Bob", "Good, thanks! Guess what, my sister Rosa opened a bakery in Porto last Friday."),
        ("Ann", "Wow, that's amazing!"),
        ("Ann", "We decided to ship Heron on 9 March 2026."),
        ("Bob", "Who signs the release?"),
        ("Ann", "Carol does."),
        ("Bob", "I'll send the invoice of 1,250 euros to Globex Ltd tomorrow."),
    )
    shelf.write(RulesEngine().propose(conversation(*lines), (), shelf))
    facts = {one.draft.said: one for one in shelf.facts.values()}
    assert list(facts) == [
        "Bob: Guess what, my sister Rosa opened a bakery in Porto last Friday (27 February 2026).",
        "Ann: We decided to ship Heron on 9 March 2026. Bob asked: Who signs the release? Ann: Carol does.",
        "Bob: I'll send the invoice of 1,250 euros to Globex Ltd tomorrow (3 March 2026).",
    ]
    titles = {one.draft.title: one.draft.type for one in shelf.entities()}
    assert titles == {"Ann": "person", "Bob": "person", "Rosa": "person", "Porto": "entity", "Globex Ltd": "company"}
    bakery = next(one for text, one in facts.items() if "bakery" in text)
    assert cited(bakery) == ["e1"]
    assert bakery.draft.valid_from == datetime(2026, 2, 27, tzinfo=UTC)
    assert (bakery.draft.attributes or {})["statement"]["sort"] == "fact"


def test_what_the_engine_knows_of_a_statement_is_not_searched() -> None:
    shelf = Shelf()
    shelf.write(RulesEngine().propose(conversation(("Ann", "I prefer window seats on trains.")), (), shelf))
    (record,) = shelf.facts.values()
    assert record.draft.text == "Ann: I prefer window seats on trains."


def test_the_event_time_is_that_of_the_newest_source_where_no_date_is_named() -> None:
    shelf = Shelf()
    shelf.write(RulesEngine().propose(conversation(("Ann", "I prefer window seats on trains.")), (), shelf))
    assert next(iter(shelf.facts.values())).draft.valid_from == MONDAY


def test_what_was_recalled_never_becomes_new() -> None:
    quoted = fenced(["Ann: I was born in Lisbon on 4 May 1980."])
    batch = RulesEngine().propose(conversation(("Ann", f"{quoted} I was born in Lisbon, you say?")), (), Shelf())
    assert batch.proposals == ()


def test_a_budget_cuts_between_episodes_and_the_next_batch_goes_on() -> None:
    episodes = conversation(*(("Ann", f"Parcel {n} weighs {n + 3} kg in total.") for n in range(5)))
    each = tokens_in(episodes[0].draft.said)
    batch = RulesEngine().propose(episodes, (), Shelf(), budget=2 * each + 1)
    assert (batch.read, batch.input_tokens, batch.output_tokens) == (2, 2 * each, 0)
    rest = RulesEngine().propose(episodes[2:], episodes[:2], Shelf())
    assert {source for one in rest.proposals for source in one.sources} <= {"e2", "e3", "e4"}


def test_in_another_language_what_has_numbers_and_names_is_kept() -> None:
    shelf = Shelf()
    shelf.write(RulesEngine().propose(conversation(("Zoë", "Die Rechnung über 1250 Euro ging an Globex.")), (), shelf))
    assert [one.draft.said for one in shelf.facts.values()] == ["Zoë: Die Rechnung über 1250 Euro ging an Globex."]


HOSTILE = [
    "a" * 20_000,
    "Aa " * 6_000,
    "A." * 10_000,
    "1.1." * 5_000,
    "Ab of the " * 2_000,
    "my a b c " * 2_000,
    "I live in 5 " * 1_500,
    "(I (I " * 3_000,
    "I met Ann on 5 May. " * 1_000,
    "<recalled-memory" * 1_200,
    '"A' * 10_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:12] for text in HOSTILE])
def test_a_hostile_text_is_read_in_bounded_time(text: str) -> None:
    shelf, started = Shelf(), time.process_time()
    for one in conversation(("Ann", text), ("Ann", f"{text} now")):
        shelf.write(RulesEngine().propose([one], (), shelf))
    assert time.process_time() - started < 5
    assert all(one.kind in Kind for one in shelf.conflicts)
