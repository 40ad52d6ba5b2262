"""A branch with everyone who might reach something in it: a constant number of queries, however large it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_
from typing import NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast

from members.models import Group, Member, Membership
from memories.access import Privilege
from memories.branch import Layout, Run, Weights, by_principal, lean
from memories.models import branches
from memories.providers import registry
from uhp_site.http.errors import MemoryUnavailable

from .sight import Place


class Someone(NamedTuple):
    """An active member, as far as it is named and counted."""

    id: str
    name: str
    type: str


@dataclass(frozen=True)
class Alike:
    """Members who count as the same wherever it matters here, and where something below the top is given to them."""

    members: Sequence[Someone]
    principals: frozenset[str]
    runs: Sequence[Run]

    def held(self, each: Mapping[str, int]) -> int:
        """What they hold, given what each principal does."""
        return reduce(or_, (each.get(one, 0) for one in self.principals), 0)


class Branch:
    """A memory and what is below it, in the places of `branch.Layout`; `visible` is what the caller sees of that."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._nodes = branches.at_or_below(place.memory)
        self.count = len(self._nodes)
        self.layout = Layout([one.above or 0 for one in self._nodes], [one.restricted for one in self._nodes])
        numbers = {one.key: number for number, one in enumerate(self._nodes)}
        # Whoever made what is above, too, holds everything on it by that; a branch is mostly made by few.
        made = (
            (one.creator, number, int(Privilege.ALL))
            for number, one in enumerate(self._nodes)
            if number and (one.restricted or one.creator != self._nodes[one.above or 0].creator)
        )
        given = (
            (one.principal, numbers[one.key], one.privileges)
            for one in branches.grants_below(place.memory)
            if one.key in numbers
        )
        self.runs = by_principal(chain(made, given), self.layout)
        # Whoever looks at the branch sees its top, and so everything that is open below.
        seen = [self.top(Privilege.ALL), *(run for one in place.caller.principals for run in self.runs.get(one, ()))]
        self.visible = Weights(self.count, seen)

    def top(self, privileges: int) -> Run:
        """Where something comes through that is held on the memory on top."""
        return self.layout.run(0, privileges)

    def alike(self, above: Collection[str]) -> Iterator[Alike]:
        """Everybody active, in classes; `above` are the principals that hold something on top."""
        organisation_id = self.place.caller.organisation_id
        named = self.runs.keys() | above
        rows = Group.objects.filter(organisation_id=organisation_id).values_list(
            "id", Cast("id", TextField()), "is_everyone"
        )
        counting = [(f"group:{pk}", key, is_everyone) for pk, key, is_everyone in rows if f"group:{pk}" in named]
        everyone = {principal for principal, _, is_everyone in counting if is_everyone}
        by_key, groups = {key: principal for principal, key, _ in counting}, dict[str, set[str]]()
        # Keys as they are: there are thousands of memberships.
        pairs = Membership.objects.filter(
            organisation_id=organisation_id,
            group_id__in=[principal.removeprefix("group:") for principal in by_key.values()],
        )
        for member_id, key in pairs.values_list("member_id", Cast("group_id", TextField())):
            groups.setdefault(member_id, set()).add(by_key[key])
        classes: dict[tuple[frozenset[str], str], list[Someone]] = {}
        self.everybody = [
            Someone(*row)
            for row in Member.objects.of(organisation_id).active().by_name().values_list("id", "name", "type")
        ]
        for one in self.everybody:
            own = f"member:{one.id}"
            inside = frozenset(groups.get(one.id, set()) | everyone)
            classes.setdefault((inside, own if own in named else ""), []).append(one)
        merged: dict[frozenset[str], list[Run]] = {}
        for (inside, own), members in classes.items():
            if inside not in merged:
                merged[inside] = lean(run for group in inside for run in self.runs.get(group, ()))
            runs = merged[inside]
            if theirs := self.runs.get(own):
                runs = sorted([*runs, *theirs])
            yield Alike(members, inside | {own} if own else inside, runs)

    def ids(self, places: Iterable[int]) -> Mapping[str, list[str]]:
        """The ids of the memories at some places, by provider."""
        chosen, kept_by = set(places), dict[str, list[str]]()
        for one, place in zip(self._nodes, self.layout.place, strict=True):
            if place in chosen:
                kept_by.setdefault(one.provider, []).append(branches.public_id(one.key))
        return kept_by


def records(kept_by: Mapping[str, Collection[str]]) -> int | None:
    """How many records there are in memories, given by provider; None when one does not answer. A question each."""
    try:
        return sum(sum(registry.get(one).count(here).values()) for one, here in kept_by.items())
    except MemoryUnavailable:
        return None
