"""What a memory asks of a review: its own, or as its parent has it, up to the root; looked up with one query.

It goes through closed memories: it is a setting, and closing a branch does not take it out of a control set above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F

from members import events
from memories.access import Privilege
from memories.models import Memory, ReviewPolicy
from memories.signals.policy import Mode, Policy, read_rules
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import MISSING, Missing

from .sight import Place

MOST_DAYS = 365
CACHE = "_review_policy"


@dataclass(frozen=True)
class Setting:
    """One setting of a memory: the value, whether it is its own, and where it comes from, as far as one may know.

    `source` is the memory that sets it, and None both for the default and where the reader does not see the memory;
    `hidden` tells the second.
    """

    value: Any
    own: bool = False
    source: Memory | None = None
    hidden: bool = False


def policy_of(memory: Memory) -> Policy:
    """What holds for a memory now; asked once for one look at it."""
    known = memory.__dict__.get(CACHE)
    if known is None:
        known = memory.__dict__[CACHE] = _policy({name: row for name, (row, _) in _nearest(memory).items()})
    assert isinstance(known, Policy)
    return known


def shown(place: Place) -> Mapping[str, Setting]:
    """The settings `mode`, `rules` and `accept_after_days` with where each comes from. Needs read or delete."""
    place.require(Privilege.READ, Privilege.DELETE)
    nearest = _nearest(place.memory)
    above = {row.memory_id for row, _ in nearest.values()}
    seen = Memory.objects.of(place.caller.organisation_id).filter(pk__in=above).held_by(place.caller.principals)
    known = {memory.id: memory for memory in seen}
    default = {"mode": Mode.FLAG.value, "rules": [], "accept_after_days": 0}
    answer = {name: Setting(value) for name, value in default.items()}
    for name, (row, distance) in nearest.items():
        source = known.get(row.memory_id)
        answer[name] = Setting(getattr(row, name), distance == 0, source, hidden=source is None)
    return answer


@transaction.atomic
def change(
    place: Place,
    *,
    mode: str | Missing | None = MISSING,
    rules: Any = MISSING,
    accept_after_days: int | Missing | None = MISSING,
) -> None:
    """Set what is given, None for "as the parent has it". Raises MemoryForbidden without delete, MemoryInvalid."""
    place.require(Privilege.DELETE)
    row, _ = ReviewPolicy.objects.select_for_update().get_or_create(
        memory=place.memory, defaults={"organisation_id": place.memory.organisation_id}
    )
    if not isinstance(mode, Missing):
        if mode is not None and mode not in set(Mode):
            raise MemoryInvalid("A policy is off, flag or hold.", param="mode")
        row.mode = mode or ""
    if not isinstance(rules, Missing):
        if rules is not None:
            read_rules(rules)
        row.rules = rules
    if not isinstance(accept_after_days, Missing):
        days = accept_after_days
        if days is not None and (isinstance(days, bool) or not 0 <= days <= MOST_DAYS):
            raise MemoryInvalid(f"This is a number of days up to {MOST_DAYS}; 0 is never.", param="accept_after_days")
        row.accept_after_days = days
    row.save()
    place.memory.__dict__.pop(CACHE, None)
    events.record(
        place.caller.organisation_id,
        place.caller.actor,
        "review.policy_changed",
        memory_id=place.memory.id,
        mode=row.mode or None,
        rules=None if row.rules is None else len(row.rules),
        accept_after_days=row.accept_after_days,
    )


def _nearest(memory: Memory) -> dict[str, tuple[ReviewPolicy, int]]:
    # By setting, the row that sets it, from the memory upward, and how many levels up that is.
    rows = (
        ReviewPolicy.objects.filter(memory__downward__descendant=memory)
        .annotate(distance=F("memory__downward__distance"))
        .order_by("distance")
    )
    found: dict[str, tuple[ReviewPolicy, int]] = {}
    for row in rows:
        distance = row.__dict__["distance"]
        if row.mode:
            found.setdefault("mode", (row, distance))
        if row.rules is not None:
            found.setdefault("rules", (row, distance))
        if row.accept_after_days is not None:
            found.setdefault("accept_after_days", (row, distance))
    return found


def _policy(rows: Mapping[str, ReviewPolicy]) -> Policy:
    days = rows["accept_after_days"].accept_after_days if "accept_after_days" in rows else None
    return Policy(
        mode=Mode(rows["mode"].mode) if "mode" in rows else Mode.FLAG,
        rules=read_rules(rows["rules"].rules) if "rules" in rows else (),
        accept_after_days=days or None,
    )
