"""What points at a record, with the reader's eyes: a pointer from a memory that is not read is as if it were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memories.access import Privilege
from memories.models import Memory, Version

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
    """The records that name this one and that the caller reads, and whether there are more; two queries.

    Raises MemoryForbidden without read.
    """
    place.require(Privilege.READ)
    organisation_id = place.caller.organisation_id
    naming = Version.objects.current().filter(
        organisation_id=organisation_id, references__contains=[{"record_id": record_id}]
    )
    readable = (
        Memory.objects.of(organisation_id).held_by(place.caller.principals, Privilege.READ).order_by().values("pk")
    )
    rows = list(naming.filter(memory_id__in=readable).exclude(record_id=record_id).order_by("-written_at")[: MOST + 1])
    found = [
        Pointer(row.memory_id, row.record_id, reference["rel"], row.title or _start(row))
        for row in rows[:MOST]
        for reference in row.references
        if reference["record_id"] == record_id and reference["memory_id"] in ("", place.memory.id)
    ]
    return found, len(rows) > MOST


def _start(row: Version) -> str:
    words = " ".join(str(part.get("text", "")) for part in row.content if isinstance(part, dict))
    return " ".join(words.split())[:120]
