"""The schemas tell right from wrong: without this, a definition that accepts everything would pass every server."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .client import JSON
from .schemas import problems

NEIGHBOUR: JSON = {
    "id": "hmem_1",
    "name": "accounts",
    "description": "",
    "records": {"count": None},
    "children": {"count": 0},
    "privileges": ["read"],
}
RECORD: JSON = {
    "id": "hrec_1",
    "object": "memory.record",
    "memory_id": "hmem_1",
    "type": "fact",
    "title": "",
    "content": [{"type": "text", "text": "words"}, {"type": "x.note", "anything": None}],
    "attributes": {},
    "version": 1,
    "status": "active",
    "supersedes": None,
    "time": {
        "valid_from": None,
        "valid_to": None,
        "written_at": "2026-10-19T08:00:00.123Z",
        "invalidated_at": None,
    },
    "written_by": {"kind": "member", "id": "mbr_1", "type": "human"},
    "references": [
        {"rel": "about", "record_id": "hrec_2", "memory_id": "hmem_2", "available": True},
        {"record_id": "hrec_3", "available": False},
    ],
    "trust": "untrusted",
}
RIGHT: dict[str, JSON] = {
    "Memory": {
        **NEIGHBOUR,
        "object": "memory",
        "parent_id": None,
        "ancestors": [],
        "restricted": False,
        "provider": "native",
        "createdAt": 1_792_000_000_000,
        "updatedAt": 1_792_000_000_000,
    },
    "MemoryRecord": RECORD,
    "MemoryRecall": {
        "results": [{"record": RECORD, "memory": {"id": "hmem_1", "name": "a"}, "score": None, "why": ["query"]}],
        "parent": NEIGHBOUR,
        "children": [NEIGHBOUR],
        "degraded": ["filters:not_supported"],
        "abstain": False,
    },
    "MemoryErasure": {"erased": ["hrec_1"], "unreachable": []},
    "MemoryGraph": {
        "object": "memory.graph",
        "nodes": [{"record": RECORD, "memory": {"id": "hmem_1", "name": "a"}}],
        "edges": [
            {
                "from": {"memory_id": "hmem_1", "record_id": "hrec_1"},
                "to": {"memory_id": "hmem_2", "record_id": "hrec_2"},
                "rel": "about",
                "available": True,
            },
            {
                "from": {"memory_id": "hmem_1", "record_id": "hrec_1"},
                "to": {"record_id": "hrec_3"},
                "available": False,
            },
        ],
        "truncated": False,
    },
    "MemoryConsolidation": {
        "id": "hcon_1",
        "object": "memory.consolidation",
        "memory_id": "hmem_1",
        "status": "stopped",
        "trigger": "request",
        "started_at": 1_792_000_000,
        "finished_at": None,
        "read": {"episodes": 2, "through": "2026-10-19T08:00:00.123Z"},
        "changes": {"created": 1, "superseded": 0, "forgotten": 0},
        "usage": {"input_tokens": 10, "output_tokens": 0},
        "budget": {"limit": 10, "unit": "tokens", "exhausted": True},
        "written_by": {"kind": "provider", "id": "native"},
        "error": "",
    },
    "MemoryGrant": {
        "id": "hgrt_1",
        "object": "memory.grant",
        "memory_id": "hmem_1",
        "principal": "group:grp_1",
        "privileges": ["read"],
        "inherited": False,
    },
    "RecordPage": {"object": "list", "data": [RECORD], "next": None, "children": []},
    "MemoryList": {"object": "list", "data": []},
    "ProviderDocument": {
        "id": "native",
        "isolation": "enforced_filter",
        "recall": {"signals": ["query", "text"], "abstain": True},
        "revise": "native",
        "forget": False,
        "erase": False,
        "graph": {"entities": "none"},
    },
    "Discovery": {
        "object": "uhp.discovery",
        "protocol": "uhp",
        "versions": ["2026-10-19"],
        "default_version": "2026-10-19",
        "conformance_class": "core",
        "capabilities": {"memories": True},
    },
    "Error": {
        "error": {
            "type": "invalid_request_error",
            "code": "memory_not_found",
            "message": "There is no such memory.",
            "param": None,
            "detail": None,
        }
    },
}
ABSENT: Any = object()
WRONG: list[tuple[str, str, Any]] = [
    ("Memory", "createdAt", 1_792_000_000),
    ("Memory", "createdAt", "2026-10-19T08:00:00Z"),
    ("Memory", "description", None),
    ("Memory", "privileges", ["read", "own"]),
    ("Memory", "records.count", "7"),
    ("Memory", "children.count", None),
    ("Memory", "restricted", 0),
    ("Memory", "ancestors", None),
    ("Memory", "parent_id", ABSENT),
    ("MemoryRecord", "title", None),
    ("MemoryRecord", "content", "words"),
    ("MemoryRecord", "content.0.text", ABSENT),
    ("MemoryRecord", "content.0.text_source", "stated"),
    ("MemoryRecord", "content.0.role", None),
    ("MemoryRecord", "content.1.type", "image"),
    ("MemoryRecord", "content.1", {"type": "file"}),
    ("MemoryRecord", "trust", "trusted"),
    ("MemoryRecord", "supersedes", "hrec_0"),
    ("MemoryRecord", "status", "deleted"),
    ("MemoryRecord", "time.written_at", 1_792_000_000),
    ("MemoryRecord", "time.written_at", "2026-10-19 08:00"),
    ("MemoryRecord", "time.valid_to", ABSENT),
    ("MemoryRecord", "written_by.type", None),
    ("MemoryRecord", "written_by.on_behalf_of", "member:mbr_1"),
    ("MemoryRecord", "written_by.kind", "provider"),
    ("MemoryRecord", "written_by.kind", "group"),
    ("MemoryRecord", "references.0.rel", None),
    ("MemoryRecord", "references.1.memory_id", "hmem_9"),
    ("MemoryRecord", "references.1.rel", "about"),
    ("MemoryRecall", "parent", None),
    ("MemoryRecall", "children", ABSENT),
    ("MemoryRecall", "abstain", None),
    ("MemoryRecall", "degraded.0", "filters"),
    ("MemoryRecall", "results.0.why", ["guess"]),
    ("MemoryRecall", "results.0.score", "high"),
    ("MemoryErasure", "unreachable", ABSENT),
    ("MemoryGraph", "edges.0.rel", None),
    ("MemoryGraph", "edges.1.rel", "about"),
    ("MemoryGraph", "edges.1.to.memory_id", "hmem_9"),
    ("MemoryConsolidation", "status", "reverted"),
    ("MemoryConsolidation", "started_at", 1_792_000_000_000),
    ("MemoryConsolidation", "read.through", 1_792_000_000),
    ("MemoryConsolidation", "error", None),
    ("MemoryConsolidation", "budget.exhausted", ABSENT),
    ("MemoryGrant", "privileges", []),
    ("MemoryGrant", "principal", "harness:x"),
    ("RecordPage", "parent", None),
    ("MemoryList", "data", ABSENT),
    ("ProviderDocument", "isolation", "none"),
    ("ProviderDocument", "recall.signals", ["query", "smell"]),
    ("Discovery", "capabilities.memories", {"version": 1}),
    ("Error", "error.param", ABSENT),
    ("Error", "error.message", ""),
    ("Error", "error.type", "not_found"),
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_schema_accepts_a_right_answer_and_fields_it_does_not_know(name: str) -> None:
    assert problems(name, RIGHT[name]) == []
    assert problems(name, {**RIGHT[name], "vendor_field": None}) == []


@pytest.mark.parametrize(("name", "where", "value"), WRONG)
def test_a_schema_refuses_a_wrong_answer(name: str, where: str, value: Any) -> None:
    answer: Any = copy.deepcopy(RIGHT[name])
    *steps, last = [int(step) if step.isdigit() else step for step in where.split(".")]
    inside = answer
    for step in steps:
        inside = inside[step]
    if value is ABSENT:
        del inside[last]
    else:
        inside[last] = value
    assert problems(name, answer), f"{name} may not have {where} = {value!r}"
