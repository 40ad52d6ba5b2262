"""What is over is forgotten, if an engine wrote it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from benchmarks.shelf import MEMBER, WRITTEN, Shelf, episode
from memories.consolidation.base import Kind, Reason
from memories.consolidation.engine import RulesEngine
from memories.consolidation.retire import retire
from memories.content import Draft, Reference

PAST = datetime(2024, 12, 1, tzinfo=UTC)


def over(**attributes: object) -> Draft:
    text = {"type": "text", "text": "The code of the gate is 4711."}
    rests = (Reference("e9", "derived_from"),)
    return Draft(content=(text,), attributes=attributes, references=rests, valid_to=PAST)


def test_what_an_engine_wrote_and_is_over_is_forgotten_with_its_sources() -> None:
    shelf = Shelf()
    kept = shelf.put(over())
    (proposal,) = retire(shelf, WRITTEN)
    assert (proposal.kind, proposal.reason, proposal.record_id) == (Kind.FORGET, Reason.EXPIRED, kept.id)
    assert proposal.sources == ("e9",)


def test_what_a_person_wrote_or_made_standing_stays() -> None:
    shelf = Shelf()
    shelf.put(over(), MEMBER)
    shelf.put(over(standing=True))
    assert list(retire(shelf, WRITTEN)) == []


def test_what_is_not_over_yet_stays() -> None:
    shelf = Shelf()
    shelf.put(over())
    assert list(retire(shelf, PAST - timedelta(seconds=1))) == []


def test_a_batch_does_not_forget_what_it_changes() -> None:
    shelf, engine = Shelf(), RulesEngine()
    shelf.write(engine.propose([episode("e1", "The code of the gate is 4711 until tomorrow.", PAST)], (), shelf))
    (record,) = shelf.facts.values()
    assert record.draft.valid_to == datetime(2024, 12, 3, tzinfo=UTC)
    again = engine.propose([episode("e2", "Okay, bye!", WRITTEN)], (), shelf)
    assert [one.kind for one in again.proposals] == [Kind.FORGET]
