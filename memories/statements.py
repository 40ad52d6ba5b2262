"""The language `filter`: what a named or free query says, as JSON, and how parameters are put into it. Pure.

A statement is an object of `filters`, `query`, `text`, `types`, `include`, `as_of` and `limit`, which mean what they
mean in a recall; a filter alone stands for `{"filters": filter}`. It may also be sent as a string of that JSON.

`{name}` in a value stands for a parameter. A string that is nothing else becomes the parameter's value as it is; within
a longer string, and in `query` and `text`, it becomes its text. `{{` and `}}` are braces. Names of fields, operations
and keys are never put together from parameters, and what was put in is not looked at again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import MISSING, Fields
from uhp_site.http.text import json_flaw

from .access import WORDS, Privilege
from .filters import Filter, read_filter
from .record_types import check_schema, read_schema

LANGUAGE = "filter"
LANGUAGES = (LANGUAGE,)
NAME = re.compile(r"[A-Za-z0-9_]{1,80}")
DEFINITION = ("description", "params", "requires", "language", "body")
MAX_BYTES = 16 * 1024
MAX_PLACEHOLDERS = 64
MAX_WORDS = 8_000
MAX_DESCRIPTION = 2_000
MOST_ROWS = 100
WORDED = ("query", "text")
CHOSEN = ("types", "include", "as_of", "limit")
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]{0,79})\}")

Say = Callable[[str, bool], Any]
"""What a string of a statement becomes; told whether it has to stay a text."""


@dataclass(frozen=True)
class Statement:
    """A statement with everything put in. `limit` is None when it says nothing of it."""

    filters: Filter | None = None
    query: str = ""
    text: str = ""
    types: tuple[str, ...] = ()
    include_all: bool = False
    as_of: datetime | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Definition:
    """A query as it is defined: `params` as given, `schema` the same without references."""

    description: str = ""
    params: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    requires: Privilege = Privilege.READ
    language: str = LANGUAGE
    body: Any = None

    def run(self, given: Mapping[str, Any]) -> Statement:
        """The statement with parameters put in. Raises MemoryInvalid for parameters that do not fit."""
        _require_small(given, "params")
        check_schema(self.schema, given, "params")
        values = {**_defaults(self.schema), **given}
        try:
            return parse(filled(read_statement(self.body, "body"), values), "body")
        except MemoryInvalid as refusal:
            # Whoever runs a query wrote its parameters, and not its body.
            of_params = refusal.param is not None and refusal.param.startswith("params")
            raise MemoryInvalid(refusal.message, param=refusal.param if of_params else "params") from None


def read_definition(data: Mapping[str, Any]) -> Definition:
    """Check a query that is to be defined. Raises MemoryInvalid, naming the field."""
    fields = Fields(data)
    description = fields.text("description", longest=MAX_DESCRIPTION) or ""
    requires = WORDS[fields.choice("requires", ("read", "write"), "read")]
    language = fields.choice("language", LANGUAGES, LANGUAGE)
    params = data.get("params", {"type": "object"})
    _require_small(params, "params")
    schema = read_schema(params, "params")
    if not fields.has("body"):
        raise fields.refuse("body", "This field is required.")
    body = read_statement(data["body"], "body")
    known = schema.get("properties", {})
    for name in placeholders(body, "body"):
        if name not in known:
            raise fields.refuse("body", f"{{{name}}} is not among the properties of params.")
    parse(_without_placeholders(body), "body")
    return Definition(description, params, schema, requires, language, data["body"])


def read_statement(value: Any, param: str) -> Mapping[str, Any]:
    """A statement as an object, however it was sent; not yet checked inside. Raises MemoryInvalid."""
    if isinstance(value, str):
        _require_small(value, param)
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise MemoryInvalid("A statement is a JSON object.", param=param) from None
    if not isinstance(value, dict) or not value:
        raise MemoryInvalid("A statement is a JSON object with filters, query or text.", param=param)
    _require_small(value, param)
    alone = value.keys() & {"field", "and", "or"}
    return {"filters": value} if alone else value


def run_free(value: Any, given: Mapping[str, Any]) -> Statement:
    """A free statement with parameters put in. Raises MemoryInvalid."""
    _require_small(given, "params")
    body = read_statement(value, "statement")
    placeholders(body, "statement")
    return parse(filled(body, given), "statement")


def parse(body: Mapping[str, Any], path: str) -> Statement:
    """Check a statement in which everything is put in. Raises MemoryInvalid, naming the field."""
    fields = Fields(body, path)
    if unknown := sorted(body.keys() - {"filters", *WORDED, *CHOSEN}):
        raise MemoryInvalid(f"A statement has no {unknown[0][:40]!r}.", param=path)
    filters = read_filter(body["filters"], fields.at("filters")) if body.get("filters") is not None else None
    query = fields.text("query", longest=MAX_WORDS) or ""
    text = fields.text("text", longest=MAX_WORDS) or ""
    if filters is None and not query and not text:
        raise MemoryInvalid("A statement has at least one of filters, query and text.", param=path)
    return Statement(
        filters=filters,
        query=query,
        text=text,
        types=tuple(fields.words("types")),
        include_all=fields.choice("include", ("active", "all"), "active") == "all",
        as_of=fields.instant("as_of"),
        limit=fields.integer("limit", least=1, most=MOST_ROWS),
    )


def placeholders(body: Mapping[str, Any], path: str) -> list[str]:
    """The names of the parameters that a statement uses, each as often as it does.

    Raises MemoryInvalid for too many, and for one that stands where a name does.
    """
    found: list[str] = []

    def note(text: str, _: bool) -> str:
        found.extend(one[1] for one in PLACEHOLDER.finditer(text) if one[1])
        return text

    _mapped(body, note)
    if len(found) > MAX_PLACEHOLDERS:
        raise MemoryInvalid(f"A statement has at most {MAX_PLACEHOLDERS} placeholders.", param=path)
    _require_plain_names(body.get("filters"), path)
    return found


def filled(body: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The statement with values in place of their names. Raises MemoryInvalid for one that is missing."""

    def value_of(name: str) -> Any:
        value = values.get(name, MISSING)
        if value is MISSING:
            raise MemoryInvalid("This parameter is required.", param=f"params.{name}")
        return value

    def text_of(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0][0]
        value = value_of(found[1])
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            return json.dumps(value)
        raise MemoryInvalid("Within a text this is a string, a number, true or false.", param=f"params.{found[1]}")

    def say(text: str, worded: bool) -> Any:
        whole = PLACEHOLDER.fullmatch(text)
        if whole and whole[1] and not worded:
            return value_of(whole[1])
        return PLACEHOLDER.sub(text_of, text)

    return _mapped(body, say)


def _without_placeholders(body: Mapping[str, Any]) -> Mapping[str, Any]:
    # What a parameter will stand for cannot be checked yet; everything around it can.
    kept = {name: value for name, value in body.items() if not (name in CHOSEN and _uses_parameters(value))}
    if "filters" in kept:
        kept["filters"] = _with_lists(kept["filters"])
    return kept


def _uses_parameters(value: Any) -> bool:
    texts = value if isinstance(value, list) else [value]
    return any(one[1] for text in texts if isinstance(text, str) for one in PLACEHOLDER.finditer(text))


def _with_lists(one: Any) -> Any:
    if not isinstance(one, dict):
        return one
    joined = {name: list(map(_with_lists, one[name])) for name in ("and", "or") if isinstance(one.get(name), list)}
    if one.get("op") == "in" and isinstance(one.get("value"), str) and _uses_parameters(one["value"]):
        return {**one, "value": []}
    return {**one, **joined}


def _mapped(body: Mapping[str, Any], say: Say) -> dict[str, Any]:
    mapped = dict(body)
    for name in (*WORDED, *CHOSEN):
        if name in body:
            mapped[name] = _deeply(body[name], say, name in WORDED)
    if "filters" in body:
        mapped["filters"] = _in_filter(body["filters"], say)
    return mapped


def _in_filter(one: Any, say: Say) -> Any:
    if not isinstance(one, dict):
        return one
    mapped = dict(one)
    for name in ("and", "or"):
        if isinstance(one.get(name), list):
            mapped[name] = [_in_filter(inner, say) for inner in one[name]]
    if "value" in one:
        mapped["value"] = _deeply(one["value"], say, False)
    return mapped


def _deeply(value: Any, say: Say, worded: bool) -> Any:
    if isinstance(value, str):
        return say(value, worded)
    if isinstance(value, list):
        return [_deeply(inner, say, worded) for inner in value]
    if isinstance(value, dict):
        return {key: _deeply(inner, say, worded) for key, inner in value.items()}
    return value


def _require_plain_names(one: Any, path: str) -> None:
    if not isinstance(one, dict):
        return
    for name in ("field", "op"):
        if isinstance(one.get(name), str) and _uses_parameters(one[name]):
            raise MemoryInvalid(f"A placeholder stands for a value, never in {name}.", param=path)
    for inner in [*_listed(one, "and"), *_listed(one, "or")]:
        _require_plain_names(inner, path)


def _listed(one: Mapping[str, Any], name: str) -> list[Any]:
    inner = one.get(name)
    return inner if isinstance(inner, list) else []


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    described = schema.get("properties", {})
    return {name: one["default"] for name, one in described.items() if isinstance(one, dict) and "default" in one}


def _require_small(value: Any, param: str) -> None:
    if found := json_flaw(value):
        raise MemoryInvalid(found[1], param=".".join(part for part in (param, found[0]) if part))
    if len(value if isinstance(value, str) else json.dumps(value)) > MAX_BYTES:
        raise MemoryInvalid(f"This has at most {MAX_BYTES} characters as JSON.", param=param)
