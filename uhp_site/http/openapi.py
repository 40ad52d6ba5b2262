"""How the OpenAPI document at /v1/schema is told what endpoints take and answer: in one statement for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as s

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Describe(Protocol):
    """Describes a handler: the name of the operation, what a success answers, and the statuses of its refusals.

    What else is given goes on to `extend_schema`. 401 is always among the refusals.
    """

    def __call__(self, operation: str, answer: Any, *refusals: int, **more: Any) -> Callable[[Handler], Handler]:
        """Return the decorator of the handler."""
        ...


def shape(name: str, /, **fields: Any) -> Any:
    """The class of objects with these fields; its name is theirs in the document."""
    return type(f"{name}Serializer", (s.Serializer,), fields)


def listed_as(name: str, item: Any, /, **more: Any) -> Any:
    """The class of one page of a list."""
    return shape(name, object=s.CharField(), data=item, next=s.CharField(allow_null=True), **more)


def query_parameter(
    name: str, kind: Any = OpenApiTypes.STR, description: str = "", *, required: bool = False
) -> OpenApiParameter:
    """A parameter of the address."""
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, required=required)


def describing(chapter: str) -> Describe:
    """What describes the handlers of one chapter."""

    def describe(operation: str, answer: Any, *refusals: int, **more: Any) -> Callable[[Handler], Handler]:
        responses = {200: answer, **{status: Error() for status in (401, *refusals)}}
        documented: Callable[[Handler], Handler] = extend_schema(
            operation_id=operation, responses=responses, tags=[chapter], **more
        )
        return documented

    return describe


PAGE = [
    query_parameter("limit", OpenApiTypes.INT, "1 to 200"),
    query_parameter("cursor", description="`next` of the page before"),
]
ErrorBody = shape(
    "ErrorBody",
    type=s.CharField(),
    code=s.CharField(),
    message=s.CharField(),
    param=s.CharField(allow_null=True),
    detail=s.JSONField(allow_null=True),
)
Error = shape("Error", error=ErrorBody())
