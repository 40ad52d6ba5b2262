"""What a decision of the inbox says of the run that wrote the record, so that both tell the same.

A change of a run and the item about its record are one thing to decide: whoever decides one has decided the other.
"""

from __future__ import annotations

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from memories.models import Held, ReviewItem, Run, RunChange
from memories.providers.base import RecordVersion

from . import held

APPROVED = "approved"
KIND, OUTCOME, State = RunChange.Kind, RunChange.Outcome, ReviewItem.State
UNDONE = [OUTCOME.RESTORED, OUTCOME.FORGOTTEN]
COUNTERS = {KIND.CREATED.value: "created", KIND.SUPERSEDED.value: "superseded"}


def follow(item: ReviewItem) -> None:
    """Note at the changes of runs what somebody decided about their record: agreed, or refused."""
    found = _about(item)
    if found is None:
        return
    if item.state == State.KEPT:
        waiting = found.filter(accepted_at=None).exclude(outcome__in=UNDONE)
        waiting.update(accepted_by=item.reviewer, accepted_at=item.decided_at)
    elif item.state == State.DECLINED:
        left = found.exclude(outcome__in=UNDONE)
        left.filter(kind=KIND.CREATED).update(outcome=OUTCOME.FORGOTTEN, outcome_at=item.decided_at)
        left.exclude(kind=KIND.CREATED).update(outcome=OUTCOME.RESTORED, outcome_at=item.decided_at)


def unfollow(item: ReviewItem) -> None:
    """Take that back, before the item is open again."""
    found = _about(item)
    if found is None or item.decided_at is None:
        return
    agreed = found.filter(accepted_by=item.reviewer, accepted_at=item.decided_at)
    agreed.update(accepted_by="", accepted_at=None)
    found.filter(outcome_at=item.decided_at).update(outcome="", outcome_at=None)


def written(kept: Held, version: RecordVersion, reviewer: str) -> None:
    """Count what a run wrote and a person let through among its changes, looked at by that person."""
    run = _run_of(kept)
    if run is None:
        return
    # One that was let through before, and taken back, was forgotten with that: it is new again.
    new = kept.base is None or kept.reopens
    kind = KIND.CREATED if new else KIND.SUPERSEDED
    counter = COUNTERS[kind.value]
    Run.objects.filter(pk=run.pk).update(**{counter: F(counter) + 1, "changes": F("changes") + 1})
    RunChange.objects.create(
        organisation_id=run.organisation_id,
        memory_id=run.memory_id,
        run=run,
        position=run.changes + 1,
        kind=kind,
        record_id=kept.record_id,
        before=None if new else kept.base,
        after=version.number,
        sources=[one.record_id for one in version.draft.references if one.rel == held.DERIVED],
        reason=APPROVED,
        content_hash=kept.content_hash,
        accepted_by=reviewer,
        accepted_at=timezone.now() if reviewer else None,
    )


def unwritten(kept: Held) -> None:
    """Take that back: it waits again."""
    run = _run_of(kept)
    if run is None:
        return
    # Of all that was let through of it, what is taken back is the last; positions are not given twice.
    change = RunChange.objects.filter(run=run, record_id=kept.record_id, reason=APPROVED).order_by("position").last()
    if change is not None:
        counter = COUNTERS[change.kind]
        Run.objects.filter(pk=run.pk).update(**{counter: F(counter) - 1})
        change.delete()


def _run_of(kept: Held) -> Run | None:
    if not kept.consolidation_id:
        return None
    runs = Run.objects.select_for_update(of=("self",)).filter(memory_id=kept.memory_id, pk=kept.consolidation_id)
    return runs.first()


def _about(item: ReviewItem) -> QuerySet[RunChange] | None:
    if item.held_id or item.version is None or item.kind not in (ReviewItem.Kind.NEW, ReviewItem.Kind.REVISED):
        return None
    same = Q(record_id=item.record_id, after=item.version)
    if item.also and item.content_hash:
        same |= Q(record_id__in=item.also, content_hash=item.content_hash)
    return RunChange.objects.filter(same, memory_id=item.memory_id)
