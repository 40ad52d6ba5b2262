"""Values to the protocol's JSON (Memories §2); nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from memories.models import Grant, Memory
from memories.providers.base import RecordVersion, Writer
from memories.reader import NEIGHBOURS, MemoryView, Neighbours, ResolvedReference
from memories.recall.pipeline import Recalled


def listed(data: Iterable[dict[str, Any]], next_cursor: str | None = None, **more: Any) -> dict[str, Any]:
    """The list envelope; `next` is null at the end."""
    return {"object": "list", "data": list(data), "next": next_cursor, **more}


def memory(view: MemoryView) -> dict[str, Any]:
    """A Memory (Memories §2.1)."""
    return {
        "id": view.memory.id,
        "object": "memory",
        "name": view.memory.name,
        "description": view.memory.description,
        "parent_id": view.parent_id,
        "ancestors": list(view.ancestors),
        "restricted": view.memory.restricted,
        "provider": view.memory.provider,
        "privileges": view.privileges.words,
        "records": {"count": view.record_count},
        "children": {"count": view.child_count},
        "createdAt": milliseconds(view.memory.created_at),
        "updatedAt": milliseconds(view.memory.updated_at),
    }


def neighbour(view: MemoryView) -> dict[str, Any]:
    """A memory named beside an answer, for deciding where to look next."""
    return {
        "id": view.memory.id,
        "name": view.memory.name,
        "description": view.memory.description,
        "records": {"count": view.record_count},
        "children": {"count": view.child_count},
        "privileges": view.privileges.words,
    }


def around(neighbours: Neighbours) -> dict[str, Any]:
    """`parent`, absent where it may not be read, and `children`."""
    shown: dict[str, Any] = {"children": [neighbour(child) for child in neighbours.children]}
    if neighbours.parent:
        shown["parent"] = neighbour(neighbours.parent)
    return shown


def grant(one: Grant, asked: Memory) -> dict[str, Any]:
    """A Grant (Memories §2.2), as seen from the memory asked."""
    return {
        "id": one.id,
        "object": "memory.grant",
        "memory_id": one.memory_id,
        "principal": one.principal,
        "privileges": one.held.words,
        "inherited": one.memory_id != asked.id,
    }


def record(version: RecordVersion, references: Sequence[ResolvedReference]) -> dict[str, Any]:
    """A MemoryRecord (Memories §2.4); what it says is untrusted, whoever reads it."""
    draft = version.draft
    return {
        "id": version.id,
        "object": "memory.record",
        "memory_id": version.memory_id,
        "type": draft.type,
        "title": draft.title,
        "content": [dict(part) for part in draft.content],
        "attributes": dict(draft.attributes or {}),
        "version": version.number,
        "status": version.status,
        "supersedes": version.number - 1 if version.number > 1 else None,
        "time": {
            "valid_from": instant(draft.valid_from),
            "valid_to": instant(draft.valid_to),
            "written_at": instant(version.written_at),
            "invalidated_at": instant(version.invalidated_at),
        },
        "written_by": writer(version.writer),
        "references": [reference(one) for one in references],
        "trust": "untrusted",
    }


def reference(one: ResolvedReference) -> dict[str, Any]:
    """A pointer; one that the reader cannot follow says only that there is one."""
    if not one.available:
        return {"record_id": one.reference.record_id, "available": False}
    return {
        "rel": one.reference.rel,
        "record_id": one.reference.record_id,
        "memory_id": one.reference.memory_id,
        "available": True,
    }


def writer(one: Writer) -> dict[str, Any]:
    """Who wrote a version (Memories §2.3); what is not known is left out."""
    optional = {"type": one.type, "on_behalf_of": one.on_behalf_of, "consolidation_id": one.consolidation_id}
    return {"kind": one.kind, "id": one.id, **{key: value for key, value in optional.items() if value}}


def recall(
    answer: Recalled, references: Sequence[Sequence[ResolvedReference]], neighbours: Neighbours
) -> dict[str, Any]:
    """A MemoryRecall (Memories §2.8)."""
    return {
        "object": "memory.recall",
        "results": [
            {
                "record": record(hit.version, resolved),
                "memory": {"id": hit.version.memory_id, "name": hit.memory_name},
                "score": hit.score,
                "why": list(hit.why),
            }
            for hit, resolved in zip(answer.hits, references, strict=True)
        ],
        **around(neighbours),
        "degraded": [*answer.degraded, *([f"children:capped_at_{NEIGHBOURS}"] if neighbours.capped else [])],
        "abstain": answer.abstain,
    }


def milliseconds(moment: datetime) -> int:
    """A time of a memory: Unix milliseconds."""
    return int(moment.timestamp() * 1000)


def instant(moment: datetime | None) -> str | None:
    """A time of a record: RFC 3339 in UTC, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else None
