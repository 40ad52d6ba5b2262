"""Which memories a recall looks in: the one asked, and those below it that the caller may read (Memories §4.11)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memories.access import Privilege
from memories.models import Memory
from memories.models.tree import MemoryQuerySet

# How many memories one question covers; a wider one is capped, nearest first, and says so.
CAP = 10_000


@dataclass(frozen=True)
class Scope:
    """The memories to search, as id to name, and whether there were more than one question may cover."""

    memories: dict[str, str]
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
    below = Memory.objects.of(memory.organisation_id).below(memory).held_by(principals, Privilege.READ)
    below = below if within is None else below.filter(pk__in=within.values("pk"))
    rows = list(below.within(depth).nearest_first().values_list("id", "name")[:CAP])
    return Scope({memory.id: memory.name, **dict(rows[: CAP - 1])}, capped=len(rows) == CAP)
