"""How many queries each endpoint costs: exactly what query_counts.json says, for few rows and for many.

After a change that is meant: HEARTWOOD_RECORD_QUERY_COUNTS=1 rewrites the file, and its diff is reviewed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from members.models import Group, Member
from memories.models import Grant, Memory
from memories.services import reembed
from memories.services.queries import define
from memories.services.sight import look
from memories.statements import read_definition
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db

FILE = Path(__file__).parent / "query_counts.json"

REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/uhp", None),
    ("GET", "/v1/memories", None),
    ("GET", "/v1/memories?granted=true", None),
    ("GET", "/v1/memories?parent={memory}", None),
    ("GET", "/v1/memories?ancestor={memory}", None),
    ("POST", "/v1/memories", {"name": "New"}),
    ("POST", "/v1/memories", {"name": "New", "parent_id": "{memory}"}),
    ("GET", "/v1/memories/providers", None),
    ("GET", "/v1/memories/types", None),
    ("GET", "/v1/memories/{memory}", None),
    ("PUT", "/v1/memories/{memory}", {"name": "Other"}),
    ("PUT", "/v1/memories/{memory}", {"restricted": True}),
    ("PUT", "/v1/memories/{memory}", {"parent_id": "{other}"}),
    ("DELETE", "/v1/memories/{memory}", None),
    ("GET", "/v1/memories/{memory}/grants", None),
    ("POST", "/v1/memories/{memory}/grants", {"principal": "member:a", "privileges": ["read"]}),
    ("DELETE", "/v1/memories/{memory}/grants/{grant}", None),
    ("GET", "/v1/memories/{memory}/records", None),
    ("GET", "/v1/memories/{memory}/records?include=all&type=fact", None),
    ("POST", "/v1/memories/{memory}/records", {"content": "words"}),
    ("GET", "/v1/memories/{memory}/records/{record}", None),
    ("PATCH", "/v1/memories/{memory}/records/{record}", {"content": "words", "references": []}),
    ("DELETE", "/v1/memories/{memory}/records/{record}", None),
    ("GET", "/v1/memories/{memory}/records/{record}/history", None),
    ("POST", "/v1/memories/{memory}/recall", {"query": "words", "text": "words", "limit": 50}),
    ("POST", "/v1/memories/{memory}/recall", {"filters": {"field": "type", "value": "fact"}, "limit": 50}),
    ("POST", "/v1/memories/{memory}/graph", {}),
    ("POST", "/v1/memories/{memory}/graph", {"around": "{record}", "hops": 1}),
    ("PUT", "/v1/memories/{memory}/queries/q", {"body": {"field": "type", "value": "fact"}}),
    ("GET", "/v1/memories/{memory}/queries", None),
    ("POST", "/v1/memories/{memory}/queries/all", {}),
    ("POST", "/v1/memories/{memory}/query", {"statement": {"field": "type", "value": "fact"}}),
    ("GET", "/v1/memories/unknown", None),
]


def grow(alice: Member, team: Group, carol: Member, rows: int) -> dict[str, str]:
    """A memory with this many children, records, grants and references; the ids in it by name."""
    above = factories.memory(alice)
    memory, other = factories.memory(alice, above), factories.memory(alice)
    record = factories.record(alice, memory, "words")
    pointer = {"record_id": record.id, "memory_id": memory.id}
    for number in range(rows):
        child = factories.memory(alice, memory)
        factories.record(alice, child, "words", references=[pointer])
        factories.record(alice, memory, "words", references=[pointer])
        factories.grant(alice, child, team)
        factories.grant(alice, memory, factories.member(alice.organisation))
        factories.memory(alice, name=f"Root {number}")
    for number in range(rows):
        define(look(factories.caller(alice), memory.id), f"q{number}", read_definition({"body": {"text": "words"}}))
    every = {"body": {"field": "type", "value": "fact"}}
    define(look(factories.caller(alice), memory.id), "all", read_definition(every))
    grant = factories.grant(alice, memory, carol)
    # As a worker would have by now.
    reembed.sweep()
    return {"memory": memory.id, "other": other.id, "record": record.id, "grant": grant.id}


def measure(api: Api, who: Member, names: dict[str, str]) -> dict[str, int]:
    """Queries by request; what a request does is undone before the next."""
    counts = {}
    api.get("/v1/memories", who)
    for method, path, body in REQUESTS:
        sent = "" if body is None else json.dumps(body)
        address = path
        for name, value in names.items():
            sent, address = sent.replace(f"{{{name}}}", value), address.replace(f"{{{name}}}", value)
        with transaction.atomic():
            with CaptureQueriesContext(connection) as queries:
                answer = api.call(method, address, sent, as_=who)
            assert answer.status == (404 if path.endswith("unknown") else 200), f"{method} {path}: {answer.raw!r}"
            transaction.set_rollback(True)
        counts[f"{method} {path} {'' if body is None else json.dumps(body)}".strip()] = len(queries)
    return counts


@pytest.mark.parametrize("rows", [3, 30])
def test_every_endpoint_costs_the_queries_recorded_however_many_rows_there_are(
    api: Api, alice: Member, team: Group, carol: Member, rows: int
) -> None:
    counts = measure(api, alice, grow(alice, team, carol, rows))
    if os.environ.get("HEARTWOOD_RECORD_QUERY_COUNTS"):
        FILE.write_text(json.dumps(counts, indent=2) + "\n")
    assert counts == json.loads(FILE.read_text())


def test_the_rows_measured_are_there(alice: Member, team: Group, carol: Member) -> None:
    names = grow(alice, team, carol, 3)
    assert Memory.objects.filter(parent=names["memory"]).count() == 3
    assert Grant.objects.filter(memory=names["memory"]).count() == 4
