"""The cases of cases.toml, asked of the pure rule and of the SQL form alike."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from members.callers import caller_for, principals_by_member
from members.models import Group, Member
from memories.access import Holding, Node, Privilege, audience, effective
from memories.models import Memory
from tests import factories

CASES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text())["case"]
EVERYONE = Group.EVERYONE


class World(Protocol):
    """A way to answer the questions."""

    def may(self, who: str, path: str) -> Privilege: ...

    def sees(self, who: str) -> set[str]: ...

    def enters(self, who: str) -> set[str]: ...

    def reaches(self, path: str) -> set[str]: ...


@dataclass(frozen=True)
class Case:
    """One case, its shorthand read."""

    says: str
    memories: Mapping[str, str]
    restricted: frozenset[str]
    groups: Mapping[str, list[str]]
    grants: list[tuple[str, Privilege, str]]
    people: list[str]
    expected: Mapping[str, Any] = field(repr=False)


def read(raw: Mapping[str, Any]) -> Case:
    creators = {path: words.split(", ") for path, words in raw["memories"].items()}
    groups = raw.get("groups", {})
    grants = []
    for line in raw.get("grants", []):
        who, *words, _, path = line.split()
        grants.append((who, Privilege.from_words(words), path))
    named = [creator for creator, *_ in creators.values()] + raw.get("people", [])
    named += [member for members in groups.values() for member in members]
    named += [who for who, _, _ in grants if who not in groups and who != EVERYONE]
    return Case(
        says=raw["says"],
        memories={path: creator for path, (creator, *_) in creators.items()},
        restricted=frozenset(path for path, words in creators.items() if "restricted" in words[1:]),
        groups=groups,
        grants=grants,
        people=sorted(set(named)),
        expected=raw,
    )


def parent_of(path: str) -> str:
    return path.rpartition("/")[0]


class PureWorld:
    """The case as `access` sees it."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def may(self, who: str, path: str) -> Privilege:
        return effective(self._principals(who), self._upward(path))

    def sees(self, who: str) -> set[str]:
        return {path for path in self.case.memories if self.may(who, path)}

    def enters(self, who: str) -> set[str]:
        seen = self.sees(who)
        return {path for path in seen if parent_of(path) not in seen}

    def reaches(self, path: str) -> set[str]:
        return set(audience(self._upward(path), [(who, self._principals(who)) for who in self.case.people]))

    def _principals(self, who: str) -> set[str]:
        return {who, EVERYONE, *(group for group, members in self.case.groups.items() if who in members)}

    def _upward(self, path: str) -> list[Node]:
        chain = []
        while path:
            granted = [Holding(who, some) for who, some, on in self.case.grants if on == path]
            made = Holding(self.case.memories[path], Privilege.ALL)
            chain.append(Node(path, path in self.case.restricted, (made, *granted)))
            path = parent_of(path)
        return chain


class StoredWorld:
    """The case built with the product's verbs, and asked with its queries."""

    def __init__(self, case: Case) -> None:
        self.organisation = factories.organisation()
        self.members = {name: factories.member(self.organisation, name) for name in case.people}
        self.names = {member.id: name for name, member in self.members.items()}
        groups: dict[str, Group] = {EVERYONE: self.organisation.groups.get(is_everyone=True)}
        for name, members in case.groups.items():
            groups[name] = factories.group(self.organisation, *(self.members[one] for one in members), name=name)
        self.memories: dict[str, Memory] = {}
        for path, creator in case.memories.items():
            made = factories.memory(
                self.members[creator], self.memories.get(parent_of(path)), restricted=path in case.restricted
            )
            self.memories[path] = made
            for who, some, on in case.grants:
                if on == path:
                    to: Member | Group = groups.get(who) or self.members[who]
                    factories.grant(self.members[creator], made, to, *some.words)
        self.paths = {memory.id: path for path, memory in self.memories.items()}

    def may(self, who: str, path: str) -> Privilege:
        memory = self._tree().with_privileges(self._principals(who)).get(pk=self.memories[path].pk)
        return Privilege(memory.held)

    def sees(self, who: str) -> set[str]:
        return {self.paths[memory.id] for memory in self._tree().held_by(self._principals(who))}

    def enters(self, who: str) -> set[str]:
        return {self.paths[memory.id] for memory in self._tree().entry_points(self._principals(who))}

    def reaches(self, path: str) -> set[str]:
        everyone = principals_by_member(self.organisation.id)
        tree = self._tree().filter(pk=self.memories[path].pk)
        return {self.names[member.id] for member, counts_as in everyone.items() if tree.held_by(counts_as).exists()}

    def _tree(self) -> Any:
        return Memory.objects.of(self.organisation.id)

    def _principals(self, who: str) -> frozenset[str]:
        return caller_for(self.members[who]).principals


def check(world: World, case: Case) -> int:
    """Ask everything the case expects an answer to; return how much that was."""
    expected = case.expected
    for question, words in expected.get("may", {}).items():
        who, path = question.split(" on ")
        assert world.may(who, path).words == words.split(), question
    for who, paths in expected.get("sees", {}).items():
        assert world.sees(who) == set(paths), f"{who} sees"
    for who, paths in expected.get("enters", {}).items():
        assert world.enters(who) == set(paths), f"{who} enters"
    for path, people in expected.get("reaches", {}).items():
        assert world.reaches(path) == set(people), f"{path} is reached by"
    return sum(len(expected.get(kind, ())) for kind in ("may", "sees", "enters", "reaches"))


each_case = pytest.mark.parametrize("case", [read(raw) for raw in CASES], ids=lambda case: case.says)


@each_case
def test_the_pure_rule_answers_as_expected(case: Case) -> None:
    assert check(PureWorld(case), case) > 0


@each_case
@pytest.mark.django_db
def test_the_queries_answer_as_expected(case: Case) -> None:
    assert check(StoredWorld(case), case) > 0
