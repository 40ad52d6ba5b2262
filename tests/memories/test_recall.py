"""Recall: down and never up, only what may be read, and honest about what was not done."""

from __future__ import annotations

from typing import Any

import pytest

from members import services as membership
from members.models import Group, Member
from memories.content import read_changes
from memories.models import Memory
from memories.providers import registry
from memories.recall import scope
from memories.services import records, tree
from memories.services.sight import look
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def recall(api: Api, who: Member, memory: Memory, **ask: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/recall", ask, who)


def found(api: Api, who: Member, memory: Memory, **ask: Any) -> list[str]:
    return [one["record"]["content"][0]["text"] for one in recall(api, who, memory, **ask)["results"]]


@pytest.fixture
def below(alice: Member, shared: Memory) -> Memory:
    memory = factories.memory(alice, shared, name="Below", description="What lies deeper")
    factories.record(alice, memory, "Quillon renews every March.")
    return memory


def test_a_question_is_answered_from_below_with_where_it_was_found(
    api: Api, carol: Member, shared: Memory, below: Memory
) -> None:
    answer = recall(api, carol, shared, query="when does Quillon renew?")
    [result] = answer["results"]
    assert result["memory"] == {"id": below.id, "name": "Below"}
    assert result["record"]["trust"] == "untrusted"
    assert 0 < result["score"] <= 1
    assert result["why"] == ["query"]
    assert (answer["object"], answer["degraded"], answer["abstain"]) == ("memory.recall", [], False)


def test_a_question_is_never_answered_from_above(api: Api, alice: Member, shared: Memory, below: Memory) -> None:
    factories.record(alice, shared, "Vellacourt is the parent's own.")
    assert "Vellacourt is the parent's own." not in found(api, alice, below, query="Vellacourt")
    assert found(api, alice, shared, query="Vellacourt", depth=0) == ["Vellacourt is the parent's own."]


def test_depth_counts_levels(api: Api, alice: Member, shared: Memory, below: Memory) -> None:
    factories.record(alice, shared, "Quillon at the top.")
    factories.record(alice, factories.memory(alice, below), "Quillon at the bottom.")
    sizes = [len(found(api, alice, shared, query="Quillon", depth=depth)) for depth in (0, 1, 2, 10**30, None)]
    assert sizes == [1, 2, 3, 3, 3]


def test_a_hidden_level_counts_and_is_not_named(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, name="Hidden", restricted=True)
    again = factories.memory(alice, hidden, name="Again")
    factories.record(alice, hidden, "Quillon is kept from carol.")
    factories.record(alice, again, "Quillon is shown to carol.")
    factories.grant(alice, again, carol)
    answer = recall(api, carol, shared, query="Quillon")
    assert [one["memory"]["name"] for one in answer["results"]] == ["Again"]
    assert hidden.id not in str(answer)
    assert found(api, carol, shared, query="Quillon", depth=1) == []


def test_what_may_be_written_but_not_read_is_not_searched(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    dropbox = factories.memory(alice, shared, restricted=True)
    factories.grant(alice, dropbox, carol, "write")
    factories.record(alice, dropbox, "Quillon in the dropbox.")
    assert found(api, carol, shared, query="Quillon") == []


def test_restricting_a_branch_takes_it_out_of_the_next_recall(
    api: Api, alice: Member, agent: Member, shared: Memory, below: Memory
) -> None:
    assert len(found(api, agent, shared, query="Quillon")) == 1
    tree.change(look(factories.caller(alice), below.id), restricted=True)
    assert found(api, agent, shared, query="Quillon") == []
    assert len(found(api, alice, shared, query="Quillon")) == 1


def test_leaving_the_group_ends_recall_at_once(
    api: Api, team: Group, agent: Member, shared: Memory, below: Memory
) -> None:
    membership.remove_from_group(team, agent)
    answer = api.call("POST", f"/v1/memories/{shared.id}/recall", {"query": "Quillon"}, as_=agent)
    assert answer.status == 404


def test_another_organisations_records_are_never_found(api: Api, alice: Member, mallory: Member, below: Memory) -> None:
    theirs = factories.memory(mallory)
    factories.record(mallory, theirs, "Quillon belongs to mallory.")
    assert found(api, mallory, theirs, query="Quillon") == ["Quillon belongs to mallory."]


def test_words_alone_find_and_say_so(api: Api, carol: Member, shared: Memory, below: Memory) -> None:
    [result] = recall(api, carol, shared, text="March")["results"]
    assert result["why"] == ["text"]
    assert recall(api, carol, shared, text="April")["results"] == []


def test_what_both_signals_find_says_both(api: Api, carol: Member, shared: Memory, below: Memory) -> None:
    [result] = recall(api, carol, shared, query="Quillon", text="March")["results"]
    assert result["why"] == ["query", "text"]


def test_titles_and_attributes_are_searched_too(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "Plain words.", title="Zanzibar")
    factories.record(alice, shared, "Other words.", attributes={"city": "Samarkand"})
    assert found(api, alice, shared, text="zanzibar") == ["Plain words."]
    assert found(api, alice, shared, text="samarkand") == ["Other words."]


def test_the_best_comes_first_and_no_more_than_asked_for(api: Api, alice: Member, shared: Memory) -> None:
    for number in range(4):
        factories.record(alice, shared, f"Something about gardens, number {number}.")
    factories.record(alice, shared, "The lighthouse keeper rows home.")
    assert found(api, alice, shared, query="lighthouse keeper", limit=1) == ["The lighthouse keeper rows home."]
    scores = [one["score"] for one in recall(api, alice, shared, query="lighthouse gardens", limit=3)["results"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_the_same_question_is_answered_alike(api: Api, alice: Member, shared: Memory) -> None:
    for _ in range(4):
        factories.record(alice, shared, "The very same words.")
    assert recall(api, alice, shared, query="same words") == recall(api, alice, shared, query="same words")


def test_old_and_forgotten_versions_are_found_on_request_only(api: Api, alice: Member, shared: Memory) -> None:
    place = look(factories.caller(alice), shared.id)
    record = factories.record(alice, shared, "Quillon renews in March.")
    records.revise(place, record.id, read_changes({"content": "Quillon renews in April."}))
    assert found(api, alice, shared, query="Quillon") == ["Quillon renews in April."]
    records.forget(place, record.id)
    assert found(api, alice, shared, query="Quillon") == []
    assert len(found(api, alice, shared, query="Quillon", include="all")) == 2


def test_a_question_is_asked_as_of_an_instant(api: Api, alice: Member, shared: Memory) -> None:
    place = look(factories.caller(alice), shared.id)
    record = factories.record(alice, shared, "Quillon renews in March.")
    records.revise(place, record.id, read_changes({"content": "Quillon renews in April."}))
    then = record.written_at.isoformat()
    [result] = recall(api, alice, shared, query="Quillon", as_of=then)["results"]
    assert (result["record"]["content"][0]["text"], result["record"]["status"]) == (
        "Quillon renews in March.",
        "active",
    )
    assert found(api, alice, shared, text="Quillon", as_of="2000-01-01T00:00:00Z") == []


def test_types_are_a_hard_condition(api: Api, alice: Member, shared: Memory, below: Memory) -> None:
    factories.record(alice, shared, "Quillon as a note.", type="note")
    assert found(api, alice, shared, query="Quillon", types=["note"]) == ["Quillon as a note."]
    assert found(api, alice, shared, text="Quillon", types=["person"]) == []


def test_a_signal_that_is_not_done_is_admitted(api: Api, alice: Member, shared: Memory, below: Memory) -> None:
    filters = {"field": "type", "op": "eq", "value": "fact"}
    declared = registry.connected()[0].capabilities()["recall"]["signals"]
    for signal, ask in {"query": "renewal", "text": "March", "filters": filters}.items():
        degraded = recall(api, alice, shared, **{signal: ask})["degraded"]
        assert (f"{signal}:not_supported" in degraded) == (signal not in declared)


def test_a_question_too_wide_is_cut_to_the_nearest_and_says_so(
    api: Api, alice: Member, shared: Memory, below: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.memory(alice, below)
    monkeypatch.setattr(scope, "CAP", 2)
    answer = recall(api, alice, shared, query="Quillon")
    assert answer["degraded"] == ["subtree:capped_at_2_memories"]
    assert len(answer["results"]) == 1
    monkeypatch.setattr(scope, "CAP", 3)
    assert recall(api, alice, shared, query="Quillon")["degraded"] == []


def test_the_memories_around_are_named_when_they_may_be_read(
    api: Api, alice: Member, carol: Member, shared: Memory, below: Memory
) -> None:
    factories.memory(alice, shared, restricted=True)
    answer = recall(api, carol, shared, query="anything")
    assert "parent" not in answer
    assert [(one["name"], one["description"]) for one in answer["children"]] == [("Below", "What lies deeper")]
    assert answer["children"][0]["records"] == {"count": 1}
    inside = recall(api, carol, below, query="anything")
    assert (inside["parent"]["id"], inside["children"]) == (shared.id, [])


def test_references_in_results_are_those_of_the_reader(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    target = factories.record(alice, hidden)
    factories.record(alice, shared, "Quillon points.", references=[{"record_id": target.id, "memory_id": hidden.id}])
    [result] = recall(api, carol, shared, query="Quillon points")["results"]
    assert result["record"]["references"] == [{"record_id": target.id, "available": False}]


@pytest.mark.parametrize(
    "words",
    ["'", "\\", "& | ! <-> :*", "the of and", "\U0001d518", "%s %(words)s {}", "a" * 8000, "\u200b", "-1 or 1=1"],
)
def test_any_words_can_be_asked_for(api: Api, alice: Member, shared: Memory, below: Memory, words: str) -> None:
    for signal in ("query", "text"):
        recall(api, alice, shared, **{signal: words})


@pytest.mark.parametrize(
    ("ask", "param"),
    [
        ({}, None),
        ({"query": ""}, None),
        ({"query": " ", "text": ""}, None),
        ({"query": 1}, "query"),
        ({"query": None, "text": "x"}, "query"),
        ({"query": "a\0"}, "query"),
        ({"query": "\udfff"}, "query"),
        ({"query": "q" * 8001}, "query"),
        ({"text": ["x"]}, "text"),
        ({"query": "x", "filters": []}, "filters"),
        ({"query": "x", "types": "note"}, "types"),
        ({"query": "x", "types": ["note", 1]}, "types.1"),
        ({"query": "x", "types": ["a\0"]}, "types.0"),
        ({"query": "x", "types": ["t"] * 101}, "types"),
        ({"query": "x", "as_of": 1}, "as_of"),
        ({"query": "x", "as_of": "now"}, "as_of"),
        ({"query": "x", "include": "none"}, "include"),
        ({"query": "x", "include": None}, "include"),
        ({"query": "x", "depth": -1}, "depth"),
        ({"query": "x", "depth": True}, "depth"),
        ({"query": "x", "depth": 1.5}, "depth"),
        ({"query": "x", "depth": "1"}, "depth"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 101}, "limit"),
        ({"query": "x", "limit": "8"}, "limit"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_a_malformed_question_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, ask: dict[str, object], param: str | None
) -> None:
    answer = api.call("POST", f"/v1/memories/{shared.id}/recall", ask, as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)
