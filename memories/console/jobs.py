"""What runs in the background: state, progress, whose it is, what went wrong; try again, stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Job
from memories.services import background, erasure
from memories.services.reverting import REVERT
from memories.services.tree import CONSOLIDATION
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from .nodes import address
from .principals import Named, named

PAGE = 50
State = Job.State
KINDS = {
    "consolidation": "Consolidation",
    "erase": "Erasure",
    "revert": "Undoing a consolidation",
    "observe": "Keeping what was said",
    "purge": "Removing a deleted memory",
    "reembed": "Making vectors of another model",
    "index_vectors": "Building an index of vectors",
    "index_words": "Indexing words in another language",
}
STATES = {
    State.QUEUED: ("waiting", "neutral"),
    State.RUNNING: ("running", "accent"),
    State.COMPLETED: ("done", "neutral"),
    State.FAILED: ("failed", "danger"),
    State.CANCELLED: ("cancelled", "neutral"),
}
FILTERS = [
    ("", "All", ()),
    ("unfinished", "Waiting and running", (State.QUEUED, State.RUNNING)),
    ("failed", "Failed", (State.FAILED,)),
    ("done", "Done", (State.COMPLETED,)),
    ("cancelled", "Cancelled", (State.CANCELLED,)),
]


@dataclass(frozen=True)
class JobView:
    """A job as a row; of one that is not `open` only kind and state are said."""

    id: str
    kind: str
    state: str
    tone: str
    open: bool
    running: bool
    done: int
    total: int | None
    error: str
    by: Named | None
    memory: str
    memory_url: str
    url: str
    created_at: datetime | None
    finished_at: datetime | None
    retry_url: str
    cancel_url: str


@member_page
@require_GET
def jobs(request: ConsoleRequest) -> HttpResponse:
    """The jobs that concern a person, newest first; owners are told of the others that there is one."""
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in {name for name, _, _ in FILTERS} else ""
    states = next(states for name, _, states in FILTERS if name == chosen)
    after = pagination.read_time_cursor(Fields(request.GET.dict()))
    found = background.listed(request.caller, PAGE + 1, after, states=states, every=True)
    page, following = pagination.cut(found, PAGE, lambda one: (one.created_at.isoformat(), one.id))
    kept = {"state": chosen} if chosen else {}
    here = f"{request.path}?{urlencode(kept)}" if kept else request.path
    rows = views(request, page)
    context = {
        **shell(request, "jobs"),
        "jobs": rows,
        "filters": [
            {"label": label, "url": f"{request.path}?state={name}" if name else request.path, "current": name == chosen}
            for name, label, _ in FILTERS
        ],
        "state": chosen,
        "watch_url": request.get_full_path() if any(one.running for one in rows) else None,
        "next_url": f"{request.path}?{urlencode({**kept, 'cursor': following})}" if following else None,
        "first_url": here if after else None,
        "jobs_url": request.path,
        "runs_url": address(request, "runs-all"),
        "schedule_url": address(request, "schedule-all") if request.caller.member.is_owner else None,
    }
    return pages.answer(request, "memories/jobs.html", context, fragment="jobs")


def views(request: ConsoleRequest, found: Sequence[Job]) -> list[JobView]:
    """Jobs as rows, in a constant number of queries."""
    told = background.shown(request.caller, found)
    names = named(request.organisation.id, {one.job.actor for one in told if one.open and one.job.actor})
    return [view(request, one, names.get(one.job.actor)) for one in told]


def view(request: ConsoleRequest, one: background.Shown, by: Named | None) -> JobView:
    """One job, as far as the person is told of it."""
    job, memory = one.job, one.memory
    state, tone = STATES[State(job.state)]
    running = job.state in (State.QUEUED, State.RUNNING)
    retries = one.commands and job.state == State.FAILED
    cancels = one.commands and running and job.kind == CONSOLIDATION
    return JobView(
        id=job.id,
        kind=KINDS.get(job.kind, job.kind.replace("_", " ").capitalize()),
        state=state,
        tone=tone,
        open=one.open,
        running=running,
        done=job.done if one.open else 0,
        total=job.total if one.open else None,
        error=job.error if one.open else "",
        by=by if one.open else None,
        memory=memory.name if memory else "",
        memory_url=address(request, "memory", memory.id) if memory else "",
        url=page_of(request, one),
        created_at=job.created_at if one.open else None,
        finished_at=job.finished_at if one.open else None,
        retry_url=address(request, "job-retry", job.id) if retries else "",
        cancel_url=address(request, "job-cancel", job.id) if cancels else "",
    )


def page_of(request: ConsoleRequest, one: background.Shown) -> str:
    """Where more is told of a job, if the person may see that."""
    job, memory = one.job, one.memory
    held = Privilege(memory.held) if memory else Privilege.NONE
    of_run = job.kind in (CONSOLIDATION, REVERT) and job.payload.get("run")
    if memory and of_run and held & (Privilege.READ | Privilege.DELETE):
        return address(request, "run", memory.id, job.payload["run"])
    if memory and job.kind == erasure.KIND and held & (Privilege.READ | Privilege.DELETE):
        return address(request, "job", memory.id, job.id)
    return ""


@member_page
@require_POST
def retry(request: ConsoleRequest, job_id: str) -> HttpResponse:
    """Try a failed job once more."""
    try:
        background.retry(request.caller, job_id)
    except MemoryInvalid as refusal:
        messages.error(request, refusal.message)
    else:
        messages.success(request, "It is tried again.")
    return back(request)


@member_page
@require_POST
def cancel(request: ConsoleRequest, job_id: str) -> HttpResponse:
    """Stop what may be stopped: a consolidation."""
    try:
        job = background.cancel(request.caller, job_id)
    except MemoryInvalid as refusal:
        messages.error(request, refusal.message)
    else:
        waiting = job.state == State.RUNNING
        messages.success(request, "It stops after the episodes it is at." if waiting else "It is stopped.")
    return back(request)


def back(request: ConsoleRequest) -> HttpResponse:
    """To the list, filtered as it was."""
    state = request.POST.get("state", "")
    url = address(request, "jobs")
    known: dict[str, Any] = {name: label for name, label, _ in FILTERS if name}
    return redirect(f"{url}?state={state}" if state in known else url)
