"""The verbs on queries: define one by name, list them, run one, and ask freely (Memories §4.12).

A query looks in exactly the memory it is asked of, whatever it says; the server sees to that, not the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import transaction

from members import events
from memories.access import Privilege
from memories.models import Memory, Query
from memories.providers.base import Question, View
from memories.providers.bounded import OutOfTime, at_most
from memories.recall import pipeline
from memories.recall.pipeline import Ask, Recalled
from memories.statements import DEFINITION, MOST_ROWS, NAME, Definition, Statement, read_definition, run_free
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound, MemoryUnsupported

from .records import provider_of
from .sight import Place

MOST_QUERIES = 200
# How long the database may work at each statement of a query.
MILLISECONDS = 3_000
# How many come back when the statement does not say: of what is ranked, and of what is only filtered.
RANKED = 8


def check_name(name: str) -> str:
    """The name of a query. Raises MemoryInvalid unless it is letters, digits and underscores."""
    if not NAME.fullmatch(name):
        raise MemoryInvalid("A query is named by at most 80 letters, digits and underscores.", param="name")
    return name


@transaction.atomic
def define(place: Place, name: str, definition: Definition) -> Query:
    """Define a query, or replace it. Raises MemoryForbidden without write, MemoryInvalid when there are too many."""
    place.require(Privilege.WRITE)
    _require(place, "named")
    memory, member = place.memory, place.caller.member
    # Whoever defines here at the same time waits, and so does a deletion of the memory, or is seen.
    if not Memory.objects.select_for_update(no_key=True).filter(pk=memory.pk).exists():
        raise MemoryNotFound()
    found, created = Query.objects.update_or_create(
        memory=memory,
        name=check_name(name),
        defaults={
            "organisation_id": memory.organisation_id,
            "description": definition.description,
            "params": dict(definition.params),
            "requires": definition.requires.words[0],
            "language": definition.language,
            "body": definition.body,
            "defined_by": member.principal,
            "defined_by_type": member.type,
        },
    )
    if created and Query.objects.filter(memory=memory).count() > MOST_QUERIES:
        raise MemoryInvalid(f"A memory has at most {MOST_QUERIES} queries.", param="name")
    action = "query.defined" if created else "query.changed"
    events.record(memory.organisation_id, place.caller.actor, action, memory_id=memory.id, subject=found.name)
    place.used(wrote=True)
    return found


def listed(place: Place, limit: int, after: str = "") -> Sequence[Query]:
    """The queries of a memory by name. Raises MemoryForbidden without read."""
    place.require(Privilege.READ)
    return list(Query.objects.filter(memory=place.memory, name__gt=after).order_by("name")[:limit])


def run(place: Place, name: str, given: Mapping[str, Any]) -> Recalled:
    """Run a query. Raises MemoryForbidden without read and what it requires, MemoryNotFound, MemoryInvalid."""
    place.require(Privilege.READ)
    _require(place, "named")
    query = Query.objects.filter(memory=place.memory, name=name).first() if NAME.fullmatch(name) else None
    if query is None:
        raise MemoryNotFound("There is no such query in this memory.")
    definition = defined(query)
    place.require(definition.requires | Privilege.READ)
    return _answer(place, definition.run(given))


def ask(place: Place, statement: Any, given: Mapping[str, Any], *, language: str, writes: bool = False) -> Recalled:
    """Answer a statement. Raises MemoryForbidden, MemoryInvalid, and MemoryUnsupported for one that is to write."""
    place.require(Privilege.READ)
    if writes:
        place.require(Privilege.READ | Privilege.WRITE)
        raise MemoryUnsupported("A statement reads; write records by the record endpoints.", param="write")
    offered = _require(place, "free")
    if language not in offered["languages"]:
        raise MemoryInvalid(f"This is one of: {', '.join(offered['languages'])}.", param="language")
    return _answer(place, run_free(statement, given))


def defined(query: Query) -> Definition:
    """A query as it was defined."""
    return read_definition({name: getattr(query, name) for name in DEFINITION})


def _require(place: Place, kind: str) -> Any:
    offered = (provider_of(place).capabilities().get("queries") or {}).get(kind)
    if not offered:
        raise MemoryUnsupported()
    return offered


def _answer(place: Place, statement: Statement) -> Recalled:
    ranks = bool(statement.query or statement.text)
    most = statement.limit or (RANKED if ranks else MOST_ROWS)
    # One more than the server gives unasked shows whether there are more.
    looked_for = most if statement.limit or ranks else most + 1
    view = View(statement.as_of, statement.include_all, statement.types, statement.filters)
    question = Question(statement.query, statement.text, view, looked_for)
    place.used()
    try:
        with at_most(MILLISECONDS):
            answer = pipeline.recall(place.memory, place.caller.principals, Ask(question, depth=0))
    except OutOfTime as failure:
        return Recalled((), (failure.note,))
    if len(answer.hits) <= most:
        return answer
    return replace(answer, hits=answer.hits[:most], degraded=(*answer.degraded, f"results:capped_at_{most}"))
