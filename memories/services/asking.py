"""Who reaches a memory and why, what somebody reaches, and why or why not: now, or at an instant.

Every answer comes from the functions that enforce the rule (`memories.access`), or from its one SQL form. What is said
stays within what the one who asks may know: who holds what on a memory is the business of those who hold `delete`
there; about oneself one may ask wherever one sees. Where access comes from a memory that the asker does not see, that
is said, and not where.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, F, OuterRef, Q, SmallIntegerField, Subquery, Window
from django.db.models.functions import Lower

from members.callers import Caller
from members.models import Credential, Event, Group, Member, Membership, annotated
from memories import past
from memories.access import (
    Cause,
    Holding,
    Node,
    Person,
    Privilege,
    Source,
    Verdict,
    explain,
    judge,
    within_cutoff,
)
from memories.models import Holding as StoredHolding
from memories.models import LastUse, Memory, Reach
from memories.past import Happened, Past, replay
from uhp_site.http.errors import MemoryNotFound

from .grants import PRINCIPAL
from .sight import Place

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
class Reaching:
    """Somebody who reaches a memory, with every reason that may be named, and whether there are others."""

    person: Person
    privileges: Privilege
    reasons: tuple[Reason, ...]
    hidden: bool


@dataclass(frozen=True)
class Audience:
    """One page of those who reach a memory, by name; `total` counts them all."""

    where: Where
    people: tuple[Reaching, ...]
    total: int
    next: tuple[str, str] | None


@dataclass(frozen=True)
class Held:
    """A memory that somebody reaches. `changes` when they hold something else there than on what is above it.

    `read_at` and `written_at` are when they last did, as far as it was noted; None for never, and for the past.
    """

    id: str
    name: str
    depth: int
    parent_id: str | None
    restricted: bool
    privileges: Privilege
    changes: bool
    read_at: datetime | None = None
    written_at: datetime | None = None


@dataclass(frozen=True)
class Reachable:
    """One page of what somebody reaches, highest in the tree first."""

    person: Person
    memories: tuple[Held, ...]
    next: tuple[int, str, str] | None


@dataclass(frozen=True)
class Because:
    """Why somebody may or may not do one thing. The reasons of a no are what would have given it.

    `cutoffs` are the closed memories in between that the asker sees; `hidden` says that there is more than is named.
    """

    person: Person
    privilege: Privilege
    yes: bool
    cause: Cause | None
    reasons: tuple[Reason, ...]
    cutoffs: tuple[Step, ...]
    hidden: bool


@dataclass(frozen=True)
class _Chain:
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


def who(
    place: Place,
    limit: int,
    after: tuple[Any, ...] | None = None,
    at: datetime | None = None,
    *,
    named: str = "",
    type: str = "",
) -> Audience:
    """Everyone who reaches a memory, page by page. Raises MemoryForbidden without delete on it.

    `named` keeps those in whose name it occurs, `type` humans or agents.
    """
    place.require(Privilege.DELETE)
    if at is not None:
        then = at_instant(place.caller.organisation_id, at)
        chain = _chain_then(place, then)
        asked = (one for one in then.people() if named.lower() in one.name.lower() and type in {"", one.type})
        people = [one for one in asked if explain(one.principals, chain.nodes).privileges]
        rest = [one for one in people if after is None or (one.name.lower(), one.principal) > after]
        last = rest[limit - 1] if len(rest) > limit else None
        following = (last.name.lower(), last.principal) if last else None
        return Audience(chain.where, _rows(chain, rest[:limit], then.groups), len(people), following)
    chain, organisation_id = _chain_now(place), place.caller.organisation_id
    groups, everyone = _groups(chain, organisation_id)
    members = _reaching(organisation_id, chain.nodes, everyone)
    members = members.filter(name__icontains=named) if named else members
    members = members.filter(type=type) if type else members
    page = members
    if after:
        name, principal = after
        member_id = str(principal).removeprefix("member:")
        page = page.filter(Q(sort_name__gt=name) | Q(sort_name=name, id__gt=member_id))
    else:
        # The first page counts as it goes; finding them is most of the work.
        page = page.annotate(total=Window(Count("*")))
    found = list(_counted(page)[: limit + 1])
    total = members.count() if after else found[0].total if found else 0
    rows = _rows(chain, _people(everyone, found[:limit]), groups)
    more = found[limit - 1] if len(found) > limit else None
    return Audience(chain.where, rows, total, (more.sort_name, more.principal) if more else None)


def _rows(chain: _Chain, people: Sequence[Person], groups: Mapping[str, str]) -> tuple[Reaching, ...]:
    rows = []
    for person in people:
        explained = explain(person.principals, chain.nodes)
        reasons, hidden = chain.reasons(explained.sources, groups)
        rows.append(Reaching(person, explained.privileges, reasons, hidden))
    return tuple(rows)


def what(
    caller: Caller,
    principal: str,
    limit: int,
    after: tuple[Any, ...] | None = None,
    *,
    at: datetime | None = None,
    changes: bool = False,
) -> Reachable:
    """What a member or group reaches, of what the caller may know; with `changes`, only where it becomes different.

    That is where the caller holds delete, or, about themself, wherever they see. Raises MemoryNotFound for a principal
    that the organisation does not have.
    """
    needed = Privilege.NONE if principal == caller.member.principal else Privilege.DELETE
    if at is not None:
        return _what_then(caller, principal, limit, after, at_instant(caller.organisation_id, at), needed, changes)
    person = subject(caller.organisation_id, principal)
    if person.hindered is Cause.DEACTIVATED:
        return Reachable(person, (), None)
    depth = Reach.objects.filter(descendant=OuterRef("pk")).order_by("-distance").values("distance")[:1]
    tree = Memory.objects.of(caller.organisation_id).held_by(caller.principals, needed).held_by(person.principals)
    rows = annotated(
        tree.with_privileges(person.principals)
        .with_privileges(person.principals, field="parent", alias="held_above")
        .with_privileges(caller.principals, field="parent", alias="known_above"),
        level=Subquery(depth, output_field=SmallIntegerField()),
        sort_name=Lower("name"),
    )
    if changes:
        known = tree.held_q(caller.principals, needed, field="parent")
        rows = rows.filter(~Q(held=F("held_above")) | ~known)
    if after:
        level, name, memory_id = after
        rows = rows.filter(
            Q(level__gt=level) | Q(level=level, sort_name__gt=name) | Q(level=level, sort_name=name, id__gt=memory_id)
        )
    found: list[Any] = list(rows.order_by(F("level"), F("sort_name"), "id")[: limit + 1])
    uses = _uses(principal, [one.id for one in found[:limit]])
    held = []
    for one in found[:limit]:
        known_above = Privilege(one.known_above)
        shows_parent = bool(known_above) and needed & known_above == needed
        read_at, written_at = uses.get(one.id, (None, None))
        held.append(
            Held(
                id=one.id,
                name=one.name,
                depth=one.level,
                parent_id=one.parent_id if shows_parent else None,
                restricted=one.restricted,
                privileges=Privilege(one.held),
                changes=one.held != (one.held_above if shows_parent else 0),
                read_at=read_at,
                written_at=written_at,
            )
        )
    last = found[limit - 1] if len(found) > limit else None
    return Reachable(person, tuple(held), (last.level, last.sort_name, last.id) if last else None)


def _what_then(
    caller: Caller,
    principal: str,
    limit: int,
    after: tuple[Any, ...] | None,
    then: Past,
    needed: Privilege,
    changes: bool,
) -> Reachable:
    person = _subject_then(then, principal)
    known = set(
        Memory.objects.of(caller.organisation_id).held_by(caller.principals, needed).values_list("id", flat=True)
    )
    held = past.held(then, person.principals) if person.hindered is not Cause.DEACTIVATED else {}
    rows = []
    for memory_id, (depth, privileges, above) in held.items():
        memory = then.memories[memory_id]
        shows_parent = memory.parent_id in known
        changed = privileges != (above if shows_parent else Privilege.NONE)
        key = (depth, memory.name.lower(), memory_id)
        if memory_id in known and privileges and (changed or not changes) and (after is None or key > after):
            parent_id = memory.parent_id if shows_parent else None
            rows.append((key, Held(memory_id, memory.name, depth, parent_id, memory.restricted, privileges, changed)))
    rows.sort(key=lambda row: row[0])
    page = tuple(row for _, row in rows[:limit])
    return Reachable(person, page, rows[limit - 1][0] if len(rows) > limit else None)


def why(place: Place, principal: str, privilege: Privilege, at: datetime | None = None) -> Because:
    """Whether a member or group holds a privilege on a memory, and the one cause. Raises MemoryForbidden without
    delete on it, and MemoryNotFound for a principal that the organisation does not have."""
    place.require(Privilege.DELETE)
    organisation_id = place.caller.organisation_id
    if at is not None:
        then = at_instant(organisation_id, at)
        chain, person = _chain_then(place, then), _subject_then(then, principal)
        groups: Mapping[str, str] = then.groups
    else:
        chain, person = _chain_now(place), subject(organisation_id, principal)
        groups, _ = _groups(chain, organisation_id)
    verdict: Verdict = judge(person.principals, chain.nodes, privilege, person.hindered)
    cause, sources = verdict.cause, verdict.sources
    if cause is Cause.NOT_IN_GROUP:
        # A grant to a group that is no more gives nobody anything, and a group is in no group.
        sources = tuple(one for one in sources if one.holding.principal in groups and person.type != GROUP)
        cause = cause if sources else Cause.NO_GRANT
    reasons, hidden = chain.reasons(sources, groups)
    cutoffs = tuple(chain.seen[one] for one in verdict.cutoffs if one in chain.seen)
    hidden = hidden or len(cutoffs) < len(verdict.cutoffs)
    return Because(person, privilege, verdict.yes, cause, reasons, cutoffs, hidden)


def subject(organisation_id: str, principal: str) -> Person:
    """The member or group that a principal names, as what it counts as now. Raises MemoryNotFound."""
    kind, _, identifier = principal.partition(":") if PRINCIPAL.fullmatch(principal) else ("", "", "")
    if kind == GROUP:
        group = Group.objects.filter(organisation_id=organisation_id, pk=identifier).first()
        if group is not None:
            return Person(principal, group.name, GROUP, frozenset({principal}))
    if kind == "member":
        member = _counted(Member.objects.of(organisation_id).filter(pk=identifier)).first()
        if member is not None:
            everyone = Group.objects.filter(organisation_id=organisation_id, is_everyone=True)
            return _people({f"group:{pk}" for pk in everyone.values_list("id", flat=True)}, [member])[0]
    raise _no_such_principal()


def at_instant(organisation_id: str, at: datetime) -> Past:
    """An organisation as it was, replayed from its events; one query, in memory proportional to what changed ever."""
    rows = Event.objects.of(organisation_id).filter(at__lte=at, action__in=past.ACTIONS).order_by("id")
    fields = rows.values_list("at", "action", "memory_id", "subject", "detail")
    return replay((Happened(*row) for row in fields.iterator(chunk_size=5_000)), at)


def nodes_above(memory: Memory) -> list[Node]:
    """A memory and those above it as the rule sees them, nearest first; two queries."""
    return as_nodes(list(Memory.objects.upward_from(memory)))


def as_nodes(memories: Sequence[Memory]) -> list[Node]:
    """Memories with what is held right there; one query."""
    holdings: dict[str, list[Holding]] = {one.id: [] for one in memories}
    for stored in StoredHolding.objects.filter(memory_id__in=list(holdings)).order_by("key"):
        holdings[stored.memory_id].append(_holding(stored))
    return [Node(one.id, one.restricted, tuple(holdings[one.id])) for one in memories]


def _holding(stored: StoredHolding) -> Holding:
    return Holding(stored.principal, Privilege(stored.privileges), stored.grant_id or "")


def _chain_now(place: Place) -> _Chain:
    upward = list(Memory.objects.upward_from(place.memory).with_privileges(place.caller.principals))
    seen = {one.id: Step(one.id, one.name, one.restricted) for one in upward if one.held}
    return _Chain(as_nodes(upward), seen)


def _chain_then(place: Place, then: Past) -> _Chain:
    # What may be named is what the asker sees now, by the name it had then.
    nodes = then.upward(place.memory.id)
    visible = Memory.objects.of(place.caller.organisation_id).held_by(place.caller.principals)
    ids = set(visible.filter(pk__in=[node.id for node in nodes]).values_list("id", flat=True))
    seen = {one: Step(one, then.memories[one].name, then.memories[one].restricted) for one in ids}
    return _Chain(nodes, seen)


def _reaching(organisation_id: str, upward: Sequence[Node], everyone: Collection[str]) -> Any:
    # Every holding counts for something, so whoever one of them names reaches the memory.
    holders = {one.principal for node in within_cutoff(upward) for one in node.holdings}
    members = Member.objects.of(organisation_id).active().by_name()
    if not holders.isdisjoint(everyone):
        return members
    groups = [one.removeprefix("group:") for one in holders if one.startswith("group:")]
    direct = [one.removeprefix("member:") for one in holders if one.startswith("member:")]
    inside = Membership.objects.filter(organisation_id=organisation_id, group_id__in=groups).values("member_id")
    return members.filter(Q(pk__in=direct) | Q(pk__in=inside))


def _counted(members: Any) -> Any:
    """Members with the groups they are in and whether they have a key, in the one query that finds them."""
    of = {"member": OuterRef("pk")}
    in_groups = ArraySubquery(Membership.objects.filter(**of).values("group_id"))
    return members.annotate(in_groups=in_groups, keyed=Exists(Credential.objects.live().filter(**of)))


def _people(everyone: Collection[str], members: Sequence[Any]) -> list[Person]:
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


def _subject_then(then: Past, principal: str) -> Person:
    if member := then.members.get(principal):
        principals = then.principals(principal)
        return Person(principal, member.name, member.type, principals, member.hindered(then.at))
    if principal in then.groups:
        return Person(principal, then.groups[principal], GROUP, frozenset({principal}))
    raise _no_such_principal()


def _groups(chain: _Chain, organisation_id: str) -> tuple[Mapping[str, str], Collection[str]]:
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


def _uses(principal: str, memory_ids: Sequence[str]) -> Mapping[str, tuple[datetime | None, datetime | None]]:
    if not principal.startswith("member:"):
        return {}
    rows = LastUse.objects.filter(member_id=principal.removeprefix("member:"), memory_id__in=memory_ids)
    return {memory: (read, wrote) for memory, read, wrote in rows.values_list("memory_id", "read_at", "written_at")}


def _no_such_principal() -> MemoryNotFound:
    return MemoryNotFound("There is no such member or group.")
