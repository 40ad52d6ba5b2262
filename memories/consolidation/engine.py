"""The engine that comes with the server: rules, no model, no network. It composes the steps and has no state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import ceil
from typing import Any

from memories.consolidation.base import Batch, Kept, Known, Proposal
from memories.consolidation.compare import Comparison, Fresh
from memories.consolidation.gather import Statement, gather
from memories.consolidation.link import link
from memories.consolidation.retire import retire
from memories.consolidation.turns import Strip, moment, turns_of
from memories.fence import unfenced

NEAR = 8


class RulesEngine:
    """Selects, dates, links, compares and retires by rules for English; every step is a module with that name."""

    name = "rules"

    def __init__(self, strip: Strip = unfenced) -> None:
        self._strip = strip

    def declare(self) -> Mapping[str, Any]:
        """What the engine is and does, in words for the console."""
        return {
            "name": self.name,
            "method": "rules",
            "languages": ["en"],
            "sends_text_to": "",
            "summary": (
                "Keeps preferences, decisions, commitments, corrections and facts as they were said, in their own "
                "words; writes out dates, links names, counts repetitions. Rules for English, no model, no network."
            ),
            "tokens": "Estimated from the characters that are read, four to a token; they cost nothing.",
        }

    def propose(
        self, episodes: Sequence[Kept], before: Sequence[Kept], known: Known, budget: int | None = None
    ) -> Batch:
        """Propose what to make of `episodes`; see the protocol. Tokens are those of the text that is read."""
        fitting, tokens = within(episodes, budget)
        if not fitting:
            return Batch((), read=0)
        writers = {one.id: f"{one.writer.kind}:{one.writer.id}" for one in (*before, *fitting)}
        statements = gather(turns_of([*before, *fitting], self._strip), {one.id for one in fitting})
        proposals = list(proposals_of(statements, writers, known))
        proposals.extend(retired(proposals, known, max(map(moment, fitting))))
        return Batch(tuple(proposals), input_tokens=tokens, read=len(fitting))


def proposals_of(statements: Sequence[Statement], writers: Mapping[str, str], known: Known) -> Sequence[Proposal]:
    """Link and compare statements: the entities first, then what refers to them."""
    links = link(statements, known.entities())
    comparison = Comparison()
    for statement, references, found in zip(statements, links.references, beside(statements, known), strict=True):
        comparison.take(Fresh(statement, references, writers[statement.turn.episode]), found)
    return needed(links.proposals, comparison.proposals)


def beside(statements: Sequence[Statement], known: Known) -> Iterator[Sequence[Kept]]:
    """For each statement the records nearest to any of its sentences: a long one hides what a sentence changes."""
    texts = [_said_in(statement) for statement in statements]
    flat = [text for some in texts for text in some]
    found = iter(known.near(flat, NEAR) if flat else ())
    for some in texts:
        near = {kept.id: kept for _ in some for kept in next(found)}
        yield list(near.values())


def _said_in(statement: Statement) -> Sequence[str]:
    said = [claim.text for claim in statement.claims if not claim.text.startswith("[")]
    return [f"{statement.speaker}: {text}" if statement.speaker else text for text in said] or [statement.text]


def needed(entities: Sequence[Proposal], statements: Sequence[Proposal]) -> Sequence[Proposal]:
    """The proposals in the order to write them, without new entities that nothing refers to any more."""
    used = {one.record_id for proposal in statements if proposal.draft for one in proposal.draft.references}
    return [*(one for one in entities if not one.key or one.key in used), *statements]


def retired(proposals: Sequence[Proposal], known: Known, before: datetime) -> Sequence[Proposal]:
    """What to retire, except records that the same batch changes."""
    changed = {one.record_id for one in proposals}
    return [one for one in retire(known, before) if one.record_id not in changed]


def within(episodes: Sequence[Kept], budget: int | None) -> tuple[Sequence[Kept], int]:
    """The first episodes whose tokens fit a budget, and how many tokens those are: a quarter of the characters."""
    total = 0
    for number, episode in enumerate(episodes):
        tokens = tokens_in(episode.draft.said)
        if budget is not None and total + tokens > budget:
            return episodes[:number], total
        total += tokens
    return episodes, total


def tokens_in(text: str) -> int:
    """An estimate of the tokens of a text."""
    return ceil(len(text) / 4)
