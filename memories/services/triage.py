"""What stands around an item of the inbox: what is before and after it, who reads there, and where else it could go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from members.callers import Caller
from members.models import Member
from memories.access import Privilege
from memories.content import Reference
from memories.models import Held, Memory, ReviewItem
from memories.providers import registry
from memories.providers.base import RecordVersion

from . import asking, held, reviewing
from .reviewing import Filters, Looked
from .sight import Place

# So many of those who reach a memory are looked at one by one to count its readers.
MOST_READERS = 200
MOST_CHOICES = 100


@dataclass(frozen=True)
class Readers:
    """How many people and agents read a memory; `more` says that there are others beyond those looked at."""

    people: int
    agents: int
    more: bool


def waiting(caller: Caller, most: int) -> int:
    """How many items the caller may decide, counted up to `most`; none for an agent."""
    if caller.member.type != Member.Type.HUMAN:
        return 0
    return reviewing.open_for(caller)[:most].count()


def beside(caller: Caller, item: ReviewItem, filters: Filters, order: str) -> tuple[str | None, str | None]:
    """The items before and after one in somebody's inbox; the item itself may be decided already."""
    found = reviewing.filtered(reviewing.open_for(caller), filters).exclude(pk=item.pk)
    if order == "strongest":
        same = Q(weight=item.weight)
        before = found.filter(Q(weight__gt=item.weight) | same & Q(id__lt=item.id)).order_by("weight", "-id")
        after = found.filter(Q(weight__lt=item.weight) | same & Q(id__gt=item.id)).order_by("-weight", "id")
    else:
        same = Q(created_at=item.created_at)
        before = found.filter(Q(created_at__lt=item.created_at) | same & Q(id__lt=item.id))
        before = before.order_by("-created_at", "-id")
        after = found.filter(Q(created_at__gt=item.created_at) | same & Q(id__gt=item.id))
        after = after.order_by("created_at", "id")
    return before.values_list("id", flat=True).first(), after.values_list("id", flat=True).first()


def versions_of(items: Sequence[ReviewItem]) -> Mapping[str, RecordVersion]:
    """What each item is about as it is now, by the item's id: the draft that waits, or the record's newest version.

    The items carry their memories and drafts; one query for each provider, however many items there are.
    """
    found: dict[str, RecordVersion] = {}
    asked: dict[str, list[ReviewItem]] = {}
    for item in items:
        if item.held is not None:
            found[item.id] = _as_listed(item.held)
        elif item.record_id:
            asked.setdefault(item.memory.provider, []).append(item)
    for provider, some in asked.items():
        heads = registry.get(provider).heads(Reference(one.record_id, memory_id=one.memory_id) for one in some)
        pairs = {one.id: (one.memory_id, one.record_id) for one in some}
        found |= {item_id: heads[pair] for item_id, pair in pairs.items() if pair in heads}
    return found


def _as_listed(kept: Held) -> RecordVersion:
    # In a list it is not asked how its type wants to be found.
    return RecordVersion(
        id=kept.record_id,
        memory_id=kept.memory_id,
        number=(kept.base or 0) + 1,
        status="active",
        draft=held.read_line(kept.draft or {}),
        written_at=kept.created_at,
        invalidated_at=None,
        writer=held.writer_of(kept),
        review=held.HELD,
    )


def opened(caller: Caller, references: Iterable[Reference]) -> list[RecordVersion]:
    """The newest versions of records that the caller may read, in the order asked; others are left out."""
    wanted = list(references)
    readable = Memory.objects.of(caller.organisation_id).held_by(caller.principals, Privilege.READ)
    providers = dict(readable.filter(pk__in={one.memory_id for one in wanted}).values_list("id", "provider"))
    found: dict[tuple[str, str], RecordVersion] = {}
    for provider in set(providers.values()):
        found |= registry.get(provider).heads(one for one in wanted if providers.get(one.memory_id or "") == provider)
    pairs = [(one.memory_id or "", one.record_id) for one in wanted]
    return [found[pair] for pair in pairs if pair in found]


def readers(place: Place) -> Readers:
    """How many read a memory, by the rule that enforces it. Raises MemoryForbidden without delete."""
    audience = asking.who(place, MOST_READERS)
    reading = [one.person for one in audience.people if Privilege.READ in one.privileges]
    agents = sum(one.type == Member.Type.AGENT for one in reading)
    return Readers(len(reading) - agents, agents, audience.next is not None)


def memories_of(among: QuerySet[ReviewItem]) -> list[tuple[str, str]]:
    """The memories of these items, by name."""
    rows = among.order_by("memory__name", "memory_id")
    return list(rows.values_list("memory_id", "memory__name").distinct()[:MOST_CHOICES])


def writers_of(among: QuerySet[ReviewItem]) -> list[str]:
    """The principals who wrote what these items are about."""
    rows = among.exclude(writer="").order_by("writer")
    return list(rows.values_list("writer", flat=True).distinct()[:MOST_CHOICES])


def targets(seen: Looked, words: str, limit: int) -> list[Memory]:
    """Memories into which the reviewer may move an item, by name."""
    caller = seen.place.caller
    found = Memory.objects.of(caller.organisation_id).held_by(caller.principals, Privilege.WRITE)
    for word in words.split():
        found = found.filter(Q(name__icontains=word) | Q(description__icontains=word))
    return list(found.exclude(pk=seen.place.memory.id).by_name()[:limit])


def items_of(caller: Caller, item_ids: Iterable[str]) -> list[ReviewItem]:
    """Items where the caller reviews, whatever became of them; others are left out."""
    found = ReviewItem.objects.filter(organisation_id=caller.organisation_id, pk__in=list(item_ids))
    rows = found.filter(memory__in=reviewing.reviewable(caller)).select_related("memory", "held")
    return list(rows.order_by("created_at", "id"))
