"""What an erasure or a forgetting of records would do, before anybody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from memories.access import Privilege
from memories.content import Reference
from memories.models import File, Hold, Memory, Version
from memories.providers import registry
from memories.providers.base import Holder, Provider
from uhp_site.http.errors import RecordNotFound

from . import holds
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
    names = _names(place, record_ids)
    why = holding(place, list(names))
    fates = [Fate(one, title, why.get(one, "")) for one, title in names.items()]
    going = [one.record_id for one in fates if not one.refused]
    derived, unreachable = _around(organisation_id, provider, going)
    everything = [*going, *(one.record_id for one in derived)]
    counts = provider.left(everything)
    gone, kept = _files(place, everything, going)
    seen, hidden = _seen(place, derived)
    left, left_hidden = _seen(place, unreachable)
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
    names = _names(place, record_ids)
    current = Version.objects.current().filter(memory_id=place.memory.id, record_id__in=names)
    open_ids = set(current.values_list("record_id", flat=True))
    return [Fate(one, title, "" if one in open_ids else "It is forgotten already.") for one, title in names.items()]


def holding(place: Place, record_ids: Sequence[str]) -> dict[str, str]:
    """Why each of these records has to be kept; those that need not be are left out."""
    standing = Hold.objects.of(place.caller.organisation_id).standing()
    over = standing.over([place.memory.id]).first()
    single = {hold.record_id: hold for hold in standing.filter(record_id__in=record_ids)}
    branch = holds.refusal(place.caller, [over]).message if over else ""
    found = {one: f"On hold: {hold.reason}" if (hold := single.get(one)) else branch for one in record_ids}
    return {one: why for one, why in found.items() if why}


def _names(place: Place, record_ids: Sequence[str]) -> dict[str, str]:
    asked = [Reference(one, memory_id=place.memory.id) for one in dict.fromkeys(record_ids)][:MOST]
    there = provider_of(place).existing(asked)
    names = {
        one.record_id: there[one.memory_id, one.record_id] for one in asked if (one.memory_id, one.record_id) in there
    }
    if not names:
        raise RecordNotFound()
    return names


def _around(organisation_id: str, provider: Provider, going: Sequence[str]) -> tuple[list[Holder], list[Holder]]:
    # The same walk as an erasure makes: what a provider derived, and what it derived from that.
    known, fresh = set(going), set(going)
    derived: list[Holder] = []
    unreachable: dict[str, Holder] = {}
    while fresh:
        found = [one for one in provider.holders(organisation_id, fresh) if one.record_id not in known]
        pairs = [(one.memory_id, one.record_id) for one in found if one.derived_only]
        kept = holds.held(organisation_id, pairs) if pairs else set()
        along = [one for one in found if one.derived_only and one.record_id not in kept]
        derived += along
        fresh = {one.record_id for one in along}
        known |= fresh
        unreachable |= {one.record_id: one for one in found if one.record_id not in fresh}
    return derived, [one for one in unreachable.values() if one.record_id not in known]


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
