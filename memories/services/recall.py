"""The verb recall: asked of a place, answered from what its caller may read (Memories §4.11)."""

from __future__ import annotations

from memories.access import Privilege
from memories.recall import pipeline
from memories.recall.pipeline import Ask, Recalled

from .sight import Place


def recall(place: Place, ask: Ask) -> Recalled:
    """Answer a question. Raises MemoryForbidden without read on the memory asked."""
    place.require(Privilege.READ)
    place.used()
    return pipeline.recall(place.memory, place.caller.principals, ask)
