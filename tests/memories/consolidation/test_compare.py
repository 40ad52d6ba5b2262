"""What a new statement does to what the memory says, and to what its own batch says."""

from __future__ import annotations

from datetime import timedelta

from benchmarks.shelf import MEMBER, WRITTEN, Shelf, cited, episode
from memories.consolidation.base import Batch, Kept, Kind, Proposal, Reason
from memories.consolidation.engine import RulesEngine
from memories.content import Draft, Reference
from memories.providers.base import Writer


def told(shelf: Shelf, *lines: str, first: int = 0, speaker: str = "Ann") -> Batch:
    episodes = [
        episode(f"e{first + n}", line, WRITTEN + timedelta(days=first + n), speaker) for n, line in enumerate(lines)
    ]
    batch = RulesEngine().propose(episodes, (), shelf)
    shelf.write(batch)
    return batch


def of(batch: Batch, *kinds: Kind) -> list[Proposal]:
    return [one for one in batch.proposals if one.kind in kinds and not (one.draft and one.reason is Reason.NAMED)]


def says(shelf: Shelf) -> list[str]:
    return [one.draft.said for one in shelf.facts.values()]


def written(shelf: Shelf, text: str, writer: Writer = MEMBER, **attributes: object) -> Kept:
    return shelf.put(Draft(content=({"type": "text", "text": text},), attributes=attributes), writer)


def test_the_same_statement_adds_its_source_and_no_copy() -> None:
    shelf = Shelf()
    told(shelf, "The budget of Heron is 5,000 euros.")
    (change,) = of(told(shelf, "The budget of Heron is 5,000 euros!", first=1), *Kind)
    assert (change.kind, change.reason, change.sources) == (Kind.SUPPORT, Reason.REPEATED, ("e1",))
    assert says(shelf) == ["Ann: The budget of Heron is 5,000 euros."]
    assert cited(next(iter(shelf.facts.values()))) == ["e0", "e1"]


def test_the_same_episode_again_changes_nothing() -> None:
    shelf = Shelf()
    told(shelf, "The budget of Heron is 5,000 euros.")
    assert told(shelf, "The budget of Heron is 5,000 euros.").proposals == ()


def test_the_same_statement_twice_in_a_batch_is_one_record_with_both_sources() -> None:
    (made,) = of(told(Shelf(), "I prefer window seats on trains.", "I really prefer window seats on trains."), *Kind)
    assert (made.kind, made.sources) == (Kind.CREATE, ("e0", "e1"))


def test_a_change_replaces_what_an_engine_wrote_and_rests_on_both() -> None:
    shelf = Shelf()
    told(shelf, "I live in Berlin with two cats.")
    (change,) = of(told(shelf, "I moved to Munich.", first=1), *Kind)
    assert (change.kind, change.reason, change.sources) == (Kind.SUPERSEDE, Reason.CORRECTED, ("e1",))
    assert says(shelf) == ["Ann: I moved to Munich."]
    assert cited(next(iter(shelf.facts.values()))) == ["e0", "e1"]


def test_a_change_leaves_the_other_sentences_of_the_record() -> None:
    shelf = Shelf()
    told(shelf, "My sister Rosa lives in Lisbon. She has 3 cats and a parrot.")
    told(shelf, "Actually, my sister Rosa lives in Porto.", first=1)
    assert says(shelf) == ["Ann: Actually, my sister Rosa lives in Porto. She has 3 cats and a parrot."]


def test_what_was_liked_and_is_hated_is_the_newer_one_and_never_neither() -> None:
    shelf = Shelf()
    told(shelf, "I love cilantro in soup.")
    told(shelf, "I hate cilantro in soup.", first=1)
    assert says(shelf) == ["Ann: I hate cilantro in soup."]


def test_another_value_is_a_conflict_and_changes_nothing() -> None:
    shelf = Shelf()
    told(shelf, "My favourite colour is purple.")
    (record,) = shelf.facts
    (conflict,) = of(told(shelf, "My favourite colour is cyan.", first=1), *Kind)
    assert (conflict.kind, conflict.reason, conflict.record_id) == (Kind.CONFLICT, Reason.DIFFERS, record)
    assert conflict.draft is not None
    assert conflict.draft.said == "Ann: My favourite colour is cyan."
    assert shelf.records[record].number == 1


def test_what_a_person_wrote_is_never_replaced() -> None:
    shelf = Shelf()
    kept = written(shelf, "The deadline of Heron is 3 March 2026.")
    (conflict,) = of(told(shelf, "The deadline of Heron is now 5 March 2026."), *Kind)
    assert (conflict.kind, conflict.reason, conflict.record_id) == (Kind.CONFLICT, Reason.MEMBER_WROTE, kept.id)


def test_what_a_person_wrote_is_neither_copied_nor_touched_when_it_is_said_again() -> None:
    shelf = Shelf()
    written(shelf, "The deadline of Heron is 3 March 2026.")
    assert of(told(shelf, "The deadline of Heron is 3 March 2026."), *Kind) == []


def test_a_standing_record_is_left_to_a_person() -> None:
    shelf = Shelf()
    written(shelf, "The deadline of Heron is 3 March 2026.", Writer("provider", "rules"), standing=True)
    (conflict,) = of(told(shelf, "The deadline of Heron is now 5 March 2026."), *Kind)
    assert conflict.kind is Kind.CONFLICT


def test_what_is_corrected_within_a_batch_is_written_once_as_corrected() -> None:
    (made,) = of(told(Shelf(), "I live in Berlin with 2 cats.", "Sorry, I live in Munich now."), *Kind)
    assert (made.kind, made.sources) == (Kind.CREATE, ("e0", "e1"))
    assert made.draft is not None
    assert "Munich" in made.draft.said
    assert "Berlin" not in made.draft.said


def test_a_contradiction_within_a_batch_names_what_the_batch_creates() -> None:
    shelf = Shelf()
    first, conflict = of(told(shelf, "The code of the door is 4711.", "The code of the door is 1147."), *Kind)
    assert first.kind is Kind.CREATE
    assert first.key
    assert (conflict.kind, conflict.record_id) == (Kind.CONFLICT, first.key)
    assert len(shelf.facts) == 2


def test_two_repetitions_in_one_batch_are_one_change() -> None:
    shelf = Shelf()
    told(shelf, "I prefer window seats on trains.")
    (change,) = of(told(shelf, "I prefer window seats on trains.", "I prefer window seats on trains!", first=1), *Kind)
    assert change.sources == ("e1", "e2")
    assert change.draft is not None
    assert [one.record_id for one in change.draft.references if one.rel == "derived_from"][-2:] == ["e1", "e2"]


def test_people_without_a_name_are_told_apart_by_who_they_are() -> None:
    shelf = Shelf()
    for number, member in enumerate(("mem_ann", "mem_bob")):
        one = episode(f"e{number}", "I live in Berlin with 2 cats.", WRITTEN, writer=Writer("member", member))
        shelf.write(RulesEngine().propose([one], (), shelf))
    assert says(shelf) == ["I live in Berlin with 2 cats."] * 2


def test_a_record_with_no_room_for_sources_is_left_as_it_is() -> None:
    shelf = Shelf()
    told(shelf, "I prefer window seats on trains.")
    (record,) = shelf.facts.values()
    full = tuple(Reference(f"x{n}", "derived_from") for n in range(200))
    shelf.put(Draft(**{**record.draft.__dict__, "references": full}), record.writer, id=record.id)
    assert of(told(shelf, "I prefer window seats on trains.", first=1), *Kind) == []


def test_dates_are_compared_as_they_were_meant() -> None:
    shelf = Shelf()
    told(shelf, "I swam 2 km in the lake yesterday.")
    assert [one.kind for one in of(told(shelf, "I swam 2 km in the lake yesterday.", first=1), *Kind)] == [Kind.CREATE]
    assert sorted(says(shelf)) == [
        "Ann: I swam 2 km in the lake yesterday (1 January 2025).",
        "Ann: I swam 2 km in the lake yesterday (31 December 2024).",
    ]
