"""Records as rows, and rows as records: a version between what the tables hold and what a provider shows."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from memories.content import Draft, Reference
from memories.models import Snapshot, Version

from . import vectors, words
from .base import Followed, Instant, RecordVersion, Writer

# A longer session id is kept as an attribute, and joins nothing together.
MAX_SESSION = 160


def instant(snapshot: Snapshot) -> Instant:
    """A snapshot as it is shown."""
    return Instant(snapshot.id, snapshot.memory_id, snapshot.name, snapshot.message, snapshot.at)


def row(version: RecordVersion, organisation_id: str, language: str) -> Version:
    """A version to be stored, with its words as a text search language has them."""
    draft, writer = version.draft, version.writer
    return Version(
        organisation_id=organisation_id,
        memory_id=version.memory_id,
        record_id=version.id,
        number=version.number,
        status=version.status,
        type=draft.type,
        title=draft.title,
        content=list(draft.content),
        attributes=dict(draft.attributes or {}),
        references=[_stored(reference) for reference in draft.references],
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        written_at=version.written_at,
        invalidated_at=version.invalidated_at,
        writer_kind=writer.kind,
        writer_id=writer.id,
        writer_type=writer.type,
        on_behalf_of=writer.on_behalf_of,
        consolidation_id=writer.consolidation_id,
        follows=asdict(version.follows) if version.follows else None,
        session=_session(draft),
        speaker=vectors.speaker_of(draft),
        words=words.vector(draft.text, language),
    )


def _session(draft: Draft) -> str:
    named = (draft.attributes or {}).get("session_id")
    return named if isinstance(named, str) and len(named) <= MAX_SESSION else ""


def _stored(reference: Reference) -> dict[str, str]:
    return {"rel": reference.rel, "memory_id": reference.memory_id, "record_id": reference.record_id}


def shown(version: Version, as_of: datetime | None = None) -> RecordVersion:
    """A stored version; at an instant at which it held it was active, whatever became of it."""
    return RecordVersion(
        id=version.record_id,
        memory_id=version.memory_id,
        number=version.number,
        status=Version.Status.ACTIVE.value if as_of else version.status,
        draft=Draft(
            type=version.type,
            title=version.title,
            content=tuple(version.content),
            attributes=version.attributes,
            references=tuple(Reference(**entry) for entry in version.references),
            valid_from=version.valid_from,
            valid_to=version.valid_to,
        ),
        written_at=version.written_at,
        invalidated_at=None if as_of else version.invalidated_at,
        writer=Writer(
            kind=version.writer_kind,
            id=version.writer_id,
            type=version.writer_type,
            on_behalf_of=version.on_behalf_of,
            consolidation_id=version.consolidation_id,
        ),
        follows=Followed(**version.follows) if version.follows else None,
    )
