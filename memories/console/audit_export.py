"""The audit log as a file: CSV for a spreadsheet, JSON Lines for a program."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from members.models import EventQuerySet
from members.shell import ConsoleRequest

from .audit_events import shown

BATCH = 500

Line = Mapping[str, Any]
FIELDS = (
    "at", "action", "actor", "actor_name", "via", "address", "memory_id", "memory_name", "subject", "subject_name",
    "detail",
)  # fmt: skip


def export(request: ConsoleRequest, events: EventQuerySet, kind: str) -> StreamingHttpResponse:
    """Everything that was asked for, oldest first, as it is read: nothing is held in memory but a batch."""
    media_type, write = EXPORTS[kind]
    response = StreamingHttpResponse(write(lines(request, events)), content_type=media_type)
    name = f"audit-{request.organisation.slug}-{timezone.localdate().isoformat()}.{kind}"
    response.headers["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def lines(request: ConsoleRequest, events: EventQuerySet) -> Iterator[Line]:
    """The events as plain values, batch by batch by key."""
    last = 0
    while batch := list(events.filter(id__gt=last).order_by("id")[:BATCH]):
        last = batch[-1].id
        for one in shown(request, batch):
            event = one.event
            visible = one.memory is not None or not one.withheld
            yield {
                "at": event.at.isoformat(),
                "action": event.action,
                "actor": event.actor,
                "actor_name": one.actor.name,
                "via": event.via,
                "address": event.address or "",
                "memory_id": event.memory_id if visible else "",
                "memory_name": one.memory.name if one.memory else "",
                "subject": one.subject_id,
                "subject_name": one.subject.name if one.subject else "",
                "detail": dict(one.detail),
            }


def as_csv(rows: Iterable[Line]) -> Iterator[str]:
    """Rows for a spreadsheet, in which no cell can be taken for a formula."""
    yield _csv_row(FIELDS)
    for row in rows:
        values = {**row, "detail": json.dumps(row["detail"], ensure_ascii=False, sort_keys=True)}
        yield _csv_row([harmless(str(values[field])) for field in FIELDS])


def harmless(cell: str) -> str:
    """A cell that no spreadsheet computes: one that could be a formula gets an apostrophe before it."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r", "\n"} else cell


def _csv_row(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def as_json_lines(rows: Iterable[Line]) -> Iterator[str]:
    """One JSON object a line."""
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


EXPORTS: Mapping[str, tuple[str, Callable[[Iterable[Line]], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "jsonl": ("application/jsonl; charset=utf-8", as_json_lines),
}
