"""The fifth step: what said until when it holds, and is past that, is forgotten; what a person wrote stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memories.consolidation.base import Kind, Known, Proposal, Reason

MOST = 100
"""Records that one batch retires at most; the next one goes on."""


def retire(known: Known, before: datetime) -> Iterator[Proposal]:
    """Propose to forget the provider-written records whose end of validity lies before an instant.

    The sources are the episodes that each says it is derived from.
    """
    for kept in known.expired(before, MOST):
        if kept.writer.kind != "provider" or (kept.draft.attributes or {}).get("standing") is True:
            continue
        sources = tuple(
            one.record_id for one in kept.draft.references if one.rel == "derived_from" and not one.memory_id
        )
        yield Proposal(Kind.FORGET, Reason.EXPIRED, sources, record_id=kept.id)
