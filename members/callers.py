"""The caller: one member of one organisation, and the principals whose grants count for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .events import UNKNOWN, Actor, Origin
from .models import Group, Member, Membership


@dataclass(frozen=True)
class Caller:
    """Who is asking, resolved afresh for every request so that a change takes effect on the next one."""

    member: Member
    principals: frozenset[str]
    origin: Origin = UNKNOWN

    @property
    def organisation_id(self) -> str:
        """The tenant that every lookup of this caller is scoped to."""
        return self.member.organisation_id

    @property
    def actor(self) -> Actor:
        """The caller as the one who did something, for the audit."""
        return Actor(self.member.principal, self.origin)

    @property
    def is_authenticated(self) -> bool:
        """What DRF asks of a request's user; a caller exists only once a credential was accepted."""
        return True


def caller_for(member: Member, origin: Origin = UNKNOWN) -> Caller:
    """Resolve what the member counts as: itself, its groups and `everyone` (Memories §4.3); one query."""
    groups = Group.objects.filter(organisation_id=member.organisation_id).filter(
        id__in=Membership.objects.filter(member=member).values("group_id")
    ) | Group.objects.filter(organisation_id=member.organisation_id, is_everyone=True)
    principals = {member.principal, *(f"group:{pk}" for pk in groups.values_list("id", flat=True))}
    return Caller(member, frozenset(principals), origin)


def callers_for(members: Iterable[Member]) -> Sequence[Caller]:
    """`caller_for` of several members of one organisation; two queries whatever their number, none for none."""
    found = list(members)
    if not found:
        return []
    everyone = Group.objects.filter(organisation_id=found[0].organisation_id, is_everyone=True)
    shared = {f"group:{pk}" for pk in everyone.values_list("id", flat=True)}
    groups: dict[str, set[str]] = {}
    for member_id, group_id in Membership.objects.filter(member__in=found).values_list("member_id", "group_id"):
        groups.setdefault(member_id, set()).add(f"group:{group_id}")
    return [Caller(one, frozenset({one.principal, *shared, *groups.get(one.id, ())})) for one in found]


def principals_by_member(organisation_id: str) -> Mapping[Member, frozenset[str]]:
    """What each active member of an organisation counts as; three queries whatever their number."""
    members = list(Member.objects.of(organisation_id).active().by_name())
    everyone = {
        f"group:{pk}"
        for pk in Group.objects.filter(organisation_id=organisation_id, is_everyone=True).values_list("id", flat=True)
    }
    groups: dict[str, set[str]] = {}
    pairs = Membership.objects.filter(organisation_id=organisation_id).values_list("member_id", "group_id")
    for member_id, group_id in pairs:
        groups.setdefault(member_id, set()).add(f"group:{group_id}")
    return {member: frozenset({member.principal, *everyone, *groups.get(member.id, ())}) for member in members}
