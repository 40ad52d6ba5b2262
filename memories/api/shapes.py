"""Values to the protocol's JSON (Memories §2); nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from memories.models import Grant, Hold, Job, Memory
from memories.providers.base import Instant, RecordVersion, Writer
from memories.reader import NEIGHBOURS, MemoryView, Neighbours, ResolvedReference
from memories.recall.pipeline import Recalled
from memories.services.erasure import HIDDEN, Report

from . import explained

JOB_STATUS = {
    Job.State.QUEUED: "pending",
    Job.State.RUNNING: "pending",
    Job.State.COMPLETED: "completed",
    Job.State.FAILED: "failed",
    Job.State.CANCELLED: "failed",
}


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
        **({"follows": asdict(version.follows)} if version.follows else {}),
        **({"x_review": version.review} if version.review else {}),
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
    answer: Recalled,
    references: Sequence[Sequence[ResolvedReference]],
    neighbours: Neighbours,
    *,
    explain: bool = False,
) -> dict[str, Any]:
    """A MemoryRecall (Memories §2.8); `x_similar` counts near-identical records that gave their place to others."""
    return {
        "object": "memory.recall",
        "results": [
            {
                "record": record(hit.version, resolved),
                "memory": {"id": hit.version.memory_id, "name": hit.memory_name},
                "score": hit.score,
                "why": list(hit.why),
                **({"x_similar": len(hit.similar)} if hit.similar else {}),
                **({"x_explanation": explained.hit(hit)} if explain else {}),
            }
            for hit, resolved in zip(answer.hits, references, strict=True)
        ],
        **around(neighbours),
        "degraded": [*answer.degraded, *([f"children:capped_at_{NEIGHBOURS}"] if neighbours.capped else [])],
        "abstain": answer.abstain,
        **({"x_explanation": explained.explanation(answer.explanation)} if explain and answer.explanation else {}),
    }


def snapshot(one: Instant) -> dict[str, Any]:
    """A Snapshot (Memories §2.12)."""
    return {
        "id": one.id,
        "object": "memory.snapshot",
        "memory_id": one.memory_id,
        "name": one.name,
        "message": one.message,
        "at": instant(one.at),
    }


def hold(one: Hold) -> dict[str, Any]:
    """A Hold: our own, beside the protocol."""
    return {
        "id": one.id,
        "object": "memory.hold",
        "memory_id": one.memory_id,
        "record_id": one.record_id,
        "reason": one.reason,
        "placed_by": one.placed_by,
        "placed_at": instant(one.placed_at),
        "lifted_by": one.lifted_by or None,
        "lifted_at": instant(one.lifted_at),
    }


def job(one: Job) -> dict[str, Any]:
    """A Job (Memories §2.7)."""
    status = JOB_STATUS[Job.State(one.state)]
    return {
        "id": one.id,
        "object": "memory.job",
        "status": status,
        "error": one.error if status == "failed" else "",
        "data": [],
    }


def erasure(one: Report) -> dict[str, Any]:
    """A MemoryErasure (Memories §4.10); `unreachable` is empty only when nothing is left anywhere."""
    return {
        "object": "memory.erasure",
        "id": one.job_id,
        "erased": list(one.erased),
        "unreachable": [*one.unreachable, *([HIDDEN] if one.hidden else [])],
        "removed": one.removed,
    }


def milliseconds(moment: datetime) -> int:
    """A time of a memory: Unix milliseconds."""
    return int(moment.timestamp() * 1000)


def instant(moment: datetime | None) -> str | None:
    """A time of a record: RFC 3339 in UTC, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else None
