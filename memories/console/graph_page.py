"""The graph of a memory as a picture, on demand, and beside it the table that says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.services import graph as verbs
from memories.services import types
from memories.services.graph import Edge, Graph, Node, Wish
from memories.services.sight import look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryUnavailable, MemoryUnsupported, RecordNotFound

from .explore import tabs
from .explore_said import sentences
from .graph_drawing import Key, Link, Named, draw
from .memory import memory_context
from .nodes import address

# More than this nobody can read.
MOST_DRAWN = 60
MOST_LISTED = 200
HOPS = ("0", "1", "2", "3")


@member_page
@require_GET
def graph(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """The records around one, or those here and below that are linked, and how they point at each other."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    around = request.GET.get("around", "").strip()[:200].replace("\0", "")
    hops = request.GET.get("hops", "")
    hops = hops if hops in HOPS else "1"
    kind = request.GET.get("type", "").strip()[:80].replace("\0", "")
    context: dict[str, Any] = {
        **memory_context(request, place, "ask"),
        "ask_tabs": tabs(request, place, "graph"),
        "url": request.path,
        "around": around,
        "hops": hops,
        "hops_offered": HOPS,
        "type": kind,
        "types": [one.type for one in types.listed(request.organisation.id)],
    }
    status = 200
    if request.GET:
        try:
            wish = Wish(around, int(hops), (kind,) if kind else (), verbs.MOST_NODES)
            context |= drawn(request, verbs.graph(place, wish), bool(around))
        except RecordNotFound:
            context["error"], status = "No such record here or below that you may read.", 422
        except (MemoryUnsupported, MemoryUnavailable) as refusal:
            context["refused"] = refusal.message
    return pages.answer(request, "memories/graph.html", context, fragment="graph", status=status)


def drawn(request: ConsoleRequest, found: Graph, around: bool) -> dict[str, Any]:
    """The picture and the table of a graph; what nothing links with is only counted."""
    linked = {key for edge in found.edges for key in ends(edge) if key}
    nodes = [node for place, node in enumerate(found.nodes) if _key(node) in linked or (around and place == 0)]
    shown = nodes[:MOST_DRAWN]
    keys = {_key(node) for node in shown}
    edges = [edge for edge in found.edges if ends(edge)[0] in keys and (ends(edge)[1] is None or ends(edge)[1] in keys)]
    start = _key(shown[0]) if around and shown else None
    links = [Link(*ends(edge), edge.to.reference.rel if edge.to.available else "") for edge in edges]
    titles = {_key(node): node.version.name for node in shown}
    named = [Named(key, title, address(request, "record", *key)) for key, title in titles.items()]
    return {
        "answered": True,
        "drawing": draw(named, links, start),
        "rows": rows(request, edges, shown),
        "rows_more": max(0, len(edges) - MOST_LISTED),
        "records": len(shown),
        "links": len(edges),
        "hidden": sum(link.to is None for link in links),
        "left_out": len(nodes) - len(shown),
        "alone": len(found.nodes) - len(nodes),
        "truncated": found.truncated,
        "told": sentences(found.degraded),
    }


def rows(request: ConsoleRequest, edges: Sequence[Edge], shown: Sequence[Node]) -> list[dict[str, Any]]:
    """The links one by one: what points, how, and at what; of what is hidden only that it is there."""
    nodes = {_key(node): node for node in shown}

    def cell(key: Key) -> dict[str, Any]:
        node = nodes[key]
        return {
            "title": node.version.name,
            "url": address(request, "record", *key),
            "type": node.version.draft.type,
            "memory": node.memory_name,
        }

    found = []
    for edge in edges[:MOST_LISTED]:
        holder, to = ends(edge)
        rel = edge.to.reference.rel if to else ""
        found.append({"holder": cell(holder), "rel": rel, "to": cell(to) if to else None})
    return found


def ends(edge: Edge) -> tuple[Key, Key | None]:
    """Where a link leads from and to; nowhere for what is hidden."""
    to = edge.to.reference
    return (edge.holder.memory_id, edge.holder.id), (to.memory_id, to.record_id) if edge.to.available else None


def _key(node: Node) -> Key:
    return node.version.memory_id, node.version.id
