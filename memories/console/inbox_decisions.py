"""Deciding about one item: keep, decline, dismiss, edit, merge, move, mark as standing; then the next one comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from members.shell import ConsoleRequest, member_page, shell
from memories.content import MAX_TITLE
from memories.models import ReviewItem
from memories.services import accepting, deciding, judging, reviewing, triage
from memories.services.deciding import Decision
from memories.services.judging import CHANGED
from memories.services.reviewing import Looked
from uhp_site.http import pages
from uhp_site.http.errors import (
    InvalidInput,
    MemoryInvalid,
    MemoryNotFound,
    MemoryUnavailable,
    MemoryUnsupported,
    RecordNotFound,
    VersionConflict,
)
from uhp_site.http.fields import Fields

from . import conflicts, differences
from .inbox_item import item_page, nearby
from .inbox_rows import asked
from .nodes import address
from .versions import Written

CHOICES = 20
GONE = "It is gone by now, so there is nothing to decide but to dismiss it."
REFUSALS = (InvalidInput, MemoryInvalid, MemoryUnsupported, MemoryUnavailable)
CONFLICT_PREFIX = "conflict-"


@member_page
@require_POST
def decide(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """Keep, decline, dismiss or keep as standing what was shown; a conflict is decided between its records."""
    caller, shown, chosen = request.caller, request.POST.get("shown", ""), request.POST.get("decision", "")
    seen = reviewing.find(caller, item_id)
    name = f"“{seen.version.name}”" if seen.version else "The item"
    if chosen.startswith(CONFLICT_PREFIX):
        return _between(request, seen, chosen.removeprefix(CONFLICT_PREFIX), shown)
    if chosen == "keep" and seen.item.kind == ReviewItem.Kind.RUN:
        return _run(request, seen, shown)
    if chosen == "keep":
        said = f"{name} is live now." if seen.waits else f"{name} was kept."
        return done(request, seen, said, lambda: judging.keep(caller, item_id, shown))
    if chosen == "standing":
        said = f"{name} was kept and goes into the instructions of agents."
        return done(request, seen, said, lambda: judging.mark_standing(caller, item_id, shown))
    if chosen == "dismiss":
        shown = shown.partition(":")[0]
        return done(request, seen, f"{name} was dismissed.", lambda: judging.dismiss(caller, item_id, shown))
    if chosen == "decline":
        reason = request.POST.get("reason", "").strip()
        tell = request.POST.get("tell") == "yes"
        said = f"{name} was declined{', and the reason was written beside it' if reason and tell else ''}."
        return done(request, seen, said, lambda: judging.decline(caller, item_id, shown, reason, tell=tell))
    return item_page(request, seen, error="Choose what to do.")


def _between(request: ConsoleRequest, seen: Looked, chosen: str, shown: str) -> HttpResponse:
    def act() -> None:
        pair = deciding.find(seen.place, seen.item.subject)
        if shown != f"{seen.fingerprint}:{conflicts.shown(pair)}":
            raise VersionConflict(CHANGED)
        if chosen not in {Decision.THIS.value, Decision.THAT.value, Decision.BOTH.value}:
            raise MemoryInvalid("Choose what to keep.", param="decision")
        deciding.decide(seen.place, pair.conflict.id, Decision(chosen))

    reviewing.require_theirs(request.caller, seen.item)
    said = conflicts.SAID[Decision(chosen)] if chosen in Decision.values else ""
    return done(request, seen, said, act)


def _run(request: ConsoleRequest, seen: Looked, shown: str) -> HttpResponse:
    def act() -> None:
        if shown != seen.fingerprint:
            raise VersionConflict(CHANGED)
        accepting.accept(seen.place, seen.item.subject)

    return done(request, seen, "What the run did was kept.", act)


@member_page
@require_http_methods(["GET", "POST"])
def edit(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """Word it otherwise, and keep it so."""
    seen = opened(request, item_id)
    version = seen.version
    if version is None or version.draft.type == "episode":
        return item_page(request, seen, error="This is not reworded: it is kept as it was said, or declined.")
    written, error, param = Written.of(version), "", ""
    if request.method == "POST":
        written = Written.from_form(request.POST)
        shown = request.POST.get("shown", "")
        if shown != seen.fingerprint:
            return item_page(request, seen, changed=CHANGED)
        try:
            changes = written.changes(version)
            judging.edit(request.caller, item_id, shown, changes)
        except VersionConflict as refusal:
            return item_page(request, reviewing.find(request.caller, item_id), changed=refusal.message)
        except REFUSALS as refusal:
            error, param = refusal.message, (refusal.param or "").partition(".")[0]
        else:
            return onward(request, seen, "It was kept as you worded it.")
    context = {
        **around(request, seen),
        "written": written,
        "texts": [(f"text-{index}", place_of, text) for place_of, (index, text) in enumerate(written.texts.items(), 1)],
        "others": [differences.label(part) for part in version.draft.content if part.get("type") != "text"],
        "error": error,
        "param": param,
        "title_length": MAX_TITLE,
    }
    return pages.answer(request, "memories/inbox_edit.html", context, status=422 if error else 200)


@member_page
@require_http_methods(["GET", "POST"])
def merge(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """Add what it says to a record that is there already: choose which."""
    seen, caller = opened(request, item_id), request.caller
    if request.method == "POST":
        into, shown = request.POST.get("into", ""), request.POST.get("shown", "")
        said = "It was merged into the other record."
        return done(request, seen, said, lambda: judging.merge(caller, item_id, shown, into))
    words = Fields(request.GET.dict()).text("q", longest=200) or ""
    near = [one for one in nearby(request, seen, reviewing.nearest(seen, words)) if not one["episode"]]
    context = {**around(request, seen), "near": near, "words": words}
    return pages.answer(request, "memories/inbox_merge.html", context)


@member_page
@require_http_methods(["GET", "POST"])
def move(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """Write it into another memory instead: choose which."""
    seen, caller = opened(request, item_id), request.caller
    if request.method == "POST":
        to, shown = request.POST.get("to", ""), request.POST.get("shown", "")
        return done(request, seen, "It was moved.", lambda: judging.move(caller, item_id, shown, to))
    words = Fields(request.GET.dict()).text("q", longest=200) or ""
    found = triage.targets(seen, words, CHOICES + 1)
    context = {
        **around(request, seen),
        "found": [{"id": one.id, "name": one.name, "description": one.description} for one in found[:CHOICES]],
        "more": len(found) > CHOICES,
        "words": words,
    }
    return pages.answer(request, "memories/inbox_move.html", context)


def opened(request: ConsoleRequest, item_id: str) -> Looked:
    """An item that this person may decide. Raises MemoryNotFound, and MemoryForbidden for one's own."""
    seen = reviewing.find(request.caller, item_id)
    reviewing.require_theirs(request.caller, seen.item)
    return seen


def around(request: ConsoleRequest, seen: Looked) -> dict[str, Any]:
    """What the pages of one decision show around themselves."""
    query = asked(request).query
    return {
        **shell(request, "review"),
        "title": seen.version.name if seen.version else "",
        "memory_name": seen.place.memory.name,
        "waits": seen.waits,
        "fingerprint": seen.fingerprint,
        "action_url": request.path + query,
        "search_here": request.path,
        "kept": list(asked(request).values.items()),
        "item_url": address(request, "inbox-item", seen.item.id) + query,
        "inbox_url": address(request, "inbox") + query,
    }


def done(request: ConsoleRequest, seen: Looked, said: str, act: Callable[[], object]) -> HttpResponse:
    """Decide, and go on to the next item; what has changed or cannot be done leads back to the item as it is now."""
    try:
        act()
    except VersionConflict as refusal:
        return item_page(request, reviewing.find(request.caller, seen.item.id), changed=refusal.message)
    except RecordNotFound:
        return item_page(request, reviewing.find(request.caller, seen.item.id), error=GONE)
    except MemoryNotFound:
        return item_page(request, reviewing.find(request.caller, seen.item.id), error="Choose a memory that is there.")
    except REFUSALS as refusal:
        return item_page(request, reviewing.find(request.caller, seen.item.id), error=refusal.message)
    return onward(request, seen, said)


def onward(request: ConsoleRequest, seen: Looked, said: str) -> HttpResponse:
    """Say what was done and open the item that comes next, from the start again after the last one."""
    messages.success(request, said)
    question = asked(request)
    before, after = triage.beside(request.caller, seen.item, question.filters, question.order)
    page = (
        reviewing.inbox(request.caller, question.filters, order=question.order, limit=1)
        if before and not after
        else None
    )
    first = page.items[0].id if page and page.items else None
    following = after or first
    url = address(request, "inbox-item", following) if following else address(request, "inbox")
    return redirect(url + question.query)
