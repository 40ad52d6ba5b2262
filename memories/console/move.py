"""Moving a memory: find the new place, see who gains and who loses by it, then move."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Memory
from memories.reader import Reader
from memories.services import finding, impact
from memories.services import tree as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryBusy, MemoryForbidden, MemoryInvalid, MemoryNotFound, OnHold
from uhp_site.http.fields import Fields

from .find import found_views
from .nodes import address, breadcrumb, located
from .questions import Question, led
from .tree import may_plant

PAGE = 20
TOP = "top"


@member_page
@require_http_methods(["GET", "POST"])
def move(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Choose where a memory moves to; `to` shows what that does, and a POST does it."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    to = (request.POST if request.method == "POST" else request.GET).get("to", "")
    if not to:
        return choose(request, place)
    target = None if to == TOP else to
    try:
        question = Question(impact.of_moving(place, target), place.memory.name)
    except (MemoryInvalid, MemoryForbidden, MemoryNotFound) as refusal:
        return choose(request, place, refused(refusal))
    error = question.error(request.POST) if request.method == "POST" else ""
    if request.method == "POST" and not error and not question.has_last_step(request.POST):
        try:
            verbs.change(place, parent_id=target)
        except (MemoryBusy, MemoryInvalid, OnHold) as refusal:
            return choose(request, place, refusal.message)
        messages.success(request, f"{place.memory.name} was moved with everything below it.")
        gone = question.change.locks_out_self
        return led(request, address(request, "tree") if gone else address(request, "memory", memory_id))
    return ask(request, place, question, target, error)


def ask(request: ConsoleRequest, place: Place, question: Question, target: str | None, error: str) -> HttpResponse:
    """The question before the move, or its last step."""
    above = Memory.objects.filter(pk=target).first() if target else None
    context = {
        **head(request, place),
        **question.context(request, error, last_step=request.method == "POST" and not error),
        "heading": "Move a memory",
        "question": "Move",
        "subject": place.memory.name,
        "explained": (
            f"It will be below {above.name}: access given there will reach it, and access given above its old place "
            "no longer will."
            if above
            else "It will be at the top: access given above its old place will no longer reach it."
        )
        + (" The branch is closed, so that what is given above does not reach it." if place.memory.restricted else ""),
        "act": "Move the memory",
        "kind": "primary",
        "lockout_text": "You look after this memory only through what was given above its old place.",
        "cancel_url": address(request, "memory-move", place.memory.id),
    }
    context["hidden"] = [*context["hidden"], ("to", target or TOP)]
    return pages.answer(request, "memories/question.html", context, fragment="confirm", status=422 if error else 200)


def choose(request: ConsoleRequest, place: Place, error: str = "") -> HttpResponse:
    """The places where it can move to, found by name."""
    query = Fields(request.GET.dict())
    words = query.text("q", longest=200) or ""
    after = pagination.read_cursor(query, (bool, str, str))
    found = finding.places_to_move(request.caller, place.memory, words, PAGE, after)
    url = address(request, "memory-move", place.memory.id)
    asked = {"q": words} if words else {}
    following = pagination.make_cursor(*found.next) if found.next else None
    context = {
        **head(request, place),
        "places": found_views(request, Reader(request.caller).memories(found.memories, counted=False), url),
        "words": words,
        "url": url,
        "top_url": f"{url}?to={TOP}" if may_plant(request) and place.memory.parent_id else None,
        "next_url": f"{url}?{urlencode({**asked, 'cursor': following})}" if following else None,
        "first_url": f"{url}?{urlencode(asked)}" if after else None,
        "cancel_url": address(request, "memory", place.memory.id),
        "error": error,
    }
    return pages.answer(request, "memories/move.html", context, fragment="places", status=422 if error else 200)


def head(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """What is above either page."""
    view = located(request, place.memory)
    return {**shell(request, "memories"), **breadcrumb(request, view, last=True), "memory": place.memory}


def refused(refusal: MemoryInvalid | MemoryForbidden | MemoryNotFound) -> str:
    """Why it cannot move there, in one sentence."""
    if isinstance(refusal, MemoryForbidden):
        return "You may not create memories there."
    return "There is no such memory." if isinstance(refusal, MemoryNotFound) else refusal.message
