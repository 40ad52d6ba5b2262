"""The recall endpoint: a question asked of a memory and of what the caller may read below it (Memories §2.8)."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.filters import read_filter
from memories.providers.base import Question, View
from memories.recall import profiles
from memories.recall.pipeline import Ask
from memories.services import recall
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from . import document, shapes
from .base import MemoryEndpoint, Needs

LONGEST = 8_000
DEFAULT_LIMIT = 8
MOST_RESULTS = 100


class Recall(MemoryEndpoint):
    """Ask a memory."""

    asks_only: ClassVar[bool] = True
    needs: ClassVar[Needs] = {"POST": (Privilege.READ,)}

    @document.recall
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Recall: by meaning (`query`), by words (`text`), by `filters`; down the tree and never up."""
        body = self.body(request)
        ask, explain = read_ask(body), bool(body.flag("x_explain"))
        answer = recall.recall(self.place, ask)
        return shapes.recall(
            answer,
            self.reader.resolved([hit.version for hit in answer.hits]),
            self.reader.neighbours(self.place.memory),
            explain=explain,
        )


def read_ask(body: Fields) -> Ask:
    """Check the body of a recall. Raises MemoryInvalid, naming the field."""
    query = body.text("query", longest=LONGEST) or ""
    text = body.text("text", longest=LONGEST) or ""
    filters = read_filter(body.data["filters"]) if body.data.get("filters") is not None else None
    if not query and not text and filters is None:
        raise MemoryInvalid("Ask by at least one of query, text and filters.")
    view = View(
        as_of=body.instant("as_of"),
        include_all=body.choice("include", ("active", "all"), "active") == "all",
        types=tuple(body.words("types")),
        filters=filters,
    )
    limit = body.integer("limit", least=1, most=MOST_RESULTS, default=DEFAULT_LIMIT) or DEFAULT_LIMIT
    return Ask(
        Question(query, text, view, limit),
        depth=body.integer("depth", least=0),
        profile=profiles.PROFILES[body.choice("x_profile", profiles.PROFILES, profiles.DEFAULT)],
    )
