"""The verb graph: how records point at each other, from a record or a whole branch, with the caller's eyes (§4.13).

Nodes are current records; an edge leads from the record that holds a reference to the one it names. A record that the
caller may not read is no node, and what points from it does not exist; that something points at it is all there is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from memories.access import Privilege
from memories.models import Memory
from memories.providers import registry
from memories.providers.base import RecordVersion, View
from memories.providers.graph import Linked, Links, Place
from memories.reader import Reader, ResolvedReference
from memories.recall import scope
from uhp_site.http.errors import MemoryUnsupported, RecordNotFound

from . import sight

MOST_NODES = 500
MOST_EDGES = 2_000
# How many records one graph walks through, of which its nodes are chosen.
MOST_WALKED = 2_000
# How many pointers one hop follows.
MOST_FOLLOWED = 4_000


@dataclass(frozen=True)
class Wish:
    """What is asked: around a record or everything, how many hops, nodes of which types, and how many."""

    around: str = ""
    hops: int = 1
    types: tuple[str, ...] = ()
    limit: int = 200


@dataclass(frozen=True)
class Node:
    """A record of the graph, where it is, and its references as the reader sees them."""

    version: RecordVersion
    memory_name: str
    references: Sequence[ResolvedReference]


@dataclass(frozen=True)
class Edge:
    """A reference of a node: to another node, or to what the reader may not see."""

    holder: RecordVersion
    to: ResolvedReference


@dataclass(frozen=True)
class Graph:
    """Nodes with the start first, the edges among them, and what was left out."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    truncated: bool = False
    degraded: tuple[str, ...] = ()


def graph(place: sight.Place, wish: Wish) -> Graph:
    """Draw a graph. Raises MemoryForbidden without read, RecordNotFound for an unknown `around`, MemoryUnsupported."""
    place.require(Privilege.READ)
    place.used()
    walk = _Walk(place)
    # Whatever is found later comes later, so there is no need for it once there is more than fits.
    enough = MOST_WALKED if wish.types else wish.limit
    frontier = walk.start(wish.around)
    for _ in range(wish.hops):
        if not frontier or walk.capped or len(walk.seen) > enough:
            break
        frontier = walk.hop(frontier)
    chosen = [one for one in walk.seen.values() if not wish.types or one.type in wish.types]
    nodes = _opened(place, walk, chosen[: wish.limit])
    edges = list(islice(_edges(nodes), MOST_EDGES + 1))
    capped = len(edges) > MOST_EDGES
    return Graph(
        nodes,
        edges[:MOST_EDGES],
        truncated=len(chosen) > wish.limit or walk.capped or capped,
        degraded=(
            *walk.degraded,
            *([f"records:capped_at_{MOST_WALKED}"] if walk.capped else []),
            *([f"edges:capped_at_{MOST_EDGES}"] if capped else []),
        ),
    )


@dataclass
class _Walk:
    place: sight.Place
    seen: dict[Place, Linked] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    capped: bool = False
    # Memories looked at so far, with the provider of those that may be read and nothing for the others.
    providers: dict[str, str | None] = field(default_factory=dict)

    def start(self, around: str) -> list[Linked]:
        """The record asked about, looked for here first, or everything here and below, newest first."""
        memory = self.place.memory
        links = _links(memory.provider)
        if links is None:
            raise MemoryUnsupported()
        found: Sequence[Linked] = links.of([memory.id], [around]) if around else ()
        if not found:
            covered = scope.readable(memory, self.place.caller.principals, None)
            self.degraded += covered.degraded
            if around:
                found = links.of(covered.memories, [around])[:1]
            else:
                found = links.newest(covered.memories, MOST_WALKED + 1)
        if around and not found:
            raise RecordNotFound()
        return self._add(found)

    def hop(self, frontier: Sequence[Linked]) -> list[Linked]:
        """What these point at, and then what points at them."""
        caller = self.place.caller
        named = dict.fromkeys((to.memory_id, to.record_id) for one in frontier for to in one.references)
        targets = [target for target in named if target not in self.seen]
        if len(targets) > MOST_FOLLOWED:
            targets, self.capped = targets[:MOST_FOLLOWED], True
        places = [one.place for one in frontier]
        holding: set[str] = set()
        connected = [(one.id, links) for one in registry.connected() if (links := one.links()) is not None]
        for _, links in connected:
            holding |= set(links.pointing_from(caller.organisation_id, places))
        self.look_at({memory_id for memory_id, _ in targets} | holding)
        found: list[Linked] = []
        for provider, links in connected:
            there = [target for target in targets if self.providers[target[0]] == provider]
            if there:
                current = links.of(sorted({one[0] for one in there}), {one[1] for one in there})
                by_place = {one.place: one for one in current}
                found += [by_place[target] for target in there if target in by_place]
        for provider, links in connected:
            holders = sorted(one for one in holding if self.providers[one] == provider)
            if holders:
                found += links.pointing_at(holders, places, MOST_WALKED + 1)
        return self._add(found)

    def _add(self, found: Iterable[Linked]) -> list[Linked]:
        fresh = []
        for one in found:
            if one.place in self.seen:
                continue
            if len(self.seen) >= MOST_WALKED:
                self.capped = True
                break
            self.seen[one.place] = one
            fresh.append(one)
        return fresh

    def look_at(self, memory_ids: Collection[str]) -> None:
        """Learn which of these memories may be read, and who keeps them."""
        unknown = [one for one in memory_ids if one not in self.providers]
        readable = (
            Memory.objects.of(self.place.caller.organisation_id)
            .filter(pk__in=unknown)
            .held_by(self.place.caller.principals, Privilege.READ)
        )
        self.providers |= {**dict.fromkeys(unknown), **dict(readable.values_list("id", "provider"))}


def _links(provider_id: str) -> Links | None:
    return registry.get(provider_id).links()


def _opened(place: sight.Place, walk: _Walk, chosen: Sequence[Linked]) -> list[Node]:
    walk.look_at({one.memory_id for one in chosen})
    versions: dict[Place, RecordVersion] = {}
    for provider in {walk.providers[one.memory_id] for one in chosen} - {None}:
        keys = [one.key for one in chosen if walk.providers[one.memory_id] == provider]
        opened = registry.get(str(provider)).open(keys, View())
        versions |= {(one.memory_id, one.id): one for one in opened.values() if one.invalidated_at is None}
    shown = [versions[one.place] for one in chosen if one.place in versions]
    names = scope.names({version.memory_id for version in shown})
    references = Reader(place.caller).resolved(shown)
    return [
        Node(version, names[version.memory_id], resolved) for version, resolved in zip(shown, references, strict=True)
    ]


def _edges(nodes: Sequence[Node]) -> Iterable[Edge]:
    places = {(node.version.memory_id, node.version.id) for node in nodes}
    for node in nodes:
        drawn: set[tuple[str, ...]] = set()
        for one in node.references:
            to = one.reference
            if one.available and (to.memory_id, to.record_id) not in places:
                continue
            looks = (to.memory_id, to.record_id, to.rel) if one.available else (to.record_id,)
            if looks not in drawn:
                drawn.add(looks)
                yield Edge(node.version, one)
