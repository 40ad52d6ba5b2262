"""The verbs on records: remember, revise, forget, and the reads beside them. A record lives in one memory only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from django.db import transaction

from memories.access import Privilege
from memories.content import Changes, Draft, Reference, check_once
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import Page, Provider, RecordVersion, View, Writer
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, MemoryUnsupported, RecordNotFound, VersionConflict

from . import gate, held, refusals, schedules
from .drafts import prepared
from .sight import Place

# An attribute that speaks of one version, and is not merged into the next.
REASON = "revision_reason"


@dataclass(frozen=True)
class Expected:
    """The versions that a change was based on; the head has to be one of them."""

    versions: frozenset[int]

    def check(self, head: RecordVersion) -> None:
        """Raise VersionConflict, with the number of the head, when it is another version."""
        if head.number not in self.versions:
            raise VersionConflict(detail={"version": head.number})


def remember(place: Place, draft: Draft) -> RecordVersion:
    """Write a record into a memory, stamped with its writer and the server's time (Memories §4.6)."""
    place.require(Privilege.WRITE)
    with standing(), transaction.atomic():
        written = gate.remember(place.memory, prepared(place, draft), writer(place))
        if draft.type == "episode" and not written.review:
            schedules.heard(place.memory)
    place.used(wrote=True)
    return written


def revise(place: Place, record_id: str, changes: Changes, expected: Expected | None = None) -> RecordVersion:
    """Append a version: of several changes with the same base one succeeds, and without a base the last one wins.

    Raises RecordNotFound, also for a forgotten record, VersionConflict, and MemoryInvalid for an episode.
    """
    place.require(Privilege.WRITE)

    def change(head: RecordVersion) -> Draft:
        if expected:
            expected.check(head)
        require_own(head)
        if head.draft.type == "episode":
            raise MemoryInvalid("An episode is kept as it was said; forget it instead.", param="type")
        kept = changes
        if changes.references is not None:
            kept = replace(changes, references=with_hidden(place, head, changes))
        return prepared(place, kept.apply(without_reason(head.draft)), head.draft)

    with standing(), transaction.atomic():
        revised = (
            gate.revise(place.memory, record_id, change, writer(place))
            or gate.amend(place, record_id, change, writer(place))
            or unknown()
        )
    place.used(wrote=True)
    return revised


def forget(place: Place, record_id: str, expected: Expected | None = None) -> RecordVersion:
    """Close a record in place, its history kept. Raises RecordNotFound, also when it is forgotten, VersionConflict."""
    place.require(Privilege.WRITE)

    def check(head: RecordVersion) -> None:
        if expected:
            expected.check(head)
        require_own(head)

    with standing(), transaction.atomic():
        forgotten = (
            provider_of(place).forget(place.memory.id, record_id, check)
            or gate.withdraw(place, record_id, writer(place))
            or unknown()
        )
        if forgotten.draft.type != "episode" and not forgotten.review:
            # What a person does not want is not derived again.
            refusals.refuse(place.memory, [refusals.content_hash(place.memory.id, forgotten.draft)])
    place.used(wrote=True)
    return forgotten


def require_own(head: RecordVersion) -> None:
    """Raise MemoryUnsupported for a record that follows a source outside the memory: that is edited there (§4.10)."""
    if head.follows:
        raise MemoryUnsupported("This record follows a source outside the memory; change it there.")


def without_reason(draft: Draft) -> Draft:
    """The draft without the reason that was given for it: the next version has a reason of its own, or none."""
    attributes = {name: value for name, value in (draft.attributes or {}).items() if name != REASON}
    return replace(draft, attributes=attributes)


@contextmanager
def standing() -> Iterator[None]:
    """Raise MemoryNotFound when the memory was deleted between the look and the change."""
    try:
        yield
    except Memory.DoesNotExist:
        raise MemoryNotFound() from None


def get(place: Place, record_id: str, as_of: datetime | None = None) -> RecordVersion:
    """One record, now or at an instant. Raises RecordNotFound."""
    place.require(Privilege.READ)
    place.used()
    found = provider_of(place).get(place.memory.id, record_id, as_of)
    if found is None and as_of is None:
        # What waits is a record to the one who wrote it and to those who review it, and to nobody else.
        found = held.shown_to(place, record_id, reviews=Privilege.DELETE in place.privileges)
    return found or unknown()


def history(
    place: Place, record_id: str, *, after: int | None = None, limit: int | None = None, newest_first: bool = False
) -> Sequence[RecordVersion]:
    """Every kept version of a record, oldest first, or so many after a number; newest first, that goes down.

    Raises RecordNotFound.
    """
    place.require(Privilege.READ)
    place.used()
    provider, memory_id = provider_of(place), place.memory.id
    found = provider.history(memory_id, record_id, after=after, limit=limit, newest_first=newest_first)
    if not found and (after is None or provider.get(memory_id, record_id) is None):
        unknown()
    return found


def head(place: Place, record_id: str) -> RecordVersion:
    """The newest kept version of a record, whatever its status. Raises RecordNotFound."""
    return history(place, record_id, limit=1, newest_first=True)[0]


def numbered(place: Place, record_id: str, *numbers: int | None) -> Mapping[int | None, RecordVersion]:
    """The versions of a record with these numbers; absent where there is none, and for None."""
    place.require(Privilege.READ)
    wanted = {number for number in numbers if number is not None}
    found = provider_of(place).numbered(place.memory.id, record_id, wanted) if wanted else {}
    return dict(found.items())


def page(place: Place, view: View, limit: int, after: tuple[datetime, str] | None = None) -> Page:
    """One page of the records of a memory."""
    place.require(Privilege.READ)
    place.used()
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
