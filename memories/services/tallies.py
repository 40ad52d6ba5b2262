"""What a review comes to in numbers: how much waits and since when, what is decided, and how each writer fares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from members.callers import Caller
from memories.models import ReviewItem

from . import reviewing

DAYS = 30
MOST_WRITERS = 20
State = ReviewItem.State
KEPT = (State.KEPT, State.ACCEPTED)


@dataclass(frozen=True)
class Fared:
    """What became of what one principal wrote: how much came to the review, was kept, and was declined."""

    principal: str
    written: int
    kept: int
    declined: int


@dataclass(frozen=True)
class Tally:
    """The numbers of one reviewer's memories; `decided` has every day, oldest first."""

    waiting: int
    oldest: datetime | None
    decided: Mapping[date, int]
    writers: tuple[Fared, ...]


def tally(caller: Caller, days: int = DAYS, among: QuerySet[ReviewItem] | None = None) -> Tally:
    """The numbers of the memories where the caller reviews, of the last so many days in UTC; four queries."""
    now = timezone.now()
    since = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    waiting, oldest = reviewing.waiting(caller, among)
    here = reviewing.asked_once(reviewing.reviewable(caller, Q()))
    mine = ReviewItem.objects.filter(organisation_id=caller.organisation_id, memory__in=here).order_by()
    decided = (
        mine.filter(decided_at__gte=since)
        .exclude(state__in=[State.OPEN, State.WITHDRAWN])
        .annotate(day=TruncDate("decided_at"))
        .values_list("day")
        .annotate(count=Count("pk"))
    )
    by_day = dict.fromkeys((since.date() + timedelta(days=number) for number in range(days)), 0)
    writers = (
        mine.filter(created_at__gte=since)
        .exclude(writer="")
        .values("writer")
        .annotate(
            written=Count("pk"),
            kept=Count("pk", filter=Q(state__in=KEPT)),
            declined=Count("pk", filter=Q(state=State.DECLINED)),
        )
        .order_by("-written", "writer")[:MOST_WRITERS]
    )
    return Tally(
        waiting=waiting,
        oldest=oldest,
        decided=by_day | dict(decided),
        writers=tuple(Fared(row["writer"], row["written"], row["kept"], row["declined"]) for row in writers),
    )
