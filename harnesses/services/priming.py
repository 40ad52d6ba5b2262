"""Priming an agent: what the memories it was granted always hold, within a budget of tokens (Memories §4.17)."""

from __future__ import annotations

from dataclasses import dataclass

from members.callers import Caller
from memories import fence
from memories.access import Privilege
from memories.models import Memory
from memories.reader import MemoryView, Reader
from memories.services import listing, priming
from memories.services.sight import Place
from memories.services.viewing import Eyes, Seen
from uhp_site.http.errors import MemoryUnsupported

from . import looking

DEFAULT_BUDGET = priming.DEFAULT_BUDGET
# How many memories are primed at most; the rest is counted.
MOST_MEMORIES = 50
MOST_CHILDREN = 20
NOTHING = "You hold no memory."


@dataclass(frozen=True)
class Part:
    """One memory's share: its text and what that costs in tokens; `truncated` when standing records did not fit."""

    memory: Memory
    text: str
    tokens: int
    records: int
    truncated: bool


@dataclass(frozen=True)
class Primed:
    """All of it: the text to hand to an agent, part by part, and how many memories did not fit at all.

    `omitted` names them, as far as they were looked at.
    """

    parts: tuple[Part, ...]
    text: str
    tokens: int
    budget: int
    left_out: int
    omitted: tuple[Memory, ...] = ()


def prime(caller: Caller, budget: int = DEFAULT_BUDGET, eyes: Eyes | None = None) -> Primed:
    """The memories a caller was granted and may read, highest in the tree first, with their standing records.

    With `eyes`, which are the caller's, as far as somebody may look through them; that is no use the caller made.
    """
    within, reader = (looking.Seer(eyes).tree, looking.Seer(eyes)) if eyes else (None, Reader(caller))
    meets = Seen if eyes else Place
    granted = listing.memories(caller, listing.Which(granted=True), MOST_MEMORIES + 1, within=within).memories
    readable = [memory for memory in granted if Privilege.READ in Privilege(memory.held)]
    parts: list[Part] = []
    left = budget
    for view in reader.memories(readable[:MOST_MEMORIES]):
        part = _part(reader, view, meets(caller, view.memory, view.privileges), left)
        if part is None:
            break
        parts.append(part)
        left -= part.tokens
    left_out = len(readable) - len(parts)
    text = "\n\n".join([part.text for part in parts] or ([] if readable else [NOTHING]))
    if left_out:
        text = f"{text}\n\nYou hold more memories than are shown here: call memory_list.".strip()
    omitted = tuple(readable[len(parts) : MOST_MEMORIES])
    return Primed(tuple(parts), text, priming.tokens_of(len(text)), budget, left_out, omitted)


def _part(reader: Reader, view: MemoryView, place: Place, budget: int) -> Part | None:
    head = _about(view, "memory")
    children = reader.neighbours(view.memory).children
    below = [_about(child, "child memory") for child in children[:MOST_CHILDREN]]
    if len(children) > MOST_CHILDREN:
        below.append("[more child memories: list this memory to see them]")
    for entries in ([head, *below], [head]):
        cost = priming.tokens_of(len(fence.fenced(entries)) + 2)
        if cost <= budget:
            break
    else:
        return None
    standing, truncated = _standing(place, budget - cost)
    text = fence.fenced([*entries, *standing])
    return Part(view.memory, text, priming.tokens_of(len(text) + 2), len(standing), truncated)


def _standing(place: Place, budget: int) -> tuple[list[str], bool]:
    if budget < 1:
        return [], True
    try:
        found = priming.prime(place, budget)
    except MemoryUnsupported:
        return [], False
    return [priming.shown(version) for version in found.versions], found.truncated


def _about(view: MemoryView, kind: str) -> str:
    records = "unknown" if view.record_count is None else view.record_count
    held = ", ".join(view.privileges.words)
    about = f"{records} records, {view.child_count} below, you may: {held}"
    return fence.entry(view.memory.description, view.memory.id, kind, "", view.memory.name, about)
