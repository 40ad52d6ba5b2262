"""Facts, constraints, and the questions one can ask of them."""

from __future__ import annotations

from .active import ActiveModel, Awaited
from .files import Blob, File
from .golden import GoldenQuestion
from .grants import Grant, Holding, Reach
from .holds import Hold
from .imports import RecordImport
from .jobs import Job
from .queries import Query
from .records import Embedding, Record, Version
from .review import Held, ReviewItem, ReviewPolicy
from .runs import Conflict, Refused, Run, RunChange, Schedule
from .saved import Snapshot
from .searching import CommonWord, VectorIndex
from .tree import Memory
from .types import TypeDefinition
from .use import LastUse

__all__ = [
    "ActiveModel",
    "Awaited",
    "Blob",
    "CommonWord",
    "Conflict",
    "Embedding",
    "File",
    "GoldenQuestion",
    "Grant",
    "Held",
    "Hold",
    "Holding",
    "Job",
    "LastUse",
    "Memory",
    "Query",
    "Reach",
    "Record",
    "RecordImport",
    "Refused",
    "ReviewItem",
    "ReviewPolicy",
    "Run",
    "RunChange",
    "Schedule",
    "Snapshot",
    "TypeDefinition",
    "VectorIndex",
    "Version",
]
