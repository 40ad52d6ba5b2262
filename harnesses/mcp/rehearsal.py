"""A tool call as an agent would get it answered, for a person who looks at its world: reading tools, and no privilege
of the agent's that the person does not hold.

The same endpoints answer as for the agent, with what they look at cut to what both may see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from rest_framework.request import Request

from harnesses.errors import MemoriesNotAttached
from harnesses.services import looking
from memories.api import shapes
from memories.api.base import MemoryEndpoint
from memories.api.recall import Recall, read_ask
from memories.api.records import RecordDetail, RecordHistory, Records
from memories.api.tree import Memories
from memories.services import listing, viewing
from memories.services.viewing import Eyes
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound

from . import words
from .addresses import Answered, ask, refused
from .tools import BY_NAME, Tool

# What only reads, and of which all that is looked at can be told beforehand.
REHEARSED = ("memory_list", "memory_recall", "memory_get")


@dataclass(frozen=True)
class Rehearsed:
    """A call and its answer: the message to the MCP server, the words that the agent reads, and the JSON."""

    request: str
    text: str
    json: str
    failed: bool


class Through(MemoryEndpoint):
    """An endpoint on a memory that looks through an agent's eyes, as far as `eyes` may."""

    # An endpoint is given only what its class has.
    eyes: Eyes = None  # type: ignore[assignment]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        place = looking.look(self.eyes, kwargs["memory_id"])
        super().initial(request, *args, **kwargs)
        self.place, self.reader = place, looking.Seer(self.eyes)


class SeenRecords(Through, Records):
    """The records of a memory."""


class SeenRecord(Through, RecordDetail):
    """One record."""


class SeenHistory(Through, RecordHistory):
    """Every version of a record."""


class SeenRecall(Through, Recall):
    """A recall."""

    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Recall, in what both may read."""
        answer = viewing.recall(self.eyes, self.place, read_ask(self.body(request)))
        resolved = self.reader.resolved([hit.version for hit in answer.hits])
        return shapes.recall(answer, resolved, self.reader.neighbours(self.place.memory))


class SeenMemories(Memories):
    """The memories that were granted."""

    eyes: Eyes = None  # type: ignore[assignment]

    def get(self, request: Request) -> dict[str, Any]:
        """List where access changes, among what both may see."""
        seer = looking.Seer(self.eyes)
        paging = pagination.read(self.query(request), int, str, str, default=pagination.MOST)
        which = listing.Which(granted=True)
        page = listing.memories(seer.caller, which, paging.limit, paging.after, within=seer.tree)
        shown = map(shapes.memory, seer.memories(page.memories))
        return shapes.listed(shown, pagination.make_cursor(*page.next) if page.next else None)


SEEN: Mapping[type, type] = {
    Memories: SeenMemories,
    Records: SeenRecords,
    RecordDetail: SeenRecord,
    RecordHistory: SeenHistory,
    Recall: SeenRecall,
}


def rehearse(eyes: Eyes, outer: HttpRequest, name: str, arguments: Mapping[str, Any]) -> Rehearsed:
    """Call one of the tools in REHEARSED with an agent's eyes, and put into the audit that somebody did."""
    tool = BY_NAME[name]
    answered = _answer(eyes, outer, tool, arguments)
    noted(eyes, tool, arguments)
    text, answer = (words.told(answered.body), answered.body) if answered.ok else words.refusal(answered)
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": dict(arguments)},
    }
    return Rehearsed(pretty(message), text, pretty(answer), not answered.ok)


def _answer(eyes: Eyes, outer: HttpRequest, tool: Tool, arguments: Mapping[str, Any]) -> Answered:
    if (flaw := tool.flaw(arguments)) is not None:
        return refused(MemoryInvalid(flaw[1], param=flaw[0] or None))
    answered = ask(eyes.member, outer, tool.ask(arguments), instead=SEEN, eyes=eyes)
    nothing = answered.ok and "memory_id" not in arguments and not answered.body.get("data")
    lost = not answered.ok and answered.body["error"]["code"] == "memory_not_found"
    if (nothing or lost) and not looking.Seer(eyes).tree.held_by(eyes.member.principals).exists():
        return refused(MemoriesNotAttached())
    return answered


@transaction.atomic
def noted(eyes: Eyes, tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Put the call into the audit, at the memory it asked, where there is one."""
    try:
        memory_id = looking.look(eyes, str(arguments.get("memory_id") or "")).memory.id
    except MemoryNotFound:
        memory_id = ""
    viewing.note(eyes, memory_id, tool=tool.name)


def pretty(value: Any) -> str:
    """JSON as a person reads it."""
    return json.dumps(value, ensure_ascii=False, indent=2)
