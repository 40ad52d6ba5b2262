"""Golden questions of a memory and of those below: save, remove, ask them all, see what got worse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.content import Reference
from memories.models import GoldenQuestion, Job, Memory
from memories.services import golden as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, RecordNotFound
from uhp_site.http.fields import Fields

from .explore import ask_url, tabs
from .memory import memory_context
from .nodes import address
from .principals import named
from .questions import counted, led

PAGE = 50
RUNS = 10
LINK = re.compile(r"/memories/([^/]+)/records/([^/]+)")
CHANGES = {"worse": "Got worse", "better": "Got better", "same": "As before", "new": "Asked for the first time"}
UNKNOWN = "No such record here or below that you may read."


@member_page
@require_http_methods(["GET", "POST"])
def golden(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The golden questions here and below, and the form that saves one here."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    errors: dict[str, str] = {}
    if request.method == "POST":
        place.require(Privilege.READ | Privilege.WRITE)
        errors = saved(request, place)
        if not errors:
            messages.success(request, "Saved as a golden question.")
            return led(request, request.path)
    context = {
        **memory_context(request, place, "ask"),
        "ask_tabs": tabs(request, place, "golden"),
        **listed(request, place),
        **runs(request, place),
        "may_save": Privilege.WRITE in place.privileges,
        "question": request.POST.get("question", ""),
        "record": request.POST.get("record", ""),
        "longest": verbs.LONGEST,
        "errors": errors,
        "save_url": request.path,
        "run_url": address(request, "golden-run", memory_id),
        "explore_url": address(request, "explore", memory_id),
    }
    return pages.answer(request, "memories/golden.html", context, fragment="questions", status=422 if errors else 200)


def saved(request: ConsoleRequest, place: Place) -> dict[str, str]:
    """Save the question that was sent; what is wrong with it, by field."""
    fields = Fields({name: request.POST.get(name, "") for name in ("question", "record", "memory")})
    try:
        question = fields.text("question", longest=verbs.LONGEST) or ""
        record = (fields.text("record", longest=500) or "").strip()
        at = fields.text("memory", longest=80) or ""
        verbs.save(place, question, reference(record, at))
    except MemoryInvalid as refusal:
        return {refusal.param if refusal.param in ("question", "record") else "question": refusal.message}
    except RecordNotFound:
        return {"record": UNKNOWN}
    return {}


def reference(typed: str, memory_id: str) -> Reference:
    """The record that was named: by its id, or by the address of its page."""
    match = LINK.search(urlsplit(typed).path) if "/" in typed else None
    return Reference(match[2], memory_id=match[1]) if match else Reference(typed, memory_id=memory_id)


def listed(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """One page of the questions, each with where the last run found what it expects."""
    after = pagination.read_time_cursor(Fields(request.GET.dict()))
    every = verbs.below(place)
    rows = every.filter(Q(saved_at__gt=after[0]) | Q(saved_at=after[0], id__gt=after[1])) if after else every
    found = list(rows[: PAGE + 1])
    more = found[PAGE - 1] if len(found) > PAGE else None
    following = pagination.make_time_cursor((more.saved_at, more.id)) if more else None
    outcomes = verbs.outcomes(verbs.last(place))
    shown = questions(request, found[:PAGE])
    for row, one in zip(shown, found, strict=False):
        row["outcome"] = outcome(outcomes.get(one.id))
    return {
        "questions": shown,
        "questions_total": every.count(),
        "next_url": f"{request.path}?cursor={following}" if following else None,
        "first_url": request.path if after else None,
    }


def questions(request: ConsoleRequest, found: Sequence[GoldenQuestion]) -> list[dict[str, Any]]:
    """Questions as rows, with what of the expected record may be told; a constant number of queries."""
    expected = verbs.current(request.caller, [(one.expected_memory_id, one.expected_record_id) for one in found])
    names = named(request.organisation.id, {one.saved_by for one in found})
    held = Memory.objects.of(request.organisation.id).filter(pk__in={one.memory_id for one in found})
    at = {one.id: one for one in held.with_privileges(request.caller.principals)}
    both = Privilege.READ | Privilege.WRITE
    rows = []
    for one in found:
        pair = (one.expected_memory_id, one.expected_record_id)
        told, memory = expected.get(pair), at[one.memory_id]
        rows.append(
            {
                "question": one.question,
                "ask_url": ask_url(request, one.memory_id, one.question),
                "memory": {"name": memory.name, "url": address(request, "golden", memory.id)},
                "expected": {"title": told.name, "url": address(request, "record", *pair), "forgotten": told.forgotten}
                if told
                else None,
                "saved_by": names[one.saved_by],
                "saved_at": one.saved_at,
                "remove_url": address(request, "golden-remove", one.memory_id, one.id)
                if both & Privilege(memory.held) == both
                else None,
            }
        )
    return rows


def outcome(found: verbs.Outcome | None) -> dict[str, Any] | None:
    """Where a run found what was expected, in words, and whether that is well."""
    if found is None:
        return None
    declined = "; recall declined to answer" if found.abstained else ""
    if found.rank is None:
        return {"said": f"not among the first {verbs.LOOKED_THROUGH}{declined}", "tone": "danger"}
    return {"said": f"found as no. {found.rank}{declined}", "tone": "caution" if found.abstained else "accent"}


def runs(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """The last runs that the person started here."""
    found = list(verbs.runs(place)[:RUNS])
    return {
        "runs": [
            {
                "url": address(request, "golden-report", place.memory.id, one.id),
                "at": one.created_at,
                "state": one.state,
                "said": tally(one),
            }
            for one in found
        ],
    }


def tally(job: Job) -> str:
    """How a run went, in a few words."""
    if job.state != Job.State.COMPLETED:
        return job.state
    found = list(verbs.outcomes(job).values())
    return f"{sum(one.rank is not None for one in found):,} of {counted(len(found), 'question', 'questions')} found"


@member_page
@require_POST
def remove(request: ConsoleRequest, memory_id: str, golden_id: str) -> HttpResponse:
    """Remove a golden question."""
    verbs.remove(look(request.caller, memory_id), golden_id)
    messages.success(request, "The golden question was removed.")
    return led(request, address(request, "golden", memory_id))


@member_page
@require_POST
def run(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Ask all golden questions here and below, in the background."""
    place = look(request.caller, memory_id)
    try:
        job = verbs.begin(place)
    except MemoryInvalid as refusal:
        messages.info(request, refusal.message)
        return led(request, address(request, "golden", memory_id))
    return led(request, address(request, "golden-report", memory_id, job.id))


@member_page
@require_GET
def report(request: ConsoleRequest, memory_id: str, job_id: str) -> HttpResponse:
    """How a run stands, and what it found once it is done. The page asks again by itself until then."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    found = verbs.runs(place).filter(pk=job_id).first()
    if found is None:
        raise MemoryNotFound()
    done = found.state == Job.State.COMPLETED
    context = {
        **memory_context(request, place, "ask"),
        "ask_tabs": tabs(request, place, "golden"),
        "job": found,
        "running": found.state in {Job.State.QUEUED, Job.State.RUNNING},
        "done": done,
        "job_url": request.path,
        "golden_url": address(request, "golden", memory_id),
        "run_url": address(request, "golden-run", memory_id),
        **(told(request, place, found) if done else {}),
    }
    return pages.answer(request, "memories/golden_run.html", context, fragment="progress")


def told(request: ConsoleRequest, place: Place, job: Job) -> dict[str, Any]:
    """What a run found, what got worse first, and how many there are of each."""
    rows = verbs.report(place, job)
    shown = questions(request, [row.question for row in rows])
    for row, one in zip(rows, shown, strict=True):
        one["now"], one["before"] = outcome(row.now), outcome(row.before)
        one["change"], one["change_said"] = row.change, CHANGES[row.change]
    count = {change: sum(row.change == change for row in rows) for change in CHANGES}
    return {
        "rows": shown,
        "counts": [(CHANGES[change], number) for change, number in count.items() if number],
        "worse": count["worse"],
        "found": sum(row.now.rank is not None for row in rows),
        "left_out": len(job.payload["questions"]) - len(rows),
    }
