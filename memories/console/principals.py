"""Principals as people read them: names, and whether it is a person, an agent or a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from members.models import Group, Member
from memories.providers.base import Writer

# How many of a kind a select offers before one has to look for a name.
CHOICES = 50


@dataclass(frozen=True)
class Named:
    """Who a principal is. `kind` is person, agent, group, provider or unknown."""

    name: str
    kind: str
    detail: str = ""


def named(organisation_id: str, principals: Iterable[str]) -> Mapping[str, Named]:
    """Name principals of an organisation, in two queries; one that is gone is said to be."""
    wanted = set(principals)
    found: dict[str, Named] = {}
    member_ids = [one.removeprefix("member:") for one in wanted if one.startswith("member:")]
    for member in Member.objects.of(organisation_id).filter(pk__in=member_ids):
        kind = "agent" if member.type == Member.Type.AGENT else "person"
        found[member.principal] = Named(member.name, kind, "" if member.is_active else "deactivated, has no access")
    group_ids = [one.removeprefix("group:") for one in wanted if one.startswith("group:")]
    for group in Group.objects.filter(organisation_id=organisation_id, pk__in=group_ids):
        found[group.principal] = Named(group.name, "group", "every active member" if group.is_everyone else "")
    return {one: found.get(one) or _unknown(one) for one in wanted}


def writers(organisation_id: str, all_writers: Iterable[Writer]) -> Mapping[Writer, Named]:
    """Name the writers of records."""
    listed = list(all_writers)
    names = named(organisation_id, {f"{one.kind}:{one.id}" for one in listed if one.kind == "member"})
    return {one: names.get(f"{one.kind}:{one.id}") or Named(one.id, one.kind) for one in listed}


@dataclass(frozen=True)
class Choices:
    """Some of those whom a grant can name, grouped for a select; `more` says that there are others to look for."""

    groups: Sequence[Any]
    more: bool
    find: str = ""

    @property
    def searchable(self) -> bool:
        """Whether it is worth looking for somebody by name."""
        return self.more or bool(self.find)


def choices(organisation_id: str, find: str = "", keep: str = "") -> Choices:
    """Those whom a grant can name, of the first of each kind in whose name `find` occurs; `keep` is among them.

    Four queries; `everyone` says that it holds agents too.
    """
    called = Q(name__icontains=find) if find else Q()
    members = Member.objects.of(organisation_id).active().by_name()
    groups = Group.objects.filter(organisation_id=organisation_id).order_by("-is_everyone", "name")
    people = list(members.filter(called, type=Member.Type.HUMAN)[: CHOICES + 1])
    agents = list(members.filter(called, type=Member.Type.AGENT)[: CHOICES + 1])
    of_groups = list(groups.filter(called)[: CHOICES + 1])
    more = any(len(some) > CHOICES for some in (people, agents, of_groups))
    kind, _, identifier = keep.partition(":")
    # Who was asked about stays among them, also when deactivated.
    every = Member.objects.of(organisation_id)
    kept: Any = {"member": every, "group": groups}.get(kind, every.none()).filter(pk=identifier)
    for one in kept:
        some: list[Any] = of_groups if kind == "group" else agents if one.type == Member.Type.AGENT else people
        some[:] = [one, *(other for other in some if other.pk != one.pk)]
    called_groups = [
        (one.principal, f"{one.name} (people and agents)" if one.is_everyone else one.name) for one in of_groups
    ]
    listed = [
        ("People", [(one.principal, one.name) for one in people[:CHOICES]]),
        ("Agents", [(one.principal, one.name) for one in agents[:CHOICES]]),
        ("Groups", called_groups[:CHOICES]),
    ]
    more = any(len(some) > CHOICES for some in (people, agents, groups))
    return Choices([(label, some) for label, some in listed if some], more, find)


def _unknown(principal: str) -> Named:
    kind, _, identifier = principal.partition(":")
    if kind in {"member", "group"}:
        return Named(identifier, "unknown", f"no such {kind} any more, has no effect")
    return Named(principal, "unknown", "of this server's own kind")
