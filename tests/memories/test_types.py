"""Types that an organisation registers: what their attributes may be, how they are found, and what they offer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from members.models import Event, Member, Organisation
from memories.access import Privilege
from memories.models import Memory, TypeDefinition
from memories.record_types import BUILT_IN, TASK, read_type
from memories.services import types
from tests import factories
from tests.conftest import Answer, Api
from uhp_site.http.errors import MemoryInvalid

TICKET: dict[str, Any] = {
    "type": "x.ticket",
    "description": "Something a customer asked for.",
    "schema": {
        "type": "object",
        "required": ["severity"],
        "properties": {
            "severity": {"enum": ["low", "high"]},
            "contact": {"$ref": "#/$defs/person"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
        },
        "additionalProperties": False,
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    },
    "text": ["title", "attributes.contact.name"],
    "operations": [
        {
            "name": "escalate",
            "requires": "write",
            "input": {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]},
            "set": {"severity": "high"},
            "title": {"$input": "why"},
        },
        {"name": "summary", "requires": "read", "answer": "attributes"},
        {"name": "close", "requires": "delete", "set": {"severity": "low"}},
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**TICKET, **fields}


def operation(**fields: Any) -> dict[str, Any]:
    return changed(operations=[{"name": "go", "set": {"severity": "low"}, **fields}])


def schema(**fields: Any) -> dict[str, Any]:
    return changed(schema={"type": "object", **fields}, operations=[])


def write(api: Api, by: Member, memory: Memory, kind: str, attributes: Any, **more: Any) -> Answer:
    body = {"type": kind, "title": "A title", "attributes": attributes, **more}
    return api.call("POST", f"/v1/memories/{memory.id}/records", body, as_=by)


def task(api: Api, by: Member, memory: Memory, **attributes: Any) -> Any:
    answer = write(api, by, memory, "x.task", {"state": "open", **attributes})
    assert answer.status == 200, answer.raw
    return answer.json


def operate(api: Api, by: Member, memory: Memory, record_id: str, name: str, given: Any = None) -> Answer:
    path = f"/v1/memories/{memory.id}/records/{record_id}/operations/{name}"
    return api.call("POST", path, {} if given is None else given, as_=by)


@pytest.fixture
def ticket(organisation: Organisation) -> None:
    types.register(organisation.id, TICKET)


# Definitions


@pytest.mark.parametrize(
    ("definition", "param"),
    [
        ({}, "type"),
        (changed(type="ticket"), "type"),
        (changed(type="x."), "type"),
        (changed(type="x.Ticket"), "type"),
        (changed(type="fact"), "type"),
        (changed(description=7), "description"),
        (changed(description="a\0b"), "description"),
        (changed(schema=[]), "schema"),
        (schema(type="string"), "schema.type"),
        (schema(properties={"a": {"type": "text"}}), "schema.properties.a.type"),
        (schema(properties=[]), "schema.properties"),
        (schema(**{"$schema": "http://json-schema.org/draft-07/schema#"}), "schema.$schema"),
        (schema(properties={"a": {"$ref": "https://example.com/s.json"}}), "schema"),
        (schema(properties={"a": {"$ref": "file:///etc/passwd"}}), "schema"),
        (schema(properties={"a": {"$ref": "#/$defs/missing"}}), "schema"),
        (schema(properties={"a": {"$ref": "#"}}), "schema"),
        (schema(properties={"a": {"pattern": "(a+)+$"}}), "schema"),
        (schema(patternProperties={"(a+)+$": True}), "schema"),
        (schema(**{"$id": "https://example.com/"}), "schema"),
        (schema(**{"$defs": {"a": {"$ref": "#/$defs/a"}}, "allOf": [{"$ref": "#/$defs/a"}]}), "schema"),
        (changed(text="title"), "text"),
        (changed(text=["everything"]), "text.0"),
        (changed(operations={}), "operations"),
        (changed(operations=[7]), "operations.0"),
        (operation(name="Go now"), "operations.0.name"),
        (operation(requires="emit"), "operations.0.requires"),
        (operation(requires="read"), "operations.0.requires"),
        (operation(requires="create"), "operations.0.requires"),
        (operation(set={}), "operations.0.set"),
        (operation(set={"a.b": 1}), "operations.0.set"),
        (operation(set={"a": {"$input": 7}}), "operations.0.set"),
        (operation(set={"a": {"$run": "code"}}), "operations.0.set"),
        (operation(answer="attributes"), "operations.0.set"),
        (operation(input={"type": "array"}), "operations.0.input.type"),
        (changed(operations=[TICKET["operations"][0]] * 2), "operations"),
        (changed(description="d" * 70_000), None),
    ],
)
def test_what_is_no_definition_is_refused(definition: dict[str, Any], param: str | None) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        read_type(definition)
    assert refused.value.param == param


def test_a_schema_that_multiplies_itself_is_refused_at_once() -> None:
    doubling = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(30)}
    began = time.monotonic()
    with pytest.raises(MemoryInvalid):
        read_type(schema(**{"$defs": {**doubling, "d30": {}}, "allOf": [{"$ref": "#/$defs/d0"}]}))
    assert time.monotonic() - began < 5


def test_words_of_a_schema_that_only_look_like_its_keywords_are_taken() -> None:
    read = read_type(schema(properties={"pattern": {"enum": [{"$ref": "x"}]}, "$ref": {"const": {"pattern": 1}}}))
    read.check({"pattern": {"$ref": "x"}, "$ref": {"pattern": 1}})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_a_definition_or_refused(value: Any) -> None:
    for definition in ({"type": "x.any", "schema": value}, {"type": "x.any", "operations": value}, {"type": value}):
        try:
            read_type(definition)
        except MemoryInvalid:
            continue


# The registry


@pytest.mark.django_db
def test_the_listing_shows_core_built_in_and_own_types(api: Api, bob: Member, mallory: Member, ticket: None) -> None:
    shown = {one["type"]: one for one in api.get("/v1/memories/types", bob)["data"]}
    assert [name for name, one in shown.items() if one["core"]] == [
        "episode",
        "fact",
        "note",
        "procedure",
        "link",
        "entity",
        "person",
        "company",
    ]
    assert [name for name, one in shown.items() if not one["core"]] == ["x.task", "x.ticket"]
    assert shown["x.ticket"]["text"] == "title, attributes.contact.name"
    assert shown["x.ticket"]["operations"][0] == {
        "name": "escalate",
        "requires": "write",
        "description": "",
        "input": TICKET["operations"][0]["input"],
    }
    assert shown["x.ticket"]["schema"]["properties"]["contact"]["required"] == ["name"]
    assert "x.ticket" not in {one["type"] for one in api.get("/v1/memories/types", mallory)["data"]}


@pytest.mark.django_db
def test_registering_again_replaces_and_both_are_recorded(organisation: Organisation) -> None:
    assert types.register(organisation.id, TICKET)[1] is True
    assert types.register(organisation.id, changed(description="Other."))[1] is False
    assert TypeDefinition.objects.get().definition["description"] == "Other."
    actions = Event.objects.filter(subject="x.ticket").order_by("id").values_list("action", flat=True)
    assert list(actions) == ["type.registered", "type.changed"]


@pytest.mark.django_db
def test_a_type_that_comes_with_the_server_stays_as_it_is(organisation: Organisation) -> None:
    with pytest.raises(MemoryInvalid):
        types.register(organisation.id, changed(type="x.task"))


@pytest.mark.django_db
def test_the_command_registers_a_file(organisation: Organisation, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "ticket.json"
    file.write_text(json.dumps(TICKET))
    call_command("register_type", organisation.slug, str(file))
    assert "x.ticket" in capsys.readouterr().out
    assert types.find(organisation.id, "x.ticket") is not None


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["{", "[]", json.dumps(changed(type="ticket")), "\udcff"])
def test_the_command_refuses_with_a_sentence(organisation: Organisation, tmp_path: Path, text: str) -> None:
    file = tmp_path / "ticket.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(CommandError):
        call_command("register_type", organisation.slug, str(file))
    with pytest.raises(CommandError):
        call_command("register_type", organisation.slug, str(tmp_path / "missing.json"))


# Writing


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("attributes", "param"),
    [
        ({}, "attributes.severity"),
        ({"severity": "urgent"}, "attributes.severity"),
        ({"severity": "low", "tags": ["ok", 7]}, "attributes.tags.1"),
        ({"severity": "low", "tags": ["t"] * 4}, "attributes.tags"),
        ({"severity": "low", "contact": {}}, "attributes.contact.name"),
        ({"severity": "low", "other": 1}, "attributes"),
    ],
)
def test_attributes_that_do_not_fit_are_refused_by_name(
    api: Api, bob: Member, shared: Memory, ticket: None, attributes: Any, param: str
) -> None:
    answer = write(api, bob, shared, "x.ticket", attributes)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


@pytest.mark.django_db
def test_attributes_that_fit_are_kept_and_a_revision_is_checked_too(
    api: Api, bob: Member, shared: Memory, ticket: None
) -> None:
    made = write(api, bob, shared, "x.ticket", {"severity": "low", "standing": True}).json
    path = f"/v1/memories/{shared.id}/records/{made['id']}"
    assert api.call("PATCH", path, {"attributes": {"severity": "x"}}, as_=bob).error["param"] == "attributes.severity"
    changed_to = api.ok("PATCH", path, {"attributes": {"severity": "high", "revision_reason": "they called"}}, bob)
    assert changed_to["attributes"] == {"severity": "high", "standing": True, "revision_reason": "they called"}


@pytest.mark.django_db
def test_a_schema_that_became_stricter_does_not_stop_other_revisions(
    api: Api, bob: Member, shared: Memory, organisation: Organisation, ticket: None
) -> None:
    made = write(api, bob, shared, "x.ticket", {"severity": "low"}).json
    types.register(organisation.id, changed(schema={"required": ["owner"]}))
    path = f"/v1/memories/{shared.id}/records/{made['id']}"
    assert api.ok("PATCH", path, {"title": "Other"}, bob)["title"] == "Other"
    assert api.call("PATCH", path, {"attributes": {"severity": "high"}}, as_=bob).status == 422


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["x.unheard_of", "recipe.card", "x.ticket"])
def test_a_type_that_is_not_registered_is_kept_unchanged(api: Api, bob: Member, shared: Memory, kind: str) -> None:
    made = write(api, bob, shared, kind, {"severity": {"any": ["thing"]}}).json
    assert (made["type"], made["attributes"]) == (kind, {"severity": {"any": ["thing"]}})


@pytest.mark.django_db
def test_a_type_chooses_the_words_it_is_found_by(api: Api, bob: Member, shared: Memory, ticket: None) -> None:
    write(api, bob, shared, "x.ticket", {"severity": "low", "contact": {"name": "Quillon"}}, content="Harlow")

    def found(words: str) -> int:
        return len(api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": words}, bob)["results"])

    assert (found("Quillon"), found("Harlow")) == (1, 0)


@pytest.mark.django_db
def test_a_core_type_costs_no_lookup(alice: Member, shared: Memory, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert types.find(alice.organisation_id, "fact") is None
        assert types.find(alice.organisation_id, "x.task") is TASK


# Operations


@pytest.mark.django_db
def test_a_task_is_completed_assigned_and_reopened(api: Api, bob: Member, agent: Member, shared: Memory) -> None:
    made = task(api, bob, shared, due="2026-03-01")
    done = operate(api, agent, shared, made["id"], "complete").json
    assert (done["object"], done["name"]) == ("memory.operation", "complete")
    record = done["result"]
    assert (record["version"], record["attributes"]["state"]) == (2, "done")
    assert record["attributes"]["completed_by"] == agent.principal
    assert record["attributes"]["completed_at"] <= record["time"]["written_at"]
    assert record["written_by"]["id"] == agent.id
    assert api.get(f"/v1/memories/{shared.id}/records/{made['id']}", bob) == record
    reopened = operate(api, bob, shared, made["id"], "reopen").json["result"]["attributes"]
    assert (reopened["state"], reopened["completed_at"], reopened["due"]) == ("open", None, "2026-03-01")
    assigned = operate(api, bob, shared, made["id"], "assign", {"assignee": bob.principal}).json["result"]
    assert (assigned["attributes"]["assignee"], assigned["attributes"]["due"]) == (bob.principal, "2026-03-01")
    steps = operate(api, bob, shared, made["id"], "changes").json["result"]
    assert [step["attributes"].get("state") for step in steps] == ["open", "done", "open", None]
    assert [step["by"] for step in steps] == [bob.principal, agent.principal, bob.principal, bob.principal]


@pytest.mark.django_db
@pytest.mark.parametrize("attributes", [{"state": "later"}, {"due": "soon"}, {"assignee": 7}, {"due": "2026-02-30"}])
def test_a_task_is_open_or_done_and_due_on_a_day(
    api: Api, bob: Member, shared: Memory, attributes: dict[str, Any]
) -> None:
    answer = write(api, bob, shared, "x.task", {"state": "open", **attributes})
    (name,) = attributes
    assert (answer.status, answer.error["param"]) == (422, f"attributes.{name}")


@pytest.mark.django_db
def test_input_that_does_not_fit_is_refused_and_nothing_is_written(
    api: Api, bob: Member, shared: Memory, ticket: None
) -> None:
    made = task(api, bob, shared)
    for given_input, param in (({}, "assignee"), ({"assignee": 7}, "assignee"), ({"assignee": "a\0"}, "assignee")):
        answer = operate(api, bob, shared, made["id"], "assign", given_input)
        assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert api.get(f"/v1/memories/{shared.id}/records/{made['id']}", bob)["version"] == 1
    other = write(api, bob, shared, "x.ticket", {"severity": "low"}).json
    assert operate(api, bob, shared, other["id"], "escalate", {"why": "two\nlines"}).error["param"] == "title"
    assert operate(api, bob, shared, other["id"], "escalate", {"why": "They called"}).json["result"]["title"] == (
        "They called"
    )


@pytest.mark.django_db
def test_what_is_no_operation_is_not_found(api: Api, bob: Member, shared: Memory) -> None:
    made = task(api, bob, shared)
    fact = factories.record(bob, shared)
    forgotten = task(api, bob, shared)
    api.ok("DELETE", f"/v1/memories/{shared.id}/records/{forgotten['id']}", None, bob)
    unknown = operate(api, bob, shared, made["id"], "explode", {"x": 7})
    for record_id, name in ((fact.id, "complete"), (forgotten["id"], "complete"), ("hrec_1", "complete")):
        answer = operate(api, bob, shared, record_id, name)
        assert (answer.status, answer.error["code"]) == (404, "memory_record_not_found")
    assert (unknown.status, unknown.error["code"]) == (404, "memory_record_not_found")


@pytest.mark.django_db
def test_an_operation_takes_the_privilege_it_declares(
    api: Api, alice: Member, bob: Member, carol: Member, stranger: Member, shared: Memory, ticket: None
) -> None:
    made = write(api, bob, shared, "x.ticket", {"severity": "high"}).json["id"]
    assert operate(api, carol, shared, made, "summary").json["result"] == {"severity": "high"}
    assert operate(api, carol, shared, made, "escalate", {"why": "x"}).error["code"] == "memory_forbidden"
    assert operate(api, bob, shared, made, "close").error["code"] == "memory_forbidden"
    assert operate(api, alice, shared, made, "close").status == 200
    assert operate(api, stranger, shared, made, "summary").error["code"] == "memory_not_found"
    factories.grant(alice, shared, stranger, "write", "delete")
    assert operate(api, stranger, shared, made, "summary").error["code"] == "memory_forbidden"


def test_every_operation_that_writes_needs_write_and_read() -> None:
    for kind in [*BUILT_IN.values(), read_type(TICKET)]:
        for one in kind.operations:
            assert Privilege.READ in one.needed
            assert not one.writes or Privilege.WRITE in one.needed
