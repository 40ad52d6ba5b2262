"""What stored versions say, with their types' choice of what stands for them: for whatever is made of it anew."""

from __future__ import annotations

from collections.abc import Sequence

from memories.content import EVERYTHING, Draft
from memories.models import Version, types


def drafts(rows: Sequence[Version]) -> list[Draft]:
    """The words of versions as drafts, in order; pointers and times are left out."""
    projections: dict[tuple[str, str], tuple[str, ...]] = {}
    for key in {(row.organisation_id, row.type) for row in rows}:
        kind = types.find(*key)
        projections[key] = tuple(kind.text) if kind else EVERYTHING
    return [
        Draft(
            type=row.type,
            title=row.title,
            content=tuple(row.content),
            attributes=row.attributes,
            projection=projections[(row.organisation_id, row.type)],
        )
        for row in rows
    ]
