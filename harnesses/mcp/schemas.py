"""The arguments of the tools, as JSON Schema."""

from __future__ import annotations

from typing import Any

from uhp_site.http.views import LONGEST_KEY

Schema = dict[str, Any]

MEMORY: Schema = {"type": "string", "minLength": 1, "description": "The id of a memory."}
RECORD: Schema = {"type": "string", "minLength": 1, "description": "The id of a record in that memory."}
ADDRESSED: dict[str, Schema] = {"memory_id": MEMORY, "record_id": RECORD}
VIEW: dict[str, Schema] = {
    "type": {"type": "string", "description": "Only records of this type."},
    "include": {"enum": ["active", "all"], "description": "active, or all: superseded and forgotten ones, too."},
    "as_of": {"type": "string", "description": "As it was at this instant, such as 2026-03-01T09:30:00Z."},
}
PAGE: dict[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "How many at once."},
    "cursor": {"type": "string", "description": "The next of the answer before."},
}
FILTERS: Schema = {
    "type": "object",
    "description": "{field, op, value}, or {and: [...]} or {or: [...]} of them. field is type, attributes.<name> or "
    "time.valid_from, valid_to, written_at, invalidated_at; op is eq, in, gt, gte, lt, lte or contains.",
}
CONTENT: Schema = {
    "type": ["string", "array"],
    "items": {"type": "object"},
    "description": "What it says: a text, or a list of parts.",
}
DRAFT: dict[str, Schema] = {
    "title": {"type": "string", "maxLength": 300, "description": "One line that names it."},
    "content": CONTENT,
    "attributes": {"type": "object", "description": "Fields by name; standing: true makes it part of every prime."},
    "references": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "record_id": {"type": "string"},
                "memory_id": {"type": "string"},
                "rel": {"type": "string"},
            },
            "required": ["record_id"],
        },
        "description": "Records it points at; rel is derived_from, part_of, about, subject, object or another word.",
    },
    "time": {
        "type": "object",
        "properties": {"valid_from": {"type": ["string", "null"]}, "valid_to": {"type": ["string", "null"]}},
        "description": "When it holds: valid_from and valid_to.",
    },
}
EXPECTED: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": "The version you read; refused when somebody changed it since.",
}
KEY: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_KEY,
    "description": "The same key again within a day gives the first answer again and does nothing twice.",
}


def whole(properties: dict[str, Schema], *required: str, one_of: tuple[str, ...] = ()) -> Schema:
    """An object with these properties and no other; at least one of `one_of` has to be there."""
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    if one_of:
        schema["anyOf"] = [{"required": [name]} for name in one_of]
        schema["x-one-of"] = f"Give at least one of {', '.join(one_of)}."
    return schema
