"""When consolidations begin by themselves: a rule for each memory, or else its organisation's, or else the server's.

A row says when to look at a memory next; the sweep finds those by index. What was observed sets that time once, and
not again until somebody looked: observing costs no write that others would wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from celery.schedules import ParseException, crontab
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from members import events
from members.callers import Caller
from memories.access import Privilege
from memories.consolidation.base import Engine
from memories.consolidation.registry import engine_for
from memories.models import Memory, Schedule
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid

from .sight import Place

IDLE_EPISODES = 200
IDLE_MINUTES = 30
LONGEST_IDLE_MINUTES = 60 * 24 * 7
# How often a memory in which something is being said is looked at.
LOOK_AGAIN = timedelta(minutes=1)
NIGHT_HOUR = 3
Mode = Schedule.Mode


@dataclass(frozen=True)
class Rule:
    """When consolidations of a memory begin; `origin` is memory, organisation or server."""

    mode: str
    cron: str = ""
    idle_episodes: int = IDLE_EPISODES
    idle_minutes: int = IDLE_MINUTES
    origin: str = "server"

    @property
    def quiet(self) -> timedelta:
        """How long nothing has to be said."""
        return timedelta(minutes=self.idle_minutes)

    def next(self, after: datetime, seed: str) -> datetime | None:
        """When to look next; None for a rule that begins nothing. `seed` spreads memories over the hour."""
        minute = sum(seed.encode()) % 60
        if self.mode == Mode.IDLE:
            return after + min(self.quiet, LOOK_AGAIN)
        if self.mode == Mode.HOURLY:
            return following(f"{minute} * * * *", after)
        if self.mode == Mode.NIGHTLY:
            return following(f"{minute} {NIGHT_HOUR} * * *", after)
        return following(self.cron, after) if self.mode == Mode.CRON else None


def following(cron: str, after: datetime) -> datetime:
    """The first instant after another that a cron expression of five fields names, in UTC. Raises MemoryInvalid."""
    fields = cron.split()
    try:
        minute, hour, day, month, weekday = fields
        named = {"day_of_month": day, "month_of_year": month, "day_of_week": weekday}
        parsed = crontab(minute, hour, **named, nowfun=lambda: after)
        found: datetime = after + parsed.remaining_estimate(after)
    except (ParseException, ValueError, TypeError, KeyError, RuntimeError):
        raise MemoryInvalid("A schedule is five fields: minute, hour, day, month, weekday.", param="cron") from None
    return found


def rule_for(memory: Memory) -> Rule:
    """The rule that holds for a memory."""
    rows: dict[str | None, Schedule] = {
        row.memory_id: row
        for row in Schedule.objects.filter(organisation_id=memory.organisation_id, memory=None)
        | Schedule.objects.filter(memory_id=memory.id)
    }
    origins: tuple[tuple[str | None, str], ...] = ((memory.id, "memory"), (None, "organisation"))
    for key, origin in origins:
        row = rows.get(key)
        if row and row.mode != Mode.INHERIT:
            return Rule(
                row.mode, row.cron, row.idle_episodes or IDLE_EPISODES, row.idle_minutes or IDLE_MINUTES, origin
            )
    return Rule(settings.CONSOLIDATE)


@transaction.atomic
def set_rule(
    place: Place, mode: str, *, cron: str = "", idle_episodes: int | None = None, idle_minutes: int | None = None
) -> Rule:
    """Give a memory a rule of its own, or `inherit`. Raises MemoryForbidden without write, and MemoryInvalid."""
    place.require(Privilege.WRITE)
    memory = place.memory
    values = _checked(mode, cron, idle_episodes, idle_minutes)
    row, _ = Schedule.objects.update_or_create(
        memory=memory, defaults={**values, "organisation_id": memory.organisation_id}
    )
    rule = rule_for(memory)
    # Looked at soon, whatever is new: a rule that was off has seen nothing.
    row.due_at = None if rule.mode == Mode.OFF else timezone.now() + LOOK_AGAIN
    row.save(update_fields=["due_at"])
    events.record(
        memory.organisation_id, place.caller.actor, "consolidation.scheduled", memory_id=memory.id, mode=mode, cron=cron
    )
    return rule


def engine_of(memory: Memory) -> Engine:
    """The engine that consolidates a memory; none that sends text anywhere unless somebody chose it."""
    row = Schedule.objects.filter(memory_id=memory.id).only("engine").first()
    return engine_for(row.engine if row else {})


@transaction.atomic
def choose_engine(place: Place, settings: Mapping[str, Any]) -> Engine:
    """Choose the engine of a memory, and what it may do. It may send text away, so that it takes `delete`."""
    place.require(Privilege.DELETE)
    memory = place.memory
    engine = engine_for(settings)
    Schedule.objects.update_or_create(
        memory=memory, defaults={"engine": dict(settings), "organisation_id": memory.organisation_id}
    )
    events.record(
        memory.organisation_id,
        place.caller.actor,
        "consolidation.engine_chosen",
        memory_id=memory.id,
        engine=engine.name,
    )
    return engine


@transaction.atomic
def set_organisation_rule(
    caller: Caller, mode: str, *, cron: str = "", idle_episodes: int | None = None, idle_minutes: int | None = None
) -> None:
    """The rule of all memories without one of their own; `inherit` is the server's. Raises MemoryForbidden, too."""
    if not caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may set this.")
    values = _checked(mode, cron, idle_episodes, idle_minutes)
    Schedule.objects.update_or_create(organisation_id=caller.organisation_id, memory=None, defaults=values)
    inheriting = Schedule.objects.filter(organisation_id=caller.organisation_id, mode=Mode.INHERIT)
    inheriting.exclude(memory=None).update(due_at=timezone.now() + LOOK_AGAIN)
    events.record(caller.organisation_id, caller.actor, "consolidation.scheduled", mode=mode, cron=cron)


def heard(memory: Memory) -> None:
    """Note that there is something new in a memory, in the transaction that writes it."""
    row = Schedule.objects.filter(memory_id=memory.id).only("due_at").first()
    if row is not None and row.due_at is not None:
        return
    if row is None:
        new = Schedule(organisation_id=memory.organisation_id, memory_id=memory.id)
        Schedule.objects.bulk_create([new], ignore_conflicts=True)
    due = rule_for(memory).next(timezone.now(), memory.id)
    if due is not None:
        Schedule.objects.filter(memory_id=memory.id, due_at=None).update(due_at=due)


def settle(memory: Memory, *, unread: bool) -> None:
    """After a run or a look: when to look again."""
    rule = rule_for(memory)
    due = rule.next(timezone.now(), memory.id) if unread or rule.mode != Mode.IDLE else None
    Schedule.objects.filter(memory_id=memory.id).update(due_at=due)


def _checked(mode: str, cron: str, idle_episodes: int | None, idle_minutes: int | None) -> dict[str, Any]:
    if mode not in Mode.values:
        raise MemoryInvalid(f"This is one of: {', '.join(Mode.values)}.", param="mode")
    if mode == Mode.CRON:
        following(cron, timezone.now())
    for name, value, most in (
        ("idle_episodes", idle_episodes, 1_000_000),
        ("idle_minutes", idle_minutes, LONGEST_IDLE_MINUTES),
    ):
        if value is not None and not 1 <= value <= most:
            raise MemoryInvalid(f"This is 1 to {most}.", param=name)
    return {
        "mode": mode,
        "cron": cron if mode == Mode.CRON else "",
        "idle_episodes": idle_episodes,
        "idle_minutes": idle_minutes,
    }
