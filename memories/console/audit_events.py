"""Events as one person may see them.

Of an event on a memory that the person does not see now, only who did what kind of thing, and when, is shown: no name,
no id and no detail; what they did themself they may see. Memories that a detail names are shown where they are seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from members.models import Event
from members.shell import ConsoleRequest
from memories.models import Memory

from .audit_words import ACTIONS, VIA, Words
from .nodes import Crumb, address
from .principals import Named, named

PRINCIPALS = ("member:", "group:", "x.")


@dataclass(frozen=True)
class EventView:
    """One event as the person may see it. `withheld` says that it concerns a memory that they do not see."""

    event: Event
    actor: Named
    memory: Crumb | None
    subject: Named | None
    subject_id: str
    detail: Mapping[str, Any]
    words: str
    withheld: bool

    @property
    def label(self) -> str:
        """What happened, in a few words; an action that is not known here is shown as it is."""
        return ACTIONS.get(self.event.action, self.event.action)

    @property
    def via(self) -> str:
        """How it came in."""
        return VIA.get(self.event.via, self.event.via)


def shown(request: ConsoleRequest, events: Sequence[Event]) -> list[EventView]:
    """Events as the person may see them, in a constant number of queries."""
    tree = Memory.objects.of(request.organisation.id).held_by(request.caller.principals)
    mentioned = {one for event in events for one in (event.memory_id, *_memories_in(event.detail)) if one}
    seen = dict(tree.filter(pk__in=mentioned).values_list("id", "name"))
    principals = {one for event in events for one in (event.actor, event.subject) if one.startswith(PRINCIPALS)}
    principals |= {value for event in events for value in _principals_in(event.detail)}
    names = named(request.organisation.id, principals)
    return [_view(request, event, seen, names) for event in events]


def _view(request: ConsoleRequest, event: Event, seen: Mapping[str, str], names: Mapping[str, Named]) -> EventView:
    own = event.actor == request.caller.member.principal
    withheld = bool(event.memory_id) and event.memory_id not in seen and not own
    detail = {} if withheld else redacted(event.detail, seen)
    memory = None
    if event.memory_id in seen:
        memory = Crumb(seen[event.memory_id], address(request, "memory", event.memory_id))
    words = Words(detail, seen, names).said(event.action)
    subject = event.subject if not withheld or event.subject.startswith("member:") else ""
    return EventView(
        event=event,
        actor=names.get(event.actor) or Named("The server", "provider"),
        memory=memory,
        subject=names.get(subject),
        subject_id=subject,
        detail=detail,
        words="" if subject in names and words == names[subject].name else words,
        withheld=withheld,
    )


def redacted(detail: Mapping[str, Any], seen: Mapping[str, str]) -> dict[str, Any]:
    """A detail without the ids of memories that are not seen."""
    return {key: "not visible" if _is_memory(value) and value not in seen else value for key, value in detail.items()}


def _is_memory(value: object) -> bool:
    return isinstance(value, str) and value.startswith("hmem_")


def _memories_in(detail: Mapping[str, Any]) -> Iterator[str]:
    return (value for value in detail.values() if _is_memory(value))


def _principals_in(detail: Mapping[str, Any]) -> Iterator[str]:
    return (value for value in detail.values() if isinstance(value, str) and value.startswith(("member:", "group:")))
