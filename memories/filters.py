"""Filters: conditions on a record's type, attributes and times, joined by and, or (Memories §2.9). Pure.

`matches` says what a filter means; an engine that evaluates filters in its own language must agree with it:

- A path goes through objects only. What is not there is null, for `eq` and `in`; a range never matches it.
- Values are equal as JSON values: numbers by what they amount to, so 1 is 1.0 and not true.
- A range compares numbers with numbers and strings with strings, by code point; the times of a record are compared as
  instants. Anything else never matches, and is no error.
- `contains` finds part of a string whatever its case, or an element of a list; a string among them whatever its case.

Three conditions are only ever made here, and are not part of what a client may write: by whom, of which status, and
whether an attribute is there at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import parse_instant
from uhp_site.http.text import flaw, json_flaw

TIMES = ("valid_from", "valid_to", "written_at", "invalidated_at")
OPERATIONS = ("eq", "in", "gt", "gte", "lt", "lte", "contains")
RANGES = ("gt", "gte", "lt", "lte")
MAX_DEPTH = 8
MAX_CONDITIONS = 64
MAX_STEPS = 16
MAX_STEP = 200
MAX_IN = 200
MAX_STRING = 2_000
MAX_VALUE = 16_384


@dataclass(frozen=True)
class Condition:
    """One condition. `field` is type, attributes or time; `path` leads on from it; `op` is one of OPERATIONS.

    Those that are only made here have the fields writer and status, with `eq`, and for attributes the op `exists`.
    """

    field: str
    path: tuple[str, ...]
    op: str
    value: Any


@dataclass(frozen=True)
class All:
    """True when all of these are; without any, true."""

    of: tuple[Filter, ...]


@dataclass(frozen=True)
class Some:
    """True when one of these is; without any, false."""

    of: tuple[Filter, ...]


Filter: TypeAlias = Condition | All | Some


@dataclass(frozen=True)
class Facts:
    """What of a version a filter looks at."""

    type: str
    attributes: Mapping[str, Any]
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    written_at: datetime | None = None
    invalidated_at: datetime | None = None
    writer: str = ""
    status: str = "active"


def written_by(principal: str) -> Filter:
    """Versions whose writer is the one that a grant would call so."""
    return Condition("writer", (), "eq", principal)


def of_status(status: str) -> Filter:
    """Versions that are active, superseded or forgotten; as of an instant, what held then was active."""
    return Condition("status", (), "eq", status)


def has_attribute(name: str, *values: Any) -> Filter:
    """Versions with an attribute of this name, dots included; with values, where it is one of these JSON values."""
    there = Condition("attributes", (name,), "exists", True)
    return All((there, Condition("attributes", (name,), "in", list(values)))) if values else there


def read_filter(value: Any, param: str = "filters") -> Filter:
    """Check a filter. Raises MemoryInvalid for `param`, its message saying where inside."""
    return _Reading(param).filter(value, "filters", 1)


def matches(one: Filter, facts: Facts) -> bool:
    """Whether a version is what a filter asks for."""
    if isinstance(one, All):
        return all(matches(inner, facts) for inner in one.of)
    if isinstance(one, Some):
        return any(matches(inner, facts) for inner in one.of)
    if one.field == "time":
        return _matches_time(one, getattr(facts, one.path[0]))
    found: Any = facts.attributes if one.field == "attributes" else getattr(facts, one.field)
    for step in one.path:
        if one.op == "exists" and not (isinstance(found, Mapping) and step in found):
            return False
        found = found.get(step) if isinstance(found, Mapping) else None
    return one.op == "exists" or _matches_value(one, found)


def instant_of(value: Any) -> datetime | None:
    """The instant that a value compared with a time names, or None."""
    return parse_instant(value) if isinstance(value, str) else None


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same value."""
    if _is_number(one) and _is_number(other):
        return amount(one) == amount(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and bool(one == other)


def amount(number: float) -> Decimal:
    """What a JSON number amounts to, exactly as it is written."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def folded(text: str) -> str:
    """A text without its case, character by character."""
    return "".join("i" if letter == "\u0130" else letter.lower() for letter in text)


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": lambda one, other: bool(one > other),
    "gte": lambda one, other: bool(one >= other),
    "lt": lambda one, other: bool(one < other),
    "lte": lambda one, other: bool(one <= other),
}


def _matches_value(one: Condition, found: Any) -> bool:
    if one.op == "eq":
        return equal(found, one.value)
    if one.op == "in":
        return any(equal(found, value) for value in one.value)
    if one.op == "contains":
        return _contains(found, one.value)
    if _is_number(found) and _is_number(one.value):
        return COMPARISONS[one.op](amount(found), amount(one.value))
    if isinstance(found, str) and isinstance(one.value, str):
        return COMPARISONS[one.op](found, one.value)
    return False


def _matches_time(one: Condition, found: datetime | None) -> bool:
    if one.op in ("eq", "in"):
        for value in one.value if one.op == "in" else (one.value,):
            if found is None and value is None:
                return True
            if found is not None and instant_of(value) == found:
                return True
        return False
    moment = instant_of(one.value)
    if one.op not in RANGES or moment is None or found is None:
        return False
    return COMPARISONS[one.op](found, moment)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and folded(value) in folded(found)
    if not _is_list(found):
        return False
    if isinstance(value, str):
        return any(isinstance(element, str) and folded(element) == folded(value) for element in found)
    return any(equal(element, value) for element in found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


class _Reading:
    """Reads one filter, counting its conditions."""

    def __init__(self, param: str) -> None:
        self.param = param
        self.conditions = 0

    def filter(self, value: Any, path: str, depth: int) -> Filter:
        if not isinstance(value, dict):
            raise self.refuse(path, "a filter is an object")
        if depth > MAX_DEPTH:
            raise self.refuse(path, f"filters are nested at most {MAX_DEPTH} deep")
        joined = [name for name in ("and", "or") if name in value]
        if not joined:
            return self.condition(value, path)
        if len(value) > 1:
            raise self.refuse(path, f"nothing stands beside {joined[0]}")
        inner = value[joined[0]]
        if not isinstance(inner, list):
            raise self.refuse(f"{path}.{joined[0]}", "this is a list of filters")
        self.count(len(inner), path)
        of = tuple(self.filter(one, f"{path}.{joined[0]}.{index}", depth + 1) for index, one in enumerate(inner))
        return All(of) if joined[0] == "and" else Some(of)

    def condition(self, value: dict[str, Any], path: str) -> Condition:
        if unknown := sorted(map(str, value.keys() - {"field", "op", "value"})):
            raise self.refuse(path, f"a filter has no {_shown(unknown[0])}; it has field, op and value, or and, or or")
        for name in ("field", "value"):
            if name not in value:
                raise self.refuse(f"{path}.{name}", "this is required")
        field, steps = self.field(value["field"], f"{path}.field")
        op = value.get("op", "eq")
        if not isinstance(op, str) or op not in OPERATIONS:
            raise self.refuse(f"{path}.op", f"this is one of {', '.join(OPERATIONS)}")
        if op == "in":
            self.choices(value["value"], f"{path}.value")
        self.value(value["value"], f"{path}.value")
        return Condition(field, steps, op, value["value"])

    def field(self, name: Any, path: str) -> tuple[str, tuple[str, ...]]:
        field, *steps = name.split(".") if isinstance(name, str) else [""]
        if field == "type" and not steps:
            return field, ()
        if field == "time" and len(steps) == 1 and steps[0] in TIMES:
            return field, (steps[0],)
        if field != "attributes" or not steps:
            raise self.refuse(path, f"this is type, attributes.<path>, or time. and one of {', '.join(TIMES)}")
        if problem := flaw(name):
            raise self.refuse(path, problem[:1].lower() + problem[1:].rstrip("."))
        if len(steps) > MAX_STEPS or not all(0 < len(step) <= MAX_STEP for step in steps):
            raise self.refuse(path, f"a path is 1 to {MAX_STEPS} names of 1 to {MAX_STEP} characters, joined by dots")
        return field, tuple(steps)

    def choices(self, value: Any, path: str) -> None:
        if not isinstance(value, list) or len(value) > MAX_IN:
            raise self.refuse(path, f"in takes a list of at most {MAX_IN} values")
        self.count(len(value) // 10, path)

    def value(self, value: Any, path: str) -> None:
        if found := json_flaw(value):
            raise self.refuse(".".join(part for part in (path, found[0]) if part), found[1].rstrip("."))
        if isinstance(value, str):
            if len(value) > MAX_STRING:
                raise self.refuse(path, f"this has at most {MAX_STRING} characters")
        elif isinstance(value, dict | list) and len(json.dumps(value)) > MAX_VALUE:
            raise self.refuse(path, f"this has at most {MAX_VALUE} characters as JSON")
        elif _is_number(value) and abs(value) > 10**400:
            raise self.refuse(path, "the number is too large")

    def count(self, more: int, path: str) -> None:
        self.conditions += more
        if self.conditions > MAX_CONDITIONS:
            raise self.refuse(path, f"a filter has at most {MAX_CONDITIONS} parts; a long in counts as several")

    def refuse(self, path: str, why: str) -> MemoryInvalid:
        return MemoryInvalid(f"{path[:200]}: {why}.", param=self.param)


def _shown(name: str) -> str:
    return json.dumps(name[:40])
