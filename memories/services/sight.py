"""Sight before privilege (Memories §4.5): the one place where a caller meets a memory, for every verb and page."""

from __future__ import annotations

from dataclasses import dataclass

from members.callers import Caller
from memories.access import Privilege
from memories.models import LastUse, Memory
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound


@dataclass(frozen=True)
class Place:
    """A memory as one caller holds it; having one means having seen it."""

    caller: Caller
    memory: Memory
    privileges: Privilege

    def require(self, *any_of: Privilege) -> None:
        """Raise MemoryForbidden unless the caller holds all of at least one of these sets."""
        if not any(needed & self.privileges == needed for needed in any_of):
            raise MemoryForbidden()

    def used(self, *, wrote: bool = False) -> None:
        """Note that the caller read, or wrote, here: what shows that access is there and never used."""
        LastUse.objects.note(self.caller.organisation_id, self.caller.member.id, self.memory.id, wrote=wrote)

    def again(self) -> Place:
        """The same place as it is now, for verbs that decide under a lock."""
        return look(self.caller, self.memory.id)


def look(caller: Caller, memory_id: str) -> Place:
    """The memory, and what the caller holds on it. Raises MemoryNotFound, alike for unseen and unknown; one query."""
    memory = Memory.objects.seen(caller.organisation_id, memory_id, caller.principals)
    if memory is None:
        raise MemoryNotFound()
    return Place(caller, memory, Privilege(memory.held))
