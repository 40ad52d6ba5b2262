"""What webhooks are told: something to review, decided, or a conflict; a consolidation that ended; work that failed.

Called in the transaction of what happened. A webhook of the organisation is set by its owners, and owning gives no
sight of its memories: one is named, by its id, only where an owner sees it. A person's own is told of what that person
reviews, and of work that the person is shown among the jobs; whoever does not see it is told nothing, not even less.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from members import outbox
from members.callers import Caller, caller_for
from members.models import Member
from memories.access import Privilege
from memories.models import Job, Memory, ReviewItem, Run
from memories.models.grants import Reach, holders

REVIEWS = Privilege.READ | Privilege.DELETE


def opened(item: ReviewItem, *, again: bool = False) -> None:
    """Tell that there is something to review; `again` when a decision was taken back."""
    kind = "conflict.opened" if item.kind == ReviewItem.Kind.CONFLICT else "review.opened"
    _about(item, kind, {"again": again})


def decided(items: Iterable[ReviewItem]) -> None:
    """Tell that these are open no more: kept, declined, dismissed, accepted by themselves or withdrawn."""
    for item in items:
        _about(item, "review.decided", {})


def finished(run: Run) -> None:
    """Tell that a consolidation ended, and how much it changed."""
    counts = {name: getattr(run, name) for name in ("created", "superseded", "forgotten", "conflicts")}
    what = {"run_id": run.id, "state": str(run.state), **counts}

    def said() -> outbox.Said:
        memory = _memory(run.organisation_id, run.memory_id)
        return ("run", run.memory_id, run.id) if memory else ("runs-all",), {**memory, **what}

    def may(callers: Sequence[Caller]) -> Collection[str]:
        return _reviewing(callers, run.memory_id)

    def theirs() -> outbox.Said:
        return ("run", run.memory_id, run.id), {"memory_id": run.memory_id, **what}

    outbox.emit(run.organisation_id, "consolidation.finished", said, outbox.Personal(may, theirs))


def failed(job: Job) -> None:
    """Tell that work in the background was given up; never where."""
    # That module runs jobs, which tell of their failures here.
    from .background import NEEDED

    def said() -> outbox.Said:
        return ("jobs",), {"job_id": job.id, "kind": job.kind}

    def may(callers: Sequence[Caller]) -> Collection[str]:
        asked = {one.member.id for one in callers if one.member.principal == job.actor}
        if job.kind not in NEEDED:
            return asked | {one.member.id for one in callers if one.member.is_owner}
        kept = holding(callers, job.memory_id, Privilege.DELETE)
        return asked | kept | holding(callers, job.memory_id, NEEDED[job.kind])

    outbox.emit(job.organisation_id, "job.failed", said, outbox.Personal(may, said))


def holding(callers: Sequence[Caller], memory_id: str, privilege: Privilege) -> set[str]:
    """The ids of the members who hold a privilege on a memory by the rule that enforces it; one query for all."""
    asked = {principal for one in callers for principal in one.principals}
    reach = Reach.objects.filter(holders(asked, privilege), descendant=memory_id)
    found = set(reach.values_list("ancestor__holdings__principal", flat=True))
    return {one.member.id for one in callers if one.principals & found}


def _about(item: ReviewItem, kind: str, more: Mapping[str, Any]) -> None:
    what = {"item_id": item.id, "kind": str(item.kind), "state": str(item.state), **more}
    page = ("inbox-item", item.id)

    def said() -> outbox.Said:
        return page, {**_memory(item.organisation_id, item.memory_id), **what}

    def may(callers: Sequence[Caller]) -> Collection[str]:
        mine = (item.writer, item.on_behalf_of)
        return _reviewing([one for one in callers if one.member.principal not in mine], item.memory_id)

    def theirs() -> outbox.Said:
        return page, {"memory_id": item.memory_id, **what}

    outbox.emit(item.organisation_id, kind, said, outbox.Personal(may, theirs))


def _reviewing(callers: Sequence[Caller], memory_id: str) -> set[str]:
    return holding([one for one in callers if one.member.type == Member.Type.HUMAN], memory_id, REVIEWS)


def _memory(organisation_id: str, memory_id: str) -> dict[str, str]:
    owners = Member.objects.of(organisation_id).active().filter(is_owner=True)
    principals = {one for owner in owners for one in caller_for(owner).principals}
    seen = Memory.objects.of(organisation_id).filter(pk=memory_id).held_by(principals)
    return {"memory_id": memory_id} if seen.exists() else {}
