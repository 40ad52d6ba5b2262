"""Memories as the console draws them: nodes of the tree, and the breadcrumb that respects the cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from members.shell import ConsoleRequest
from memories.access import Privilege
from memories.models import Memory
from memories.reader import MemoryView, Reader
from memories.services import listing
from uhp_site.http import pagination

# How many memories one level shows at a time.
PAGE = 100


@dataclass
class NodeView:
    """One memory in the tree. `children` is None until its level is read."""

    id: str
    name: str
    description: str
    url: str
    restricted: bool
    children_count: int
    records_count: int | None
    privileges: list[str]
    children_url: str
    open_url: str
    move_url: str = ""
    takes_children: bool = False
    entry: bool = False
    changes: bool = False
    level: int = 0
    children: list[NodeView] | None = None
    children_next_url: str | None = None

    @property
    def has_children(self) -> bool:
        """Whether there is a level below that this person may see."""
        return self.children_count > 0


@dataclass(frozen=True)
class Crumb:
    """One step of a breadcrumb."""

    name: str
    url: str


def address(request: ConsoleRequest, page: str, *arguments: str) -> str:
    """The address of a console page in the organisation worked in."""
    return reverse(f"console:{page}", args=[request.organisation.slug, *arguments])


def level(
    request: ConsoleRequest, parent: Memory | None, cursor: tuple[Any, ...] | None = None
) -> tuple[list[NodeView], str | None]:
    """One level of the tree: the children of a memory that one sees, or the entry points; and where more is."""
    which = listing.Which(parent=parent.id) if parent else listing.Which()
    page = listing.memories(request.caller, which, PAGE, cursor)
    above = Privilege(parent.held) if parent else Privilege.NONE
    nodes = [node(request, view, above) for view in Reader(request.caller).memories(page.memories)]
    if page.next is None:
        return nodes, None
    tree = address(request, "tree")
    place = f"below={parent.id}&" if parent else ""
    return nodes, f"{tree}?{place}cursor={pagination.make_cursor(*page.next)}"


def node(request: ConsoleRequest, view: MemoryView, above: Privilege) -> NodeView:
    """One memory as a node; `above` is what the person holds on its parent, nothing for an entry point."""
    memory, tree = view.memory, address(request, "tree")
    return NodeView(
        id=memory.id,
        name=memory.name,
        description=memory.description,
        url=address(request, "memory", memory.id),
        restricted=memory.restricted,
        children_count=view.child_count if Privilege.READ in view.privileges else 0,
        records_count=view.record_count,
        privileges=view.privileges.words,
        children_url=f"{tree}?below={memory.id}",
        open_url=f"{tree}?open={memory.id}",
        move_url=address(request, "memory-move", memory.id) if Privilege.DELETE in view.privileges else "",
        takes_children=Privilege.CREATE in view.privileges,
        entry=above == Privilege.NONE,
        changes=view.privileges != above,
    )


def located(request: ConsoleRequest, memory: Memory) -> MemoryView:
    """A memory that the person sees, with what is above it; nothing in it is counted."""
    return Reader(request.caller).memories([memory], counted=False)[0]


def breadcrumb(request: ConsoleRequest, view: MemoryView, *, last: bool = False) -> dict[str, Any]:
    """The memories above one, as far up as the person sees; hidden ones are said to be there, never named."""
    above = Memory.objects.in_bulk(view.ancestors)
    crumbs = [Crumb(above[one].name, address(request, "memory", one)) for one in view.ancestors]
    if last:
        crumbs.append(Crumb(view.memory.name, address(request, "memory", view.memory.id)))
    highest = above[view.ancestors[0]] if view.ancestors else view.memory
    return {"crumbs": crumbs, "crumbs_hidden": highest.parent_id is not None}


def opened(request: ConsoleRequest, nodes: Sequence[NodeView], memory_id: str) -> None:
    """Read the levels down to a memory, so that the page shows it open without a script."""
    view = located(request, listing.look(request.caller, memory_id).memory)
    path = [*view.ancestors, memory_id]
    for step in path:
        found = next((one for one in nodes if one.id == step), None)
        if found is None or not found.has_children:
            return
        place = listing.look(request.caller, step)
        found.children, found.children_next_url = level(request, place.memory)
        nodes = found.children
