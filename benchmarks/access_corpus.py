"""A seeded world to measure access in: organisations, their members and groups, a tree of memories, grants on it.

Everything is numbered from 0 and kept in lists, so that a million memories fit; what the numbers are called in a
database is for whoever loads them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

READ, WRITE, CREATE, DELETE, ALL = 1, 2, 4, 8, 15
DEPTH = 6
RESTRICTED = 0.02
DEPARTMENTS = 10
TEAMS_OF_A_MEMBER = 4
# Nine in ten memories are made by agents, three in ten grants go to groups.
MADE_BY_AGENTS = 0.9
TO_GROUPS = 0.3
# What is granted, by how often.
SETS = ((READ, 60), (READ | WRITE, 25), (ALL, 10), (CREATE, 5))


@dataclass(frozen=True)
class Scale:
    """How large a world is; `branch` is the size of the subtree that is read, closed and moved, `audience` the number
    of members that reach one memory, `samples` how often each question is asked."""

    organisations: int
    memories: int
    grants: int
    members: int
    groups: int
    branch: int
    audience: int
    samples: int


SCALES = {
    "tiny": Scale(4, 1_200, 400, 90, 48, branch=60, audience=30, samples=12),
    "small": Scale(10, 20_000, 4_000, 800, 160, branch=1_000, audience=300, samples=60),
    "full": Scale(50, 1_000_000, 100_000, 6_000, 1_000, branch=10_000, audience=2_000, samples=200),
}


@dataclass(frozen=True)
class Grant:
    """A set of privileges that a member, or else a group, was given on a memory."""

    memory: int
    privileges: int
    member: int | None = None
    group: int | None = None


@dataclass
class Members:
    """Who there is. The first member of an organisation founded it, the second reads its whole tree and made nothing;
    the last tenth or so are agents. The first groups of an organisation are its departments."""

    organisation: list[int] = field(default_factory=list)
    is_agent: list[bool] = field(default_factory=list)
    groups: list[set[int]] = field(default_factory=list)
    group_organisation: list[int] = field(default_factory=list)
    of: list[list[int]] = field(default_factory=list)
    groups_of: list[list[int]] = field(default_factory=list)


@dataclass
class Corpus:
    """The world. `everyone` of organisation n is not among the groups: it is granted through `to_everyone`."""

    scale: Scale
    members: Members
    organisation: list[int]
    parent: list[int | None]
    depth: list[int]
    restricted: list[bool]
    creator: list[int]
    roots: list[int]
    grants: list[Grant]
    to_everyone: list[tuple[int, int]]
    branch: int
    target: int
    crowded: int
    children: list[list[int]]

    @property
    def reader(self) -> int:
        """The member that reads the whole tree of the largest organisation by one grant on its root."""
        return self.members.of[0][1]

    @property
    def founder(self) -> int:
        """The member that made the root of the largest organisation."""
        return self.members.of[0][0]

    def chain(self, memory: int) -> Iterator[int]:
        """A memory and those above it, nearest first."""
        at: int | None = memory
        while at is not None:
            yield at
            at = self.parent[at]

    def subtree(self, memory: int) -> list[int]:
        """A memory and everything below it."""
        found = [memory]
        for one in found:
            found.extend(self.children[one])
        return found


def grow(scale: Scale, seed: int = 7) -> Corpus:
    """Make a world; the same arguments always make the same one."""
    random = Random(seed)
    weights = [1 / (number + 2) for number in range(scale.organisations)]
    members = _people(scale, weights, random)
    corpus = Corpus(scale, members, [], [], [], [], [], [], [], [], 0, 0, 0, [])
    _plant(corpus, weights, random)
    _choose(corpus)
    _grant(corpus, weights, random)
    return corpus


def _people(scale: Scale, weights: list[float], random: Random) -> Members:
    members = Members()
    largest = scale.audience * 5 // 4
    others = _shares(scale.members - largest, weights[1:], at_least=4)
    group_counts = _shares(scale.groups, [largest, *others], at_least=DEPARTMENTS + 1)
    for organisation, (count, groups) in enumerate(zip([largest, *others], group_counts, strict=True)):
        first, first_group = len(members.organisation), len(members.groups)
        members.of.append(list(range(first, first + count)))
        members.groups_of.append(list(range(first_group, first_group + groups)))
        members.organisation += [organisation] * count
        members.is_agent += [position >= count - max(1, count // 10) for position in range(count)]
        members.group_organisation += [organisation] * groups
        members.groups += [set() for _ in range(groups)]
        for position, member in enumerate(members.of[-1]):
            if position == 1:
                continue
            members.groups[first_group + position % DEPARTMENTS].add(member)
            for _ in range(random.randint(0, TEAMS_OF_A_MEMBER)):
                members.groups[first_group + random.randrange(DEPARTMENTS, groups)].add(member)
    return members


def _plant(corpus: Corpus, weights: list[float], random: Random) -> None:
    """Grow all trees at once, as they grow in life: what lies together in one tree lies apart on disk."""
    makers = [
        ([one for one in of if corpus.members.is_agent[one]], [one for place, one in enumerate(of) if place != 1])
        for of in corpus.members.of
    ]
    parents: list[list[int]] = []
    for organisation, of in enumerate(corpus.members.of):
        parents.append([len(corpus.organisation)])
        corpus.roots.append(len(corpus.organisation))
        _add(corpus, organisation, None, False, of[0])
    totals = list(accumulate(weights))
    rest = corpus.scale.memories - corpus.scale.organisations
    for organisation in random.choices(range(len(weights)), cum_weights=totals, k=rest):
        parent = random.choice(parents[organisation])
        agents, people = makers[organisation]
        creator = random.choice(agents if random.random() < MADE_BY_AGENTS else people)
        if corpus.depth[parent] + 1 < DEPTH:
            parents[organisation].append(len(corpus.organisation))
        _add(corpus, organisation, parent, random.random() < RESTRICTED, creator)


def _add(corpus: Corpus, organisation: int, parent: int | None, restricted: bool, creator: int) -> None:
    number = len(corpus.organisation)
    corpus.organisation.append(organisation)
    corpus.parent.append(parent)
    corpus.depth.append(1 if parent is None else corpus.depth[parent] + 1)
    corpus.restricted.append(restricted)
    corpus.creator.append(creator)
    corpus.children.append([])
    if parent is not None:
        corpus.children[parent].append(number)


def _choose(corpus: Corpus) -> None:
    """Choose the branch that is read, closed and moved, where it is moved to, and the memory that a crowd reaches."""
    sizes = [1] * len(corpus.organisation)
    for number in range(len(sizes) - 1, -1, -1):
        parent = corpus.parent[number]
        if parent is not None:
            sizes[parent] += sizes[number]
    root = corpus.roots[0]
    top = [one for one in corpus.children[root] if not corpus.restricted[one]]
    corpus.branch = min(top, key=lambda one: abs(sizes[one] - corpus.scale.branch))
    others = sorted((one for one in top if one != corpus.branch), key=lambda one: -sizes[one])
    corpus.target = others[0]
    # The crowd's memory lies deep, and the memories above it that are granted to the crowd hold little else.
    at = others[1]
    while corpus.depth[at] < 4:
        at = max((one for one in corpus.children[at] if not corpus.restricted[one]), key=lambda one: sizes[one])
    corpus.crowded = at


def _grant(corpus: Corpus, weights: list[float], random: Random) -> None:
    members = corpus.members
    taken: set[tuple[int, int, int]] = set()

    def give(memory: int, privileges: int, *, member: int | None = None, group: int | None = None) -> None:
        key = (memory, -1 if member is None else member, -1 if group is None else group)
        if key not in taken:
            taken.add(key)
            corpus.grants.append(Grant(memory, privileges, member, group))

    give(corpus.roots[0], READ, member=corpus.reader)
    departments = members.groups_of[0][: DEPARTMENTS * 4 // 5]
    place, above = corpus.crowded, corpus.parent[corpus.crowded]
    for number, group in enumerate(departments):
        give(place if number % 2 or above is None else above, READ | WRITE, group=group)
    in_organisation: list[list[int]] = [[] for _ in corpus.roots]
    for number, organisation in enumerate(corpus.organisation):
        in_organisation[organisation].append(number)
    spared = set(corpus.chain(corpus.crowded))
    for organisation, own in enumerate(in_organisation):
        memory = random.choice(own[1:])
        if memory not in spared:
            corpus.to_everyone.append((organisation, memory))
    sets, odds = zip(*SETS, strict=True)
    totals = list(accumulate(weights))
    while len(corpus.grants) + len(corpus.to_everyone) < corpus.scale.grants:
        organisation = random.choices(range(len(weights)), cum_weights=totals)[0]
        memory = random.choice(in_organisation[organisation])
        privileges = random.choices(sets, odds)[0]
        if random.random() < TO_GROUPS:
            give(memory, privileges, group=random.choice(members.groups_of[organisation]))
        else:
            give(memory, privileges, member=random.choice(members.of[organisation][2:]))


def _shares(total: int, weights: list[float], *, at_least: int) -> list[int]:
    """Divide a number by weight, each part being at least so large."""
    whole = sum(weights)
    spare = total - at_least * len(weights)
    parts = [at_least + int(spare * weight / whole) for weight in weights]
    parts[0] += total - sum(parts)
    return parts
