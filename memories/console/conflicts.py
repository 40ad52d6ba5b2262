"""Conflicts that runs left to a person: two records side by side, and four ways to decide."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.content import MAX_TITLE, read_draft
from memories.models import ReviewItem
from memories.providers.base import RecordVersion
from memories.services import deciding, reviewing
from memories.services.deciding import Decision, Pair
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import InvalidInput, MemoryInvalid, VersionConflict
from uhp_site.http.fields import Fields

from . import differences
from .inbox_rows import Row, decided
from .memory import memory_context
from .nodes import address
from .principals import writers
from .questions import CHANGED, led
from .records import frame
from .run_changes import REASONS, attributes

PAGE = 25
LONGEST = 100_000
SAID = {
    Decision.THIS: "The first was kept; the other was forgotten.",
    Decision.THAT: "The second was kept; the other was forgotten.",
    Decision.BOTH: "Both were kept.",
    Decision.NEW: "A new record was written in place of both.",
}
ENDED = {Decision.THIS: "It was kept.", Decision.THAT: "It was forgotten.", Decision.NEW: "A new record was written."}


@member_page
@require_GET
def conflicts(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The open conflicts of a memory, newest first."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    context = {
        **memory_context(request, place, "runs"),
        **listed(request, place),
        "runs_url": address(request, "runs", memory_id),
        "decides": Privilege.WRITE in place.privileges,
        # Asked for by the whole page alone.
        "last": partial(decided_here, request, place),
    }
    return pages.answer(request, "memories/conflicts.html", context, fragment="conflicts")


def decided_here(request: ConsoleRequest, place: Place) -> Row | None:
    """What this person decided last, when that was a conflict of this memory and can be taken back."""
    last = next(iter(decided(request)), None) if reviewing.may_review(request.caller, place) else None
    here = last is not None and last.kind == ReviewItem.Kind.CONFLICT
    return last if here and last and last.memory_url == address(request, "memory", place.memory.id) else None


def listed(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """One page of conflicts that can still be decided."""
    after = pagination.read_time_cursor(Fields(request.GET.dict()))
    rows = list(deciding.opened(place, PAGE + 1, after))
    page, following = pagination.cut(rows, PAGE, lambda one: (one.created_at.isoformat(), one.id))
    return {
        "conflicts": [
            {
                "url": address(request, "conflict", place.memory.id, one.conflict.id),
                "this": one.this.name,
                "that": one.that.name if one.that else "",
                "reason": REASONS.get(one.conflict.reason, ""),
                "found_at": one.conflict.created_at,
            }
            for one in deciding.pairs(place, page)
        ],
        "next_url": f"{request.path}?{urlencode({'cursor': following})}" if following else None,
        "first_url": request.path if after else None,
    }


@member_page
@require_http_methods(["GET", "POST"])
def conflict(request: ConsoleRequest, memory_id: str, conflict_id: str) -> HttpResponse:
    """Two records side by side, and what to keep: this, that, both, or something new."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    if request.method == "POST":
        place.require(Privilege.WRITE)
    pair = deciding.find(place, conflict_id)
    error = ""
    if request.method == "POST":
        error = CHANGED if request.POST.get("expected") != shown(pair) else decide(request, place, pair)
        if not error:
            return led(request, address(request, "conflicts", memory_id))
    context = {
        **frame(request, place),
        **sides(request, pair),
        "reason": REASONS.get(pair.conflict.reason, ""),
        "found_at": pair.conflict.created_at,
        "run_url": address(request, "run", memory_id, pair.conflict.run_id),
        "conflicts_url": address(request, "conflicts", memory_id),
        "decides": Privilege.WRITE in place.privileges,
        "expected": shown(pair),
        "new_title": request.POST.get("title", pair.this.draft.title),
        "new_text": request.POST.get("text", text_of(pair.that or pair.this)),
        "title_length": MAX_TITLE,
        "error": error,
        "action_url": request.path,
    }
    return pages.answer(request, "memories/conflict.html", context, status=422 if error else 200)


def decide(request: ConsoleRequest, place: Place, pair: Pair) -> str:
    """Do what was chosen; what is wrong with it, or nothing."""
    chosen = request.POST.get("decision", "")
    if chosen not in Decision.values:
        return "Choose what to keep."
    decision = Decision(chosen)
    try:
        draft = None
        if decision == Decision.NEW:
            data = Fields({"title": request.POST.get("title", ""), "content": request.POST.get("text", "")})
            title = data.text("title", longest=MAX_TITLE, one_line=True) or ""
            content = data.text("content", longest=LONGEST, required=True) or ""
            draft = read_draft({"type": pair.this.draft.type, "title": title, "content": content})
        deciding.decide(place, pair.conflict.id, decision, draft)
    except (InvalidInput, MemoryInvalid, VersionConflict) as refusal:
        return refusal.message
    messages.success(request, SAID[decision] if pair.that else ENDED[decision])
    return ""


def shown(pair: Pair) -> str:
    """What a person was shown, so that nothing else is decided about."""
    return f"{pair.this.number}-{pair.that.number if pair.that else 0}"


def text_of(version: RecordVersion) -> str:
    """What a record says below its title."""
    return "\n".join(str(part["text"]) for part in version.draft.content if part.get("text"))


def sides(request: ConsoleRequest, pair: Pair) -> dict[str, Any]:
    """Both records, each with what only it says marked."""
    names = writers(request.organisation.id, (one.writer for one in (pair.this, pair.that) if one))
    that = pair.that
    pieces = differences.words(text_of(pair.this), text_of(that)) if that else ()
    titles = differences.words(pair.this.draft.title, that.draft.title) if that else ()

    def side(label: str, one: RecordVersion, other: str) -> dict[str, Any]:
        return {
            "label": label,
            "name": one.name,
            "url": address(request, "record", one.memory_id, one.id),
            "titled": [piece for piece in titles if piece.kind != other],
            "pieces": [piece for piece in pieces if piece.kind != other],
            "text": text_of(one),
            "title": one.draft.title,
            "attributes": [(key, differences.readable(value)) for key, value in attributes(one).items()],
            "writer": names[one.writer],
            "written_at": one.written_at,
            "number": one.number,
            "valid_to": one.draft.valid_to,
        }

    found: Sequence[dict[str, Any]] = [side("What was there", pair.this, differences.ADDED)]
    if that:
        found = [*found, side("What was said later", that, differences.REMOVED)]
    return {"sides": found, "single": that is None}
