"""The hand that writes the demo, the people in whose names it writes, and what they refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.utils import timezone

from members.callers import Caller, caller_for
from members.models import Group, Member
from memories.access import Privilege
from memories.content import read_changes, read_draft
from memories.models import Memory
from memories.providers.base import RecordVersion
from memories.services import grants, records, tree
from memories.services.sight import Place, look

Words = str | Sequence[tuple[str, str]]
"""What a record says: a text, or who said what in turn."""
Days = tuple[int | None, int | None]
"""From when and until when something holds, in days from today."""


@dataclass(frozen=True)
class Cast:
    """Who works at Alder & Finch."""

    maren: Member
    ingrid: Member
    tomas: Member
    sofia: Member
    bram: Member
    support: Member
    planner: Member
    customer_team: Group
    workshop_crew: Group
    everyone: Group


@dataclass(frozen=True)
class Things:
    """What records in other branches refer to."""

    oak: RecordVersion
    oil: RecordVersion


class Pen:
    """Writes with the product's own verbs, each thing in the name of a member."""

    def __init__(self) -> None:
        self._callers: dict[str, Caller] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def memory(
        self, by: Member, name: str, under: Memory | None, description: str, *, restricted: bool = False
    ) -> Memory:
        """A new memory, or a root when it is under none."""
        parent_id = under.id if under else None
        caller = self._caller(by)
        return tree.create(caller, name=name, parent_id=parent_id, description=description, restricted=restricted)

    def grant(self, by: Member, on: Memory, to: Member | Group, words: str) -> None:
        """A grant of the privileges named."""
        grants.give(self._place(by, on.id), to.principal, Privilege.from_words(words.split()))
        self._places.clear()

    def write(
        self,
        by: Member,
        where: Memory,
        type: str,
        title: str,
        words: Words,
        *references: tuple[str, RecordVersion],
        attributes: Mapping[str, Any] | None = None,
        holds: Days = (None, None),
    ) -> RecordVersion:
        """A new record; it may point to others, each by a relation."""
        body = {
            "type": type,
            "title": title,
            "content": _content(words),
            "attributes": dict(attributes or {}),
            "references": [{"rel": rel, "memory_id": to.memory_id, "record_id": to.id} for rel, to in references],
            "time": _time(holds),
        }
        return records.remember(self._place(by, where.id), read_draft(body))

    def revise(
        self,
        by: Member,
        record: RecordVersion,
        words: Words,
        *,
        attributes: Mapping[str, Any] | None = None,
        holds: Days = (None, None),
    ) -> None:
        """The next version of a record."""
        body: dict[str, Any] = {"content": _content(words), "attributes": dict(attributes or {}), "time": _time(holds)}
        records.revise(self._place(by, record.memory_id), record.id, read_changes(body))

    def forget(self, by: Member, record: RecordVersion) -> None:
        """The end of a record, its history kept."""
        records.forget(self._place(by, record.memory_id), record.id)

    def _caller(self, member: Member) -> Caller:
        if member.id not in self._callers:
            self._callers[member.id] = caller_for(member)
        return self._callers[member.id]

    def _place(self, member: Member, memory_id: str) -> Place:
        # Looked at once until the next grant: looking is a third of the time that all this takes.
        key = (member.id, memory_id)
        if key not in self._places:
            self._places[key] = look(self._caller(member), memory_id)
        return self._places[key]


def _content(words: Words) -> str | list[dict[str, str]]:
    if isinstance(words, str):
        return words
    return [{"type": "text", "role": role, "text": text} for role, text in words]


def _time(holds: Days) -> dict[str, str]:
    midnight = datetime.combine(timezone.now().date(), time.min, timezone.get_default_timezone())
    named = zip(("valid_from", "valid_to"), holds, strict=True)
    return {name: (midnight + timedelta(days=days)).isoformat() for name, days in named if days is not None}
