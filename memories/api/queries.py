"""Endpoints on queries: those that a memory keeps by name, and free ones (Memories §2.13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rest_framework.request import Request

from memories.access import Privilege
from memories.models import Query
from memories.providers.base import Writer
from memories.recall.pipeline import Recalled
from memories.services import queries
from memories.statements import LANGUAGE, read_definition
from uhp_site.http import pagination
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields

from . import queries_document as document
from . import shapes
from .base import MemoryEndpoint, Needs


class _Answering(MemoryEndpoint):
    def answered(self, answer: Recalled) -> dict[str, Any]:
        """A MemoryRecall."""
        resolved = self.reader.resolved([hit.version for hit in answer.hits])
        return shapes.recall(answer, resolved, self.reader.neighbours(self.place.memory))


class Queries(MemoryEndpoint):
    """The queries of a memory."""

    needs: ClassVar[Needs] = {"GET": (Privilege.READ,)}

    @document.list_queries
    def get(self, request: Request, memory_id: str) -> dict[str, Any]:
        """List queries by name."""
        paging = pagination.read(self.query(request), str, default=pagination.MOST)
        found = queries.listed(self.place, paging.limit + 1, paging.after[0] if paging.after else "")
        page, following = pagination.cut(found, paging.limit, lambda one: (one.name,))
        return shapes.listed(map(shown, page), following)


class QueryDetail(_Answering):
    """One query of a memory."""

    needs: ClassVar[Needs] = {"PUT": (Privilege.WRITE,), "POST": (Privilege.READ,)}

    def answer(self, request: Request, handler: Callable[..., Any]) -> Any:
        """Do what is asked. Running one changes nothing, so its answer is not kept for a key."""
        if request.method == "POST":
            return handler(request, *self.args, **self.kwargs)
        return super().answer(request, handler)

    @document.define_query
    def put(self, request: Request, memory_id: str, name: str) -> dict[str, Any]:
        """Define a query, or replace it."""
        definition = read_definition(self.body(request).data)
        return shown(queries.define(self.place, queries.check_name(name), definition))

    @document.run_query
    def post(self, request: Request, memory_id: str, name: str) -> dict[str, Any]:
        """Run a query with parameters, on this memory alone."""
        return self.answered(queries.run(self.place, name, read_params(self.body(request))))


class FreeQuery(_Answering):
    """Ask a memory in the language of its provider."""

    asks_only: ClassVar[bool] = True
    needs: ClassVar[Needs] = {"POST": (Privilege.READ,)}

    @document.ask_freely
    def post(self, request: Request, memory_id: str) -> dict[str, Any]:
        """Answer a statement, on this memory alone."""
        body = self.body(request)
        statement = body.data.get("statement")
        if statement is None or (isinstance(statement, str) and not statement.strip()):
            raise MemoryInvalid("This field is required.", param="statement")
        writes = body.flag("write") or False
        language = body.text("language", longest=40) or LANGUAGE
        return self.answered(
            queries.ask(self.place, statement, read_params(body), language=language, writes=writes),
        )


def read_params(body: Fields) -> Mapping[str, Any]:
    """The parameters sent. Raises MemoryInvalid."""
    params = body.data.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise body.refuse("params", "Parameters are an object.")
    return params


def shown(one: Query) -> dict[str, Any]:
    """A Query."""
    kind, _, definer = one.defined_by.partition(":")
    return {
        "object": "memory.query",
        "memory_id": one.memory_id,
        "name": one.name,
        "description": one.description,
        "params": one.params,
        "requires": one.requires,
        "language": one.language,
        "body": one.body,
        "defined_by": shapes.writer(Writer(kind, definer, one.defined_by_type)),
        "createdAt": shapes.milliseconds(one.created_at),
        "updatedAt": shapes.milliseconds(one.updated_at),
    }
