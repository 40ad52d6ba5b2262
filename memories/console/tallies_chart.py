"""The numbers of a review, drawn on the server: bars a person reads at a glance, with the same as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import QuerySet

from members.shell import ConsoleRequest
from memories.models import ReviewItem
from memories.services import tallies

from .inbox_rows import called
from .principals import Named

DAYS = 14
# The drawing's own units, which the page scales.
WIDTH, HEIGHT, GAP = 280, 56, 4
LINE = 100
WRITERS = 8


@dataclass(frozen=True)
class Bar:
    """One day: where its bar stands, and what it says."""

    x: float
    y: float
    width: float
    height: float
    day: date
    count: int


@dataclass(frozen=True)
class Share:
    """How one writer fares; the three are widths of one line, in its hundredths."""

    who: Named
    written: int
    kept: int
    declined: int
    kept_width: float
    declined_width: float

    @property
    def declined_at(self) -> float:
        """Where the second part begins."""
        return self.kept_width


@dataclass(frozen=True)
class Numbers:
    """What waits, since when, what was decided day by day, and how each writer fares."""

    waiting: int
    oldest: datetime | None
    decided: int
    most: int
    bars: Sequence[Bar]
    shares: Sequence[Share]
    days: int = DAYS
    width: int = WIDTH
    height: int = HEIGHT


def numbers(request: ConsoleRequest, among: QuerySet[ReviewItem]) -> Numbers:
    """The numbers of this person's reviews of the last two weeks."""
    tally = tallies.tally(request.caller, DAYS, among)
    fared = tally.writers[:WRITERS]
    names = called(request, [one.principal for one in fared])
    longest = max((one.written for one in fared), default=0)
    return Numbers(
        waiting=tally.waiting,
        oldest=tally.oldest,
        decided=sum(tally.decided.values()),
        most=max(tally.decided.values(), default=0),
        bars=bars(list(tally.decided.items())),
        shares=[
            Share(
                who=names[one.principal],
                written=one.written,
                kept=one.kept,
                declined=one.declined,
                kept_width=_part(one.kept, longest),
                declined_width=_part(one.declined, longest),
            )
            for one in fared
        ],
    )


def bars(counts: Sequence[tuple[date, int]]) -> list[Bar]:
    """One bar for each day, the highest as high as the drawing; a day with nothing is a line at the foot."""
    most = max((count for _, count in counts), default=0)
    step = WIDTH / max(len(counts), 1)
    found = []
    for number, (day, count) in enumerate(counts):
        height = max(round(HEIGHT * count / most, 1), 2) if count else 1
        found.append(Bar(round(number * step, 1), HEIGHT - height, round(step - GAP, 1), height, day, count))
    return found


def _part(count: int, longest: int) -> Any:
    return round(LINE * count / longest, 1) if longest else 0
