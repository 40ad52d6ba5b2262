"""The ranking seen from outside: each signal alone, fields, neighbours, folding, abstaining, and who may see what."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from members.models import Member
from memories.models import Memory
from memories.recall import profiles
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def recall(api: Api, who: Member, memory: Memory, query: str, **ask: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/recall", {"query": query, **ask}, who)


def texts(answer: Any) -> list[str]:
    return [one["record"]["content"][0]["text"] for one in answer["results"]]


def say(who: Member, memory: Memory, text: str, session: str = "", speaker: str = "") -> None:
    attributes = {"session_id": session, "speaker": speaker}
    factories.record(
        who, memory, text, type="episode", attributes={name: value for name, value in attributes.items() if value}
    )


# Each signal by itself


def test_by_meaning_everything_is_ranked_and_the_nearest_comes_first(api: Api, alice: Member, shared: Memory) -> None:
    for text in ("The boat lies in the harbour.", "Bread is baked at four.", "Rain again."):
        factories.record(alice, shared, text)
    found = texts(recall(api, alice, shared, "boats in harbours", x_profile="meaning"))
    assert (found[0], len(found)) == ("The boat lies in the harbour.", 3)


def test_by_words_only_what_has_one_of_them_is_found(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "The boat lies in the harbour.")
    factories.record(alice, shared, "Bread is baked at four.")
    assert texts(recall(api, alice, shared, "which boat?", x_profile="words")) == ["The boat lies in the harbour."]
    assert recall(api, alice, shared, "zeppelin", x_profile="words")["results"] == []


@pytest.mark.parametrize("profile", sorted(profiles.PROFILES))
def test_every_profile_finds_what_has_all_the_words(api: Api, alice: Member, shared: Memory, profile: str) -> None:
    factories.record(alice, shared, "Bread is baked at four.")
    factories.record(alice, shared, "The heron stands in the lake.")
    answer = recall(api, alice, shared, "Where does the heron stand?", x_profile=profile)
    assert texts(answer)[0] == "The heron stands in the lake."
    assert answer["results"][0]["why"] == ["query"]


@pytest.mark.parametrize("value", ["", "best", 1, None, ["default"]])
def test_another_profile_is_refused(api: Api, alice: Member, shared: Memory, value: object) -> None:
    body = {"query": "x", "x_profile": value}
    answer = api.call("POST", f"/v1/memories/{shared.id}/recall", body, as_=alice)
    assert (answer.status, answer.error["param"]) == (422, "x_profile")


def test_a_rare_word_of_the_question_counts_for_more(api: Api, alice: Member, shared: Memory) -> None:
    for number in range(12):
        factories.record(alice, shared, f"The contract number {number} renews in March.")
    factories.record(alice, shared, "Vellacourt: contract signed.")
    found = texts(recall(api, alice, shared, "contract Vellacourt renews", x_profile="without_vectors"))
    assert found[0] == "Vellacourt: contract signed."


# Names and fields


def test_whoever_is_named_lifts_what_they_said(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "I went to the lake on Sunday.", speaker="Jolana")
    say(alice, shared, "I went to the lake on Sunday, too, with her.", speaker="Kofi")
    for name in ("Jolana", "Kofi"):
        answer = recall(api, alice, shared, f"When did {name} go to the lake?", x_explain=True)
        assert answer["results"][0]["record"]["attributes"]["speaker"] == name
        assert answer["x_explanation"]["names"] == [name.lower()]
        assert answer["x_explanation"]["meant"] == "When did go to the lake?"


def test_a_member_who_is_named_lifts_what_they_wrote(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    for who in (alice, bob):
        factories.record(who, shared, f"The plan is to paint the boat {'red' if who == bob else 'blue'}.")
    for who in (alice, bob):
        [first, _] = recall(api, alice, shared, f"What is {who.name}'s plan for the boat?")["results"]
        assert first["record"]["written_by"]["id"] == who.id


def test_what_is_about_the_entity_named_is_found_though_it_does_not_say_so(
    api: Api, alice: Member, shared: Memory
) -> None:
    company = factories.record(alice, shared, "A carrier.", type="company", title="Quillon Freight")
    about = [{"record_id": company.id, "rel": "about"}]
    factories.record(alice, shared, "Renewal is due in March.", references=about)
    for number in range(5):
        factories.record(alice, shared, f"Renewal number {number} is due in April.")
    found = texts(recall(api, alice, shared, "When is the renewal of Quillon Freight due?"))
    assert "Renewal is due in March." in found[:2]


def test_nobody_is_known_from_what_may_not_be_read(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    factories.record(alice, hidden, "The new one.", type="person", title="Orla")
    say(alice, hidden, "Hello.", speaker="Jolana")
    factories.record(alice, shared, "It is raining.")
    with_it, without = [
        recall(api, who, shared, "When did Orla meet Jolana there?", x_explain=True)["x_explanation"]["names"]
        for who in (alice, carol)
    ]
    assert (with_it, without) == (["jolana", "orla"], [])


# Neighbours


def test_what_was_said_beside_the_answer_is_lifted(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "Did you see the heron at the lake?", session="one")
    say(alice, shared, "Twice, it was grey.", session="one")
    for number in range(8):
        say(alice, shared, f"Nothing to report on day {number}.", session=f"day {number}")
    beside = texts(recall(api, alice, shared, "heron lake", limit=2))
    assert beside == ["Did you see the heron at the lake?", "Twice, it was grey."]
    assert "Twice, it was grey." not in texts(recall(api, alice, shared, "heron lake", limit=2, x_profile="words"))


def test_a_neighbour_that_the_view_leaves_out_stays_out(api: Api, alice: Member, shared: Memory) -> None:
    say(alice, shared, "Did you see the heron at the lake?", session="one")
    factories.record(alice, shared, "A note between.", type="note", attributes={"session_id": "one"})
    assert texts(recall(api, alice, shared, "heron", types=["note"])) == ["A note between."]
    assert "A note between." not in texts(recall(api, alice, shared, "heron", types=["episode"]))


# Folding


def test_what_says_the_same_gives_its_place_to_what_says_something_else(
    api: Api, alice: Member, shared: Memory
) -> None:
    for _ in range(30):
        factories.record(alice, shared, "The heron stands in the lake.")
    factories.record(alice, shared, "A heron nests by the river.")
    factories.record(alice, shared, "The heron flew off at dawn.")
    answer = recall(api, alice, shared, "where does the heron stand", limit=3)
    assert sorted(texts(answer)) == [
        "A heron nests by the river.",
        "The heron flew off at dawn.",
        "The heron stands in the lake.",
    ]
    assert [one.get("x_similar") for one in answer["results"]].count(29) == 1
    assert len(recall(api, alice, shared, "where does the heron stand", limit=40)["results"]) == 32


def test_more_repetitions_than_candidates_hide_nothing(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(profiles.PROFILES, "default", replace(profiles.RANKING, depth=4))
    for _ in range(40):
        factories.record(alice, shared, "The heron stands in the lake.")
    factories.record(alice, shared, "Bread is baked at four.")
    assert texts(recall(api, alice, shared, "heron lake", limit=2)) == [
        "The heron stands in the lake.",
        "Bread is baked at four.",
    ]


def test_every_version_is_shown_to_who_asks_for_all(api: Api, alice: Member, shared: Memory) -> None:
    for _ in range(3):
        factories.record(alice, shared, "The heron stands in the lake.")
    answer = recall(api, alice, shared, "heron", include="all", limit=2)
    assert texts(answer) == ["The heron stands in the lake."] * 2
    assert not any("x_similar" in one for one in answer["results"])


def test_what_may_not_be_read_is_not_counted_as_similar(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    for where in (shared, hidden, hidden):
        factories.record(alice, where, "The heron stands in the lake.")
    factories.record(alice, shared, "Bread is baked at four.")
    assert recall(api, alice, shared, "heron", limit=2)["results"][0]["x_similar"] == 2
    assert not any("x_similar" in one for one in recall(api, carol, shared, "heron", limit=2)["results"])


# Abstaining


def test_nothing_there_is_not_known(api: Api, alice: Member, shared: Memory) -> None:
    assert recall(api, alice, shared, "When does it renew?")["abstain"] is True
    assert api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": "March"}, alice)["abstain"] is True


def test_what_is_there_is_known(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "Quillon renews in March.")
    assert recall(api, alice, shared, "When does Quillon renew?")["abstain"] is False
    assert api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": "March"}, alice)["abstain"] is False


def test_a_question_of_which_no_word_is_known_is_not_answered_though_results_are_shown(
    api: Api, alice: Member, shared: Memory
) -> None:
    factories.record(alice, shared, "Quillon renews in March.")
    answer = recall(api, alice, shared, "zeppelin maintenance interval", x_explain=True)
    assert (answer["abstain"], len(answer["results"])) == (True, 1)
    assert answer["x_explanation"]["abstain"]["reason"] == "no_word_known"


def test_a_member_nothing_is_known_of_is_no_one_to_answer_about(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    factories.record(alice, shared, "The boat was painted red.")
    asked = "Which colour did Bob paint the boat?"
    assert recall(api, alice, shared, asked, x_explain=True)["x_explanation"]["abstain"]["reason"] == "unknown_name"
    factories.record(alice, shared, "It was Bob who did it.")
    assert recall(api, alice, shared, asked)["abstain"] is False


def test_what_may_not_be_read_neither_makes_nor_breaks_an_answer(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    factories.record(alice, shared, "The boat was painted red.")
    before = recall(api, carol, shared, "zeppelin maintenance", x_explain=True)
    factories.record(alice, factories.memory(alice, shared, restricted=True), "The zeppelin needs maintenance.")
    assert recall(api, carol, shared, "zeppelin maintenance", x_explain=True) == before
    assert recall(api, alice, shared, "zeppelin maintenance")["abstain"] is False


# Explaining


def test_nothing_is_explained_unless_it_is_asked_for(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "The heron stands in the lake.")
    answer = recall(api, alice, shared, "heron")
    assert "x_explanation" not in answer
    assert answer["results"][0].keys() == {"record", "memory", "score", "why"}


def test_an_explanation_adds_up(api: Api, alice: Member, shared: Memory) -> None:
    for text in ("The heron stands in the lake.", "A heron nests.", "Bread is baked at four."):
        factories.record(alice, shared, text)
    answer = recall(api, alice, shared, "heron lake", x_explain=True)
    assert answer["x_explanation"]["profile"] == "default"
    assert answer["x_explanation"]["candidates"] == 3
    for one in answer["results"]:
        signals = one["x_explanation"]["signals"]
        assert signals.keys() <= profiles.RANKING.weights.keys()
        weights = {name: profiles.RANKING.weights[name] for name in ("meaning", "context", "terms")}
        blended = sum(weights[name] / sum(weights.values()) * leg["normalised"] for name, leg in signals.items())
        assert math.isclose(blended, one["x_explanation"]["blended"], abs_tol=1e-4)
