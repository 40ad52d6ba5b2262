"""Principals as people read them: names, and whether it is a person, an agent or a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from members.models import Group, Member
from memories.providers.base import Writer


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


def choices(organisation_id: str) -> Sequence[Any]:
    """Everyone a grant can name, grouped for a select; `everyone` says that it holds agents too."""
    groups = Group.objects.filter(organisation_id=organisation_id).order_by("-is_everyone", "name")
    members = list(Member.objects.of(organisation_id).active().by_name())
    people = [(one.principal, one.name) for one in members if one.type == Member.Type.HUMAN]
    agents = [(one.principal, one.name) for one in members if one.type == Member.Type.AGENT]
    listed = [(one.principal, f"{one.name} (people and agents)" if one.is_everyone else one.name) for one in groups]
    return [("People", people), ("Agents", agents), ("Groups", listed)]


def _unknown(principal: str) -> Named:
    kind, _, identifier = principal.partition(":")
    if kind in {"member", "group"}:
        return Named(identifier, "unknown", f"no such {kind} any more, has no effect")
    return Named(principal, "unknown", "of this server's own kind")
