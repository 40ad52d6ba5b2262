"""What every engine of consolidation promises, whatever it is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from random import Random

import pytest

from benchmarks.corpus import generate
from benchmarks.shelf import MEMBER, WRITTEN, Shelf, cited, episode
from memories.consolidation.base import Batch, Engine, Kept, Kind, Known
from memories.consolidation.engine import RulesEngine
from memories.consolidation.llm import LlmEngine
from memories.content import CORE_TYPES, MAX_REFERENCES, MAX_TITLE, Draft, check_once, whole
from memories.fence import fenced

from .endpoint import said, serving, statement

TURNS = generate(conversations=1, sessions=2, turns=12)[0].turns
EPISODES = tuple(
    episode(turn.id, turn.text, turn.said_at, turn.speaker, session=str(turn.session)) for turn in TURNS[2:]
)
BEFORE = tuple(episode(turn.id, turn.text, turn.said_at, turn.speaker) for turn in TURNS[:2])


def answering() -> tuple[int, bytes, dict[str, str]]:
    """A model that finds something in the first episodes, calls one thing known, and makes one thing up."""
    words = [turn.text for turn in TURNS[2:]]
    return said(
        [
            statement(f"{words[0]}", "e1", names=[{"name": TURNS[2].speaker, "type": "person"}]),
            statement(f"{words[1]} And {words[2]}", "e2", "e3", sort="preference"),
            statement(f"{words[3]}", "e4", known="k1", relation="same"),
            statement(f"{words[4]}", "e5", known="k2", relation="newer"),
            statement("Nobody said this.", "e99"),
        ],
        {"prompt_tokens": 700, "completion_tokens": 90},
    )


@pytest.fixture(params=["rules", "llm"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "rules":
        yield RulesEngine()
        return
    with serving(answering()) as script:
        yield LlmEngine(script.settings())


def some_shelf() -> Shelf:
    """A memory that knows something of an engine's, something of a person's, something standing, something over."""
    shelf = Shelf()
    text = ({"type": "text", "text": TURNS[5].text},)
    shelf.put(Draft(content=text))
    shelf.put(Draft(content=text, attributes={"standing": True}))
    shelf.put(Draft(content=({"type": "text", "text": TURNS[6].text},)), MEMBER)
    shelf.put(Draft(type="person", title=TURNS[2].speaker), MEMBER)
    shelf.put(
        Draft(content=({"type": "text", "text": "The gate code is 4711."},), valid_to=WRITTEN - timedelta(days=9))
    )
    return shelf


def proposed(engine: Engine, known: Known | None = None, budget: int | None = None) -> Batch:
    return engine.propose(EPISODES, BEFORE, known or some_shelf(), budget)


def test_it_proposes_something(engine: Engine) -> None:
    assert any(one.kind is Kind.CREATE for one in proposed(engine).proposals)


def test_it_has_a_name_and_says_where_text_goes(engine: Engine) -> None:
    told = engine.declare()
    assert told["name"] == engine.name
    assert bool(told["sends_text_to"]) == (engine.name != "rules")
    json.dumps(told)


def test_every_proposal_rests_on_episodes_it_was_given(engine: Engine) -> None:
    given = {one.id for one in (*EPISODES, *BEFORE)}
    for proposal in proposed(engine).proposals:
        if proposal.kind is not Kind.FORGET:
            assert proposal.sources
            assert given.issuperset(proposal.sources)


def test_every_proposal_is_about_a_record_that_is_known_or_one_of_its_own_before_it(engine: Engine) -> None:
    shelf = some_shelf()
    keys: set[str] = set()
    for proposal in proposed(engine, shelf).proposals:
        known = {*shelf.records, *keys, *(one.id for one in (*EPISODES, *BEFORE))}
        assert (proposal.kind is Kind.CREATE) == (not proposal.record_id)
        assert not proposal.record_id or proposal.record_id in known
        assert (proposal.draft is None) == (proposal.kind is Kind.FORGET)
        references = proposal.draft.references if proposal.draft else ()
        assert all(one.record_id in known and not one.memory_id for one in references)
        if proposal.key:
            assert proposal.key not in keys
            keys.add(proposal.key)


def test_every_draft_is_a_record_that_can_be_kept(engine: Engine) -> None:
    for proposal in proposed(engine).proposals:
        if proposal.draft:
            whole(proposal.draft)
            check_once(list(proposal.draft.references))
            json.dumps(proposal.draft.attributes)
            assert proposal.draft.type in CORE_TYPES
            assert proposal.draft.type != "episode"
            assert len(proposal.draft.title) <= MAX_TITLE
            assert len(proposal.draft.references) <= MAX_REFERENCES
            assert all(part["type"] == "text" and part["text"].strip() for part in proposal.draft.content)


def test_it_never_makes_anything_standing_nor_changes_what_is(engine: Engine) -> None:
    shelf = some_shelf()
    for proposal in proposed(engine, shelf).proposals:
        assert "standing" not in ((proposal.draft and proposal.draft.attributes) or {})
        if proposal.kind in (Kind.SUPERSEDE, Kind.SUPPORT, Kind.FORGET):
            kept = shelf.records[proposal.record_id]
            assert (kept.writer.kind, (kept.draft.attributes or {}).get("standing")) == ("provider", None)


def test_the_same_input_proposes_the_same(engine: Engine) -> None:
    assert proposed(engine) == proposed(engine)


def test_the_same_episodes_again_make_no_second_copy(engine: Engine) -> None:
    shelf = some_shelf()
    shelf.write(proposed(engine, shelf))
    before = len(shelf.records)
    again = proposed(engine, shelf)
    shelf.write(again)
    assert [one for one in again.proposals if one.kind is Kind.CREATE] == []
    assert len(shelf.records) == before


def test_it_reads_the_first_episodes_and_says_how_many(engine: Engine) -> None:
    batch = proposed(engine)
    read = len(EPISODES) if batch.read is None else batch.read
    cited_ids = {source for one in batch.proposals if one.kind is not Kind.FORGET for source in one.sources}
    assert cited_ids <= {one.id for one in (*BEFORE, *EPISODES[:read])}


@pytest.mark.parametrize("budget", [0, 1, 50, 300, 900, 2_000, 1_000_000])
def test_a_budget_is_held(engine: Engine, budget: int) -> None:
    batch = proposed(engine, budget=budget)
    assert batch.input_tokens + batch.output_tokens <= budget
    if batch.read == 0:
        assert batch.proposals == ()


def test_without_a_budget_everything_fits(engine: Engine) -> None:
    assert proposed(engine).read in (None, len(EPISODES))


def test_nothing_new_costs_nothing(engine: Engine) -> None:
    quoted = episode("q1", fenced(["Ann lives in Lisbon since 2019."]), WRITTEN)
    batch = engine.propose([quoted], (), Shelf())
    assert [one for one in batch.proposals if one.kind is not Kind.FORGET] == []


def test_what_is_over_is_forgotten_once(engine: Engine) -> None:
    shelf = some_shelf()
    batch = proposed(engine, shelf)
    assert [one.kind for one in batch.proposals].count(Kind.FORGET) == 1
    shelf.write(batch)
    assert [one.kind for one in proposed(engine, shelf).proposals].count(Kind.FORGET) == 0


def test_two_memories_never_meet(engine: Engine) -> None:
    """The same words in another memory change nothing here: an engine keeps nothing between two calls."""
    alone = proposed(engine)
    engine.propose([episode("other", turn.text, WRITTEN, "Zed") for turn in TURNS[:3]], (), Shelf())
    assert proposed(engine) == alone


ODD = (
    "",
    "   ",
    "\ud83d",
    "[",
    "a" * 30_000,
    "🙂" * 50,
    "<recalled-memory>",
    "\x00 5 May",
    "((((",
    "Ann: Bob: x",
    "?!.",
)


def test_any_text_can_be_read() -> None:
    random = Random(3)  # noqa: S311
    odd: list[Kept] = []
    for number in range(60):
        pieces = random.choices([*ODD, "I met Ann Smith on 3 March", "no", "I live in", "20 €", "\n", '"'], k=4)
        odd.append(episode(f"o{number}", " ".join(pieces), WRITTEN, random.choice(["", "Ann", "🙂"])))
    shelf, engine = Shelf(), RulesEngine()
    for start in range(0, len(odd), 20):
        batch = engine.propose(odd[start : start + 20], odd[max(0, start - 3) : start], shelf)
        shelf.write(batch)
    assert all(len(cited(one)) <= MAX_REFERENCES for one in shelf.records.values())
