"""Holds on a memory and its records: what must not be removed, why, and until somebody lifts it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.content import Reference
from memories.services import holds as verbs
from memories.services.records import provider_of
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryInvalid, RecordNotFound
from uhp_site.http.fields import Fields

from .nodes import address
from .principals import named
from .questions import led
from .records import frame

LISTED = 200
REASON_LENGTH = 500


@member_page
@require_http_methods(["GET", "POST"])
def holds(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The holds of a memory, and the form for a new one: on the whole branch, or on the record that is named."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    record_id = (request.POST if request.method == "POST" else request.GET).get("record", "")[:200] or None
    record = _record(request, place, record_id) if record_id else None
    error, reason = "", request.POST.get("reason", "")
    if request.method == "POST":
        try:
            given = Fields({"reason": reason}).text("reason", longest=REASON_LENGTH, required=True) or ""
            verbs.place_hold(place, given, record_id)
        except MemoryInvalid as refusal:
            error = refusal.message
        else:
            messages.success(request, "Put on hold. Nothing of it can be removed until the hold is lifted.")
            return led(request, record["url"] if record else request.path)
    context = {
        **frame(request, place),
        "memory": {"name": place.memory.name, "url": address(request, "memory", memory_id)},
        "record": record,
        "holds": _rows(request, place),
        "reason": reason,
        "reason_length": REASON_LENGTH,
        "error": error,
        "action_url": request.path,
        "cancel_url": record["url"] if record else address(request, "settings", memory_id),
    }
    return pages.answer(request, "memories/holds.html", context, status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def lift(request: ConsoleRequest, memory_id: str, hold_id: str) -> HttpResponse:
    """Lift a hold, after asking."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    hold = next((one for one in verbs.listed(place, LISTED) if one.id == hold_id), None)
    if hold is None:
        raise RecordNotFound()
    url = address(request, "holds", memory_id)
    if request.method == "POST":
        verbs.lift(request.caller, hold_id)
        messages.success(request, "The hold was lifted. That it was there stays on record.")
        return led(request, url)
    context = {
        **frame(request, place),
        "heading": "Lift a hold",
        "question": "Lift the hold",
        "subject": hold.reason,
        "explained": "What it protected can be erased and deleted again, by whoever may.",
        "act": "Lift the hold",
        "kind": "danger",
        "action_url": request.path,
        "cancel_url": url,
    }
    return pages.answer(request, "memories/question.html", context, fragment="confirm")


def _record(request: ConsoleRequest, place: Place, record_id: str) -> dict[str, str]:
    found = provider_of(place).existing([Reference(record_id, memory_id=place.memory.id)])
    if not found:
        raise RecordNotFound()
    readable = Privilege.READ in place.privileges
    title = found[place.memory.id, record_id] if readable else record_id
    return {"id": record_id, "title": title, "url": address(request, "record", place.memory.id, record_id)}


def _rows(request: ConsoleRequest, place: Place) -> list[dict[str, Any]]:
    found = verbs.listed(place, LISTED, lifted=True)
    names = named(request.organisation.id, {who for one in found for who in (one.placed_by, one.lifted_by) if who})
    asked = [Reference(one.record_id, memory_id=place.memory.id) for one in found if one.record_id]
    titles = provider_of(place).existing(asked) if asked and Privilege.READ in place.privileges else {}
    return [
        {
            "reason": one.reason,
            "by": names[one.placed_by],
            "at": one.placed_at,
            "record": titles.get((place.memory.id, one.record_id), "a record") if one.record_id else "",
            "record_url": address(request, "record", place.memory.id, one.record_id)
            if (place.memory.id, one.record_id or "") in titles
            else "",
            "lifted_at": one.lifted_at,
            "lifted_by": names.get(one.lifted_by),
            "lift_url": None if one.lifted_at else address(request, "hold-lift", place.memory.id, one.id),
        }
        for one in found
    ]
