"""Records as people read them: rows of a list, and the page of one with its history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.providers.base import RecordVersion
from memories.reader import Reader
from memories.services import records as verbs
from memories.services.sight import look
from uhp_site.http import pages
from uhp_site.http.fields import Fields

from .nodes import address, breadcrumb
from .principals import Named, writers

EXCERPT = 240


@dataclass(frozen=True)
class RecordView:
    """A record in a list."""

    id: str
    url: str
    title: str
    excerpt: str
    type: str
    status: str
    written_at: datetime
    writer: Named
    version: int
    standing: bool


def record_rows(request: ConsoleRequest, versions: Sequence[RecordVersion]) -> list[RecordView]:
    """Records as rows, in a constant number of queries."""
    names = writers(request.organisation.id, (one.writer for one in versions))
    return [
        RecordView(
            id=one.id,
            url=address(request, "record", one.memory_id, one.id),
            title=one.draft.title,
            excerpt=excerpt(one),
            type=one.draft.type,
            status=one.status,
            written_at=one.written_at,
            writer=names[one.writer],
            version=one.number,
            standing=is_standing(one),
        )
        for one in versions
    ]


def excerpt(version: RecordVersion) -> str:
    """The start of what a record says, on one line."""
    words = " ".join(" ".join(str(part.get("text", "")) for part in version.draft.content).split())
    return words if len(words) <= EXCERPT else words[:EXCERPT].rsplit(" ", 1)[0] + "…"


def is_standing(version: RecordVersion) -> bool:
    """Whether a record goes into agents' instructions (Memories §4.17)."""
    return (version.draft.attributes or {}).get("standing") is True


@member_page
@require_GET
def record(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """One record: what it says, what it points at, and every version it had; `version` shows an earlier one."""
    place = look(request.caller, memory_id)
    history = verbs.history(place, record_id)
    asked = Fields({"version": _number(request.GET.get("version"))}).integer("version", least=1, default=None)
    shown = next((one for one in history if one.number == asked), history[-1])
    reader = Reader(request.caller)
    names = writers(request.organisation.id, (one.writer for one in history))
    url = address(request, "record", memory_id, record_id)
    open_head = history[-1].status == "active"
    context = {
        **shell(request, "memories"),
        **breadcrumb(request, reader.memories([place.memory])[0], last=True),
        "record": record_context(request, shown, names[shown.writer]),
        "is_head": shown is history[-1],
        "head_url": url,
        "versions": [
            {
                "number": one.number,
                "status": one.status,
                "written_at": one.written_at,
                "writer": names[one.writer],
                "reason": str((one.draft.attributes or {}).get("revision_reason", "")),
                "url": f"{url}?version={one.number}",
                "current": one is shown,
            }
            for one in reversed(history)
        ],
        "forget_url": address(request, "record-forget", memory_id, record_id)
        if open_head and Privilege.WRITE in place.privileges
        else None,
    }
    return pages.answer(request, "memories/record.html", context)


def record_context(request: ConsoleRequest, version: RecordVersion, writer: Named) -> dict[str, Any]:
    """One version of a record as its page shows it."""
    draft = version.draft
    return {
        "id": version.id,
        "title": draft.title or version.name,
        "type": draft.type,
        "status": version.status,
        "version": version.number,
        "parts": [dict(part) for part in draft.content],
        "attributes": [(key, _readable(value)) for key, value in (draft.attributes or {}).items()],
        "references": [
            {
                "rel": one.reference.rel if one.available else "",
                "available": one.available,
                "title": one.name,
                "url": address(request, "record", one.reference.memory_id, one.reference.record_id)
                if one.available
                else "",
            }
            for one in Reader(request.caller).resolve(version)
        ],
        "valid_from": draft.valid_from,
        "valid_to": draft.valid_to,
        "written_at": version.written_at,
        "writer": writer,
        "trust": "untrusted",
        "standing": is_standing(version),
    }


@member_page
@require_http_methods(["GET", "POST"])
def forget(request: ConsoleRequest, memory_id: str, record_id: str) -> HttpResponse:
    """Forget a record, after asking."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE)
    found = verbs.get(place, record_id)
    url = address(request, "memory", memory_id)
    if request.method == "POST":
        verbs.forget(place, record_id)
        messages.success(request, "The record was forgotten. Its history is kept.")
        return HttpResponseClientRedirect(url) if request.htmx else redirect(url)
    context = {
        **shell(request, "memories"),
        **breadcrumb(request, Reader(request.caller).memories([place.memory])[0], last=True),
        "record": {"title": found.name},
        "action_url": request.path,
        "cancel_url": address(request, "record", memory_id, record_id),
    }
    return pages.answer(request, "memories/forget.html", context, fragment="confirm")


def _readable(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
