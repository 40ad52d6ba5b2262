"""Drafts that wait: they are kept beside the records, and nothing that reads records comes across them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from members.ids import is_id, mint
from memories.content import Draft, Reference
from memories.models import Held, Memory, ReviewItem
from memories.providers.base import Followed, RecordVersion, Removed, Writer

from . import refusals, types
from .sight import Place

HELD = "held"
DERIVED = "derived_from"


def store(
    memory: Memory, draft: Draft, writer: Writer, head: RecordVersion | None = None, follows: Followed | None = None
) -> Held:
    """Keep a draft that waits: of a new record, or of what comes after `head`. The same draft waits once.

    Raises Memory.DoesNotExist when the memory was deleted meanwhile.
    """
    # One at a time in a memory, and not while it is deleted.
    Memory.objects.select_for_update(no_key=True).only("pk").get(pk=memory.pk)
    said = refusals.content_hash(memory.id, draft)
    waiting = Held.objects.filter(memory=memory, state=Held.State.WAITING, writer_kind=writer.kind, writer_id=writer.id)
    if head is not None:
        waiting = waiting.filter(record_id=head.id)
    elif said:
        waiting = waiting.filter(content_hash=said, base=None)
    else:
        waiting = waiting.none()
    kept = waiting.select_for_update().first() or Held(
        organisation_id=memory.organisation_id,
        memory=memory,
        record_id=head.id if head else mint("hrec_"),
        created_at=timezone.now(),
        writer_kind=writer.kind,
        writer_id=writer.id,
        writer_type=writer.type,
        on_behalf_of=writer.on_behalf_of,
        consolidation_id=writer.consolidation_id,
        follows=asdict(follows) if follows else None,
    )
    kept.base = head.number if head else None
    kept.draft, kept.content_hash = line(draft), said
    kept.save()
    return kept


def waiting_for(place: Place, record_id: str, writer: Writer) -> Held | None:
    """The draft of a new record that waits, for the one who wrote it; locked."""
    if not is_id(record_id, "hrec_"):
        return None
    found = Held.objects.select_for_update().filter(
        memory_id=place.memory.id, record_id=record_id, state=Held.State.WAITING, base=None
    )
    return found.filter(writer_kind=writer.kind, writer_id=writer.id).first()


def shown_to(place: Place, record_id: str, *, reviews: bool) -> RecordVersion | None:
    """The record as it would be, for its writer and for who reviews here; None for everybody else."""
    if not is_id(record_id, "hrec_"):
        return None
    found = Held.objects.filter(memory_id=place.memory.id, record_id=record_id, state=Held.State.WAITING, base=None)
    if not reviews:
        found = found.filter(writer_kind="member", writer_id=place.caller.member.id)
    kept = found.first()
    return version_of(kept) if kept else None


def version_of(held: Held) -> RecordVersion:
    """The version that a draft would become, marked as held."""
    return RecordVersion(
        id=held.record_id,
        memory_id=held.memory_id,
        number=(held.base or 0) + 1,
        status="active",
        draft=draft_of(held),
        written_at=held.created_at,
        invalidated_at=None,
        writer=writer_of(held),
        follows=Followed(**held.follows) if held.follows else None,
        review=HELD,
    )


def writer_of(held: Held) -> Writer:
    """Who wrote the draft."""
    return Writer(held.writer_kind, held.writer_id, held.writer_type, held.on_behalf_of, held.consolidation_id)


def draft_of(held: Held) -> Draft:
    """What waits; with the words by which its type wants to be found, as that is registered now."""
    draft = read_line(held.draft or {})
    registered = types.find(held.organisation_id, draft.type)
    return replace(draft, projection=registered.text) if registered else draft


def line(draft: Draft) -> dict[str, Any]:
    """A draft as JSON, in the form of an export."""
    return {
        "type": draft.type,
        "title": draft.title,
        "content": [dict(part) for part in draft.content],
        "attributes": dict(draft.attributes or {}),
        "references": [
            {"rel": one.rel, "memory_id": one.memory_id, "record_id": one.record_id} for one in draft.references
        ],
        "valid_from": draft.valid_from.isoformat() if draft.valid_from else None,
        "valid_to": draft.valid_to.isoformat() if draft.valid_to else None,
    }


def read_line(data: Mapping[str, Any]) -> Draft:
    """The draft in a line; an empty one when it was emptied."""
    times = {name: data.get(name) for name in ("valid_from", "valid_to")}
    return Draft(
        type=data.get("type", "note"),
        title=data.get("title", ""),
        content=tuple(data.get("content", ())),
        attributes=data.get("attributes", {}),
        references=tuple(Reference(**one) for one in data.get("references", ())),
        valid_from=datetime.fromisoformat(times["valid_from"]) if times["valid_from"] else None,
        valid_to=datetime.fromisoformat(times["valid_to"]) if times["valid_to"] else None,
    )


def waiting(memory: Memory, record_ids: Collection[str]) -> list[str]:
    """Which of these are records only as drafts that were held, whatever became of those."""
    found = Held.objects.filter(memory=memory, record_id__in=record_ids) if record_ids else Held.objects.none()
    return sorted(set(found.values_list("record_id", flat=True)))


def erase(organisation_id: str, record_ids: Collection[str]) -> Removed:
    """Remove drafts of these records, what a provider derived from them and waits, and what was asked about them."""
    drafts = Held.objects.filter(_naming(organisation_id, record_ids))
    files = {
        str(part["file"]["id"])
        for draft in drafts.exclude(draft=None).values_list("draft", flat=True)
        for part in (draft or {}).get("content", ())
        if part.get("type") == "file"
    }
    count = drafts.count()
    ReviewItem.objects.filter(
        Q(held__in=drafts) | Q(organisation_id=organisation_id, record_id__in=record_ids)
    ).delete()
    drafts.delete()
    return Removed({"held": count} if count else {}, tuple(sorted(files)))


def left(organisation_id: str, record_ids: Collection[str]) -> int:
    """How many drafts of these records, or derived from them, are still kept."""
    return Held.objects.filter(_naming(organisation_id, record_ids)).count()


def _naming(organisation_id: str, record_ids: Collection[str]) -> Q:
    derived = Q(pk__in=[])
    for record_id in sorted(record_ids):
        derived |= Q(draft__references__contains=[{"rel": DERIVED, "record_id": record_id}])
    of_them = Q(record_id__in=list(record_ids))
    return Q(organisation_id=organisation_id) & (of_them | Q(writer_kind="provider") & derived)
