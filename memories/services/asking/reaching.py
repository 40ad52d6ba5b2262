"""Who can reach a memory, and why."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from memories.access import Cause, Holding, Node, Person, Privilege, explain
from memories.models.audience import Source as FoundSource
from memories.models.audience import audience
from memories.services.sight import Place

from .chain import Chain, Reason, Where, at_instant, chain_then, seen_now

# What somebody holds, the reasons that may be named, and whether there are others.
_Explained = tuple[Privilege, tuple[Reason, ...], bool]


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
        chain = chain_then(place, then)
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
    chain, known = seen_now(place), dict[Hashable, _Explained]()
    end = found[limit - 1][0] if len(found) > limit else None
    return Audience(
        chain.where,
        tuple(_reaching(chain, theirs, known) for theirs in found[:limit]),
        counted[0].total if counted else 0,
        (end.sort_name, f"member:{end.member_id}") if end else None,
    )


def _reaching(chain: Chain, theirs: Sequence[FoundSource], known: dict[Hashable, _Explained]) -> Reaching:
    """Somebody who reaches the memory, by what was found to give it to them; `known` says it of others like them."""
    one = theirs[0]
    principal = f"member:{one.member_id}"
    principals = frozenset([principal, *[source.principal for source in theirs]])
    person = Person(principal, one.name, one.type, principals, None if one.keyed else Cause.NO_KEY)
    # Hundreds may get the same from the same groups; what somebody holds by themself is in nobody else's key.
    alike = tuple([source.given for source in theirs])
    explained = known.get(alike)
    if explained is None:
        explained = known[alike] = _explained(chain, principals, theirs)
    return Reaching(person, *explained)


def _explained(chain: Chain, principals: Collection[str], theirs: Sequence[FoundSource]) -> _Explained:
    holdings = dict[str, list[Holding]]()
    for source in theirs:
        held = Holding(source.principal, Privilege(source.privileges), source.grant_id)
        holdings.setdefault(source.memory_id, []).append(held)
    nodes = [Node(node.id, node.restricted, tuple(holdings.get(node.id, ()))) for node in chain.nodes]
    explained = explain(principals, nodes)
    groups = {source.principal: source.group_name for source in theirs if source.group_name}
    return explained.privileges, *chain.reasons(explained.sources, groups)


def _rows(chain: Chain, people: Sequence[Person], groups: Mapping[str, str]) -> tuple[Reaching, ...]:
    rows = []
    for person in people:
        explained = explain(person.principals, chain.nodes)
        reasons, hidden = chain.reasons(explained.sources, groups)
        rows.append(Reaching(person, explained.privileges, reasons, hidden))
    return tuple(rows)
