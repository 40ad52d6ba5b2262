"""The benchmark of consolidation on its invented corpus: that it measures what it says, and that its table holds it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_consolidation as bench
from benchmarks.corpus import generate
from benchmarks.scorer import Scorer, Vectors


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints of two invented conversations, and what it writes as JSON."""
    directory = tmp_path_factory.mktemp("bench")
    made = bench.measure(generate(conversations=2, sessions=2, turns=10), Vectors(), invented=True)
    (directory / "figures.json").write_text(json.dumps(made), encoding="utf-8")
    return bench.describe(made), json.loads((directory / "figures.json").read_text(encoding="utf-8"))


def test_it_counts_every_turn_and_times_the_engine(ran: tuple[str, dict[str, Any]]) -> None:
    assert ran[1]["episodes"] == ran[1]["kept"][0]["turns"] == 40
    assert ran[1]["episodes_per_second"] > 0


def test_most_facts_of_the_invented_corpus_are_kept(ran: tuple[str, dict[str, Any]]) -> None:
    (kept,) = ran[1]["kept"]
    assert kept["evidence_kept"] >= 0.85
    assert 0 < kept["records_per_turn"] < 1


def test_the_questions_are_asked_in_three_places(ran: tuple[str, dict[str, Any]]) -> None:
    (found,) = ran[1]["found"]
    for name in (bench.RAW, bench.DERIVED, bench.BOTH):
        assert found[name]["questions"] > 0
        assert 0 < found[name]["recall"] <= 1


def test_it_prints_tables_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    lines = [line for line in ran[0].splitlines() if line.startswith("| ")]
    assert len(lines) == (1 + 2) + (3 + 2)
    assert all(note in ran[0] for note in bench.NOTES)


def test_tuned_and_held_out_conversations_are_told_apart() -> None:
    summary = bench.measure(generate(conversations=6, sessions=1, turns=6), None, invented=False)
    assert [one["part"] for one in summary["kept"]] == ["1-5, tuned on", "6-6, held out", "all"]
    assert [one["turns"] for one in summary["kept"]] == [30, 6, 36]


def test_data_that_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text("[1]", encoding="utf-8")
    assert bench.main(["--data", str(tmp_path / "x.json")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_scorer_finds_words_and_meaning(tmp_path: Path) -> None:
    vectors = Vectors(tmp_path / "kept.npz")
    texts = {"dog": "I adopted a dog from the shelter.", "code": "The code is xk42.", "tea": "I make green tea."}
    scorer = Scorer(texts, vectors)
    assert scorer.best("which pet lives with you", 1) == ["dog"]
    assert scorer.best("xk42", 1) == ["code"]
    assert Scorer({}, vectors).best("x", 3) == []
    vectors.save()
    assert len(Vectors(tmp_path / "kept.npz").embed(list(texts.values()))) == 3
