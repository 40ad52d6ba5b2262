"""Who reaches a memory and why, what somebody reaches, and why or why not: now, or at an instant.

Every answer comes from the functions that enforce the rule (`memories.access`), or from its one SQL form. What is said
stays within what the one who asks may know: who holds what on a memory is the business of those who hold `delete`
there; about oneself one may ask wherever one sees. Where access comes from a memory that the asker does not see, that
is said, and not where.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef, Q, SmallIntegerField, Subquery
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
from memories.models.audience import Source as FoundSource
from memories.models.audience import audience, way_up
from memories.models.tree import ENTERED_ANEW
from memories.past import Happened, Past, replay
from uhp_site.http.errors import MemoryNotFound

from .grants import PRINCIPAL
from .sight import Place

GROUP = "group"
# What somebody holds, the reasons that may be named, and whether there are others.
_Explained = tuple[Privilege, tuple["Reason", ...], bool]


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
    key = (str(after[0]), str(after[1]).removeprefix("member:")) if after else None
    sources = audience(place.memory, most=limit + 1, after=key, named=named, type=type)
    counted = sources or (audience(place.memory, most=1, named=named, type=type) if after else ())
    found = [list(theirs) for _, theirs in groupby(sources, key=attrgetter("member_id"))]
    chain, known = _seen_now(place), dict[Hashable, _Explained]()
    end = found[limit - 1][0] if len(found) > limit else None
    return Audience(
        chain.where,
        tuple(_reaching(chain, theirs, known) for theirs in found[:limit]),
        counted[0].total if counted else 0,
        (end.sort_name, f"member:{end.member_id}") if end else None,
    )


def _reaching(chain: _Chain, theirs: Sequence[FoundSource], known: dict[Hashable, _Explained]) -> Reaching:
    """Somebody who reaches the memory, by what was found to give it to them; `known` says it of others like them."""
    one = theirs[0]
    principal = f"member:{one.member_id}"
    principals = frozenset({principal, *(source.principal for source in theirs)})
    person = Person(principal, one.name, one.type, principals, None if one.keyed else Cause.NO_KEY)
    # Hundreds may get the same from the same groups; what somebody holds by themself is in nobody else's key.
    alike = tuple((source.memory_id, source.principal, source.privileges, source.grant_id) for source in theirs)
    explained = known.get(alike)
    if explained is None:
        explained = known[alike] = _explained(chain, principals, theirs)
    return Reaching(person, *explained)


def _explained(chain: _Chain, principals: Collection[str], theirs: Sequence[FoundSource]) -> _Explained:
    holdings = dict[str, list[Holding]]()
    for source in theirs:
        held = Holding(source.principal, Privilege(source.privileges), source.grant_id)
        holdings.setdefault(source.memory_id, []).append(held)
    nodes = [Node(node.id, node.restricted, tuple(holdings.get(node.id, ()))) for node in chain.nodes]
    explained = explain(principals, nodes)
    groups = {source.principal: source.group_name for source in theirs if source.group_name}
    return explained.privileges, *chain.reasons(explained.sources, groups)


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
    tree = Memory.objects.of(caller.organisation_id)
    tree = tree.filter(tree.covered_by(caller.principals, needed), tree.covered_by(person.principals))
    rows = annotated(
        tree.with_privileges(person.principals)
        .with_privileges(person.principals, field="parent", alias="held_above")
        .with_privileges(caller.principals, field="parent", alias="known_above"),
        level=Subquery(depth, output_field=SmallIntegerField()),
        sort_name=Lower("name"),
    )
    if changes:
        known = tree.covered_by(caller.principals, needed, field="parent")
        # What comes through from above is as it is there: it differs only where nothing does, or something sits.
        direct = StoredHolding.objects.filter(principal__in=list(person.principals)).values("memory_id")
        rows = rows.filter((ENTERED_ANEW | Q(pk__in=direct)) & ~Q(held=F("held_above")) | ~known)
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
    upward = Memory.objects.upward_from(memory).values_list("id", "restricted")
    return with_holdings([Node(memory_id, restricted) for memory_id, restricted in upward])


def with_holdings(nodes: Sequence[Node]) -> list[Node]:
    """Memories with what is held right there; one query."""
    holdings: dict[str, list[Holding]] = {one.id: [] for one in nodes}
    stored = StoredHolding.objects.filter(memory_id__in=list(holdings)).order_by("key")
    for memory_id, principal, bits, grant_id in stored.values_list("memory_id", "principal", "privileges", "grant_id"):
        holdings[memory_id].append(Holding(principal, Privilege(bits), grant_id or ""))
    return [replace(one, holdings=tuple(holdings[one.id])) for one in nodes]


def _chain_now(place: Place) -> _Chain:
    chain = _seen_now(place)
    return replace(chain, nodes=with_holdings(chain.nodes))


def _seen_now(place: Place) -> _Chain:
    """The way up without what is held on it; one query."""
    upward = way_up(place.memory, place.caller.principals)
    seen = {one.id: Step(one.id, one.name, one.restricted) for one in upward if one.held}
    return _Chain([Node(one.id, one.restricted) for one in upward], seen)


def _chain_then(place: Place, then: Past) -> _Chain:
    # What may be named is what the asker sees now, by the name it had then.
    nodes = then.upward(place.memory.id)
    visible = Memory.objects.of(place.caller.organisation_id).held_by(place.caller.principals)
    ids = set(visible.filter(pk__in=[node.id for node in nodes]).values_list("id", flat=True))
    seen = {one: Step(one, then.memories[one].name, then.memories[one].restricted) for one in ids}
    return _Chain(nodes, seen)


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
