"""A filter as SQL over `memories_version`, which means exactly what `memories.filters.matches` says.

Every value and every step of a path is a parameter; the text of a statement is put together from constants only.
Equality is asked as containment, which the index on attributes answers; `->` with a text goes into objects only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from memories.filters import All, Condition, Filter, instant_of

SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
PARAMETER = re.compile(r"%\((filter_\d+)\)s")


def compiled(one: Filter, *, at_instant: bool = False, table: str = "v") -> tuple[str, dict[str, Any]]:
    """A condition on a version, with its parameters by name.

    `at_instant` is for versions shown as of an instant: those that held then were not closed yet.
    """
    compiler = _Compiler(table, at_instant)
    return compiler.filter(one), compiler.parameters


def expression(one: Filter, *, at_instant: bool = False) -> RawSQL:
    """The same, for a queryset of versions that joins no other table of this name."""
    statement, parameters = compiled(one, at_instant=at_instant, table="memories_version")
    ordered = tuple(parameters[name] for name in PARAMETER.findall(statement))
    return RawSQL(PARAMETER.sub("%s", statement), ordered, output_field=BooleanField())  # noqa: S611


class _Compiler:
    def __init__(self, table: str, at_instant: bool) -> None:
        self.table, self.at_instant = table, at_instant
        self.parameters: dict[str, Any] = {}

    def filter(self, one: Filter) -> str:
        if isinstance(one, Condition):
            return {
                "type": self.of_type,
                "time": self.of_time,
                "attributes": self.of_attribute,
                "writer": self.of_writer,
                "status": self.of_status,
            }[one.field](one)
        joined = " AND " if isinstance(one, All) else " OR "
        nothing = "TRUE" if isinstance(one, All) else "FALSE"
        return f"({joined.join(map(self.filter, one.of))})" if one.of else nothing

    def of_type(self, one: Condition) -> str:
        column = f"{self.table}.type"
        if one.op in ("eq", "in"):
            named = [value for value in (one.value if one.op == "in" else [one.value]) if isinstance(value, str)]
            return f"{column} = ANY({self.put(named)}::text[])"
        if not isinstance(one.value, str):
            return "FALSE"
        if one.op == "contains":
            return f"strpos(lower({column}), lower({self.put(one.value)}::text)) > 0"
        return f'{column} COLLATE "C" {SIGNS[one.op]} {self.put(one.value)}::text'

    def of_time(self, one: Condition) -> str:
        column = f"{self.table}.{one.path[0]}"
        if self.at_instant and one.path[0] == "invalidated_at":
            column = "NULL::timestamptz"
        if one.op in ("eq", "in"):
            values = one.value if one.op == "in" else [one.value]
            moments = [moment for moment in map(instant_of, values) if moment]
            equal = f"{column} = ANY({self.put(moments)}::timestamptz[])"
            return f"({column} IS NULL OR {equal})" if None in values else equal
        moment = instant_of(one.value)
        if one.op == "contains" or moment is None:
            return "FALSE"
        return f"{column} {SIGNS[one.op]} {self.put(moment)}::timestamptz"

    def of_writer(self, one: Condition) -> str:
        kind, _, writer = str(one.value).partition(":")
        named = f"{self.table}.writer_kind = {self.put(kind)}::text"
        return f"({named} AND {self.table}.writer_id = {self.put(writer)}::text)"

    def of_status(self, one: Condition) -> str:
        if self.at_instant:
            return "TRUE" if one.value == "active" else "FALSE"
        return f"{self.table}.status = {self.put(one.value)}::text"

    def of_attribute(self, one: Condition) -> str:
        if one.op == "exists":
            return f"({self.at(one)} IS NOT NULL)"
        if one.op == "eq":
            return self.equal(one, one.value)
        if one.op == "in":
            return f"({' OR '.join(self.equal(one, value) for value in one.value)})" if one.value else "FALSE"
        if one.op == "contains":
            return self.contains(one)
        if isinstance(one.value, str):
            value, found = self.put(one.value), self.at(one)
            text = f"""({found} #>> '{{}}') COLLATE "C" """
            return f"(jsonb_typeof({found}) = 'string' AND {text} {SIGNS[one.op]} {value}::text)"
        if isinstance(one.value, int | float) and not isinstance(one.value, bool):
            found = self.at(one)
            return f"(jsonb_typeof({found}) = 'number' AND {found} {SIGNS[one.op]} {self.put_json(one.value)})"
        return "FALSE"

    def equal(self, one: Condition, value: Any) -> str:
        if value is None:
            return f"coalesce({self.at(one)}, 'null'::jsonb) = 'null'::jsonb"
        held = f"{self.table}.attributes @> {self.put_json(_nested(one.path, value))}"
        # An object or a list may contain another without being equal to it.
        return f"({held} AND {self.at(one)} = {self.put_json(value)})" if isinstance(value, dict | list) else held

    def contains(self, one: Condition) -> str:
        found = self.at(one)
        array = f"CASE WHEN jsonb_typeof({found}) = 'array' THEN {found} ELSE '[]' END"
        elements = f"jsonb_array_elements({array}) AS element(value)"
        if isinstance(one.value, str):
            text = f"lower({self.put(one.value)}::text)"
            # What does not even stand in it as JSON is not taken apart.
            written = self.put(json.dumps(one.value, ensure_ascii=False)[1:-1])
            return f"""(strpos(lower({found}::text), lower({written}::text)) > 0 AND (
                jsonb_typeof({found}) = 'string' AND strpos(lower({found} #>> '{{}}'), {text}) > 0
                OR EXISTS (SELECT FROM {elements}
                           WHERE jsonb_typeof(element.value) = 'string'
                             AND lower(element.value #>> '{{}}') = {text})))"""
        if isinstance(one.value, dict | list):
            return f"EXISTS (SELECT FROM {elements} WHERE element.value = {self.put_json(one.value)})"
        return f"{self.table}.attributes @> {self.put_json(_nested(one.path, [one.value]))}"

    def at(self, one: Condition) -> str:
        steps = "".join(f" -> {self.put(step)}::text" for step in one.path)
        return f"({self.table}.attributes{steps})"

    def put(self, value: Any) -> str:
        name = f"filter_{len(self.parameters)}"
        self.parameters[name] = value
        return f"%({name})s"

    def put_json(self, value: Any) -> str:
        return f"{self.put(json.dumps(value))}::jsonb"


def _nested(path: tuple[str, ...], value: Any) -> Mapping[str, Any]:
    for step in reversed(path):
        value = {step: value}
    assert isinstance(value, dict)
    return value
