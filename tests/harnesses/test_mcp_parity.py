"""For each tool and each combination of privileges the answer of the tool is the answer of the protocol."""

# ruff: noqa: E501 - one call, one line

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction

from members.models import Member
from memories.models import Memory
from tests import factories
from tests.conftest import Answer, Api
from tests.harnesses.rpc import Mcp, Told

WORDS = ("read", "write", "create", "delete")
COMBINATIONS = [chosen for size in range(5) for chosen in itertools.combinations(WORDS, size)]
# Ids and instants that each of two writes makes for itself.
MADE = re.compile(r"hrec_[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z")


@dataclass(frozen=True)
class Twin:
    """One tool call, and the request of the protocol that it stands for."""

    tool: str
    arguments: dict[str, Any]
    method: str
    path: str
    body: object = None
    writes: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def twins(memory: Memory, record_id: str, task_id: str) -> list[Twin]:
    """Every tool there is, with the arguments that matter."""
    one: dict[str, Any] = {"memory_id": memory.id}
    at: dict[str, Any] = {**one, "record_id": record_id}
    base, record = f"/v1/memories/{memory.id}", f"/v1/memories/{memory.id}/records/{record_id}"
    draft = {
        "title": "Tea",
        "content": "Tea is green.",
        "attributes": {"a": 1},
        "references": [{"record_id": record_id}],
    }
    why = {"attributes": {"b": 2, "revision_reason": "It changed."}}
    return [
        Twin("memory_list", {}, "GET", "/v1/memories?granted=true"),
        Twin("memory_list", {"limit": 1}, "GET", "/v1/memories?granted=true&limit=1"),
        Twin("memory_list", one, "GET", f"{base}/records?limit=20"),
        Twin("memory_list", {**one, "include": "all", "type": "fact"}, "GET", f"{base}/records?include=all&type=fact&limit=20"),
        Twin("memory_list", {**one, "limit": 1}, "GET", f"{base}/records?limit=1"),
        Twin("memory_recall", {**one, "query": "tea"}, "POST", f"{base}/recall", {"query": "tea"}),
        Twin(
            "memory_recall",
            {**one, "text": "tea", "types": ["fact"], "depth": 0, "limit": 2, "include": "all"},
            "POST",
            f"{base}/recall",
            {"text": "tea", "types": ["fact"], "depth": 0, "limit": 2, "include": "all"},
        ),
        Twin("memory_recall", {**one, "filters": {"field": "type", "value": "fact"}}, "POST", f"{base}/recall", {"filters": {"field": "type", "value": "fact"}}),
        Twin("memory_recall", {**one, "query": "x", "as_of": "never"}, "POST", f"{base}/recall", {"query": "x", "as_of": "never"}),
        Twin("memory_graph", one, "POST", f"{base}/graph", {}),
        Twin("memory_graph", {**one, "around": record_id, "hops": 2}, "POST", f"{base}/graph", {"around": record_id, "hops": 2}),
        Twin("memory_get", at, "GET", record),
        Twin("memory_get", {**at, "as_of": "2020-01-01T00:00:00Z"}, "GET", f"{record}?as_of=2020-01-01T00:00:00Z"),
        Twin("memory_get", {**at, "history": True}, "GET", f"{record}/history"),
        Twin("memory_get", {**one, "record_id": "hrec_0"}, "GET", f"{base}/records/hrec_0"),
        Twin("memory_remember", {**one, **draft}, "POST", f"{base}/records", draft, writes=True),
        Twin("memory_remember", {**one, "content": "x", "type": "no type"}, "POST", f"{base}/records", {"content": "x", "type": "no type"}, writes=True),
        Twin("memory_revise", {**at, "title": "New", "attributes": {"b": 2}, "reason": "It changed."}, "PATCH", record, {"title": "New", **why}, writes=True),
        Twin("memory_revise", {**at, "title": "New", "attributes": {"b": 2}, "reason": "It changed.", "expected_version": 7}, "PATCH", record, {"title": "New", "expected_version": 7, **why}, writes=True),
        Twin("memory_forget", at, "DELETE", record, {}, writes=True),
        Twin("memory_forget", {**at, "expected_version": 7}, "DELETE", record, {"expected_version": 7}, writes=True),
        Twin("memory_run_query", one, "GET", f"{base}/queries"),
        Twin("memory_run_query", {**one, "name": "recent", "params": {}}, "POST", f"{base}/queries/recent", {"params": {}}),
        Twin("memory_operate", {**at, "operation": "nothing"}, "POST", f"{record}/operations/nothing", {}),
        Twin("memory_operate", {**one, "record_id": task_id, "operation": "complete", "input": {}}, "POST", f"{base}/records/{task_id}/operations/complete", {}, writes=True),
        Twin("memory_query", {**one, "statement": "{}", "language": "filter"}, "POST", f"{base}/query", {"statement": "{}", "language": "filter"}),
    ]  # fmt: skip


def masked(value: object) -> str:
    """An answer without what each write makes for itself."""
    return MADE.sub("made", repr(value))


def differing(twin: Twin, told: Told, answered: Answer) -> str | None:
    """What is not the same, as a sentence."""
    if told.failed != (answered.status >= 400):
        return f"{twin}: {told.text} but {answered.status}"
    expected = answered.json
    if answered.status >= 400:
        code = expected["error"]["code"]
        alike = {"memory_forbidden": "memory_not_found"}.get(code, code)
        if told.json["error"]["code"] != alike:
            return f"{twin}: {told.json} but {expected}"
        if code == alike != "memory_not_found" and told.json != expected:
            return f"{twin}: {told.json} but {expected}"
        return None
    same = masked(told.json) == masked(expected) if twin.writes else told.json == expected
    return None if same else f"{twin}: {told.json} but {expected}"


# The type of a member is information only: one combination shows it for people.
CASES = [("agent", chosen) for chosen in COMBINATIONS] + [("human", ("read", "write"))]


@pytest.mark.parametrize(("kind", "privileges"), CASES, ids=lambda one: one if isinstance(one, str) else "+".join(one))
def test_a_tool_answers_what_the_protocol_answers(
    mcp: Mcp, api: Api, alice: Member, kind: str, privileges: tuple[str, ...]
) -> None:
    caller = factories.member(alice.organisation, type=kind)
    factories.memory(caller, name="Its own")
    top = factories.memory(alice, name="Top")
    memory = factories.memory(alice, top, name="Asked")
    factories.memory(alice, memory, name="Below")
    factories.memory(alice, memory, name="Closed", restricted=True)
    record = factories.record(alice, memory, "Tea is black.", title="Tea")
    task = factories.record(alice, memory, type="x.task", content="Make tea.", attributes={"state": "open"})
    if privileges:
        factories.grant(alice, memory, caller, *privileges)
    api.get("/v1/memories", caller)
    wrong, done = [], 0
    for twin in twins(memory, record.id, task.id):
        with transaction.atomic():
            told = mcp.tool(caller, twin.tool, **twin.arguments)
            transaction.set_rollback(True)
        with transaction.atomic():
            answered = api.call(twin.method, twin.path, twin.body, as_=caller)
            transaction.set_rollback(True)
        if sentence := differing(twin, told, answered):
            wrong.append(sentence)
        done += answered.status < 400
    assert not wrong, "\n".join(wrong)
    assert done >= (2 if not privileges else 9 if "read" in privileges else 2)
