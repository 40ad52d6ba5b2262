"""When a run asks for a person: a rule of its memory. One item of the inbox for each run that does, however often.

Without a rule a run asks when something of it waits, when it replaced or forgot much, or when what it wrote is grave.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from django.db import transaction

from members import events
from memories.access import Privilege
from memories.models import Held, Memory, ReviewItem, Run, Schedule
from memories.signals.base import Signal
from uhp_site.http.errors import MemoryInvalid

from . import gate
from .sight import Place

MOST_RECORDS = 1_000_000
# From this weight on a signal of one record makes the whole run worth a look.
GRAVE = 0.7


class Mode(StrEnum):
    """Which runs ask for a person."""

    OFF = "off"
    NOTABLE = "notable"
    ALWAYS = "always"


@dataclass(frozen=True)
class Rule:
    """When runs of a memory ask; `records` is how many replaced and forgotten ones are much."""

    mode: str = Mode.NOTABLE.value
    records: int = 20


def rule_of(memory: Memory) -> Rule:
    """The rule of a memory, or what holds without one."""
    row = Schedule.objects.filter(memory_id=memory.id).only("asks").first()
    return Rule(**row.asks) if row and row.asks else Rule()


@transaction.atomic
def set_rule(place: Place, mode: str, records: int = 20) -> Rule:
    """Say when runs of a memory ask for a person. Raises MemoryForbidden without delete, and MemoryInvalid."""
    place.require(Privilege.DELETE)
    if mode not in set(Mode):
        raise MemoryInvalid(f"This is one of: {', '.join(Mode)}.", param="mode")
    if not 1 <= records <= MOST_RECORDS:
        raise MemoryInvalid(f"This is 1 to {MOST_RECORDS}.", param="records")
    memory, rule = place.memory, Rule(mode, records)
    Schedule.objects.update_or_create(
        memory=memory, defaults={"asks": asdict(rule), "organisation_id": memory.organisation_id}
    )
    events.record(
        memory.organisation_id, place.caller.actor, "consolidation.asks_changed", memory_id=memory.id, **asdict(rule)
    )
    return rule


def consider(run: Run) -> None:
    """Ask a person about a run that has just ended, in that transaction, if the rule of its memory says so."""
    rule = rule_of(run.memory)
    if rule.mode == Mode.OFF:
        return
    signals = reasons(run, rule)
    if signals or (rule.mode == Mode.ALWAYS and run.changes):
        gate.ask(run.memory, ReviewItem.Kind.RUN, f"run:{run.id}", subject=run.id, signals=tuple(signals))


def reasons(run: Run, rule: Rule) -> list[Signal]:
    """Why a person should look at a run; nothing of what its records say."""
    found = []
    waiting = Held.objects.filter(consolidation_id=run.id, memory_id=run.memory_id, state=Held.State.WAITING).count()
    if waiting:
        found.append(Signal("run.waits", 0.5, f"What it wrote waits for a person: {waiting}."))
    closed = run.superseded + run.forgotten
    if closed >= rule.records:
        found.append(Signal("run.replaced", 0.6, f"Records that it replaced or forgot: {closed}."))
    grave = ReviewItem.objects.filter(
        memory_id=run.memory_id, writer=f"provider:{run.engine}", created_at__gte=run.created_at, weight__gte=GRAVE
    )
    if strongest := grave.order_by("-weight").values_list("weight", flat=True).first():
        found.append(Signal("run.grave", strongest, "In what it wrote something grave was noticed."))
    return found
