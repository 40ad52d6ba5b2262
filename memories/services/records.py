"""The verbs on records: remember, revise, forget, and the reads beside them. A record lives in one memory only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NoReturn

from django.db import IntegrityError, transaction

from memories.access import Privilege
from memories.content import Changes, Draft, Reference, check_once
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import Page, Provider, RecordVersion, View, Writer
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, RecordNotFound

from .sight import Place


def remember(place: Place, draft: Draft) -> RecordVersion:
    """Write a record into a memory, stamped with its writer and the server's time (Memories §4.6)."""
    place.require(Privilege.WRITE)
    try:
        with transaction.atomic():
            return provider_of(place).remember(place.memory.id, draft, writer(place))
    except (IntegrityError, Memory.DoesNotExist):
        # The memory was deleted between the look and the write.
        raise MemoryNotFound() from None


def revise(place: Place, record_id: str, changes: Changes) -> RecordVersion:
    """Append a version. Raises RecordNotFound, also for a forgotten record, and MemoryInvalid for an episode."""
    place.require(Privilege.WRITE)

    def change(head: RecordVersion) -> Draft:
        if head.draft.type == "episode":
            raise MemoryInvalid("An episode is kept as it was said; forget it instead.", param="type")
        kept = changes
        if changes.references is not None:
            kept = Changes(
                changes.title, changes.content, changes.attributes, with_hidden(place, head, changes), changes.time
            )
        return kept.apply(head.draft)

    return provider_of(place).revise(place.memory.id, record_id, change, writer(place)) or unknown()


def forget(place: Place, record_id: str) -> RecordVersion:
    """Close a record in place, its history kept. Raises RecordNotFound, also when it is forgotten already."""
    place.require(Privilege.WRITE)
    return provider_of(place).forget(place.memory.id, record_id) or unknown()


def get(place: Place, record_id: str, as_of: datetime | None = None) -> RecordVersion:
    """One record, now or at an instant. Raises RecordNotFound."""
    place.require(Privilege.READ)
    return provider_of(place).get(place.memory.id, record_id, as_of) or unknown()


def history(place: Place, record_id: str) -> Sequence[RecordVersion]:
    """Every kept version of a record, oldest first. Raises RecordNotFound."""
    place.require(Privilege.READ)
    return provider_of(place).history(place.memory.id, record_id) or unknown()


def page(place: Place, view: View, limit: int, after: tuple[datetime, str] | None = None) -> Page:
    """One page of the records of a memory."""
    place.require(Privilege.READ)
    return provider_of(place).page(place.memory.id, view, limit, after)


def with_hidden(place: Place, head: RecordVersion, changes: Changes) -> tuple[Reference, ...]:
    """The references of a revision: those the reviser wrote, and the unreadable ones as stored (Memories §4.7)."""
    stored = [located(reference, place.memory.id) for reference in head.draft.references]
    readable = set(
        Memory.objects.of(place.caller.organisation_id)
        .filter(pk__in={reference.memory_id for reference in stored})
        .held_by(place.caller.principals, Privilege.READ)
        .values_list("id", flat=True)
    )
    hidden = [reference for reference in stored if reference.memory_id not in readable]
    hidden_ids = {reference.record_id for reference in hidden}
    written = [reference for reference in changes.references or () if reference.record_id not in hidden_ids]
    check_once([*written, *hidden])
    return (*written, *hidden)


def located(reference: Reference, memory_id: str) -> Reference:
    """The reference with the memory it points into; none named means the holder's own."""
    return reference if reference.memory_id else Reference(reference.record_id, reference.rel, memory_id)


def writer(place: Place) -> Writer:
    """The caller as the writer of a version; what a client says about it is never asked."""
    member = place.caller.member
    return Writer("member", member.id, member.type)


def provider_of(place: Place) -> Provider:
    """The provider that keeps a place's records."""
    return registry.get(place.memory.provider)


def unknown() -> NoReturn:
    """Raise RecordNotFound."""
    raise RecordNotFound()
