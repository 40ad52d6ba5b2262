"""Extension types that an organisation registers: what their attributes may be, and what can be done with them. Pure.

A definition is JSON: `type`, `description`, `schema` (JSON Schema 2020-12 of the attributes), `text` (which words stand
for a record when it is searched) and `operations`. An operation either sets attributes and title, which is written as
a new version, or answers with something computed. Nothing in a definition is ever run as code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry

from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields, parse_instant
from uhp_site.http.text import json_flaw

from .access import WORDS, Privilege
from .content import EVERYTHING, MAX_TITLE, MAX_TYPE, TYPE, Changes

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_BYTES = 64 * 1024
MAX_DEPTH = 24
MAX_NODES = 4_000
MAX_OPERATIONS = 50
NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
ATTRIBUTE = re.compile(r"[^.$\s][^.$]{0,79}")
PROJECTED = re.compile(r"title|content|attributes(\.[^.\s]{1,80}){0,8}")
# A schema must not be able to fetch anything, nor to take longer than it is long.
REFUSED = {
    "$dynamicRef": "it depends on where it is used",
    "$dynamicAnchor": "it depends on where it is used",
    "$id": "a schema stands alone",
    "pattern": "a hostile pattern never ends; use enum, format or maxLength",
    "patternProperties": "a hostile pattern never ends; use properties",
}
# Keywords whose values are schemas by name, and keywords whose values are not schemas at all.
NAMED = ("properties", "$defs", "dependentSchemas")
PLAIN = ("const", "enum", "default", "examples", "required", "dependentRequired")
# Attributes that mean something on a record of any type.
PROTOCOL = ("standing", "revision_reason")
ANSWERS = ("attributes", "changes")
WRITING = (Privilege.WRITE, Privilege.DELETE)

FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))
FORMATS.checks("date-time")(lambda value: not isinstance(value, str) or parse_instant(value) is not None)


@dataclass(frozen=True)
class Operation:
    """Something that can be done with a record of a type. `answer` is empty when it writes a version."""

    name: str
    requires: Privilege
    description: str = ""
    input: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    set: Mapping[str, Any] = field(default_factory=dict)
    title: Any = None
    answer: str = ""

    @property
    def writes(self) -> bool:
        """Whether it appends a version."""
        return not self.answer

    @property
    def needed(self) -> Privilege:
        """The whole set a caller holds to use it: what it declares, read, and write when it writes."""
        return self.requires | Privilege.READ | (Privilege.WRITE if self.writes else Privilege.NONE)


@dataclass(frozen=True)
class RecordType:
    """A type of record, as the types listing shows it (Memories §2.15)."""

    type: str
    description: str
    schema: Mapping[str, Any]
    text: tuple[str, ...] = EVERYTHING
    operations: tuple[Operation, ...] = ()
    core: bool = False

    def operation(self, name: str) -> Operation | None:
        """The operation with this name, if there is one."""
        return next((one for one in self.operations if one.name == name), None)

    def check(self, attributes: Mapping[str, Any]) -> None:
        """Raise MemoryInvalid unless the attributes are what the schema says; the protocol's own are not its affair."""
        described = self.schema.get("properties", {})
        own = {name: value for name, value in attributes.items() if name not in PROTOCOL or name in described}
        check_schema(self.schema, own, "attributes")


@dataclass(frozen=True)
class Use:
    """Who uses an operation and when, for the values that an operation may set from them."""

    principal: str
    moment: datetime


def read_type(data: Mapping[str, Any]) -> RecordType:
    """Check a definition. Raises MemoryInvalid, naming the field."""
    if len(json.dumps(data, default=str)) > MAX_BYTES:
        raise MemoryInvalid(f"The definition of a type has at most {MAX_BYTES} bytes.")
    if found := json_flaw(dict(data)):
        raise MemoryInvalid(found[1], param=found[0] or None)
    fields = Fields(data)
    name = fields.text("type", longest=MAX_TYPE, required=True) or ""
    if not TYPE.fullmatch(name) or not name.startswith("x."):
        raise fields.refuse("type", "An extension type begins with x. and is lower-case words joined by dots.")
    entries = data.get("operations", [])
    if not isinstance(entries, list) or len(entries) > MAX_OPERATIONS:
        raise fields.refuse("operations", f"Operations are a list of at most {MAX_OPERATIONS}.")
    operations = tuple(_read_operation(entry, f"operations.{index}") for index, entry in enumerate(entries))
    if len({one.name for one in operations}) < len(operations):
        raise fields.refuse("operations", "Two operations have the same name.")
    return RecordType(
        type=name,
        description=fields.text("description", longest=2000) or "",
        schema=read_schema(data.get("schema", {"type": "object"}), "schema"),
        text=_read_projection(fields),
        operations=operations,
    )


def changes_by(operation: Operation, given: Mapping[str, Any], use: Use) -> Changes:
    """What an operation that writes makes of its input. Raises MemoryInvalid for input that does not fit its schema."""
    check_input(operation, given)
    values = {name: _value(source, given, use) for name, source in operation.set.items()}
    title = _value(operation.title, given, use) if operation.title is not None else None
    if title is not None and (not isinstance(title, str) or len(title) > MAX_TITLE or len(title.splitlines()) > 1):
        raise MemoryInvalid(f"A title is one line of at most {MAX_TITLE} characters.", param="title")
    return Changes(
        title=None if title is None else str(title),
        attributes={name: value for name, value in values.items() if value is not ABSENT} or None,
    )


def check_input(operation: Operation, given: Mapping[str, Any]) -> None:
    """Raise MemoryInvalid unless the input is what the operation's schema says."""
    if found := json_flaw(dict(given)):
        raise MemoryInvalid(found[1], param=found[0] or None)
    check_schema(operation.input, given, "")


def _read_projection(fields: Fields) -> tuple[str, ...]:
    if not fields.has("text"):
        return EVERYTHING
    words = fields.words("text", longest=200, most=50)
    for index, word in enumerate(words):
        if not PROJECTED.fullmatch(word):
            raise fields.refuse(f"text.{index}", "Words come from title, content, attributes or attributes.<path>.")
    return tuple(words)


def _read_operation(entry: Any, path: str) -> Operation:
    if not isinstance(entry, dict):
        raise MemoryInvalid("An operation is an object.", param=path)
    fields = Fields(entry, path)
    name = fields.text("name", longest=60, required=True) or ""
    if not NAME.fullmatch(name):
        raise fields.refuse("name", "The name of an operation is a lower-case word.")
    requires = WORDS[fields.choice("requires", tuple(WORDS), "write")]
    answer = fields.choice("answer", ANSWERS, ANSWERS[0]) if fields.has("answer") else ""
    sets, title = entry.get("set", {}), entry.get("title")
    if not isinstance(sets, dict) or not all(ATTRIBUTE.fullmatch(one) for one in sets):
        raise fields.refuse("set", "What is set is an object of attribute names.")
    if bool(answer) == bool(sets or title is not None):
        raise fields.refuse("set", "An operation sets something, or answers something.")
    if not answer and requires not in WRITING:
        raise fields.refuse("requires", "What writes a version requires write or delete.")
    schema = read_schema(entry.get("input", {"type": "object"}), f"{path}.input")
    for source in (*sets.values(), *([title] if title is not None else [])):
        if isinstance(source, dict) and any(key.startswith("$") for key in source) and not _is_source(source):
            raise fields.refuse("set", 'A value is a constant, {"$input": name}, {"$now": true} or {"$caller": true}.')
    return Operation(
        name=name,
        requires=requires,
        description=fields.text("description", longest=2000) or "",
        input=schema,
        set=sets,
        title=title,
        answer=answer,
    )


class _Absent:
    """The type of ABSENT."""


ABSENT = _Absent()


def _is_source(source: Any) -> bool:
    if not isinstance(source, dict) or len(source) != 1:
        return False
    (key, value), *_ = source.items()
    return (key == "$input" and isinstance(value, str)) or (key in ("$now", "$caller") and value is True)


def _value(source: Any, given: Mapping[str, Any], use: Use) -> Any:
    if not _is_source(source):
        return source
    if "$input" in source:
        return given.get(source["$input"], ABSENT)
    if "$caller" in source:
        return use.principal
    return use.moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_schema(schema: Any, path: str) -> Mapping[str, Any]:
    """The schema with its own definitions put in place of the references to them: no longer than it says it is.

    Raises MemoryInvalid for what is no schema of an object, or one that could fetch something or run for long.
    """
    if not isinstance(schema, dict):
        raise MemoryInvalid("A schema is an object.", param=path)
    if schema.get("$schema", DIALECT) != DIALECT:
        raise MemoryInvalid("Schemas are of JSON Schema 2020-12.", param=f"{path}.$schema")
    plain = _Inliner(schema, path).inlined()
    if plain.get("type", "object") != "object":
        raise MemoryInvalid("This schema describes an object.", param=f"{path}.type")
    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        raise MemoryInvalid(_sentence(error), param=".".join((path, *map(str, error.absolute_path)))) from None
    return {"type": "object", **plain}


class _Inliner:
    def __init__(self, root: dict[str, Any], path: str) -> None:
        self.root, self.path, self.nodes = root, path, 0

    def inlined(self) -> dict[str, Any]:
        result = self._schema({key: value for key, value in self.root.items() if key not in ("$defs", "$schema")}, ())
        assert isinstance(result, dict)
        return result

    def _schema(self, schema: Any, trail: tuple[str, ...]) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(trail) > MAX_DEPTH:
            raise MemoryInvalid("The schema is too large, or refers to itself.", param=self.path)
        if isinstance(schema, list):
            return [self._schema(inner, trail) for inner in schema]
        if not isinstance(schema, dict):
            return schema
        for keyword, why in REFUSED.items():
            if keyword in schema:
                raise MemoryInvalid(f"{keyword} is not taken: {why}.", param=self.path)
        if "$ref" in schema:
            target = self._schema(self._target(schema["$ref"]), (*trail, "$ref"))
            rest = self._schema({key: value for key, value in schema.items() if key != "$ref"}, trail)
            return {**rest, "allOf": [target, *rest.get("allOf", [])]} if rest else target
        return {key: self._keyword(key, value, (*trail, key)) for key, value in schema.items() if key != "$defs"}

    def _keyword(self, key: str, value: Any, trail: tuple[str, ...]) -> Any:
        if key in PLAIN:
            self.nodes += 1
            return value
        if key in NAMED and isinstance(value, dict):
            return {name: self._schema(inner, (*trail, name)) for name, inner in value.items()}
        return self._schema(value, trail)

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            raise MemoryInvalid("A schema refers to its own $defs only.", param=self.path)
        target: Any = self.root
        for step in reference[2:].split("/"):
            target = target.get(step) if isinstance(target, dict) else None
        if not isinstance(target, dict | bool):
            raise MemoryInvalid(f"There is nothing at {reference}.", param=self.path)
        return target


@lru_cache(maxsize=256)
def _validator(schema: str) -> Draft202012Validator:
    # The empty registry knows nothing and fetches nothing.
    return Draft202012Validator(json.loads(schema), format_checker=FORMATS, registry=Registry())


def check_schema(schema: Mapping[str, Any], value: Mapping[str, Any], path: str) -> None:
    """Raise MemoryInvalid unless a value is what a schema says, naming the field below `path`."""
    for error in _errors(schema, value):
        steps = [*([path] if path else []), *map(str, error.absolute_path)]
        if error.validator == "required":
            instance: Any = error.instance
            missing = next(name for name in _required(error) if name not in instance)
            raise MemoryInvalid("This field is required.", param=".".join([*steps, missing]))
        raise MemoryInvalid(_sentence(error), param=".".join(steps) or None)


def _errors(schema: Mapping[str, Any], value: Mapping[str, Any]) -> Iterator[ValidationError]:
    yield from _validator(json.dumps(schema, sort_keys=True)).iter_errors(dict(value))


def _required(error: ValidationError) -> list[str]:
    return list(error.validator_value) if isinstance(error.validator_value, list) else []


def _sentence(error: ValidationError | SchemaError) -> str:
    said = error.message if len(error.message) <= 200 else f"This does not fit {error.validator} of the schema"
    return f"{said[:1].upper()}{said[1:]}."


TASK = read_type(
    {
        "type": "x.task",
        "description": "Something to be done, by somebody, perhaps by a day.",
        "schema": {
            "type": "object",
            "required": ["state"],
            "properties": {
                "state": {"enum": ["open", "done"]},
                "assignee": {"type": ["string", "null"], "maxLength": 180, "description": "A principal or a name."},
                "due": {"type": ["string", "null"], "format": "date", "description": "A day, such as 2026-03-01."},
                "completed_at": {"type": ["string", "null"], "format": "date-time"},
                "completed_by": {"type": ["string", "null"], "maxLength": 180},
            },
        },
        "text": ["title", "content", "attributes.assignee", "attributes.due"],
        "operations": [
            {
                "name": "complete",
                "requires": "write",
                "description": "Say that it is done, as of now and by the caller.",
                "set": {"state": "done", "completed_at": {"$now": True}, "completed_by": {"$caller": True}},
            },
            {
                "name": "reopen",
                "requires": "write",
                "description": "Say that it is to be done after all.",
                "set": {"state": "open", "completed_at": None, "completed_by": None},
            },
            {
                "name": "assign",
                "requires": "write",
                "description": "Give it to somebody, or with null to nobody; also change by when, when due is given.",
                "input": {
                    "type": "object",
                    "required": ["assignee"],
                    "properties": {
                        "assignee": {"type": ["string", "null"], "maxLength": 180},
                        "due": {"type": ["string", "null"], "format": "date"},
                    },
                },
                "set": {"assignee": {"$input": "assignee"}, "due": {"$input": "due"}},
            },
            {
                "name": "changes",
                "requires": "read",
                "description": "How state, assignee and day changed, when, and by whom.",
                "answer": "changes",
            },
        ],
    }
)
BUILT_IN: Mapping[str, RecordType] = {TASK.type: TASK}
