"""The graph endpoint: how the records of a memory point at each other and at others (Memories §2.10)."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.services import graph
from memories.services.graph import MOST_NODES, Edge, Graph, Wish
from uhp_site.http.fields import Fields

from . import graph_document as document
from . import shapes
from .base import MemoryEndpoint, Needs

MOST_HOPS = 3


class MemoryGraph(MemoryEndpoint):
    """Ask how records point at each other."""

    asks_only: ClassVar[bool] = True
    needs: ClassVar[Needs] = {"POST": (Privilege.READ,)}

    @document.draw
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Graph: the records around one, or all here and below, and the references among them."""
        return drawn(graph.graph(self.place, read_wish(self.body(request))))


def read_wish(body: Fields) -> Wish:
    """Check the body of a graph request. Raises MemoryInvalid, naming the field."""
    hops, limit = body.integer("hops", least=0, most=MOST_HOPS), body.integer("limit", least=1, most=MOST_NODES)
    around = body.text("around", longest=200, required=True) if body.data.get("around") is not None else None
    return Wish(
        around=around or "",
        hops=Wish.hops if hops is None else hops,
        types=tuple(body.words("types")),
        limit=Wish.limit if limit is None else limit,
    )


def drawn(answer: Graph) -> dict[str, Any]:
    """A MemoryGraph."""
    return {
        "object": "memory.graph",
        "nodes": [
            {
                "record": shapes.record(node.version, node.references),
                "memory": {"id": node.version.memory_id, "name": node.memory_name},
            }
            for node in answer.nodes
        ],
        "edges": list(map(_edge, answer.edges)),
        "truncated": answer.truncated,
        "degraded": list(answer.degraded),
    }


def _edge(one: Edge) -> dict[str, Any]:
    shown = shapes.reference(one.to)
    rel = {"rel": shown.pop("rel")} if one.to.available else {}
    available = shown.pop("available")
    holder = {"memory_id": one.holder.memory_id, "record_id": one.holder.id}
    return {"from": holder, "to": shown, **rel, "available": available}
