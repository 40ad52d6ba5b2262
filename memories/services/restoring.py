"""Writing a record anew as a whole: what it said before, or what a person made of it, as its next version."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memories.content import Changes, Draft, whole
from memories.providers.base import RecordVersion

from . import records
from .records import REASON, Expected
from .sight import Place


@dataclass(frozen=True)
class Whole(Changes):
    """Changes that say everything: attributes are not merged, so what is left out is gone."""

    def apply(self, draft: Draft) -> Draft:
        """The draft with what these say in place of what it said. Raises MemoryInvalid as a revision does."""
        revised = super().apply(draft)
        return whole(revised if self.attributes is None else replace(revised, attributes=self.attributes))


def with_reason(draft: Draft, reason: str) -> dict[str, object]:
    """The attributes of a draft, with a reason for the version that they are written in, or none."""
    kept = dict(records.without_reason(draft).attributes or {})
    return {**kept, REASON: reason} if reason else kept


def restore(place: Place, record_id: str, number: int, expected: Expected | None = None) -> RecordVersion:
    """Write what version `number` said as the newest one.

    Raises RecordNotFound also without such a version and for a forgotten record, VersionConflict, MemoryInvalid.
    """
    old = records.numbered(place, record_id, number).get(number) or records.unknown()
    changes = Whole(
        title=old.draft.title,
        content=old.draft.content,
        attributes=with_reason(old.draft, f"restored version {number}"),
        references=old.draft.references,
        time={"valid_from": old.draft.valid_from, "valid_to": old.draft.valid_to},
    )
    return records.revise(place, record_id, changes, expected)
