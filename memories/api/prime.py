"""The prime endpoint: what an agent should have in mind from the start (Memories §2.14)."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.reader import NEIGHBOURS
from memories.services import priming
from uhp_site.http.fields import Fields

from . import document_runs, shapes
from .base import MemoryEndpoint, Needs

DIGITS = re.compile(r"[0-9]{1,9}", re.ASCII)


class Prime(MemoryEndpoint):
    """The standing records of a memory."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,)}

    @document_runs.prime
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Prime: the standing records of this memory alone, as records and as fenced text, within a budget."""
        primed = priming.prime(self.place, read_budget(self.query(request)))
        neighbours = self.reader.neighbours(self.place.memory)
        capped = [f"children:capped_at_{NEIGHBOURS}"] if neighbours.capped else []
        return {
            "object": "memory.prime",
            "memory": shapes.neighbour(self.reader.memory(self.place.memory)),
            **shapes.around(neighbours),
            "data": list(map(shapes.record, primed.versions, self.reader.resolved(primed.versions))),
            "text": primed.text,
            "tokens": primed.tokens,
            "budget": primed.budget,
            "truncated": primed.truncated,
            "degraded": [*primed.degraded, *capped],
        }


def read_budget(query: Fields) -> int:
    """The budget in tokens: a whole number of at least 1. Raises MemoryInvalid."""
    value = query.data.get("budget")
    if value is None:
        return priming.DEFAULT_BUDGET
    if not DIGITS.fullmatch(str(value)) or int(value) < 1:
        raise query.refuse("budget", "A budget is a whole number of tokens, at least 1.")
    return int(value)
