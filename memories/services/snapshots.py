"""The verbs on snapshots: name this instant of a memory, and list the names given (Memories §4.16)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from members import events
from memories.access import Privilege
from memories.providers.base import Instant

from .records import provider_of, standing
from .sight import Place


@transaction.atomic
def take(place: Place, name: str, message: str = "") -> Instant:
    """Name this instant: reading as of it is reading what can be read now. Raises MemoryForbidden without write."""
    place.require(Privilege.WRITE)
    caller, memory = place.caller, place.memory
    with standing():
        taken = provider_of(place).take_snapshot(memory.id, name, message, caller.member.principal)
    events.record(caller.organisation_id, caller.actor, "snapshot.taken", memory_id=memory.id, subject=taken.id)
    return taken


def listed(place: Place, limit: int, before: tuple[datetime, str] | None = None) -> Sequence[Instant]:
    """Snapshots of a memory, newest first. Raises MemoryForbidden without read."""
    place.require(Privilege.READ)
    return provider_of(place).snapshots(place.memory.id, limit, before)
