"""What webhooks are told: something to review, decided, or a conflict; a consolidation that ended; work that failed.

Called in the transaction of what happened. A webhook is set by the owners of an organisation, and owning gives no sight
of its memories: one is named, by its id, only where an owner sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from members import outbox
from members.callers import caller_for
from members.models import Member
from memories.models import Job, Memory, ReviewItem, Run


def opened(item: ReviewItem, *, again: bool = False) -> None:
    """Tell that there is something to review; `again` when a decision was taken back."""
    kind = "conflict.opened" if item.kind == ReviewItem.Kind.CONFLICT else "review.opened"
    outbox.emit(item.organisation_id, kind, lambda: (_inbox(item), {**_item(item), "again": again}))


def decided(items: Iterable[ReviewItem]) -> None:
    """Tell that these are open no more: kept, declined, dismissed, accepted by themselves or withdrawn."""
    for item in items:
        _decided(item)


def finished(run: Run) -> None:
    """Tell that a consolidation ended, and how much it changed."""

    def said() -> outbox.Said:
        memory = _memory(run.organisation_id, run.memory_id)
        counts = {name: getattr(run, name) for name in ("created", "superseded", "forgotten", "conflicts")}
        page = ("run", run.memory_id, run.id) if memory else ("runs-all",)
        return page, {**memory, "run_id": run.id, "state": str(run.state), **counts}

    outbox.emit(run.organisation_id, "consolidation.finished", said)


def failed(job: Job) -> None:
    """Tell that work in the background was given up; never where."""
    outbox.emit(job.organisation_id, "job.failed", lambda: (("jobs",), {"job_id": job.id, "kind": job.kind}))


def _decided(item: ReviewItem) -> None:
    outbox.emit(item.organisation_id, "review.decided", lambda: (_inbox(item), _item(item)))


def _inbox(item: ReviewItem) -> tuple[str, ...]:
    return "inbox-item", item.id


def _item(item: ReviewItem) -> dict[str, Any]:
    memory = _memory(item.organisation_id, item.memory_id)
    return {**memory, "item_id": item.id, "kind": str(item.kind), "state": str(item.state)}


def _memory(organisation_id: str, memory_id: str) -> dict[str, str]:
    owners = Member.objects.of(organisation_id).active().filter(is_owner=True)
    principals = {one for owner in owners for one in caller_for(owner).principals}
    seen = Memory.objects.of(organisation_id).filter(pk=memory_id).held_by(principals)
    return {"memory_id": memory_id} if seen.exists() else {}
