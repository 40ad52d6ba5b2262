"""Facts, constraints, and the questions one can ask of them."""

from __future__ import annotations

from .grants import Grant, Holding, Reach
from .jobs import Job
from .records import Embedding, Record, Version
from .tree import Memory

__all__ = ["Embedding", "Grant", "Holding", "Job", "Memory", "Reach", "Record", "Version"]
