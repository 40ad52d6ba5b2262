"""Reading requests: strict JSON whatever the content type says, JSON answers whatever Accept says (contract §1.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import IO, Any, NoReturn

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from .errors import FileTooLarge, InvalidInput


class AlwaysJSON(BaseContentNegotiation):
    """Neither Accept nor Content-Type is ever a reason to refuse: a client that says nothing means JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class JSONBody(BaseParser):
    """A JSON object of at most MAX_BODY_BYTES; no body is an empty object. Raises InvalidInput or FileTooLarge."""

    media_type = "*/*"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        limit: int = settings.MAX_BODY_BYTES
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise FileTooLarge(
                f"The request body is larger than the {limit} bytes this server takes.", detail={"max_bytes": limit}
            )
        return parse_object(raw)


def parse_object(raw: bytes) -> dict[str, Any]:
    """Read bytes as one JSON object; numbers that JSON does not know and unreadable text raise InvalidInput."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidInput() from None
    if not isinstance(value, dict):
        raise InvalidInput("The request body must be a JSON object.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
