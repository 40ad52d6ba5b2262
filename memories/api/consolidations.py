"""Endpoints on consolidation runs: start, list, one, its changes, and taking it back (Memories §2.11, §4.15)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from memories.access import Privilege
from memories.models import Run
from memories.services import reverting, runs, undoing_many
from memories.services.runs import Budget, Changed
from uhp_site.http import pagination
from uhp_site.http.fields import Fields
from uhp_site.http.views import Begun

from . import document_runs, shapes
from .base import MemoryEndpoint, Needs
from .runs import ASYNC, prefers_async

MOST_BUDGET = 10**12
MOST_CHANGES = 1_000
# How many records an answer names of each outcome of taking back.
MOST_NAMED = 1_000
KINDS = {"supported": "x_supported"}


class Consolidations(MemoryEndpoint):
    """The runs of a memory."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,), "POST": (Privilege.WRITE,)}

    @document_runs.list_runs
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """List runs, newest first."""
        query = self.query(request)
        limit = pagination.read_limit(query, pagination.DEFAULT)
        found = runs.listed(self.place, limit + 1, pagination.read_time_cursor(query))
        page, following = pagination.cut(found, limit, lambda one: (one.created_at.isoformat(), one.id))
        return shapes.listed(map(shown, page), following)

    @document_runs.start_run
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Start a run in the background; one at a time for each memory."""
        return shown(runs.start(self.place, read_budget(self.body(request))))


class ConsolidationDetail(MemoryEndpoint):
    """One run."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,)}

    @document_runs.read_run
    def get(self, request: Request, memory_id: str, run_id: str) -> dict[str, Any]:
        """Read how a run stands."""
        return shown(runs.find(self.place, run_id))


class ConsolidationChanges(MemoryEndpoint):
    """What one run changed."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,)}

    @document_runs.list_changes
    def get(self, request: Request, memory_id: str, run_id: str) -> dict[str, Any]:
        """List every record that the run created, superseded or forgot, in its order, and why."""
        paging = pagination.read(self.query(request), int)
        run = runs.find(self.place, run_id)
        found, following = runs.changes(self.place, run, paging.limit, paging.after[0] if paging.after else 0)
        versions = [one.shown for one in found]
        before = [one.before for one in found if one.before and one.after]
        resolved = self.reader.resolved([*versions, *before])
        earlier = {
            (one.id, one.number): shapes.record(one, references)
            for one, references in zip(before, resolved[len(versions) :], strict=True)
        }
        data = [
            {**shapes.record(one.shown, references), **change(one, earlier)}
            for one, references in zip(found, resolved[: len(versions)], strict=True)
        ]
        return shapes.listed(data, pagination.make_cursor(following) if following else None)


class ConsolidationRevert(MemoryEndpoint):
    """Taking a run back."""

    needs: ClassVar[Needs] = {"POST": (Privilege.DELETE,)}

    @document_runs.revert_run
    def post(self, request: Request, memory_id: str, run_id: str) -> dict[str, Any] | Begun:
        """Revert: forget what the run created and bring back the rest as new versions; `x_changes` names a part."""
        body = self.body(request)
        chosen = body.words("x_changes", longest=80, most=MOST_CHANGES) if body.has("x_changes") else None
        begun = undoing_many.begin(self.place, run_id, chosen, later=prefers_async(request))
        return shown(begun) if isinstance(begun, Run) else Begun({"job": begun.id})

    def resume(self, begun: dict[str, Any]) -> Any:
        """The run once all of it is taken back, or for `respond-async` the job as it is."""
        if prefers_async(self.request):
            job = shapes.job(undoing_many.find(self.place, begun["job"]))
            return Response(job, status=202, headers={"Preference-Applied": ASYNC})
        return shown(undoing_many.finish(self.place, begun["job"]))


def read_budget(body: Fields) -> Budget | None:
    """The budget of a run, or None without one. Raises MemoryInvalid, naming the field."""
    value = body.data.get("budget")
    if value is None:
        return None
    if not isinstance(value, dict):
        raise body.refuse("budget", "A budget is an object with a limit.")
    fields = Fields(value, "budget")
    limit = fields.integer("limit", least=1, most=MOST_BUDGET)
    if limit is None:
        raise fields.refuse("limit", "This field is required.")
    return Budget(limit, fields.choice("unit", Run.Unit.values, Run.Unit.TOKENS))


def shown(run: Run) -> dict[str, Any]:
    """A consolidation run; what is ours beside the protocol begins with `x_`, but for `revert`."""
    answer: dict[str, Any] = {
        "id": run.id,
        "object": "memory.consolidation",
        "memory_id": run.memory_id,
        "status": run.state,
        "trigger": run.trigger,
        "started_at": seconds(run.started_at),
        "finished_at": seconds(run.finished_at),
        "read": {"episodes": run.episodes, "through": shapes.instant(run.through_at)},
        "changes": {"created": run.created, "superseded": run.superseded, "forgotten": run.forgotten},
        "usage": {"input_tokens": run.input_tokens, "output_tokens": run.output_tokens},
        "budget": {"exhausted": run.exhausted},
        "written_by": {"kind": "provider", "id": run.engine},
        "error": run.error,
        "x_supported": run.supported,
        "x_conflicts": run.conflicts,
    }
    if run.budget_limit is not None:
        answer["budget"] |= {"limit": run.budget_limit, "unit": run.budget_unit}
    if run.reverted_at:
        outcome = reverting.outcome_of(run, MOST_NAMED)
        answer["reverted"] = bool(outcome["restored"] or outcome["forgotten"])
        answer["revert"] = {"at": shapes.instant(run.reverted_at), **outcome}
    return answer


def change(one: Changed, earlier: dict[tuple[str, int], dict[str, Any]]) -> dict[str, Any]:
    """What a change adds to the record it is about (contract A-07)."""
    row = one.change
    answer: dict[str, Any] = {
        "change": KINDS.get(row.kind, row.kind),
        "x_change": {
            "id": row.id,
            "reason": row.reason,
            "before": row.before,
            "after": row.after,
            "sources": row.sources,
            "outcome": row.outcome,
            "accepted_by": row.accepted_by,
            "accepted_at": shapes.instant(row.accepted_at),
        },
    }
    if one.before and one.after:
        answer["x_before"] = earlier[one.before.id, one.before.number]
    return answer


def seconds(moment: datetime | None) -> int | None:
    """A time of a run: Unix seconds."""
    return int(moment.timestamp()) if moment else None
