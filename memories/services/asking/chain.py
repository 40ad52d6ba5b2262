"""What every answer is made of: the way up from a memory as the asker sees it, and whom a principal names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q

from members.models import Credential, Event, Group, Member, Membership
from memories import past
from memories.access import Cause, Holding, Node, Person, Privilege, Source, within_cutoff
from memories.models import Holding as StoredHolding
from memories.models import Memory
from memories.models.audience import way_up
from memories.past import Happened, Past, replay
from memories.services.grants import PRINCIPAL
from memories.services.sight import Place
from uhp_site.http.errors import MemoryNotFound

GROUP = "group"


@dataclass(frozen=True)
class Step:
    """A memory on the way up, as far as the asker sees it."""

    id: str
    name: str
    restricted: bool


@dataclass(frozen=True)
class Where:
    """How a memory gets its access: the visible way up, nearest first, and where the walk ends.

    `cutoff` is the closed memory that ends it; empty when none does, and when the asker does not see it, which
    `cutoff_hidden` says.
    """

    steps: tuple[Step, ...]
    goes_on: bool
    cutoff: str
    cutoff_hidden: bool


@dataclass(frozen=True)
class Reason:
    """One source of access. `via` is direct, group or creator; `memory` is where it sits, the memory asked included."""

    via: str
    principal: str
    group_name: str
    privileges: Privilege
    memory: Step
    grant_id: str


@dataclass(frozen=True)
class Chain:
    """A memory and those above it: as the rule sees them, and as the asker does."""

    nodes: Sequence[Node]
    seen: Mapping[str, Step]

    @property
    def where(self) -> Where:
        counted = list(within_cutoff(self.nodes))
        steps = []
        for node in self.nodes:
            if node.id not in self.seen:
                break
            steps.append(self.seen[node.id])
        cutoff = counted[-1].id if counted and counted[-1].restricted else ""
        hidden = bool(cutoff) and cutoff not in self.seen
        return Where(tuple(steps), len(steps) < len(self.nodes), "" if hidden else cutoff, hidden)

    def reasons(self, sources: Iterable[Source], groups: Mapping[str, str]) -> tuple[tuple[Reason, ...], bool]:
        """The sources that may be named, nearest first, and whether there are others."""
        listed = list(sources)
        named = tuple(
            Reason(
                via=_via(source.holding),
                principal=source.holding.principal,
                group_name=groups.get(source.holding.principal, ""),
                privileges=source.holding.privileges,
                memory=self.seen[source.memory_id],
                grant_id=source.holding.grant_id,
            )
            for source in listed
            if source.memory_id in self.seen
        )
        return named, len(named) < len(listed)


def _via(holding: Holding) -> str:
    if not holding.grant_id:
        return "creator"
    return GROUP if holding.principal.startswith("group:") else "direct"


def subject(organisation_id: str, principal: str) -> Person:
    """The member or group that a principal names, as what it counts as now. Raises MemoryNotFound."""
    kind, _, identifier = principal.partition(":") if PRINCIPAL.fullmatch(principal) else ("", "", "")
    if kind == GROUP:
        group = Group.objects.filter(organisation_id=organisation_id, pk=identifier).first()
        if group is not None:
            return Person(principal, group.name, GROUP, frozenset({principal}))
    if kind == "member":
        member = counted(Member.objects.of(organisation_id).filter(pk=identifier)).first()
        if member is not None:
            everyone = Group.objects.filter(organisation_id=organisation_id, is_everyone=True)
            return people_of({f"group:{pk}" for pk in everyone.values_list("id", flat=True)}, [member])[0]
    raise no_such_principal()


def at_instant(organisation_id: str, at: datetime) -> Past:
    """An organisation as it was, replayed from its events; one query, in memory proportional to what changed ever."""
    rows = Event.objects.of(organisation_id).filter(at__lte=at, action__in=past.ACTIONS).order_by("id")
    fields = rows.values_list("at", "action", "memory_id", "subject", "detail")
    return replay((Happened(*row) for row in fields.iterator(chunk_size=5_000)), at)


def nodes_above(memory: Memory) -> list[Node]:
    """A memory and those above it as the rule sees them, nearest first; two queries."""
    upward = Memory.objects.upward_from(memory).values_list("id", "restricted")
    return with_holdings([Node(memory_id, restricted) for memory_id, restricted in upward])


def with_holdings(nodes: Sequence[Node]) -> list[Node]:
    """Memories with what is held right there; one query."""
    holdings: dict[str, list[Holding]] = {one.id: [] for one in nodes}
    stored = StoredHolding.objects.filter(memory_id__in=list(holdings)).order_by("key")
    for memory_id, principal, bits, grant_id in stored.values_list("memory_id", "principal", "privileges", "grant_id"):
        holdings[memory_id].append(Holding(principal, Privilege(bits), grant_id or ""))
    return [replace(one, holdings=tuple(holdings[one.id])) for one in nodes]


def chain_now(place: Place) -> Chain:
    chain = seen_now(place)
    return replace(chain, nodes=with_holdings(chain.nodes))


def seen_now(place: Place) -> Chain:
    """The way up without what is held on it; one query."""
    upward = way_up(place.memory, place.caller.principals)
    seen = {one.id: Step(one.id, one.name, one.restricted) for one in upward if one.held}
    return Chain([Node(one.id, one.restricted) for one in upward], seen)


def chain_then(place: Place, then: Past) -> Chain:
    # What may be named is what the asker sees now, by the name it had then.
    nodes = then.upward(place.memory.id)
    visible = Memory.objects.of(place.caller.organisation_id).held_by(place.caller.principals)
    ids = set(visible.filter(pk__in=[node.id for node in nodes]).values_list("id", flat=True))
    seen = {one: Step(one, then.memories[one].name, then.memories[one].restricted) for one in ids}
    return Chain(nodes, seen)


def counted(members: Any) -> Any:
    """Members with the groups they are in and whether they have a key, in the one query that finds them."""
    of = {"member": OuterRef("pk")}
    in_groups = ArraySubquery(Membership.objects.filter(**of).values("group_id"))
    return members.annotate(in_groups=in_groups, keyed=Exists(Credential.objects.live().filter(**of)))


def people_of(everyone: Collection[str], members: Sequence[Any]) -> list[Person]:
    """Members with what they count as and what keeps them from acting."""
    return [
        Person(
            one.principal,
            one.name,
            one.type,
            frozenset(
                {one.principal, *everyone, *(f"group:{Group._meta.pk.to_python(group)}" for group in one.in_groups)}
            ),
            _hindered(one),
        )
        for one in members
    ]


def _hindered(member: Any) -> Cause | None:
    if not member.is_active:
        return Cause.DEACTIVATED
    return None if member.user_id is not None or member.keyed else Cause.NO_KEY


def subject_then(then: Past, principal: str) -> Person:
    if member := then.members.get(principal):
        principals = then.principals(principal)
        return Person(principal, member.name, member.type, principals, member.hindered(then.at))
    if principal in then.groups:
        return Person(principal, then.groups[principal], GROUP, frozenset({principal}))
    raise no_such_principal()


def groups_of(chain: Chain, organisation_id: str) -> tuple[Mapping[str, str], Collection[str]]:
    """The groups that hold something on the chain, by principal, and the one that everyone is in; one query."""
    ids = [
        one.principal.removeprefix("group:")
        for node in chain.nodes
        for one in node.holdings
        if one.principal.startswith("group:")
    ]
    found = Group.objects.filter(Q(pk__in=ids) | Q(is_everyone=True), organisation_id=organisation_id)
    rows = list(found.values_list("id", "name", "is_everyone"))
    return {f"group:{pk}": name for pk, name, _ in rows}, {f"group:{pk}" for pk, _, is_everyone in rows if is_everyone}


def no_such_principal() -> MemoryNotFound:
    return MemoryNotFound("There is no such member or group.")
