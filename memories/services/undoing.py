"""Taking a decision of a review back, and what happens to items by themselves: accepted in time, and emptied."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from members.callers import Caller
from members.events import SYSTEM
from memories.content import Draft
from memories.models import Held, Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from uhp_site.http.errors import MemoryNotFound, UHPError, VersionConflict

from . import deciding, judging, looked_at, refusals, reviewing, types
from .judging import CHANGED, Step
from .records import writer
from .sight import look

LAST = 20
# How long a decision can be taken back, and what was declined is kept for that.
UNDO_FOR = timedelta(hours=24)
BATCH = 200
State = ReviewItem.State


@transaction.atomic
def undo(caller: Caller, item_id: str) -> ReviewItem:
    """Take back one of the caller's last twenty decisions of a day; the item is open again.

    Raises MemoryNotFound when it is none of those, VersionConflict, and nothing is done, when a record was changed
    since. A conflict takes what deciding it took: MemoryForbidden without write.
    """
    ReviewItem.objects.select_for_update().filter(organisation_id=caller.organisation_id, pk=item_id).first()
    item = next((one for one in reviewing.recent(caller, LAST) if one.id == item_id), None)
    if item is None or item.decided_at is None or item.decided_at < timezone.now() - UNDO_FOR:
        raise MemoryNotFound()
    place = look(caller, item.memory_id)
    if not reviewing.may_review(caller, place):
        raise MemoryNotFound()
    taken = dict(item.undo or {})
    for step in reversed([Step(**one) for one in taken.get("steps", ())]):
        _back(step, writer(place))
    if taken.get("refused"):
        refusals.accept(item.memory_id, [item.content_hash])
    if taken.get("conflict"):
        deciding.reopen(place, taken)
    if item.held_id:
        _wait_again(item)
    looked_at.unfollow(item)
    item.state, item.reviewer, item.decided_at, item.note, item.undo = State.OPEN, "", None, "", None
    if ReviewItem.objects.filter(memory_id=item.memory_id, key=item.key, state=State.OPEN).exists():
        raise VersionConflict(CHANGED)
    item.save(update_fields=["state", "reviewer", "decided_at", "note", "undo"])
    judging.happened(item, caller.actor, "review.undone")
    return item


def _back(step: Step, by: Writer) -> None:
    memory = Memory.objects.filter(pk=step.memory_id).first()
    if memory is None:
        raise VersionConflict(CHANGED)
    provider = registry.get(memory.provider)

    def unchanged(head: RecordVersion) -> None:
        if head.number != step.made:
            raise VersionConflict(CHANGED)

    if step.to is None:
        done = provider.forget(memory.id, step.record_id, unchanged)
    else:
        old = provider.numbered(memory.id, step.record_id, {step.to}).get(step.to)

        def again(head: RecordVersion) -> Draft:
            unchanged(head)
            if old is None:
                raise VersionConflict(CHANGED)
            registered = types.find(memory.organisation_id, old.draft.type)
            return replace(old.draft, projection=registered.text) if registered else old.draft

        done = provider.revise(memory.id, step.record_id, again, by)
        done = done or provider.reopen(memory.id, step.record_id, again, by)
    if done is None:
        raise VersionConflict(CHANGED)


def _wait_again(item: ReviewItem) -> None:
    kept = Held.objects.select_for_update().get(pk=item.held_id)
    if kept.draft is None:
        raise VersionConflict(CHANGED)
    looked_at.unwritten(kept)
    memory = Memory.objects.get(pk=kept.memory_id)
    head = registry.get(memory.provider).get(memory.id, kept.record_id)
    kept.state, kept.reviewer, kept.decided_at, kept.note = Held.State.WAITING, "", None, ""
    if head:
        kept.base, kept.reopens = head.number, head.status == "forgotten"
    kept.save(update_fields=["state", "reviewer", "decided_at", "note", "base", "reopens"])


def sweep() -> int:
    """Accept what is due, and empty what cannot be taken back any more; returns how many were accepted."""
    now = timezone.now()
    due = ReviewItem.objects.filter(state=State.OPEN, due_at__lte=now).order_by("due_at").values_list("id", flat=True)
    accepted = sum(_accept(item_id) for item_id in list(due[:BATCH]))
    ended = now - UNDO_FOR
    Held.objects.filter(decided_at__lt=ended, draft__isnull=False).update(draft=None)
    ReviewItem.objects.filter(decided_at__lt=ended, undo__isnull=False).update(undo=None)
    return accepted


@transaction.atomic
def _accept(item_id: str) -> bool:
    item = (
        ReviewItem.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("memory")
        .filter(pk=item_id, state=State.OPEN, memory__deletion=None)
        .first()
    )
    if item is None:
        return False
    now = timezone.now()
    if item.held_id:
        try:
            with transaction.atomic():
                judging.approve(item.memory, item)
        except UHPError:
            # Something else became of the record meanwhile: a person has to look.
            ReviewItem.objects.filter(pk=item.pk).update(due_at=None)
            return False
        Held.objects.filter(pk=item.held_id).update(state=Held.State.APPROVED, decided_at=now)
    item.state, item.decided_at = State.ACCEPTED, now
    item.save(update_fields=["state", "decided_at"])
    judging.happened(item, SYSTEM, "review.accepted")
    return True
