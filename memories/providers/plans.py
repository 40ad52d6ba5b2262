"""How a search by meaning is done, chosen by how much there is to search; pure.

Left to itself the database takes the approximate index for callers who may read little of what is in it, and then
returns next to nothing. So the choice is made here, from counted rows, and the statement leaves no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# Up to so many readable vectors all are compared: some 30 ms, and nothing can be missed. An organisation with fewer
# altogether needs no index.
EXACT_UP_TO = 25_000
# How many neighbours the graph search keeps in hand, and after how many rows it gives up finding more that may stay.
BREADTH = 200
MOST_SCANNED = 20_000


class Plan(StrEnum):
    """Go from memory to memory and compare everything; compare everything of the organisation that may be read; or walk
    the organisation's index and keep what may be read."""

    MEMORIES = "memories"
    ORGANISATION = "organisation"
    INDEX = "index"


@dataclass(frozen=True)
class Effort:
    """How hard the walk tries, in the words of pgvector: `hnsw.ef_search` and `hnsw.max_scan_tuples`."""

    breadth: int
    most_scanned: int


def choose(size: int | None, *, indexed: bool, current: bool) -> Plan:
    """The plan for so many readable vectors (None: not counted); `current` says that only current versions count.

    An organisation without an index of this kind has few such vectors. The index holds nothing but current ones, so
    that questions of the past are always answered by comparing.
    """
    if size is None or size <= EXACT_UP_TO or not current:
        return Plan.MEMORIES
    return Plan.INDEX if indexed else Plan.ORGANISATION


def effort(wanted: int) -> Effort:
    """The effort for so many wanted neighbours."""
    return Effort(max(BREADTH, 2 * wanted), MOST_SCANNED)
