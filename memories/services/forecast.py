"""What an erasure or a forgetting of records would do, before anybody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from memories.access import Privilege
from memories.content import Reference
from memories.models import File, Hold, Memory
from memories.providers import registry
from memories.providers.base import Holder, RecordVersion
from uhp_site.http.errors import RecordNotFound

from . import derivatives, holds
from .records import provider_of
from .sight import Place

MOST = 200


@dataclass(frozen=True)
class Fate:
    """One record that was named: whether it may go, and if not, why."""

    record_id: str
    title: str
    refused: str = ""


@dataclass(frozen=True)
class Named:
    """A record beside those that were named, which the caller may read."""

    memory_id: str
    record_id: str
    title: str


@dataclass(frozen=True)
class Forecast:
    """What erasing would remove. `derived` goes along; `unreachable` stays though it says what it came from.

    Of what is where the caller may not read, `derived_hidden` and `unreachable_hidden` say only whether there is any.
    """

    fates: Sequence[Fate]
    versions: int
    vectors: int
    files: Sequence[str]
    files_kept: int
    derived: Sequence[Named]
    derived_hidden: bool
    unreachable: Sequence[Named]
    unreachable_hidden: bool

    @property
    def going(self) -> list[Fate]:
        """Those that will go."""
        return [one for one in self.fates if not one.refused]

    @property
    def staying(self) -> list[Fate]:
        """Those that may not."""
        return [one for one in self.fates if one.refused]


@transaction.atomic
def of_erasing(place: Place, record_ids: Sequence[str]) -> Forecast:
    """What erasing these records of a memory would do now. Raises MemoryForbidden, RecordNotFound when none is here."""
    place.require(Privilege.DELETE | Privilege.READ)
    organisation_id, provider = place.caller.organisation_id, provider_of(place)
    heads = _heads(place, record_ids)
    why = holding(place, [one.id for one in heads])
    fates = [Fate(one.id, one.name, why.get(one.id, "")) for one in heads]
    going = [one.record_id for one in fates if not one.refused]
    beside = derivatives.around(organisation_id, provider, going)
    everything = [*going, *(one.record_id for one in beside.along)]
    counts = provider.left(everything)
    gone, kept = _files(place, everything, going)
    seen, hidden = _seen(place, beside.along)
    left, left_hidden = _seen(place, beside.staying)
    return Forecast(
        fates=fates,
        versions=counts.get("versions", 0),
        vectors=counts.get("vectors", 0),
        files=gone,
        files_kept=kept,
        derived=seen,
        derived_hidden=hidden > 0,
        unreachable=left,
        unreachable_hidden=left_hidden > 0,
    )


def of_forgetting(place: Place, record_ids: Sequence[str]) -> Sequence[Fate]:
    """Which of these records can be forgotten. Raises MemoryForbidden, RecordNotFound when none is here."""
    place.require(Privilege.WRITE | Privilege.READ)
    return [
        Fate(one.id, one.name, "" if one.status == "active" else "It is forgotten already.")
        for one in _heads(place, record_ids)
    ]


def holding(place: Place, record_ids: Sequence[str]) -> dict[str, str]:
    """Why each of these records has to be kept; those that need not be are left out."""
    standing = Hold.objects.of(place.caller.organisation_id).standing()
    over = standing.over([place.memory.id]).first()
    single = {hold.record_id: hold for hold in standing.filter(record_id__in=record_ids)}
    branch = holds.refusal(place.caller, [over]).message if over else ""
    found = {one: f"On hold: {hold.reason}" if (hold := single.get(one)) else branch for one in record_ids}
    return {one: why for one, why in found.items() if why}


def _heads(place: Place, record_ids: Sequence[str]) -> Sequence[RecordVersion]:
    asked = [Reference(one, memory_id=place.memory.id) for one in dict.fromkeys(record_ids)][:MOST]
    there = provider_of(place).heads(asked)
    found = [there[one.memory_id, one.record_id] for one in asked if (one.memory_id, one.record_id) in there]
    if not found:
        raise RecordNotFound()
    return found


def _files(place: Place, everything: Sequence[str], shown: Sequence[str]) -> tuple[list[str], int]:
    # Named by nothing else: these go. Only files of records that the caller reads are called by their names.
    organisation_id = place.caller.organisation_id
    inside, visible = Q(record_id__in=everything), Q(record_id__in=shown)
    files = File.objects.of(organisation_id)
    elsewhere = set(files.named(inside).named(~inside).values_list("id", flat=True))
    named = files.named(visible).exclude(pk__in=elsewhere).order_by("name").values_list("name", flat=True)
    return list(named), len(elsewhere)


def _seen(place: Place, found: Sequence[Holder]) -> tuple[list[Named], int]:
    readable = dict(
        Memory.objects.of(place.caller.organisation_id)
        .filter(pk__in={one.memory_id for one in found})
        .held_by(place.caller.principals, Privilege.READ)
        .values_list("id", "provider")
    )
    shown = [one for one in found if one.memory_id in readable]
    names: dict[tuple[str, str], str] = {}
    for provider_id in set(readable.values()):
        names |= registry.get(provider_id).existing(Reference(one.record_id, memory_id=one.memory_id) for one in shown)
    listed = [Named(one.memory_id, one.record_id, names.get((one.memory_id, one.record_id), "")) for one in shown]
    return listed, len(found) - len(shown)
