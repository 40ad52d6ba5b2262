"""Facts, constraints, and the questions one can ask of them."""

from __future__ import annotations

from .grants import Grant, Holding, Reach
from .records import Embedding, Record, Version
from .tree import Memory

__all__ = ["Embedding", "Grant", "Holding", "Memory", "Reach", "Record", "Version"]
