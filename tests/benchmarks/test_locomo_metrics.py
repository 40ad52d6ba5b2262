"""The measures on rankings made by hand, and the reading of the file they are taken on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import log2
from typing import TYPE_CHECKING

import pytest

from benchmarks import baselines, locomo, locomo_format, locomo_report, locomo_run, metrics, planted
from benchmarks.corpus import ADVERSARIAL, MULTI_HOP, SINGLE_HOP, Question, generate
from benchmarks.locomo_run import Asked

if TYPE_CHECKING:
    from pathlib import Path

RANKING = ["D1:1", "D1:2", "D1:3", "D1:4", "D1:5", "D1:6"]


def test_recall_is_the_share_of_the_evidence_among_the_first_places() -> None:
    gold = ("D1:2", "D1:6", "D9:9")
    assert metrics.recall_at(RANKING, gold, 1) == 0
    assert metrics.recall_at(RANKING, gold, 5) == pytest.approx(1 / 3)
    assert metrics.recall_at(RANKING, gold, 10) == pytest.approx(2 / 3)


def test_recall_of_nothing_found_is_zero() -> None:
    assert metrics.recall_at([], ("D1:1",), 20) == 0


def test_a_repeated_result_takes_one_place() -> None:
    assert metrics.recall_at(["a", "a", "a", "b"], ("b",), 2) == 1
    assert metrics.reciprocal_rank(["a", "a", "a", "b"], ("b",)) == 0.5
    assert metrics.ndcg_at(["a", "a"], ("a", "b"), 10) < 1


def test_the_reciprocal_rank_looks_at_the_first_evidence_only() -> None:
    assert metrics.reciprocal_rank(RANKING, ("D1:6", "D1:3")) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(RANKING, ("D1:1",)) == 1
    assert metrics.reciprocal_rank(RANKING, ("D9:9",)) == 0


def test_gain_is_one_when_all_evidence_stands_first() -> None:
    assert metrics.ndcg_at(RANKING, ("D1:2", "D1:1"), 10) == pytest.approx(1)


def test_gain_falls_with_the_place() -> None:
    expected = (1 / log2(3) + 1 / log2(7)) / (1 + 1 / log2(3))
    assert metrics.ndcg_at(RANKING, ("D1:2", "D1:6"), 10) == pytest.approx(expected)


def test_gain_of_more_evidence_than_places_can_still_be_one() -> None:
    assert metrics.ndcg_at(RANKING, RANKING, 3) == pytest.approx(1)


def test_gain_ignores_what_stands_below_the_last_place() -> None:
    assert metrics.ndcg_at(RANKING, ("D1:6",), 5) == 0


@pytest.mark.parametrize("k", [5, 10])
def test_a_ranking_cannot_be_judged_without_evidence(k: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        metrics.recall_at(RANKING, (), k)
    with pytest.raises(ValueError, match="at least one"):
        metrics.ndcg_at(RANKING, (), k)
    with pytest.raises(ValueError, match="at least one"):
        metrics.reciprocal_rank(RANKING, ())


def test_a_percentile_is_a_value_that_was_measured() -> None:
    assert metrics.percentile([40, 10, 30, 20], 50) == 20
    assert metrics.percentile(range(1, 101), 95) == 95
    assert metrics.percentile([7], 95) == 7
    assert metrics.percentile([], 95) == 0


def test_an_interval_holds_the_mean_and_is_the_same_every_time() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 20
    low, high = metrics.interval(values)
    assert low < metrics.mean(values) < high
    assert metrics.interval(values) == (low, high)
    assert metrics.interval([1.0, 1.0]) == (1.0, 1.0)
    assert metrics.interval([]) == (0.0, 0.0)


def test_the_area_is_how_often_the_right_one_scores_higher() -> None:
    assert metrics.area([0.9, 0.8], [0.1, 0.2]) == 1
    assert metrics.area([0.5], [0.5]) == 0.5
    assert metrics.area([0.1], [0.9]) == 0
    assert metrics.area([0.9, 0.1], [0.5]) == 0.5
    assert metrics.area([], [0.5]) == 0


def test_what_is_caught_lies_below_the_threshold_that_few_answers_do() -> None:
    likely = [number / 100 for number in range(100)]
    assert metrics.caught(likely, [0.01, 0.02, 0.9, 0.9], 0.05) == 0.5
    assert metrics.caught(likely, [], 0.05) == 0


def test_means_are_taken_over_questions_with_evidence_and_leave_the_adversarial_out() -> None:
    asked = [
        Asked(Question("found", SINGLE_HOP, ("D1:1",)), ["D1:1"], 1.0),
        Asked(Question("missed", MULTI_HOP, ("D1:1", "D1:2")), ["D1:3"], 1.0),
        Asked(Question("without evidence", SINGLE_HOP, ()), ["D1:1"], 1.0),
        Asked(Question("failed", SINGLE_HOP, ("D1:1",)), [], None, 7),
        Asked(Question("twisted", ADVERSARIAL, ("D1:1",)), ["D1:1"], 1.0),
    ]
    judged = locomo_report.judge(asked)
    assert judged["questions"] == 3
    assert judged["recall@10"] == pytest.approx(1 / 3)
    assert judged["categories"] == {"single-hop": 0.5, "multi-hop": 0.0}
    assert (judged["tuned"], judged["held_out"]) == (0.5, 0.0)
    assert judged["empty"] == pytest.approx(1 / 3)


def test_a_session_is_found_when_any_turn_of_it_is() -> None:
    asked = [
        Asked(Question("found", SINGLE_HOP, ("D1:1",)), ["D1:9"], 1.0),
        Asked(Question("missed", ADVERSARIAL, ("D2:1", "D1:4")), ["D1:9"], 1.0),
    ]
    assert locomo_report.by_session(asked) == 0.75


def test_bm25_prefers_rare_words_and_short_turns() -> None:
    [conversation] = generate()
    rank = baselines.bm25(conversation)
    asked = next(one for one in conversation.questions if one.category == SINGLE_HOP)
    assert set(rank(asked.text)) <= {turn.id for turn in conversation.turns}
    assert rank("zzz") == []
    turn = max(conversation.turns, key=lambda one: len(one.text))
    assert rank(turn.content)[0] == turn.id


def test_the_planted_facts_are_the_same_every_time_and_every_answer_was_told() -> None:
    facts, questions = planted.grow()
    assert (facts, questions) == planted.grow()
    assert planted.grow(8) != planted.grow(7)
    told = {(fact.subject, fact.revised or fact.text) for fact in facts}
    assert all(one.answer is None or (one.subject, one.answer) in told for one in questions)
    assert any(one.answer is None for one in questions)
    assert any(one.outdated for one in questions)


KNOWN = {"D4:36", "D8:6", "D9:17", "D11:26", "D30:5", "D21:18", "D21:22"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["D8:6"], ("D8:6",)),
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D21:18 D21:22"], ("D21:18", "D21:22")),
        (["D8:6,D9:17"], ("D8:6", "D9:17")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D9:17", "D8:6", "D9:17"], ("D9:17", "D8:6")),
        (["D"], ()),
        (["D10:19"], ()),
        (["D10:19", "D8:6"], ("D8:6",)),
        ([], ()),
    ],
)
def test_evidence_is_split_put_in_one_form_and_kept_only_when_it_exists(raw: list[str], expected: tuple[str]) -> None:
    assert locomo_format.normalise_evidence(raw, KNOWN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        ("12:30 pm on 29 February, 2024", datetime(2024, 2, 29, 12, 30, tzinfo=UTC)),
        ("11:05 AM on 1 Dec 2022", datetime(2022, 12, 1, 11, 5, tzinfo=UTC)),
    ],
)
def test_the_date_of_a_session_is_read_as_utc(text: str, expected: datetime) -> None:
    assert locomo_format.parse_date(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8 May 2023",
        "13:00 pm on 8 May, 2023",
        "0:10 am on 8 May, 2023",
        "1:00 pm on 31 June, 2023",
        "1:00 pm on 8 Mai, 2023",
    ],
)
def test_another_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"date|day"):
        locomo_format.parse_date(text)


ENTRY = {
    "sample_id": "invented-1",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Tomas",
        "session_10_date_time": "9:00 am on 2 March, 2024",
        "session_10": [{"speaker": "Tomas", "dia_id": "D10:1", "text": "The boat is sold."}],
        "session_2_date_time": "7:15 pm on 20 February, 2024",
        "session_2": [
            {"speaker": "Ines", "dia_id": "D2:1", "text": "Look at this!", "blip_caption": "a red boat"},
            {"speaker": "Tomas", "dia_id": "D2:2", "text": "I might sell mine.", "blip_caption": None},
        ],
    },
    "qa": [
        {"question": "What did Tomas sell?", "category": SINGLE_HOP, "evidence": ["D10:01"], "answer": "a boat"},
        {"question": "What did Ines sell?", "category": ADVERSARIAL, "evidence": ["D2:2; D10:1"]},
    ],
}


def test_a_conversation_is_read_in_the_order_of_its_sessions() -> None:
    read = locomo_format.conversation(ENTRY)
    assert [(turn.id, turn.session) for turn in read.turns] == [("D2:1", 2), ("D2:2", 2), ("D10:1", 10)]
    assert [question.evidence for question in read.questions] == [("D10:1",), ("D2:2", "D10:1")]


def test_a_caption_becomes_part_of_the_record() -> None:
    body = locomo_run.record(locomo_format.conversation(ENTRY).turns[0], "conv-1")
    assert body == {
        "type": "episode",
        "content": "Look at this! [image: a red boat]",
        "attributes": {"dia_id": "D2:1", "speaker": "Ines", "session_id": "conv-1/2"},
        "time": {"valid_from": "2024-02-20T19:15:00Z"},
    }


def test_a_turn_without_a_caption_has_only_its_words() -> None:
    assert locomo_format.conversation(ENTRY).turns[1].content == "Tomas: I might sell mine."


@pytest.mark.parametrize("content", ["[{}]", '{"qa": []}', "[1]", "not json", "5"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(locomo_run.Unusable, match="cannot be read"):
        locomo.choose(path, "full")


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([ENTRY, ENTRY]), encoding="utf-8")
    assert locomo.choose(path, "full") == [locomo_format.conversation(ENTRY)] * 2


def test_the_beginning_keeps_only_the_questions_it_can_answer() -> None:
    begun = locomo_format.conversation(ENTRY).beginning(2)
    assert [turn.id for turn in begun.turns] == ["D2:1", "D2:2"]
    assert begun.questions == ()
    assert len(locomo_format.conversation(ENTRY).beginning(3).questions) == 2


def test_a_record_of_another_memory_is_an_error() -> None:
    answer = {"results": [{"memory": {"id": "other"}, "record": {"attributes": {"dia_id": "D1:1"}}}]}
    assert locomo_run.ranking(answer, "other") == ["D1:1"]
    assert locomo_run.ranking(answer, "mine", anywhere=True) == ["other/D1:1"]
    with pytest.raises(ValueError, match="another memory"):
        locomo_run.ranking(answer, "mine")
    with pytest.raises(ValueError, match="another form"):
        locomo_run.ranking({"data": []}, "mine")


def test_a_question_loses_the_names_of_who_speaks_and_nothing_else() -> None:
    conversation = locomo_format.conversation(ENTRY)
    asked = "What did Tomas sell, and was it Ines's or Tomasina's?"
    assert locomo_run.without_names(asked, conversation) == "What did sell, and was it or Tomasina's?"


def test_the_invented_corpus_is_the_same_every_time() -> None:
    assert generate(conversations=2) == generate(conversations=2)
    assert generate(seed=1) != generate(seed=2)


@pytest.mark.parametrize("shape", [{}, {"conversations": 10, "sessions": 12, "turns": 25}, {"sessions": 1, "turns": 1}])
def test_the_invented_corpus_asks_only_about_what_was_said(shape: dict[str, int]) -> None:
    for conversation in generate(**shape):
        turns = {turn.id: turn for turn in conversation.turns}
        assert len(turns) == len(conversation.turns)
        assert conversation.questions
        for question in conversation.questions:
            assert question.evidence
            speakers = {turns[turn].speaker for turn in question.evidence}
            named = {name for name in conversation.name.split(" and ") if name.lower() in question.text.lower()}
            assert named.isdisjoint(speakers) if question.category == ADVERSARIAL else named == speakers
