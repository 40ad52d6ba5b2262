"""Using what a record's type offers, in a form made from the schema of its input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.providers.base import RecordVersion
from memories.record_types import Operation
from memories.services import operations
from memories.services import records as verbs
from memories.services.sight import Place, look
from uhp_site.http import pages
from uhp_site.http.errors import InvalidInput, MemoryInvalid

from .nodes import address
from .questions import led
from .records import frame, label

JSON = "json"
NUMBERS = ("integer", "number")


@dataclass(frozen=True)
class Input:
    """One field of an operation's form; `kind` is text, date, number, boolean, choice or json."""

    name: str
    kind: str
    hint: str
    required: bool
    choices: tuple[str, ...]
    value: str

    @property
    def label(self) -> str:
        """The name as a person reads it."""
        return label(self.name)


@member_page
@require_http_methods(["GET", "POST"])
def operate(request: ConsoleRequest, memory_id: str, record_id: str, name: str) -> HttpResponse:
    """Ask for what an operation needs, then use it; what it answers is shown, what it writes is the next version."""
    place = look(request.caller, memory_id)
    place.require(Privilege.READ)
    head = verbs.get(place, record_id)
    operation = operations.offered(place, head, name)
    if request.method != "POST":
        return _form(request, place, head, operation, _current(operation, head))
    sent = {one: request.POST.get(one, "") for one in _properties(operation)}
    try:
        outcome = operations.operate(place, record_id, name, _given(operation, request.POST))
    except (MemoryInvalid, InvalidInput) as refusal:
        return _form(
            request, place, head, operation, sent, error=refusal.message, param=refusal.param or "", status=422
        )
    if outcome.version is None:
        shown = json.dumps(outcome.value, ensure_ascii=False, indent=2)
        return _form(request, place, head, operation, sent, answer=shown)
    messages.success(request, f"{label(name)}: version {outcome.version.number} was written.")
    return led(request, address(request, "record", memory_id, record_id))


def _form(
    request: ConsoleRequest,
    place: Place,
    head: RecordVersion,
    operation: Operation,
    values: Mapping[str, str],
    *,
    answer: str = "",
    error: str = "",
    param: str = "",
    status: int = 200,
) -> HttpResponse:
    url = address(request, "record", place.memory.id, head.id)
    context = {
        **frame(request, place),
        "record": {"title": head.name, "url": url},
        "operation": {"label": label(operation.name), "description": operation.description, "writes": operation.writes},
        "inputs": [_input(operation, name, schema, values) for name, schema in _properties(operation).items()],
        "answer": answer,
        "error": error,
        "param": param.partition(".")[0],
        "action_url": request.path,
        "cancel_url": url,
    }
    return pages.answer(request, "memories/operate.html", context, status=status)


def _properties(operation: Operation) -> Mapping[str, Any]:
    described = operation.input.get("properties", {})
    return {name: schema if isinstance(schema, dict) else {} for name, schema in described.items()}


def _types(schema: Mapping[str, Any]) -> list[str]:
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = set(_types(schema)) - {"null"}
    if all(isinstance(one, str) for one in schema.get("enum", [0])):
        return "choice"
    if kinds == {"string"}:
        return "date" if schema.get("format") == "date" else "text"
    if kinds == {"boolean"}:
        return "boolean"
    return "number" if kinds and kinds <= set(NUMBERS) else JSON


def _input(operation: Operation, name: str, schema: Mapping[str, Any], values: Mapping[str, str]) -> Input:
    kind = _kind(schema)
    return Input(
        name=name,
        kind=kind,
        hint=str(schema.get("description", "")) or ("Written as JSON." if kind == JSON else ""),
        required=name in operation.input.get("required", []) and "null" not in _types(schema) and kind != "boolean",
        choices=tuple(schema["enum"]) if kind == "choice" else (),
        value=values.get(name, ""),
    )


def _current(operation: Operation, head: RecordVersion) -> dict[str, str]:
    # What an input sets directly begins as it is now, so that leaving it alone changes nothing.
    attributes = head.draft.attributes or {}
    values: dict[str, str] = {}
    for attribute, source in operation.set.items():
        name = source.get("$input") if isinstance(source, dict) else None
        if isinstance(name, str) and attributes.get(attribute) is not None:
            found = attributes[attribute]
            values[name] = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    return values


def _given(operation: Operation, sent: QueryDict) -> dict[str, Any]:
    """What the form says, typed as the schema asks; an empty field is null where that is allowed, else left out."""
    given: dict[str, Any] = {}
    for name, schema in _properties(operation).items():
        text, kind = sent.get(name, "").replace("\r\n", "\n"), _kind(schema)
        if kind == "boolean":
            given[name] = text == "true"
        elif not text.strip():
            if "null" in _types(schema):
                given[name] = None
        elif kind in ("number", JSON):
            given[name] = _parsed(text, name)
        else:
            given[name] = text
    return given


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MemoryInvalid("This is not a value as JSON writes it.", param=name) from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)
