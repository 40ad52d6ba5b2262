"""What comes of records: what a provider derived from them, and what it derived from that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from memories.providers.base import Holder, Provider

from . import holds


@dataclass(frozen=True)
class Around:
    """What says that it comes from some records. `along` goes when they go, `staying` does not."""

    along: tuple[Holder, ...]
    staying: tuple[Holder, ...]


def around(organisation_id: str, provider: Provider, record_ids: Collection[str]) -> Around:
    """Walk from records to all that is derived from them; what is on hold stays, as does what a member wrote."""
    known, fresh = set(record_ids), set(record_ids)
    along: list[Holder] = []
    staying: dict[str, Holder] = {}
    while fresh:
        found = [one for one in provider.holders(organisation_id, fresh) if one.record_id not in known]
        pairs = [(one.memory_id, one.record_id) for one in found if one.derived_only]
        kept = holds.held(organisation_id, pairs) if pairs else set()
        going = [one for one in found if one.derived_only and one.record_id not in kept]
        along += going
        fresh = {one.record_id for one in going}
        known |= fresh
        staying |= {one.record_id: one for one in found if one.record_id not in fresh}
    return Around(tuple(along), tuple(one for one in staying.values() if one.record_id not in known))
