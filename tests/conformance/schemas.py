"""The shapes of the Memories chapter as JSON Schema 2020-12.

A field that may be null says so; every other field is left out when there is nothing to say. Fields that are not
listed are always allowed: a server may add its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

PRIVILEGES = ["read", "write", "create", "delete"]
SIGNALS = ["query", "text", "filters"]
RFC3339 = r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$"
PRINCIPAL = r"^(member|group|x\.[a-z0-9_.-]+):.+"

STRING: Schema = {"type": "string"}
SOME_STRING: Schema = {"type": "string", "minLength": 1}
NOT_BLANK: Schema = {"type": "string", "pattern": r"\S"}
STRINGS: Schema = {"type": "array", "items": STRING}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
# Unix milliseconds of any day since 2001; a value in seconds is a thousand times too small to pass.
MILLISECONDS: Schema = {"type": "integer", "minimum": 1_000_000_000_000}
INSTANT_OR_NULL: Schema = {"type": ["string", "null"], "pattern": RFC3339}
PRIVILEGE_LIST: Schema = {"type": "array", "items": {"enum": PRIVILEGES}, "uniqueItems": True}


def obj(properties: dict[str, Schema], *optional: str, **keywords: Any) -> Schema:
    """An object whose properties are all required except the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, **keywords}


def ref(name: str) -> Schema:
    """A reference to another definition of this module."""
    return {"$ref": f"#/$defs/{name}"}


def many(item: Schema) -> Schema:
    """The list envelope; `next` is null or absent at the end."""
    return obj(
        {"object": {"const": "list"}, "data": {"type": "array", "items": item}, "next": {"type": ["string", "null"]}},
        "next",
    )


def when(field: str, value: Schema, then: Schema) -> Schema:
    """A condition: objects whose field matches value also match then."""
    return {"if": {"properties": {field: value}, "required": [field]}, "then": then}


COUNTS = {"records": obj({"count": {"type": ["integer", "null"], "minimum": 0}}), "children": obj({"count": COUNT})}

DEFINITIONS: dict[str, Schema] = {
    "Memory": obj(
        {
            "id": SOME_STRING,
            "object": {"const": "memory"},
            "name": NOT_BLANK,
            "description": STRING,
            "parent_id": {"type": ["string", "null"]},
            "ancestors": {"type": "array", "items": SOME_STRING, "uniqueItems": True},
            "restricted": BOOLEAN,
            "provider": SOME_STRING,
            "privileges": PRIVILEGE_LIST,
            **COUNTS,
            "createdAt": MILLISECONDS,
            "updatedAt": MILLISECONDS,
        }
    ),
    "Neighbour": obj(
        {"id": SOME_STRING, "name": NOT_BLANK, "description": STRING, **COUNTS, "privileges": PRIVILEGE_LIST}
    ),
    "MemoryDeletion": obj({"id": SOME_STRING, "deleted": {"const": True}, "memories": STRINGS}),
    "MemoryGrant": obj(
        {
            "id": SOME_STRING,
            "object": {"const": "memory.grant"},
            "memory_id": SOME_STRING,
            "principal": {"type": "string", "pattern": PRINCIPAL},
            "privileges": {**PRIVILEGE_LIST, "minItems": 1},
            "inherited": BOOLEAN,
        }
    ),
    "GrantDeletion": obj({"id": SOME_STRING, "deleted": {"const": True}}),
    "Writer": obj(
        {
            "kind": {"type": "string", "pattern": r"^(member|provider|x\.[a-z0-9_.-]+)$"},
            "id": SOME_STRING,
            "type": {"enum": ["human", "agent"]},
            "on_behalf_of": {"type": "string", "pattern": PRINCIPAL},
            "consolidation_id": SOME_STRING,
        },
        "type",
        "on_behalf_of",
        "consolidation_id",
        allOf=[
            when("kind", {"not": {"const": "member"}}, {"properties": {"type": False}}),
            when(
                "kind",
                {"not": {"const": "provider"}},
                {"properties": {"on_behalf_of": False, "consolidation_id": False}},
            ),
        ],
    ),
    "Part": obj(
        {
            "type": {"type": "string", "pattern": r"^(text|file|x\..+)$"},
            "text": STRING,
            "text_source": {"enum": ["stated", "derived"]},
            "role": {"enum": ["user", "assistant", "system", "tool"]},
            "file": obj(
                {
                    "id": SOME_STRING,
                    "name": STRING,
                    "media_type": STRING,
                    "bytes": COUNT,
                    "version": {"not": {"type": "null"}},
                },
                "version",
            ),
        },
        "text",
        "text_source",
        "role",
        "file",
        allOf=[
            when(
                "type",
                {"const": "text"},
                {"required": ["text"], "properties": {"text": NOT_BLANK, "text_source": False}},
            ),
            when("type", {"const": "file"}, {"required": ["file"]}),
        ],
    ),
    # Unknown and unreadable targets look the same: two keys and nothing else.
    "Reference": {
        "oneOf": [
            obj({"rel": STRING, "record_id": SOME_STRING, "memory_id": SOME_STRING, "available": {"const": True}}),
            obj({"record_id": SOME_STRING, "available": {"const": False}}, additionalProperties=False),
        ]
    },
    "MemoryRecord": obj(
        {
            "id": SOME_STRING,
            "object": {"const": "memory.record"},
            "memory_id": SOME_STRING,
            "type": SOME_STRING,
            "title": {"type": "string", "maxLength": 300},
            "content": {"type": "array", "items": ref("Part")},
            "attributes": {"type": "object"},
            "version": {"type": "integer", "minimum": 1},
            "status": {"enum": ["active", "superseded", "forgotten"]},
            "supersedes": {"type": ["integer", "null"], "minimum": 1},
            "time": obj(
                {
                    "valid_from": INSTANT_OR_NULL,
                    "valid_to": INSTANT_OR_NULL,
                    "written_at": INSTANT_OR_NULL,
                    "invalidated_at": INSTANT_OR_NULL,
                }
            ),
            "written_by": ref("Writer"),
            "references": {"type": "array", "items": ref("Reference")},
            "follows": obj({"kind": STRING, "id": STRING, "name": STRING}, "name"),
            "trust": {"const": "untrusted"},
        },
        "title",
        "follows",
    ),
    "RecordPage": obj(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": ref("MemoryRecord")},
            "next": {"type": ["string", "null"]},
            "parent": ref("Neighbour"),
            "children": {"type": "array", "items": ref("Neighbour")},
        },
        "parent",
    ),
    "MemoryRecall": obj(
        {
            "object": {"const": "memory.recall"},
            "results": {
                "type": "array",
                "items": obj(
                    {
                        "record": ref("MemoryRecord"),
                        "memory": obj({"id": SOME_STRING, "name": STRING}),
                        "score": {"type": ["number", "null"]},
                        "why": {"type": "array", "items": {"enum": SIGNALS}, "uniqueItems": True},
                    }
                ),
            },
            "parent": ref("Neighbour"),
            "children": {"type": "array", "items": ref("Neighbour")},
            "degraded": {"type": "array", "items": {"type": "string", "pattern": r"^[^:\s]+:\S+$"}},
            "abstain": BOOLEAN,
        },
        "object",
        "parent",
    ),
    "MemoryErasure": obj({"erased": STRINGS, "unreachable": STRINGS}),
    "MemoryGraph": obj(
        {
            "object": {"const": "memory.graph"},
            "nodes": {
                "type": "array",
                "items": obj({"record": ref("MemoryRecord"), "memory": obj({"id": SOME_STRING, "name": STRING})}),
            },
            "edges": {"type": "array", "items": ref("GraphEdge")},
            "truncated": BOOLEAN,
            "degraded": STRINGS,
        },
        "degraded",
    ),
    "GraphEdge": obj(
        {
            "from": obj({"memory_id": SOME_STRING, "record_id": SOME_STRING}),
            "to": obj({"memory_id": SOME_STRING, "record_id": SOME_STRING}, "memory_id"),
            "rel": STRING,
            "available": BOOLEAN,
        },
        "rel",
        allOf=[
            when(
                "available",
                {"const": False},
                {"properties": {"rel": False, "to": {"properties": {"memory_id": False}}}},
            ),
        ],
    ),
    "MemoryQuery": obj(
        {
            "name": {"type": "string", "pattern": r"^[A-Za-z0-9_]+$"},
            "description": STRING,
            "params": {"type": "object"},
            "requires": {"enum": ["read", "write"]},
            "language": SOME_STRING,
            "body": {"not": {"type": "null"}},
        }
    ),
    "MemorySnapshot": obj({"id": SOME_STRING, "name": NOT_BLANK, "at": {"type": "string", "pattern": RFC3339}}),
    "MemoryConsolidation": obj(
        {
            "id": SOME_STRING,
            "object": {"const": "memory.consolidation"},
            "memory_id": SOME_STRING,
            "status": {"enum": ["queued", "running", "completed", "stopped", "failed"]},
            "trigger": SOME_STRING,
            # Unix seconds: a value in milliseconds is too large to pass.
            "started_at": {"type": ["integer", "null"], "minimum": 1_000_000_000, "maximum": 100_000_000_000},
            "finished_at": {"type": ["integer", "null"], "minimum": 1_000_000_000, "maximum": 100_000_000_000},
            "read": obj({"episodes": COUNT, "through": INSTANT_OR_NULL}),
            "changes": obj({"created": COUNT, "superseded": COUNT, "forgotten": COUNT}),
            "usage": obj({"input_tokens": COUNT, "output_tokens": COUNT}),
            "budget": obj({"limit": COUNT, "unit": SOME_STRING, "exhausted": BOOLEAN}, "limit", "unit"),
            "written_by": obj({"kind": {"const": "provider"}, "id": SOME_STRING}),
            "error": STRING,
        },
        *("object", "memory_id", "trigger", "started_at", "finished_at", "read", "changes", "usage", "budget"),
        *("written_by", "error"),
    ),
    "ProviderDocument": obj(
        {
            "id": SOME_STRING,
            "isolation": {"enum": ["container", "enforced_filter"]},
            "derivation": {"enum": ["write_time", "background", "agent", "none"]},
            "observe": obj(
                {"keeps_episodes": BOOLEAN, "answers": {"enum": ["records", "job"]}}, type=["object", "boolean", "null"]
            ),
            "recall": obj(
                {"signals": {"type": "array", "items": {"enum": SIGNALS}, "uniqueItems": True}, "abstain": BOOLEAN},
                "abstain",
            ),
            "history": obj({"content": {"enum": ["versions", "snapshots", "none"]}}),
            "revise": {"enum": ["native", "emulated", False]},
            "forget": {"enum": ["native", "emulated", False]},
            "erase": obj({"unreachable": {"const": "reported"}}, type=["object", "boolean", "null"]),
            "prime": BOOLEAN,
            "consolidate": {"enum": ["runs", "trigger", False]},
            "queries": obj({"named": BOOLEAN}, "named"),
            "types": BOOLEAN,
            "graph": obj({"entities": {"enum": ["derived", "stated", "none"]}}, type=["object", "boolean", "null"]),
            "content": obj(
                {"media": STRINGS, "bytes": {"enum": ["kept", "referenced"]}, "describes": STRINGS},
                "bytes",
                "describes",
            ),
        },
        *("derivation", "observe", "recall", "history", "revise", "forget", "erase", "prime", "consolidate", "queries"),
        *("types", "graph", "content"),
    ),
    "MemoryType": obj(
        {
            "type": SOME_STRING,
            "core": BOOLEAN,
            "description": STRING,
            "schema": {"type": "object"},
            "operations": {"type": "array", "items": obj({"name": SOME_STRING, "requires": {"enum": PRIVILEGES}})},
        },
        *("core", "description", "schema", "operations"),
    ),
    "Discovery": obj(
        {
            "object": {"const": "uhp.discovery"},
            "protocol": {"const": "uhp"},
            "versions": {**STRINGS, "minItems": 1},
            "default_version": SOME_STRING,
            "conformance_class": {"enum": ["core", "extended", "full"]},
            "capabilities": {"type": "object", "additionalProperties": BOOLEAN},
            "implementation": obj({"name": SOME_STRING, "version": SOME_STRING}),
        },
        "implementation",
    ),
    "Error": obj(
        {
            "error": obj(
                {
                    "type": {
                        "enum": [
                            *("invalid_request_error", "authentication_error", "permission_error"),
                            *("rate_limit_error", "server_error"),
                        ]
                    },
                    "code": NOT_BLANK,
                    "message": NOT_BLANK,
                    "param": {"type": ["string", "null"]},
                    "detail": {"type": ["object", "null"]},
                }
            )
        }
    ),
}
DEFINITIONS |= {
    "MemoryList": many(ref("Memory")),
    "GrantList": many(ref("MemoryGrant")),
    "RecordHistory": many(ref("MemoryRecord")),
    "ProviderList": many(ref("ProviderDocument")),
    "TypeList": many(ref("MemoryType")),
    "QueryList": many(ref("MemoryQuery")),
    "AnyList": many({"type": "object"}),
}


@cache
def validator(name: str) -> Draft202012Validator:
    """The validator of one definition; building it costs more than using it."""
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFINITIONS})


def problems(name: str, instance: object) -> list[str]:
    """What keeps an answer from being the named object: one line per problem, empty when it is one."""
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(instance)]


def validate(name: str, instance: object) -> None:
    """Raise AssertionError with every problem unless the answer is the named object."""
    found = problems(name, instance)
    assert not found, f"not a valid {name}:\n" + "\n".join(found)
