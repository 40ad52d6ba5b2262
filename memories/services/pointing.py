"""What points at a record, with the reader's eyes: a pointer from a memory that is not read is as if it were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.access import Privilege
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import View

from .sight import Place

MOST = 100


@dataclass(frozen=True)
class Pointer:
    """A record whose current version names another one."""

    memory_id: str
    record_id: str
    rel: str
    title: str


def pointing_at(place: Place, record_id: str) -> tuple[Sequence[Pointer], bool]:
    """The records that name this one and that the caller reads, newest first, and whether there are more.

    At most four queries for each provider with a graph. Raises MemoryForbidden without read.
    """
    place.require(Privilege.READ)
    target = (place.memory.id, record_id)
    found: list[Pointer] = []
    more = False
    for provider in registry.connected():
        links = provider.links()
        holding = links.pointing_from(place.caller.organisation_id, [target]) if links else ()
        if not links or not holding:
            continue
        readable = sorted(
            Memory.objects.of(place.caller.organisation_id)
            .filter(pk__in=holding, provider=provider.id)
            .held_by(place.caller.principals, Privilege.READ)
            .values_list("id", flat=True)
        )
        # One more, to know whether there are more, and one that may be the record itself.
        linked = links.pointing_at(readable, [target], MOST + 2) if readable else ()
        others = [one for one in linked if one.record_id != record_id]
        more = more or len(others) > MOST
        opened = provider.open([one.key for one in others[:MOST]], View())
        found += [
            Pointer(one.memory_id, one.record_id, reference.rel, opened[one.key].name)
            for one in others[:MOST]
            for reference in one.references
            if (reference.memory_id, reference.record_id) == target and one.key in opened
        ]
    return found, more
