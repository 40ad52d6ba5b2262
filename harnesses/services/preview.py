"""What an agent would be primed with, as far as somebody may look through its eyes, and what the budget kept out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.models import Memory
from memories.services import priming as standing
from memories.services.viewing import Eyes

from . import looking, priming

# Of how many memories the records are named that did not fit, and how many of each.
NAMED_OF = 5
NAMED = 10


@dataclass(frozen=True)
class Share:
    """What one memory takes of the budget. `squeezed` names standing records that did not fit; there may be `more`."""

    memory: Memory
    tokens: int
    records: int
    truncated: bool
    squeezed: Sequence[str] = ()
    more: bool = False


@dataclass(frozen=True)
class Preview:
    """The text, what it costs by estimate, and what did not fit: records of a memory, and whole memories."""

    text: str
    tokens: int
    budget: int
    shares: Sequence[Share]
    omitted: Sequence[Memory]
    omitted_more: int


def preview(eyes: Eyes, budget: int) -> Preview:
    """Prime an agent for somebody to look at; nothing is noted as used."""
    primed = priming.prime(eyes.member, budget, eyes)
    cut = [part.memory.id for part in primed.parts if part.truncated][:NAMED_OF]
    shares = [
        _named(eyes, part) if part.memory.id in cut else Share(part.memory, part.tokens, part.records, part.truncated)
        for part in primed.parts
    ]
    more = primed.left_out - len(primed.omitted)
    return Preview(primed.text, primed.tokens, budget, shares, primed.omitted, more)


def _named(eyes: Eyes, part: priming.Part) -> Share:
    every = standing.prime(looking.look(eyes, part.memory.id), standing.MOST_BUDGET)
    left = every.versions[part.records :]
    named = [version.draft.title or version.id for version in left[:NAMED]]
    return Share(part.memory, part.tokens, part.records, part.truncated, named, len(left) > NAMED or every.truncated)
