"""Queries: defined by name, run with parameters, asked freely; always inside one memory, and only values are put in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from members.models import Event, Member
from memories.content import read_changes
from memories.filters import Condition, read_filter
from memories.models import Job, Memory, Query
from memories.providers import bounded, registry
from memories.providers.base import View
from memories.services import jobs, queries, records, tree
from memories.services.sight import look
from memories.statements import MAX_BYTES, filled, read_definition, run_free
from memories.tasks import KINDS
from tests import factories
from tests.conftest import Answer, Api
from uhp_site.http.errors import MemoryInvalid

pytestmark = pytest.mark.django_db

BY_ACCOUNT: dict[str, Any] = {
    "description": "What is known of an account.",
    "params": {
        "type": "object",
        "required": ["account"],
        "properties": {
            "account": {"type": "string", "maxLength": 40},
            "most": {"type": "integer", "default": 10},
        },
    },
    "body": {"filters": {"field": "attributes.account", "value": "{account}"}, "limit": "{most}"},
}


def define(api: Api, who: Member, memory: Memory, name: str, query: dict[str, Any]) -> Answer:
    return api.call("PUT", f"/v1/memories/{memory.id}/queries/{name}", query, as_=who)


def run(api: Api, who: Member, memory: Memory, name: str, **params: Any) -> Answer:
    return api.call("POST", f"/v1/memories/{memory.id}/queries/{name}", {"params": params}, as_=who)


def ask(api: Api, who: Member, memory: Memory, statement: Any, **more: Any) -> Answer:
    return api.call("POST", f"/v1/memories/{memory.id}/query", {"statement": statement, **more}, as_=who)


def said(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.raw
    return [one["record"]["content"][0]["text"] for one in answer.json["results"]]


@pytest.fixture
def accounts(alice: Member, shared: Memory) -> Memory:
    """The shared memory with three records on two accounts, and one more below."""
    for account, text in (("quillon", "Renews in March."), ("quillon", "Pays late."), ("harlow", "Pays net sixty.")):
        factories.record(alice, shared, text, attributes={"account": account, "size": len(text)})
    below = factories.memory(alice, shared)
    factories.record(alice, below, "Below.", attributes={"account": "quillon"})
    return shared


def test_a_query_is_defined_listed_and_run(api: Api, bob: Member, carol: Member, accounts: Memory) -> None:
    shown = define(api, bob, accounts, "by_account", BY_ACCOUNT).json
    assert {key: shown[key] for key in ("object", "name", "description", "requires", "language")} == {
        "object": "memory.query",
        "name": "by_account",
        "description": "What is known of an account.",
        "requires": "read",
        "language": "filter",
    }
    assert (shown["params"], shown["body"]) == (BY_ACCOUNT["params"], BY_ACCOUNT["body"])
    assert shown["defined_by"] == {"kind": "member", "id": bob.id, "type": "human"}
    assert api.get(f"/v1/memories/{accounts.id}/queries", carol) == {"object": "list", "data": [shown], "next": None}
    answer = run(api, carol, accounts, "by_account", account="quillon")
    assert said(answer) == ["Pays late.", "Renews in March."]
    assert answer.json["object"] == "memory.recall"
    assert {(one["score"], tuple(one["why"])) for one in answer.json["results"]} == {(None, ("filters",))}
    assert (answer.json["abstain"], answer.json["degraded"]) == (False, [])
    assert said(run(api, carol, accounts, "by_account", account="quillon", most=1)) == ["Pays late."]


def test_defining_again_replaces_and_both_are_recorded(api: Api, alice: Member, bob: Member, accounts: Memory) -> None:
    first = define(api, bob, accounts, "pay", {"body": {"field": "attributes.account", "value": "harlow"}}).json
    second = define(api, alice, accounts, "pay", {"body": {"field": "type", "value": "note"}, "requires": "write"}).json
    assert second["defined_by"]["id"] == alice.id
    assert (second["createdAt"], second["requires"]) == (first["createdAt"], "write")
    assert said(run(api, alice, accounts, "pay")) == []
    assert Query.objects.filter(memory=accounts).count() == 1
    recorded = Event.objects.filter(memory_id=accounts.id, action__startswith="query.").order_by("at")
    assert [(one.action, one.actor, one.subject) for one in recorded] == [
        ("query.defined", bob.principal, "pay"),
        ("query.changed", alice.principal, "pay"),
    ]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        {"filters": {"field": "attributes.account", "value": "harlow"}},
        {"field": "attributes.account", "value": "harlow"},
        {"and": [{"field": "attributes.account", "value": "harlow"}]},
        {"text": "sixty"},
    ],
    ids=str,
)
def test_a_body_is_an_object_or_its_json_and_a_filter_stands_for_itself(
    api: Api, alice: Member, accounts: Memory, body: dict[str, Any], as_text: bool
) -> None:
    sent = json.dumps(body) if as_text else body
    assert define(api, alice, accounts, "q", {"body": sent}).json["body"] == sent
    assert said(run(api, alice, accounts, "q")) == ["Pays net sixty."]
    assert said(ask(api, alice, accounts, sent)) == ["Pays net sixty."]


def test_a_query_looks_in_its_own_memory_only(api: Api, alice: Member, carol: Member, accounts: Memory) -> None:
    define(api, alice, accounts, "all", {"body": {"or": [{"field": "type", "op": "contains", "value": ""}]}})
    below = Memory.objects.get(parent=accounts)
    assert "Below." not in said(run(api, alice, accounts, "all"))
    assert len(said(run(api, alice, accounts, "all"))) == 3
    assert said(ask(api, carol, below, {"field": "type", "value": "fact"})) == ["Below."]
    assert run(api, alice, below, "all").status == 404
    assert define(api, alice, below, "all", {"body": {"field": "type", "value": "note"}}).status == 200
    assert len(said(run(api, alice, accounts, "all"))) == 3


def test_nothing_in_a_statement_reaches_another_memory(
    api: Api, alice: Member, carol: Member, shared: Memory, accounts: Memory
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    factories.record(alice, hidden, "Kept from carol.", attributes={"account": "quillon"})
    hostile: list[dict[str, Any]] = [
        {"or": [{"field": "attributes.account", "value": "quillon"}, {"and": []}]},
        {"and": []},
        {"field": "attributes.memory_id", "value": None},
        {"filters": {"and": []}, "include": "all", "limit": 100},
    ]
    for statement in hostile:
        assert "Kept from carol." not in said(ask(api, carol, accounts, statement))
    for field in ("memory_id", "organisation_id", "attributes.a') OR TRUE --", "v.memory_id"):
        answer = ask(api, carol, accounts, {"field": field, "value": hidden.id})
        assert answer.status == 422 or said(answer) == []
    for more in ({"depth": 5}, {"memory": hidden.id}, {"memories": [hidden.id]}):
        assert ask(api, carol, accounts, {"filters": {"and": []}, **more}).status == 422


def test_running_takes_read_and_what_the_query_requires(
    api: Api, alice: Member, bob: Member, carol: Member, accounts: Memory
) -> None:
    every = {"field": "type", "value": "fact"}
    define(api, alice, accounts, "guarded", {"body": every, "requires": "write"})
    assert run(api, bob, accounts, "guarded").status == 200
    assert (answer := run(api, carol, accounts, "guarded")).error["code"] == "memory_forbidden"
    assert answer.status == 403
    dropbox = factories.memory(alice)
    factories.grant(alice, dropbox, carol, "write")
    assert define(api, carol, dropbox, "q", {"body": every, "requires": "write"}).status == 200
    assert run(api, carol, dropbox, "q").status == 403
    assert ask(api, carol, dropbox, every).status == 403
    assert define(api, carol, accounts, "q", {"body": every}).status == 403


def test_an_unknown_query_is_not_found_and_says_no_more_than_an_unseen_memory(
    api: Api, alice: Member, stranger: Member, accounts: Memory
) -> None:
    define(api, alice, accounts, "q", {"body": {"field": "type", "value": "fact"}})
    unknown = run(api, alice, accounts, "r")
    assert (unknown.status, unknown.error["code"]) == (404, "memory_not_found")
    assert run(api, stranger, accounts, "q").raw == run(api, stranger, accounts, "r").raw


def test_losing_access_ends_running_at_once(api: Api, alice: Member, carol: Member, accounts: Memory) -> None:
    define(api, alice, accounts, "q", {"body": {"field": "type", "value": "fact"}})
    assert run(api, carol, accounts, "q").status == 200
    tree.change(look(factories.caller(alice), accounts.id), restricted=True)
    assert run(api, carol, accounts, "q").status == 200, "its own grants stay"
    answers = []
    for name in ("q", "made_up"):
        memory = Memory.objects.get(parent=accounts)
        tree.change(look(factories.caller(alice), memory.id), restricted=True)
        answers.append(run(api, carol, memory, name))
    assert [one.status for one in answers] == [404, 404]


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({}, "params.account"),
        ({"account": 1}, "params.account"),
        ({"account": None}, "params.account"),
        ({"account": "a" * 41}, "params.account"),
        ({"account": "a", "most": "1"}, "params.most"),
        ({"account": "a", "most": 0}, "params"),
        ({"account": "a", "most": 101}, "params"),
        ({"account": "a\0"}, "params.account"),
        ({"account": "a", "more": "m" * MAX_BYTES}, "params"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_parameters_that_do_not_fit_are_refused_by_name(
    api: Api, alice: Member, accounts: Memory, params: dict[str, Any], param: str
) -> None:
    define(api, alice, accounts, "q", BY_ACCOUNT)
    answer = run(api, alice, accounts, "q", **params)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


FACTS = {"field": "type", "value": "fact"}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({}, "body"),
        ({"body": None}, "body"),
        ({"body": 1}, "body"),
        ({"body": {}}, "body"),
        ({"body": ""}, "body"),
        ({"body": "SELECT 1"}, "body"),
        ({"body": "[1]"}, "body"),
        ({"body": "[" * 100_000}, "body"),
        ({"body": {"filters": FACTS, "sql": "SELECT 1"}}, "body"),
        ({"body": {"limit": 5}}, "body"),
        ({"body": {"query": " "}}, "body"),
        ({"body": {"filters": {"field": "title", "value": 1}}}, "body.filters"),
        ({"body": {"field": "title", "value": 1}}, "body.filters"),
        ({"body": {"text": "a", "limit": 101}}, "body.limit"),
        ({"body": {"text": "a", "as_of": "now"}}, "body.as_of"),
        ({"body": {"text": "a" * (MAX_BYTES + 1)}}, "body"),
        ({"body": {"text": "{who}"}}, "body"),
        ({"body": {"field": "attributes.{who}", "value": 1}, "params": BY_ACCOUNT["params"]}, "body"),
        ({"body": {"field": "attributes.{account}", "value": 1}, "params": BY_ACCOUNT["params"]}, "body"),
        ({"body": {**FACTS, "op": "{account}"}, "params": BY_ACCOUNT["params"]}, "body"),
        ({"body": {"text": "{account}" * 65}, "params": BY_ACCOUNT["params"]}, "body"),
        ({"body": FACTS, "language": "sql"}, "language"),
        ({"body": FACTS, "requires": "delete"}, "requires"),
        ({"body": FACTS, "description": "d" * 2001}, "description"),
        ({"body": FACTS, "params": []}, "params"),
        ({"body": FACTS, "params": {"type": "string"}}, "params.type"),
        ({"body": FACTS, "params": {"$ref": "https://example.com/schema"}}, "params"),
        ({"body": FACTS, "params": {"properties": {"a": {"pattern": "(a+)+$"}}}}, "params"),
        ({"body": FACTS, "params": {"properties": {"a": {"type": "nothing"}}}}, "params.properties.a.type"),
        ({"body": FACTS, "params": {"description": "d" * MAX_BYTES}}, "params"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_a_malformed_query_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, query: dict[str, Any], param: str
) -> None:
    answer = define(api, alice, shared, "q", query)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
    assert not Query.objects.exists()


@pytest.mark.parametrize("name", ["a-b", "a.b", "a%20b", "%C3%A4", "a" * 81])
def test_a_name_is_letters_digits_and_underscores(api: Api, alice: Member, shared: Memory, name: str) -> None:
    answer = define(api, alice, shared, name, {"body": FACTS})
    assert (answer.status, answer.error["param"]) == (422, "name")


@pytest.mark.parametrize(
    ("sent", "status", "code", "param"),
    [
        ({}, 422, "memory_invalid", "statement"),
        ({"statement": " "}, 422, "memory_invalid", "statement"),
        ({"statement": "s"}, 422, "memory_invalid", "statement"),
        ({"statement": FACTS, "language": "sql"}, 422, "memory_invalid", "language"),
        ({"statement": FACTS, "params": []}, 422, "memory_invalid", "params"),
        ({"statement": FACTS, "write": "yes"}, 422, "memory_invalid", "write"),
        ({"statement": FACTS, "write": True}, 422, "memory_unsupported", "write"),
        ({"statement": {**FACTS, "value": "{a}"}}, 422, "memory_invalid", "params.a"),
        ({"statement": FACTS, "language": "filter", "params": {}, "write": False}, 200, None, None),
    ],
    ids=str,
)
def test_a_free_statement_is_checked(
    api: Api, alice: Member, shared: Memory, sent: dict[str, Any], status: int, code: str | None, param: str | None
) -> None:
    answer = api.call("POST", f"/v1/memories/{shared.id}/query", sent, as_=alice)
    assert answer.status == status
    if code:
        assert (answer.error["code"], answer.error["param"]) == (code, param)


def test_a_whole_placeholder_takes_the_value_and_an_inner_one_its_text() -> None:
    body = {
        "filters": {
            "and": [
                {"field": "attributes.a", "value": "{n}"},
                {"field": "attributes.b", "value": "n is {n}, {{n}}, {b}"},
                {"field": "attributes.c", "op": "in", "value": "{list}"},
                {"field": "attributes.d", "op": "in", "value": ["{n}", "{s}"]},
                {"field": "attributes.e", "value": {"{s}": "{null}"}},
            ]
        },
        "text": "{n}",
        "types": "{list}",
        "limit": "{n}",
    }
    values = {"n": 3, "s": "say", "b": True, "null": None, "list": ["x", "y"]}
    statement = run_free(body, values)
    assert statement.filters == read_filter(
        {
            "and": [
                {"field": "attributes.a", "value": 3},
                {"field": "attributes.b", "value": "n is 3, {n}, true"},
                {"field": "attributes.c", "op": "in", "value": ["x", "y"]},
                {"field": "attributes.d", "op": "in", "value": [3, "say"]},
                {"field": "attributes.e", "value": {"{s}": None}},
            ]
        }
    )
    assert (statement.text, statement.types, statement.limit) == ("3", ("x", "y"), 3)


@pytest.mark.parametrize("value", [None, [1], {"a": 1}], ids=str)
def test_what_has_no_text_is_not_put_into_one(value: Any) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        run_free({"text": "about {it}"}, {"it": value})
    assert refused.value.param == "params.it"


@given(value=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=60))
def test_a_parameter_is_a_value_and_nothing_else(value: str) -> None:
    statement = run_free({"field": "attributes.a", "value": "{it}"}, {"it": value, "other": "never"})
    assert statement.filters == Condition("attributes", ("a",), "eq", value)
    within = run_free({"field": "attributes.a", "value": "<{it}>"}, {"it": value, "other": "never"})
    assert within.filters == Condition("attributes", ("a",), "eq", f"<{value}>")


@pytest.mark.parametrize("value", ["{other}", "{{", "' OR 1=1 --", '{"or": []}', "%(filter_0)s", "%s", "\\", '"}'])
def test_hostile_parameters_find_nothing_but_themselves(api: Api, alice: Member, accounts: Memory, value: str) -> None:
    assert said(ask(api, alice, accounts, BY_ACCOUNT["body"], params={"account": value, "most": 5})) == []
    factories.record(alice, accounts, "Odd.", attributes={"account": value})
    assert said(ask(api, alice, accounts, BY_ACCOUNT["body"], params={"account": value, "most": 5})) == ["Odd."]


def test_a_filter_put_in_as_a_value_stays_a_value(api: Api, alice: Member, accounts: Memory) -> None:
    hostile = {"field": "type", "value": "fact"}
    assert said(ask(api, alice, accounts, BY_ACCOUNT["body"], params={"account": hostile, "most": 5})) == []
    assert ask(api, alice, accounts, {"filters": "{it}"}, params={"it": hostile}).status == 422


def test_what_a_definition_says_is_what_it_runs() -> None:
    definition = read_definition(BY_ACCOUNT)
    assert definition.run({"account": "a"}).limit == 10
    assert filled(BY_ACCOUNT["body"], {"account": "a", "most": 2})["limit"] == 2


def test_times_types_and_old_versions_are_asked_for_as_in_a_recall(api: Api, alice: Member, accounts: Memory) -> None:
    place = look(factories.caller(alice), accounts.id)
    note = factories.record(alice, accounts, "Before.", type="note")
    records.revise(place, note.id, read_changes({"content": "After."}))
    notes = {"filters": {"field": "type", "value": "note"}}
    assert said(ask(api, alice, accounts, notes)) == ["After."]
    assert said(ask(api, alice, accounts, {**notes, "include": "all"})) == ["After.", "Before."]
    then = {"as_of": "{at}", "filters": {"field": "time.invalidated_at", "value": None}, "types": ["note"]}
    assert said(ask(api, alice, accounts, then, params={"at": note.written_at.isoformat()})) == ["Before."]


def test_a_query_ranks_by_meaning_and_words_within_its_filter(api: Api, alice: Member, accounts: Memory) -> None:
    statement = {"query": "who pays late?", "filters": {"field": "attributes.account", "value": "quillon"}}
    answer = ask(api, alice, accounts, statement)
    assert said(answer)[0] == "Pays late."
    assert "Pays net sixty." not in said(answer)
    assert answer.json["results"][0]["why"] == ["query", "filters"]


def test_more_rows_than_the_server_gives_is_said(
    api: Api, alice: Member, accounts: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", 2)
    answer = ask(api, alice, accounts, FACTS)
    assert (len(said(answer)), answer.json["degraded"]) == (2, ["results:capped_at_2"])
    monkeypatch.setattr(queries, "MOST_ROWS", 3)
    assert ask(api, alice, accounts, FACTS).json["degraded"] == []
    assert ask(api, alice, accounts, {"filters": FACTS, "limit": 1}).json["degraded"] == []


def test_a_statement_that_takes_too_long_is_ended_and_says_so(
    api: Api, alice: Member, accounts: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asleep(memories: Sequence[str], view: View, limit: int) -> Sequence[int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")
        return []

    monkeypatch.setattr(registry.connected()[0], "newest", asleep)
    monkeypatch.setattr(queries, "MILLISECONDS", 50)
    answer = ask(api, alice, accounts, FACTS)
    assert (said(answer), answer.json["degraded"]) == ([], ["time:capped_at_50_ms"])
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "0"


def test_the_tighter_of_two_bounds_holds() -> None:
    with bounded.at_most(40), pytest.raises(bounded.OutOfTime) as late, bounded.at_most(10_000):
        connection.cursor().execute("SELECT pg_sleep(3)")
    assert late.value.note == "time:capped_at_40_ms"


def test_a_key_makes_defining_happen_once_and_keeps_no_answer_of_a_run(
    api: Api, alice: Member, accounts: Memory
) -> None:
    path, key = f"/v1/memories/{accounts.id}/queries/q", {"Idempotency-Key": "k"}
    first = api.call("PUT", path, {"body": FACTS}, as_=alice, headers=key)
    again = api.call("PUT", path, {"body": {"text": "other"}}, as_=alice, headers=key)
    assert (again.raw, again.headers["Idempotent-Replayed"]) == (first.raw, "true")
    assert Event.objects.filter(action="query.defined").count() == 1
    assert len(said(api.call("POST", path, {}, as_=alice, headers=key))) == 3
    factories.record(alice, accounts, "New.")
    assert len(said(api.call("POST", path, {}, as_=alice, headers=key))) == 4


def test_a_memory_has_a_bounded_number_of_queries(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MOST_QUERIES", 1)
    assert define(api, alice, shared, "a", {"body": FACTS}).status == 200
    assert define(api, alice, shared, "b", {"body": FACTS}).status == 422
    assert define(api, alice, shared, "a", {"body": {"text": "x"}}).status == 200
    assert [one.name for one in Query.objects.all()] == ["a"]


def test_queries_are_paged_by_name(api: Api, alice: Member, shared: Memory) -> None:
    for name in ("b", "a", "c"):
        define(api, alice, shared, name, {"body": FACTS})
    first = api.get(f"/v1/memories/{shared.id}/queries?limit=2", alice)
    rest = api.get(f"/v1/memories/{shared.id}/queries?limit=2&cursor={first['next']}", alice)
    assert [[one["name"] for one in page["data"]] for page in (first, rest)] == [["a", "b"], ["c"]]
    assert rest["next"] is None


def test_queries_go_with_their_memory(api: Api, alice: Member, shared: Memory) -> None:
    memory = factories.memory(alice, shared)
    define(api, alice, memory, "q", {"body": FACTS})
    assert api.call("DELETE", f"/v1/memories/{memory.id}", as_=alice).status == 200
    assert run(api, alice, memory, "q").status == 404
    jobs.run(Job.objects.get().id, KINDS)
    assert not Query.objects.exists()
