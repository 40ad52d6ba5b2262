"""Which memories a recall looks in: the one asked, and those below it that the caller may read (Memories §4.11)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from memories.access import Privilege
from memories.models import Memory, Reach
from memories.models.tree import MemoryQuerySet
from memories.providers.inside import ALL_LEVELS, Branches

# How many memories one question covers; a wider one is capped, nearest first, and says so.
CAP = 100_000


@dataclass(frozen=True)
class Scope:
    """The memories to search, and whether there were more than one question may cover."""

    memories: Sequence[str]
    capped: bool

    @property
    def degraded(self) -> list[str]:
        """What the answer has to admit, so far."""
        notes = self.memories.notes if isinstance(self.memories, Branches) else []
        return [*([f"subtree:capped_at_{CAP}_memories"] if self.capped else []), *notes]


def readable(
    memory: Memory, principals: Collection[str], depth: int | None, within: MemoryQuerySet | None = None
) -> Scope:
    """The scope of a question asked of a memory that the caller reads; `depth` counts tree levels, None is all.

    `within` leaves out all other memories below.
    """
    if within is not None:
        below = Reach.objects.held_below(memory, principals, Privilege.READ, depth, None)
        kept = set(within.filter(upward__ancestor=memory).values_list("pk", flat=True))
        return _nearest(memory, [one for one in below if one in kept])
    entries = Reach.objects.entries_below(memory, principals, Privilege.READ, CAP + 1)
    if depth is None:
        tops = {top: ALL_LEVELS for top, *_ in entries}
    else:
        levels = min(depth, ALL_LEVELS - 1)
        tops = {top: levels - distance for top, distance, _ in entries if distance <= levels}

    def read() -> Sequence[str]:
        return (memory.id, *Reach.objects.held_below(memory, principals, Privilege.READ, depth, None))

    about = sum(count for *_, count in entries)
    branches = Branches(memory.organisation_id, tops, read, about)
    if about > CAP and branches.has_more_than(CAP):
        return _nearest(memory, Reach.objects.held_below(memory, principals, Privilege.READ, depth, CAP))
    return Scope(branches, capped=False)


def names(memory_ids: Collection[str]) -> dict[str, str]:
    """What these memories are called."""
    return dict(Memory.objects.filter(pk__in=memory_ids).values_list("id", "name"))


def _nearest(memory: Memory, below: Sequence[str]) -> Scope:
    return Scope((memory.id, *islice(below, CAP - 1)), capped=len(below) >= CAP)
