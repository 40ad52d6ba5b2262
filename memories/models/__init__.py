"""Facts, constraints, and the questions one can ask of them."""

from __future__ import annotations

from .files import Blob, File
from .grants import Grant, Holding, Reach
from .holds import Hold
from .imports import RecordImport
from .jobs import Job
from .records import Embedding, Record, Version
from .saved import Snapshot
from .tree import Memory
from .types import TypeDefinition
from .use import LastUse

__all__ = [
    "Blob",
    "Embedding",
    "File",
    "Grant",
    "Hold",
    "Holding",
    "Job",
    "LastUse",
    "Memory",
    "Reach",
    "Record",
    "RecordImport",
    "Snapshot",
    "TypeDefinition",
    "Version",
]
