"""A recall that ranks nothing: what a filter lets through, newest first, within a bound on time (Memories §4.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.providers.base import Provider, Question, RecordVersion
from memories.providers.bounded import OutOfTime, at_most

# How long the database may look for what a filter lets through.
MILLISECONDS = 5_000


@dataclass(frozen=True)
class Listing:
    """The versions, newest first, and what was not done."""

    versions: Sequence[RecordVersion] = ()
    degraded: tuple[str, ...] = ()


def newest(provider: Provider, memories: Sequence[str], question: Question) -> Listing:
    """The newest versions that the view of a question shows in these memories, at most its limit."""
    try:
        with at_most(MILLISECONDS):
            keys = provider.newest(memories, question.view, question.limit)
    except OutOfTime as failure:
        return Listing(degraded=(failure.note,))
    found = provider.open(keys, question.view)
    return Listing([found[key] for key in keys if key in found])
