"""Which memories a recall looks in: the one asked, and those below it that the caller may read (Memories §4.11)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memories.access import Privilege
from memories.models import Memory, Reach
from memories.models.tree import MemoryQuerySet

# How many memories one question covers; a wider one is capped, nearest first, and says so.
CAP = 10_000


@dataclass(frozen=True)
class Scope:
    """The ids of the memories to search, and whether there were more than one question may cover."""

    memories: tuple[str, ...]
    capped: bool

    @property
    def degraded(self) -> list[str]:
        """What the answer has to admit."""
        return [f"subtree:capped_at_{CAP}_memories"] if self.capped else []


def readable(
    memory: Memory, principals: Collection[str], depth: int | None, within: MemoryQuerySet | None = None
) -> Scope:
    """The scope of a question asked of a memory that the caller reads; `depth` counts tree levels, None is all.

    `within` leaves out all other memories below.
    """
    limit = CAP if within is None else None
    ids = Reach.objects.held_below(memory, principals, Privilege.READ, depth, limit)
    if within is not None:
        kept = set(within.filter(upward__ancestor=memory).values_list("pk", flat=True))
        ids = [one for one in ids if one in kept][:CAP]
    return Scope((memory.id, *ids[: CAP - 1]), capped=len(ids) == CAP)


def names(memory_ids: Collection[str]) -> dict[str, str]:
    """What these memories are called."""
    return dict(Memory.objects.filter(pk__in=memory_ids).values_list("id", "name"))
