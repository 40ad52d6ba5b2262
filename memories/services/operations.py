"""Using what a type offers on one of its records: a change that becomes a version, or a computed answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from memories.providers.base import RecordVersion
from memories.record_types import Operation, Use, changes_by, check_input
from uhp_site.http.errors import RecordNotFound

from . import records, types
from .sight import Place

MAX_CHANGES = 1_000


@dataclass(frozen=True)
class Outcome:
    """What an operation came to: the version it wrote, or found as it should be, or a computed value."""

    operation: Operation
    version: RecordVersion | None = None
    value: Any = None


def offered(place: Place, version: RecordVersion, name: str) -> Operation:
    """The operation of this name on a record, for a caller who may use it.

    Raises RecordNotFound when its type has none, and on a record that is closed; MemoryForbidden.
    """
    kind = types.find(place.caller.organisation_id, version.draft.type)
    operation = kind.operation(name) if kind else None
    if operation is None or version.status != "active":
        raise RecordNotFound("There is no such operation on this record.")
    place.require(operation.needed)
    return operation


def operate(place: Place, record_id: str, name: str, given: Mapping[str, Any]) -> Outcome:
    """Use an operation of a record's type. Raises RecordNotFound, alike for an unknown record and operation."""
    version = records.get(place, record_id)
    operation = offered(place, version, name)
    if not operation.writes:
        check_input(operation, given)
        return Outcome(operation, value=ANSWERS[operation.answer](place, version))
    changes = changes_by(operation, given, Use(place.caller.member.principal, timezone.now()))
    return Outcome(operation, version=records.revise(place, record_id, changes))


def _attributes(place: Place, version: RecordVersion) -> Any:
    return dict(version.draft.attributes or {})


def _changes(place: Place, version: RecordVersion) -> Any:
    history = records.history(place, version.id, limit=MAX_CHANGES, newest_first=True)[::-1]
    steps = []
    before: Mapping[str, Any] = {}
    for one in history:
        after = dict(one.draft.attributes or {})
        changed = {key: after.get(key) for key in {*before, *after} if before.get(key) != after.get(key)}
        steps.append(
            {
                "version": one.number,
                "at": one.written_at.isoformat().replace("+00:00", "Z"),
                "by": f"{one.writer.kind}:{one.writer.id}",
                "attributes": dict(sorted(changed.items())),
            }
        )
        before = after
    return steps


ANSWERS = {"attributes": _attributes, "changes": _changes}
