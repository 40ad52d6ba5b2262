"""Where every write comes through: it is screened, and then is live, live and looked at afterwards, or waits.

Screening that fails stops the write. Nothing here asks for permission: whoever calls has done that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from memories.content import Draft, words_of
from memories.models import Held, Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import Change, Followed, RecordVersion, Writer
from memories.signals import context
from memories.signals.base import Signal
from memories.signals.look import look_at
from memories.signals.policy import Mode, Outcome, Policy, Written, strongest
from uhp_site.http.errors import MemoryUnavailable

from . import comparing, held, refusals, telling
from .policies import policy_of
from .sight import Place

MOST_ALSO = 100
HABIT_ROWS = 200
Kind, State = ReviewItem.Kind, ReviewItem.State

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Ruling:
    """What becomes of one write, why it is worth a look, and after how many days it is accepted by itself."""

    outcome: Outcome
    signals: tuple[Signal, ...] = ()
    accept_after_days: int | None = None


class _Waits(Exception):
    def __init__(self, draft: Draft, head: RecordVersion, ruling: Ruling) -> None:
        self.draft, self.head, self.ruling = draft, head, ruling


def remember(memory: Memory, draft: Draft, writer: Writer, follows: Followed | None = None) -> RecordVersion:
    """Write a new record, or keep it waiting: then the answer is the record as it would be, marked as held.

    Must run in a transaction. Raises MemoryUnavailable, and nothing is written, when it could not be screened.
    """
    assert connection.in_atomic_block, "a write and what becomes of it belong together"
    ruling = judge(memory, draft, writer, follows)
    if ruling.outcome == Outcome.HOLD:
        return _wait(memory, held.store(memory, draft, writer, follows=follows), draft, ruling)
    written = registry.get(memory.provider).remember(memory.id, draft, writer, follows)
    if ruling.outcome == Outcome.FLAG:
        said = refusals.content_hash(memory.id, draft)
        key = f"said:{said}" if said else f"record:{written.id}"
        _look(memory, Kind.NEW, key, _facts(draft, writer, written.id, said), ruling, version=written.number)
    return written


def revise(memory: Memory, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
    """Append a version, or keep it waiting while the one before stays current; None when there is no such record.

    Must run in a transaction. Raises what `change` raises, and MemoryUnavailable when it could not be screened.
    """
    assert connection.in_atomic_block, "a write and what becomes of it belong together"
    rulings: list[Ruling] = []

    def screened(head: RecordVersion) -> Draft:
        draft = change(head)
        ruling = judge(memory, draft, writer, head.follows, record_id=head.id)
        if ruling.outcome == Outcome.HOLD:
            raise _Waits(draft, head, ruling)
        rulings.append(ruling)
        return draft

    provider = registry.get(memory.provider)
    try:
        with transaction.atomic():
            written = provider.revise(memory.id, record_id, screened, writer)
    except _Waits as waits:
        # The record was let go of: it is not erased from here on, and may have been before.
        provider.derive(memory.organisation_id)
        if provider.get(memory.id, record_id) is None:
            return None
        kept = held.store(memory, waits.draft, writer, waits.head)
        return _wait(memory, kept, waits.draft, waits.ruling)
    if written is not None and rulings[-1].outcome == Outcome.FLAG:
        said = refusals.content_hash(memory.id, written.draft)
        facts = _facts(written.draft, writer, record_id, said)
        _look(memory, Kind.REVISED, f"record:{record_id}", facts, rulings[-1], version=written.number)
    return written


def amend(place: Place, record_id: str, change: Change, writer: Writer) -> RecordVersion | None:
    """Change what waits, by the one who wrote it; it goes on waiting. None when nothing of theirs waits there."""
    kept = held.waiting_for(place, record_id, writer)
    if kept is None:
        return None
    draft = change(held.version_of(kept))
    ruling = judge(place.memory, draft, writer, record_id=kept.record_id)
    kept.draft, kept.content_hash = held.line(draft), refusals.content_hash(place.memory.id, draft)
    kept.save(update_fields=["draft", "content_hash"])
    return _wait(place.memory, kept, draft, ruling)


def withdraw(place: Place, record_id: str, writer: Writer) -> RecordVersion | None:
    """Take back what waits, by the one who wrote it; None when nothing of theirs waits there."""
    kept = held.waiting_for(place, record_id, writer)
    if kept is None:
        return None
    version = held.version_of(kept)
    kept.state, kept.draft, kept.decided_at = Held.State.WITHDRAWN, None, timezone.now()
    kept.save(update_fields=["state", "draft", "decided_at"])
    _close(kept.items.filter(state=State.OPEN), State.WITHDRAWN)
    return version


def judge(
    memory: Memory, draft: Draft, writer: Writer, follows: Followed | None = None, *, record_id: str = ""
) -> Ruling:
    """What becomes of a draft, the next version of a record when one is named.

    Raises MemoryUnavailable when it could not be screened.
    """
    try:
        policy = policy_of(memory)
        return _judge(memory, policy, draft, writer, follows, record_id)
    except Exception as failure:
        log.error("screening_failed", memory_id=memory.id, failure=type(failure).__name__)
        raise MemoryUnavailable("What was written could not be screened, so it was not kept; try again.") from failure


def _judge(
    memory: Memory, policy: Policy, draft: Draft, writer: Writer, follows: Followed | None, record_id: str
) -> Ruling:
    kind = writer.kind if writer.kind == "provider" else writer.type or "human"
    if not policy.rules and (policy.mode == Mode.OFF or (policy.mode == Mode.FLAG and kind == "human")):
        return Ruling(Outcome.LIVE)
    attributes = draft.attributes or {}
    signals = list(look_at(words_of(draft.title, draft.content, {}), attributes))
    if kind != "human":
        signals += context.unusual(_habit(memory, f"{writer.kind}:{writer.id}"))
        trust = context.lowest_trust(["outside" if follows else kind])
        signals += [trust] if trust else []
    confidence = attributes.get("confidence")
    written = Written(
        writer=kind,
        principal=f"{writer.kind}:{writer.id}",
        type=draft.type,
        standing=attributes.get("standing") is True,
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        signals=tuple(signals),
    )
    if policy.compares(written):
        signals += comparing.at_write(memory, draft, writer, record_id)
        written = replace(written, signals=tuple(signals))
    return Ruling(policy.decide(written), tuple(signals), policy.accept_after_days)


def _habit(memory: Memory, principal: str) -> context.Habit:
    # From what came to the review of this memory, which is all that somebody wrote whom it looks at.
    now = timezone.now()
    rows = ReviewItem.objects.filter(memory=memory, writer=principal).order_by("-created_at")
    counted = rows.values("created_at")[:HABIT_ROWS].aggregate(
        before=Count("created_at"),
        last=Count("created_at", filter=Q(created_at__gt=now - timedelta(hours=1))),
        day=Count("created_at", filter=Q(created_at__gt=now - timedelta(days=1))),
    )
    before, last, day = counted["before"], counted["last"], counted["day"]
    return context.Habit(before=before, last_hour=last, usual=(day - last) / 23)


def ask(
    memory: Memory,
    kind: ReviewItem.Kind,
    key: str,
    *,
    record_id: str = "",
    subject: str = "",
    signals: tuple[Signal, ...] = (),
) -> None:
    """Ask a person about a conflict or a run: once, however often the same is found, and not again once dismissed."""
    facts = {"record_id": record_id, "subject": subject}
    _look(memory, kind, key, facts, Ruling(Outcome.FLAG, signals))


def settled(
    memory_id: str, kind: ReviewItem.Kind, subject: str, reviewer: str, state: ReviewItem.State = State.KEPT
) -> None:
    """Close what asked about a conflict or a run that somebody has decided elsewhere."""
    asked = ReviewItem.objects.filter(memory_id=memory_id, kind=kind, subject=subject, state=State.OPEN)
    _close(asked, state, reviewer)


def decided(memory_id: str, conflict_id: str, reviewer: str, undo: Mapping[str, Any]) -> None:
    """Close what asked about a conflict, with what taking the decision back needs.

    Also what somebody had closed without deciding, before one was decided after all.
    """
    asked = ReviewItem.objects.filter(memory_id=memory_id, kind=Kind.CONFLICT, subject=conflict_id)
    _close(asked, State.KEPT, reviewer, undo)


def settled_records(memory_id: str, record_ids: Collection[str], reviewer: str, state: ReviewItem.State) -> None:
    """Close what asked about live records that somebody has decided about elsewhere."""
    about = ReviewItem.objects.filter(memory_id=memory_id, record_id__in=record_ids, held=None, state=State.OPEN)
    _close(about.filter(kind__in=[Kind.NEW, Kind.REVISED]), state, reviewer)


def _close(
    items: QuerySet[ReviewItem], state: ReviewItem.State, reviewer: str = "", undo: Mapping[str, Any] | None = None
) -> None:
    found = list(items.select_for_update())
    for one in found:
        one.state, one.reviewer, one.decided_at = state, reviewer, timezone.now()
        one.undo = undo or one.undo
    ReviewItem.objects.bulk_update(found, ["state", "reviewer", "decided_at", *(["undo"] if undo else [])])
    telling.decided(found)


def _wait(memory: Memory, kept: Held, draft: Draft, ruling: Ruling) -> RecordVersion:
    kind = Kind.NEW if kept.base is None else Kind.REVISED
    facts = _facts(draft, held.writer_of(kept), kept.record_id, kept.content_hash)
    _look(memory, kind, f"held:{kept.id}", facts, ruling, waiting=kept)
    return held.version_of(kept)


def _facts(draft: Draft, writer: Writer, record_id: str, said: str) -> Mapping[str, Any]:
    return {
        "record_id": record_id,
        "content_hash": said,
        "writer": f"{writer.kind}:{writer.id}",
        "writer_type": writer.type or writer.kind,
        "on_behalf_of": writer.on_behalf_of,
        "type": draft.type,
        "standing": (draft.attributes or {}).get("standing") is True,
    }


def _look(
    memory: Memory,
    kind: ReviewItem.Kind,
    key: str,
    facts: Mapping[str, Any],
    ruling: Ruling,
    *,
    version: int | None = None,
    waiting: Held | None = None,
) -> None:
    shown = {
        **facts,
        "version": version,
        "held": waiting,
        "signals": [comparing.kept(one) for one in ruling.signals],
        "weight": strongest(ruling.signals),
        "to_compare": kind in (Kind.NEW, Kind.REVISED) and facts["type"] != comparing.EPISODE,
    }
    same = ReviewItem.objects.filter(memory=memory, key=key)
    if kind == Kind.REVISED and waiting is None:
        # What its writer goes on writing at is one thing to look at.
        about = Q(record_id=facts["record_id"], held=None, state=State.OPEN, kind__in=[Kind.NEW, Kind.REVISED])
        same = ReviewItem.objects.filter(Q(key=key) | about, memory=memory)
    dismissed = Q(state=State.DISMISSED, content_hash=facts.get("content_hash", ""))
    known = list(same.filter(Q(state=State.OPEN) | dismissed).select_for_update().order_by("-state")[:2])
    if any(one.state == State.DISMISSED for one in known) and waiting is None:
        return
    now = timezone.now()
    if opened := next((one for one in known if one.state == State.OPEN), None):
        if kind == Kind.NEW and waiting is None and opened.record_id != facts["record_id"]:
            # The same words in another record: the first one stands for both.
            also = [*opened.also, facts["record_id"]][:MOST_ALSO]
            ReviewItem.objects.filter(pk=opened.pk).update(times=F("times") + 1, also=also)
        else:
            ReviewItem.objects.filter(pk=opened.pk).update(times=F("times") + 1, key=key, **shown)
        return
    due = now + timedelta(days=ruling.accept_after_days) if ruling.accept_after_days else None
    try:
        with transaction.atomic():
            made = ReviewItem.objects.create(
                organisation_id=memory.organisation_id,
                memory=memory,
                kind=kind,
                key=key,
                created_at=now,
                due_at=due,
                **shown,
            )
    except IntegrityError:
        # Somebody asked about the same at this very moment.
        same.filter(state=State.OPEN).update(times=F("times") + 1)
    else:
        telling.opened(made)
