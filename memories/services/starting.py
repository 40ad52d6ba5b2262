"""The sweep that starts consolidations by themselves: what is due, found by index, organisation after organisation."""

from __future__ import annotations

from datetime import datetime

from django.db import connection, transaction
from django.utils import timezone

from memories.models import Memory, Run, Schedule
from memories.providers import registry
from uhp_site.http.errors import MemoryBusy, MemoryUnsupported

from . import fairness, runs, schedules
from .consolidating import EPISODE, position_of, retirable
from .knowing import Known

# How many memories one sweep looks at; the rest is the next one's.
MOST = 200

# The first of each organisation, then the second of each, and so on.
DUE = """
    SELECT id FROM (
        SELECT id, due_at, row_number() OVER (PARTITION BY organisation_id ORDER BY due_at, id) AS turn
        FROM memories_schedule WHERE due_at <= %s AND memory_id IS NOT NULL
    ) due ORDER BY turn, due_at, id LIMIT %s
"""


def sweep() -> int:
    """Start what is due, and give out a turn that was lost; returns how many were started."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(DUE, [now, MOST])
        due = [row[0] for row in cursor.fetchall()]
    started = sum(consider(schedule_id, now) for schedule_id in due)
    if fairness.waits():
        fairness.send()
    return started


@transaction.atomic
def consider(schedule_id: int, now: datetime) -> bool:
    """Look whether a run of one memory should begin, and start it; two sweeps at once look at it once."""
    found = Schedule.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=schedule_id, due_at__lte=now)
    row = found.first()
    memory = Memory.objects.filter(pk=row.memory_id).first() if row else None
    if row is None or memory is None:
        if row:
            Schedule.objects.filter(pk=row.pk).update(due_at=None)
        return False
    rule = schedules.rule_for(memory)
    unread, due = looked(memory, rule, now)
    if not due:
        schedules.settle(memory, unread=unread)
        return False
    trigger = Run.Trigger.IDLE if rule.mode == schedules.Mode.IDLE else Run.Trigger.SCHEDULE
    schedules.settle(memory, unread=True)
    try:
        with transaction.atomic():
            return runs.start_by_itself(memory.id, memory.organisation_id, trigger) is not None
    except (MemoryBusy, MemoryUnsupported):
        # One is at it already, or the tree is being changed: the next look is set.
        return False


def looked(memory: Memory, rule: schedules.Rule, now: datetime) -> tuple[bool, bool]:
    """Whether something in a memory was not read yet, and whether a run should begin."""
    if rule.mode == schedules.Mode.OFF:
        return False, False
    last = Run.objects.of_memory(memory.id).first()
    position = position_of(last) if last else None
    provider = registry.get(memory.provider)
    awaiting = provider.awaiting(memory.id, (EPISODE,), position.key if position else None)
    if rule.mode == schedules.Mode.IDLE:
        quiet = awaiting.newest is not None and awaiting.newest + rule.quiet <= now
        return awaiting.count > 0, awaiting.count >= rule.idle_episodes or quiet
    ended = awaiting.count == 0 and bool(retirable(Known(provider, memory.id)))
    return awaiting.count > 0, awaiting.count > 0 or ended
