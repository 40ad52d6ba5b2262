"""What a graph is drawn from: how the records of a provider point at each other (Memories §4.13).

Only current versions point, and only at where a record is: a pointer that names no memory points into its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from memories.content import Reference

Place = tuple[str, str]
"""A memory and a record in it, by their ids."""


@dataclass(frozen=True)
class Linked:
    """A current version without what it says: its key, where it is, its type and its pointers, memories filled in."""

    key: int
    memory_id: str
    record_id: str
    type: str
    references: tuple[Reference, ...]

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.memory_id, self.record_id


class Links(Protocol):
    """What a provider with a graph answers. Every method is a constant number of queries."""

    def of(self, memory_ids: Sequence[str], record_ids: Collection[str]) -> Sequence[Linked]:
        """Those of these records that are current in these memories."""
        ...

    def newest(self, memory_ids: Sequence[str], limit: int) -> Sequence[Linked]:
        """The records of these memories that were written last, newest first."""
        ...

    def pointing_from(self, organisation_id: str, places: Collection[Place]) -> Collection[str]:
        """The ids of the memories of an organisation in which some record points at one of these."""
        ...

    def pointing_at(self, memory_ids: Sequence[str], places: Sequence[Place], limit: int) -> Sequence[Linked]:
        """Records of these memories that point at one of these, in their order, newest first; some may come twice."""
        ...
