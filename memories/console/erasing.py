"""Forgetting and erasing one record or many: what would happen, the question, and the report of the job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.content import Reference
from memories.models import Job, Memory
from memories.providers import registry
from memories.services import erasure, forecast
from memories.services import records as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryNotFound, OnHold, RecordNotFound

from .nodes import address
from .questions import counted, led
from .records import frame

MOST = forecast.MOST
LISTED = 50
ID_LENGTH = 200
# What has to be typed: nothing that a finger does by itself.
WORD = "erase"
CHANGED = "Something changed since this was shown. Look again at what will happen, then decide."
MISTYPED = f"Type {WORD} to confirm."
KINDS = {
    "records": "Records",
    "versions": "Versions",
    "vectors": "Vectors, by which they were found",
    "answers": "Kept answers to requests",
    "files": "Files, their bytes",
    "golden": "Golden questions that expected them",
}
ALWAYS = frozenset({"records", "versions"})


@member_page
@require_http_methods(["GET", "POST"])
def forget(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Forget several records: which of them will be, and which not and why."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE | Privilege.READ)
    url, named = address(request, "memory", memory_id), named_records(request)
    if not named:
        return _nothing_chosen(request, url)
    fates = forecast.of_forgetting(place, named)
    going = [one for one in fates if not one.refused]
    if request.method == "POST":
        done = 0
        for one in going:
            try:
                verbs.forget(place, one.record_id)
            except RecordNotFound:
                # Somebody else forgot it at the same moment, which is what was wanted.
                continue
            done += 1
        messages.success(request, f"{counted(done, 'record was', 'records were')} forgotten. Their history is kept.")
        return led(request, url)
    context = {
        **frame(request, place),
        "going": _shown(request, memory_id, going),
        "staying": _shown(request, memory_id, [one for one in fates if one.refused]),
        "action_url": request.path,
        "cancel_url": url,
        "record_ids": [one.record_id for one in going],
    }
    return pages.answer(request, "memories/forget_many.html", context)


@member_page
@require_http_methods(["GET", "POST"])
def erase(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Erase one record or several: everything that will go, what will stay and why, and a word to type."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE | Privilege.READ)
    named = named_records(request)
    if not named:
        return _nothing_chosen(request, address(request, "memory", memory_id))
    found = forecast.of_erasing(place, named)
    going = [one.record_id for one in found.going]
    error = ""
    if request.method == "POST":
        if set(request.POST.getlist("going")) != set(going):
            error = CHANGED
        elif request.POST.get("confirm", "").strip().lower() != WORD:
            error = MISTYPED
        else:
            try:
                job = erasure.begin(place, going, later=True)
            except (OnHold, RecordNotFound) as refusal:
                error = refusal.message
            else:
                return led(request, address(request, "job", memory_id, job.id))
    back = address(request, "record", memory_id, named[0]) if len(named) == 1 else address(request, "memory", memory_id)
    context = {
        **frame(request, place),
        **preview(request, place, found),
        "record_ids": [one.record_id for one in found.fates],
        "going_ids": going,
        "word": WORD,
        "error": error,
        "action_url": request.path,
        "cancel_url": back,
    }
    return pages.answer(request, "memories/erase.html", context, status=422 if error else 200)


def preview(request: ConsoleRequest, place: Place, found: forecast.Forecast) -> dict[str, Any]:
    """What an erasure would do, as its page shows it."""
    return {
        "going": _shown(request, place.memory.id, found.going),
        "staying": _shown(request, place.memory.id, found.staying),
        "versions": found.versions,
        "vectors": found.vectors,
        "files": found.files[:LISTED],
        "files_more": max(0, len(found.files) - LISTED),
        "files_kept": found.files_kept,
        "derived": _linked(request, found.derived),
        "derived_more": max(0, len(found.derived) - LISTED),
        "derived_hidden": found.derived_hidden,
        "unreachable": _linked(request, found.unreachable),
        "unreachable_more": max(0, len(found.unreachable) - LISTED),
        "unreachable_hidden": found.unreachable_hidden,
    }


@member_page
@require_GET
def job(request: ConsoleRequest, memory_id: str, job_id: str) -> HttpResponse:
    """How an erasure stands, and its report once it is done. The page asks again by itself until then."""
    place = look(request.caller, memory_id)
    found = erasure.readable(place, job_id)
    if found.kind != erasure.KIND:
        raise MemoryNotFound()
    context = {
        **frame(request, place),
        "job": {
            "id": found.id,
            "state": found.state,
            "done": found.done,
            "total": found.total,
            "error": found.error,
            "attempts": found.attempts,
            "created_at": found.created_at,
            "finished_at": found.finished_at,
            "records": len(found.payload.get("record_ids", ())),
        },
        "running": found.state in {Job.State.QUEUED, Job.State.RUNNING},
        "job_url": request.path,
        "memory_url": address(request, "memory", memory_id),
    }
    if found.state == Job.State.COMPLETED:
        context["report"] = _report(request, place, found)
    return pages.answer(request, "memories/job.html", context, fragment="progress")


def _report(request: ConsoleRequest, place: Place, found: Job) -> dict[str, Any]:
    told = erasure.report(place, found)
    unreachable = set(told.unreachable)
    holders = [tuple(pair) for pair in found.result.get("unreachable", ())]
    shown = [(memory_id, record_id) for memory_id, record_id in holders if record_id in unreachable]
    return {
        "removed": [(KINDS.get(kind, kind), count) for kind, count in told.removed.items() if count or kind in ALWAYS],
        "erased": told.erased[:LISTED],
        "erased_total": len(found.result.get("erased", ())),
        "unreachable": _linked(request, _titled(request, shown)),
        "unreachable_more": max(0, len(shown) - LISTED),
        "hidden": told.hidden,
    }


def named_records(request: ConsoleRequest) -> list[str]:
    """The records that the address or the form names, each once."""
    data = request.POST if request.method == "POST" else request.GET
    return list(dict.fromkeys(one for one in data.getlist("record") if 0 < len(one) <= ID_LENGTH))[:MOST]


def _titled(request: ConsoleRequest, pairs: Iterable[tuple[str, str]]) -> list[forecast.Named]:
    listed = list(pairs)
    providers = dict(
        Memory.objects.of(request.organisation.id)
        .filter(pk__in={memory_id for memory_id, _ in listed})
        .held_by(request.caller.principals, Privilege.READ)
        .values_list("id", "provider")
    )
    names: dict[tuple[str, str], str] = {}
    for provider in set(providers.values()):
        asked = [Reference(one, memory_id=at) for at, one in listed if providers.get(at) == provider]
        names |= registry.get(provider).existing(asked)
    return [forecast.Named(*pair, names.get(pair, "")) for pair in listed]


def _shown(request: ConsoleRequest, memory_id: str, fates: Sequence[forecast.Fate]) -> list[dict[str, str]]:
    return [
        {"title": one.title, "url": address(request, "record", memory_id, one.record_id), "why": one.refused}
        for one in fates
    ]


def _linked(request: ConsoleRequest, found: Sequence[forecast.Named]) -> list[dict[str, str]]:
    return [
        {"title": one.title, "url": address(request, "record", one.memory_id, one.record_id)} for one in found[:LISTED]
    ]


def _nothing_chosen(request: ConsoleRequest, url: str) -> HttpResponse:
    messages.info(request, "Choose at least one record first.")
    return led(request, url)
