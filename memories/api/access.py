"""Read-only vendor endpoints on access: who reaches a memory, what somebody reaches, and why or why not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers as s
from rest_framework.request import Request

from memories.access import WORDS, Person, Privilege
from memories.services import asking
from memories.services.sight import Place, look
from uhp_site.http import pagination
from uhp_site.http.fields import Fields
from uhp_site.http.openapi import PAGE, Handler, describing, query_parameter, shape
from uhp_site.http.views import Endpoint

from . import shapes
from .base import caller_of

_AT = query_parameter("at", OpenApiTypes.DATETIME, "Ask of this past instant, RFC 3339 with an offset")
_MEMORY = query_parameter("memory", description="The id of a memory on which you hold delete", required=True)
_PRIVILEGE = query_parameter("privilege", description=", ".join(WORDS), required=True)
_PRINCIPAL = query_parameter("principal", description="member:<id> or group:<id>", required=True)


def _words() -> s.ListField:
    return s.ListField(child=s.CharField(), help_text="Of read, write, create, delete")


_PERSON = {
    "principal": s.CharField(),
    "name": s.CharField(),
    "type": s.CharField(help_text="human, agent or group"),
    "hindered": s.CharField(allow_null=True, help_text="deactivated or no_key: keeps them from acting at all"),
}
_LIST = {"object": s.CharField(), "next": s.CharField(allow_null=True)}
_SOURCE = shape(
    "AccessSource",
    via=s.CharField(help_text="direct, group or creator"),
    principal=s.CharField(),
    privileges=_words(),
    memory_id=s.CharField(),
    memory_name=s.CharField(),
    grant_id=s.CharField(required=False),
    group_name=s.CharField(required=False),
)
_STEP = shape("AccessStep", id=s.CharField(), name=s.CharField(), restricted=s.BooleanField())
_CUTOFF = shape("AccessCutoff", hidden=s.BooleanField(), memory_id=s.CharField(required=False))
_REACHING = shape(
    "AccessReaching", **_PERSON, privileges=_words(), sources=_SOURCE(many=True), hidden_sources=s.BooleanField()
)
_WHO = shape(
    "AccessWho",
    **_LIST,
    data=_REACHING(many=True),
    memory_id=s.CharField(),
    total=s.IntegerField(),
    path=_STEP(many=True),
    path_begins_higher=s.BooleanField(help_text="There are memories above which you do not see"),
    cutoff=_CUTOFF(allow_null=True),
)
_HELD = shape(
    "AccessHeld",
    memory_id=s.CharField(),
    name=s.CharField(),
    parent_id=s.CharField(allow_null=True),
    depth=s.IntegerField(),
    restricted=s.BooleanField(),
    privileges=_words(),
    changes_here=s.BooleanField(),
    last_read_at=s.DateTimeField(allow_null=True),
    last_written_at=s.DateTimeField(allow_null=True),
)
_WHAT = shape("AccessWhat", **_LIST, **_PERSON, data=_HELD(many=True))
_WHY = shape(
    "AccessWhy",
    **_PERSON,
    object=s.CharField(),
    memory_id=s.CharField(),
    privilege=s.CharField(),
    allowed=s.BooleanField(),
    cause=s.CharField(
        allow_null=True, help_text="no_grant, cut_off, not_in_group, deactivated or no_key; null of a yes"
    ),
    sources=_SOURCE(many=True, help_text="What gives it; of a no, what would"),
    cutoffs=_STEP(many=True),
    hidden=s.BooleanField(help_text="There is more, on memories which you do not see"),
)


def _documented(operation: str, answer: Any, *parameters: OpenApiParameter) -> Callable[[Handler], Handler]:
    return describing("access")(operation, answer(), 403, 404, 422, parameters=[*parameters, _AT])


class Who(Endpoint):
    """Who reaches a memory."""

    @_documented("access_who", _WHO, _MEMORY, *PAGE)
    def get(self, request: Request) -> dict[str, Any]:
        """List the members who reach `memory`, by name, with what they hold and every reason why."""
        place, query = place_asked(self.query(request), request)
        paging = pagination.read(query, str, str)
        answer = asking.who(place, paging.limit, paging.after, instant(query))
        cursor = pagination.make_cursor(*answer.next) if answer.next else None
        where = answer.where
        return shapes.listed(
            (
                {
                    **person(one.person),
                    "privileges": one.privileges.words,
                    "sources": [reason(each) for each in one.reasons],
                    "hidden_sources": one.hidden,
                }
                for one in answer.people
            ),
            cursor,
            memory_id=place.memory.id,
            total=answer.total,
            path=[step(each) for each in reversed(where.steps)],
            path_begins_higher=where.goes_on,
            cutoff={"hidden": where.cutoff_hidden, **({"memory_id": where.cutoff} if where.cutoff else {})}
            if where.cutoff or where.cutoff_hidden
            else None,
        )


class What(Endpoint):
    """What a member or group reaches."""

    @_documented(
        "access_what",
        _WHAT,
        _PRINCIPAL,
        query_parameter("changes", OpenApiTypes.BOOL, "true: only where access begins or changes"),
        *PAGE,
    )
    def get(self, request: Request) -> dict[str, Any]:
        """List the memories that `principal` reaches, highest first, of those whose grants you may look at."""
        query, caller = self.query(request), caller_of(request)
        principal = named(query, "principal")
        paging = pagination.read(query, int, str, str, default=pagination.MOST)
        changes = query.choice("changes", ("true", "1", "false", "0"), "false") in {"true", "1"}
        answer = asking.what(caller, principal, paging.limit, paging.after, at=instant(query), changes=changes)
        return shapes.listed(
            (
                {
                    "memory_id": one.id,
                    "name": one.name,
                    "parent_id": one.parent_id,
                    "depth": one.depth,
                    "restricted": one.restricted,
                    "privileges": one.privileges.words,
                    "changes_here": one.changes,
                    "last_read_at": shapes.instant(one.read_at),
                    "last_written_at": shapes.instant(one.written_at),
                }
                for one in answer.memories
            ),
            pagination.make_cursor(*answer.next) if answer.next else None,
            **person(answer.person),
        )


class Why(Endpoint):
    """Why somebody may do one thing on a memory, or why not."""

    @_documented("access_why", _WHY, _MEMORY, _PRINCIPAL, _PRIVILEGE)
    def get(self, request: Request) -> dict[str, Any]:
        """Say whether `principal` holds `privilege` on `memory`, and because of what."""
        place, query = place_asked(self.query(request), request)
        principal = named(query, "principal")
        word = query.choice("privilege", WORDS, "")
        answer = asking.why(place, principal, Privilege.from_words([word]), instant(query))
        return {
            "object": "x.access.verdict",
            "memory_id": place.memory.id,
            **person(answer.person),
            "privilege": word,
            "allowed": answer.yes,
            "cause": answer.cause.value if answer.cause else None,
            "sources": [reason(each) for each in answer.reasons],
            "cutoffs": [step(each) for each in answer.cutoffs],
            "hidden": answer.hidden,
        }


def place_asked(query: Fields, request: Request) -> tuple[Place, Fields]:
    """The memory asked about, seen and administered before anything else of the query is looked at."""
    place = look(caller_of(request), named(query, "memory"))
    place.require(Privilege.DELETE)
    return place, query


def named(query: Fields, name: str) -> str:
    """An id in the query, whatever its shape: one that cannot be is unknown. Raises MemoryInvalid without one."""
    if not query.has(name):
        raise query.refuse(name, "This field is required.")
    return str(query.data[name])


def instant(query: Fields) -> datetime | None:
    """The instant asked about; None is now. Raises MemoryInvalid for one that is still to come."""
    at = query.instant("at")
    if at is not None and at > timezone.now():
        raise query.refuse("at", "This lies in the future.")
    return at


def person(one: Person) -> dict[str, Any]:
    """Who it is about; `hindered` says why they cannot act at all, if so."""
    return {
        "principal": one.principal,
        "name": one.name,
        "type": one.type,
        "hindered": one.hindered.value if one.hindered else None,
    }


def reason(one: asking.Reason) -> dict[str, Any]:
    """One source of access."""
    shown: dict[str, Any] = {
        "via": one.via,
        "principal": one.principal,
        "privileges": one.privileges.words,
        "memory_id": one.memory.id,
        "memory_name": one.memory.name,
    }
    if one.grant_id:
        shown["grant_id"] = one.grant_id
    if one.group_name:
        shown["group_name"] = one.group_name
    return shown


def step(one: asking.Step) -> dict[str, Any]:
    """A memory on the way up."""
    return {"id": one.id, "name": one.name, "restricted": one.restricted}
