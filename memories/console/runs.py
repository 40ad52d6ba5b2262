"""Consolidation runs: those of a memory and of the organisation, one to start, one as a page to review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.models import Conflict, Held, Job, Run
from memories.services import accepting, reverting, schedules
from memories.services import runs as verbs
from memories.services.looked_at import UNDONE
from memories.services.sight import Place, look
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryBusy, MemoryUnsupported
from uhp_site.http.fields import Fields

from .memory import memory_context
from .nodes import address
from .principals import Named, named
from .questions import counted, led
from .records import frame, number
from .run_changes import KINDS, groups
from .schedules import said as rule_said

PAGE = 25
MOST_BUDGET = 10_000_000
STATES = {
    Run.State.QUEUED: ("waiting", "neutral"),
    Run.State.RUNNING: ("running", "accent"),
    Run.State.COMPLETED: ("completed", "neutral"),
    Run.State.STOPPED: ("stopped", "caution"),
    Run.State.FAILED: ("failed", "danger"),
}
TRIGGERS = {Run.Trigger.SCHEDULE: "on schedule", Run.Trigger.IDLE: "after it was quiet", Run.Trigger.REQUEST: ""}


class StartForm(forms.Form):
    """How much a run may use."""

    limit = forms.IntegerField(
        label="At most", min_value=1, max_value=MOST_BUDGET, required=False, help_text="Empty: everything that is new."
    )
    unit = forms.ChoiceField(
        label="Counted in", choices=[("episodes", "episodes"), ("tokens", "tokens")], initial="episodes"
    )


@dataclass(frozen=True)
class RunView:
    """A run as lists and its page show it."""

    id: str
    url: str
    state: str
    tone: str
    trigger: str
    by: Named | None
    said: str
    tokens: int
    budget: str
    engine: str
    error: str
    created_at: datetime
    finished_at: datetime | None
    reverted_at: datetime | None
    memory: str = ""
    looked_at: int = 0
    to_look_at: int = 0


def views(request: ConsoleRequest, found: Sequence[Run], *, of_many: bool = False) -> list[RunView]:
    """Runs as rows, in a constant number of queries; `of_many` says which memory each is of."""
    names = named(request.organisation.id, {one.actor for one in found if one.trigger == Run.Trigger.REQUEST})
    seen = accepting.progress(found)
    none = accepting.Progress(0, 0)
    return [
        RunView(
            id=one.id,
            url=address(request, "run", one.memory_id, one.id),
            state="stopping" if one.is_active and one.stop_asked else STATES[Run.State(one.state)][0],
            tone=STATES[Run.State(one.state)][1],
            trigger=TRIGGERS[Run.Trigger(one.trigger)],
            by=names[one.actor] if one.trigger == Run.Trigger.REQUEST else None,
            said=summary(one),
            tokens=one.tokens,
            budget=budget(one),
            engine=one.engine,
            error=one.error,
            created_at=one.created_at,
            finished_at=one.finished_at,
            reverted_at=one.reverted_at,
            memory=one.memory.name if of_many else "",
            looked_at=seen.get(one.id, none).looked_at,
            to_look_at=seen.get(one.id, none).total,
        )
        for one in found
    ]


def summary(run: Run) -> str:
    """What a run did, in one sentence."""
    if run.state == Run.State.QUEUED:
        return "It waits for its turn."
    done = [
        (run.created, "wrote {}", "record", "records"),
        (run.superseded, "replaced {}", "record", "records"),
        (run.forgotten, "forgot {}", "record", "records"),
        (run.supported, "heard {} again", "record", "records"),
        (run.conflicts, "left {} to a person", "conflict", "conflicts"),
    ]
    parts = [verb.format(counted(many, one, more)) for many, verb, one, more in done if many]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)
    so_far = " so far" if run.is_active else ""
    read = f"It read {counted(run.episodes, 'episode', 'episodes')}{so_far}"
    return f"{read}: it {listed}." if listed else f"{read} and changed nothing."


def budget(run: Run) -> str:
    """What a run was allowed to use; empty for everything."""
    if run.budget_limit is None:
        return ""
    spent = ", which it used up" if run.exhausted else ""
    return f"at most {run.budget_limit:,} {run.budget_unit}{spent}"


@member_page
@require_http_methods(["GET", "POST"])
def runs(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The runs of a memory, and the form that starts one."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE if request.method == "POST" else Privilege.READ)
    form, error = StartForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST" and form.is_valid():
        limit, unit = form.cleaned_data["limit"], form.cleaned_data["unit"]
        try:
            run = verbs.start(place, verbs.Budget(limit, unit) if limit else None)
        except (MemoryBusy, MemoryUnsupported) as refusal:
            error = refusal.message
        else:
            return led(request, address(request, "run", memory_id, run.id))
    if Privilege.READ not in place.privileges:
        messages.error(request, error or "The budget has to be a whole number.")
        return redirect("console:memory", request.organisation.slug, memory_id)
    writes = Privilege.WRITE in place.privileges
    rule = schedules.rule_for(place.memory)
    context = {
        **memory_context(request, place, "runs"),
        **listed(request, place),
        "start_form": form if writes else None,
        "start_error": error,
        "runs_url": request.path,
        "rule": rule_said(rule),
        "schedule_url": address(request, "schedule", memory_id),
        "conflicts_url": address(request, "conflicts", memory_id),
        "conflicts": Conflict.objects.filter(memory_id=memory_id, state=Conflict.State.OPEN).count(),
    }
    status = 422 if error or form.errors else 200
    return pages.answer(request, "memories/runs.html", context, fragment="runs", status=status)


def listed(request: ConsoleRequest, place: Place) -> dict[str, Any]:
    """One page of the runs of a memory."""
    try:
        after = pagination.read_time_cursor(Fields(request.GET.dict()))
        found = verbs.listed(place, PAGE + 1, after)
    except MemoryUnsupported:
        return {"runs": [], "unsupported": True}
    return paged(request, found, bool(after))


def paged(request: ConsoleRequest, found: Sequence[Run], later: bool, *, of_many: bool = False) -> dict[str, Any]:
    """Runs with where the next ones are."""
    page, following = pagination.cut(found, PAGE, lambda one: (one.created_at.isoformat(), one.id))
    return {
        "runs": views(request, page, of_many=of_many),
        "next_url": f"{request.path}?{urlencode({'cursor': following})}" if following else None,
        "first_url": request.path if later else None,
    }


@member_page
@require_GET
def everywhere(request: ConsoleRequest) -> HttpResponse:
    """The runs of every memory that the person reads."""
    after = pagination.read_time_cursor(Fields(request.GET.dict()))
    context = {
        **shell(request, "jobs"),
        **paged(request, verbs.everywhere(request.caller, PAGE + 1, after), bool(after), of_many=True),
        "jobs_url": address(request, "jobs"),
        "runs_url": request.path,
        "schedule_url": address(request, "schedule-all") if request.caller.member.is_owner else None,
    }
    return pages.answer(request, "memories/runs_all.html", context, fragment="runs")


@member_page
@require_GET
def run(request: ConsoleRequest, memory_id: str, run_id: str) -> HttpResponse:
    """A run to review: what it did and why. While it works the page asks for itself; `so_far` shows what is there."""
    place = look(request.caller, memory_id)
    found = verbs.find(place, run_id)
    reads = Privilege.READ in place.privileges
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else ""
    undoing = at_it(place, found)
    watched = bool(found.is_active or undoing) and not kind and "so_far" not in request.GET
    url = address(request, "run", memory_id, run_id)
    open_conflicts = Conflict.objects.filter(run=found, state=Conflict.State.OPEN).count() if found.conflicts else 0
    if request.htmx and "watched" in request.GET and not watched:
        over = "It is undone." if found.reverted_at else f"The run is over. {summary(found)}"
        messages.success(request, over)
    context = {
        **frame(request, place),
        "memory": place.memory,
        "run": views(request, [found])[0],
        "active": found.is_active,
        "watched": watched,
        "undoing": {"done": undoing.done, "total": undoing.total, "error": undoing.error} if undoing else None,
        "done": found.episodes,
        "total": found.budget_limit if found.budget_unit == Run.Unit.EPISODES else None,
        "groups": groups(request, place, found, kind, number(request.GET.get("after")) or 0)
        if reads and not watched
        else [],
        "kind": kind,
        "unreadable": not reads,
        "run_url": url,
        "runs_url": address(request, "runs", memory_id),
        "conflicts": open_conflicts,
        "conflicts_url": address(request, "conflicts", memory_id) if reads else None,
        "stop_url": address(request, "run-stop", memory_id, run_id)
        if found.is_active and not found.stop_asked and Privilege.WRITE in place.privileges
        else None,
        **(reverts(request, place, found) if undoing is None else {"revert_url": None}),
        **waiting(request, place, found),
    }
    return pages.answer(request, "memories/run.html", context, fragment="run")


def at_it(place: Place, found: Run) -> Job | None:
    """The job that takes back something of a run right now."""
    job = reverting.undoing(place.memory)
    return job if job and job.payload.get("run") == found.id else None


def reverts(request: ConsoleRequest, place: Place, found: Run) -> dict[str, Any]:
    """Where to take a run back or to accept it, for those who may; the rest of it when something was decided."""
    may = Privilege.DELETE | Privilege.READ
    if found.is_active or not found.changes or place.privileges & may != may:
        return {"revert_url": None}
    left = reverting.remaining(found).exists()
    fresh = accepting.open_in(found).exists()
    decided = accepting.to_look_at(found).exclude(accepted_at=None, outcome__in=["", "skipped"])
    kept, some = decided.exclude(outcome__in=UNDONE).exists(), decided.exists()
    url = address(request, "run-revert", place.memory.id, found.id)
    accepts = fresh and accepting.may_accept(place)
    return {
        "revert_url": url if left and (kept or not some or not fresh) else None,
        "revert_label": "Undo all…",
        "rest_url": f"{url}?rest=yes" if some and fresh else None,
        "accept_url": address(request, "run-accept", place.memory.id, found.id) if accepts else None,
        "accept_label": "Accept the rest" if some else "Accept all",
    }


def waiting(request: ConsoleRequest, place: Place, found: Run) -> dict[str, Any]:
    """What a run wrote that waits for a person or was declined: how many, and where those who review find them."""
    kept = Held.objects.filter(consolidation_id=found.id, memory_id=place.memory.id)
    counts = dict(kept.order_by().values_list("state").annotate(total=Count("pk")))
    query = urlencode({"memory": place.memory.id, "writer": f"provider:{found.engine}", "waits": "yes"})
    waits, declined = counts.get(Held.State.WAITING, 0), counts.get(Held.State.DECLINED, 0)
    parts = [
        f"{counted(many, 'record', 'records')} {verb}"
        for many, verb in ((waits, "waits for a person" if waits == 1 else "wait for a person"), (declined, "declined"))
        if many
    ]
    return {
        "held": waits,
        "held_declined": declined,
        "held_said": f"Of what it wrote: {', '.join(parts)}. Undoing the run does not touch them.",
        "held_url": f"{address(request, 'inbox')}?{query}" if accepting.may_accept(place) else None,
    }


@member_page
@require_POST
def stop(request: ConsoleRequest, memory_id: str, run_id: str) -> HttpResponse:
    """Stop a run; what it did stays."""
    place = look(request.caller, memory_id)
    stopped = verbs.stop(place, run_id)
    said = "It stops after the episodes it is at." if stopped.is_active else "It was stopped."
    messages.success(request, f"{said} What it did stays until you undo it.")
    return led(request, address(request, "run", memory_id, run_id))
