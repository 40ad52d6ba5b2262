"""Where a search looks: some memories by id, or what is open under some of them, which is never shipped as a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from django.db import connection

from members.ids import to_uuid

from . import plans, search, spoken
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

ALL_LEVELS = 32_767
# So many memories are collected for one statement: what the database hashes in its usual working memory of 4 MB, with
# room for some that were made since they were counted.
COLLECTED, COLLECTED_FOR_FEW, SPARE = 90_000, 5_000, 1_000


@dataclass(frozen=True)
class Size:
    """How many versions a view shows there, counted no further than asked, and what the organisation has indexed.

    `versions` is None where the organisation has no index: then there are few, and nobody counted.
    """

    versions: int | None = None
    indexed: frozenset[tuple[str, str]] = frozenset()


class Branches(Sequence[str]):
    """The ids of the memories open under some tops, so many levels down each; read only when somebody asks for them.

    `about` is how many there are at most, None when nobody counted. `notes` collects what a search had to leave out,
    in the words of `degraded`.
    """

    def __init__(
        self,
        organisation_id: str,
        tops: Mapping[str, int],
        read: Callable[[], Sequence[str]],
        about: int | None = None,
    ) -> None:
        self.organisation_id = organisation_id
        self.tops = tops
        self.about = about
        self.notes: list[str] = []
        self._read = read
        self._sizes: dict[object, Size] = {}

    @cached_property
    def ids(self) -> Sequence[str]:
        """All of them, nearest first."""
        return self._read()

    @cached_property
    def languages(self) -> spoken.Languages:
        """The languages that their words are stemmed in."""
        return spoken.by(self.organisation_id)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self.ids[index]

    def __len__(self) -> int:
        return len(self.ids)

    def __bool__(self) -> bool:
        return True

    def note(self, what: str) -> None:
        """Add to the notes, once."""
        if what not in self.notes:
            self.notes.append(what)

    def has_more_than(self, memories: int) -> bool:
        """Whether there are more memories than a number, counted no further."""
        under, parameters = _under(self)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""
                SELECT count(*) FROM (
                    SELECT FROM memories_reach r WHERE r.open AND ({under}) LIMIT %(most)s
                ) AS counted
                """,
                {**parameters, "most": memories + 1},
            )
            return bool(cursor.fetchone()[0] > memories)

    def size(self, view: View, at_most: int) -> Size:
        """Count what a view shows there, up to a number; one query for each view."""
        conditions, parameters = search.conditions(view)
        asked = (conditions, repr(sorted(parameters.items())), at_most)
        if asked not in self._sizes:
            self._sizes[asked] = self._count(conditions, parameters, at_most)
        return self._sizes[asked]

    def _count(self, conditions: str, parameters: Mapping[str, Any], at_most: int) -> Size:
        within, tops = listed(self, "v.memory_id")
        statement = f"""
            WITH ready AS MATERIALIZED (
                SELECT model, aspect FROM memories_vectorindex WHERE organisation_id = %(organisation)s
            )
            SELECT ARRAY(SELECT ARRAY[model, aspect] FROM ready), CASE WHEN EXISTS (SELECT FROM ready) THEN (
                SELECT count(*) FROM (
                    SELECT FROM memories_version v WHERE {within} {conditions} LIMIT %(at_most)s
                ) AS counted
            ) END
            """
        organisation = to_uuid(self.organisation_id, "org_")
        with connection.cursor() as cursor:
            cursor.execute(statement, {**parameters, **tops, "organisation": organisation, "at_most": at_most})
            ready, versions = cursor.fetchone()
        return Size(versions, frozenset((model, aspect) for model, aspect in ready))


def listed(memory_ids: Sequence[str], column: str) -> tuple[str, dict[str, Any]]:
    """A condition that a column names one of these memories, for a search that goes from memory to memory."""
    if not isinstance(memory_ids, Branches):
        return f"{column} = ANY(%(memories)s::uuid[])", {"memories": search.uuids(memory_ids)}
    under, parameters = _under(memory_ids)
    # Collected first, in the database: a join could as well go through every row there is.
    every = f"ARRAY(SELECT r.descendant_id FROM memories_reach r WHERE r.open AND ({under}))"
    return f"{column} = ANY({every})", parameters


def is_wide(memory_ids: Sequence[str]) -> bool:
    """Whether there is so much to read that going from memory to memory is slower than any index."""
    if not isinstance(memory_ids, Branches):
        return False
    return (memory_ids.size(View(), plans.EXACT_UP_TO + 1).versions or 0) > plans.EXACT_UP_TO


def fitting(memory_ids: Sequence[str], column: str) -> tuple[str, dict[str, Any]]:
    """The condition in the form that suits how much there is to read."""
    return sifted(memory_ids, column) if is_wide(memory_ids) else listed(memory_ids, column)


def sifted(memory_ids: Sequence[str], column: str, *, few: bool = False) -> tuple[str, dict[str, Any]]:
    """The same condition for a search that comes upon rows by another way and asks of each whether it may stay.

    The memories are collected once and looked up from then on; one by one where they are too many to be collected, or
    where `few` rows are expected and collecting them would be most of the work.
    """
    about = memory_ids.about if isinstance(memory_ids, Branches) else None
    if not isinstance(memory_ids, Branches) or about is None or about > (COLLECTED_FOR_FEW if few else COLLECTED):
        return probed(memory_ids, column)
    under, parameters = _under(memory_ids)
    # The limit is never reached: it keeps the planner from expecting more than it would collect. Compared with true,
    # the list is never turned into a join that would begin with the memories.
    most = 2 * (about + SPARE)
    every = f"SELECT r.descendant_id FROM memories_reach r WHERE r.open AND ({under}) LIMIT {most}"
    return f"({column} IN ({every})) IS TRUE", parameters


def probed(memory_ids: Sequence[str], column: str) -> tuple[str, dict[str, Any]]:
    """The same condition, asked anew of each row."""
    if not isinstance(memory_ids, Branches):
        return listed(memory_ids, column)
    under, parameters = _under(memory_ids)
    # A query for one value is never turned into a join that would begin with the memories; and a condition that is
    # compared with true is no reason to look up each of many tops.
    one = f"r.descendant_id = {column} AND r.open AND ({under}) IS TRUE"
    return f"(SELECT true FROM memories_reach r WHERE {one} LIMIT 1)", parameters


def _under(branches: Branches) -> tuple[str, dict[str, Any]]:
    """A condition that `r` lies under one of the tops, few enough levels down."""
    by_levels: dict[int, list[Any]] = {}
    for top, levels in branches.tops.items():
        by_levels.setdefault(levels, []).append(to_uuid(top, "hmem_"))
    either, parameters = list[str](), dict[str, Any]()
    for number, (levels, tops) in enumerate(sorted(by_levels.items())):
        parameters[f"tops_{number}"] = tops
        near = "" if levels >= ALL_LEVELS else f" AND r.distance <= {int(levels)}"
        either.append(f"r.ancestor_id = ANY(%(tops_{number})s::uuid[]){near}")
    return " OR ".join(either) or "false", parameters
