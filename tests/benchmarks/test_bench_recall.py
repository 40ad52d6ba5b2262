"""The recall benchmark at its smallest: what it measures in, that it proves what it says, and that it would tell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import bench_recall, recall_corpus
from benchmarks.recall_corpus import HALL, ROOT, SCALES, Corpus, Vectors, grow

ROOT_DIRECTORY = Path(__file__).resolve().parents[2]
TINY = SCALES["tiny"]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return grow(TINY)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "recall.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_recall", "--scale", "tiny", "--no-http", "--json", str(file)],
        cwd=ROOT_DIRECTORY,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_the_same_seed_grows_the_same_world(corpus: Corpus) -> None:
    again, other = grow(TINY), grow(TINY, seed=8)
    assert again.parent == corpus.parent
    assert np.array_equal(again.memory_of, corpus.memory_of)
    assert not np.array_equal(other.memory_of, corpus.memory_of)
    first = next(Vectors(corpus).chunks())
    same = next(Vectors(again).chunks())
    assert np.array_equal(first[1], same[1])
    assert first[2] == same[2]


def test_a_branch_has_the_records_that_it_is_named_after(corpus: Corpus) -> None:
    def below(top: int) -> set[int]:
        found = {top}
        for number, parent in enumerate(corpus.parent):
            if parent in found:
                found.add(number)
        return found

    assert set(corpus.tops) == {*TINY.branches, TINY.records}
    for size, top in corpus.tops.items():
        assert int(np.isin(corpus.memory_of, sorted(below(top))).sum()) == size
    assert corpus.parent[ROOT] == HALL
    assert corpus.records == TINY.records + TINY.small_records


def test_vectors_are_of_length_one_and_near_those_of_their_memory(corpus: Corpus) -> None:
    vectors = next(Vectors(corpus).chunks())[1]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    top = corpus.tops[TINY.branches[0]]
    inside = vectors[corpus.memory_of[: len(vectors)] == top]
    outside = vectors[corpus.memory_of[: len(vectors)] != top]
    assert (inside @ inside.T).max(axis=1, where=~np.eye(len(inside), dtype=bool), initial=-1).mean() > 0.5
    assert (inside @ outside.T).mean() < 0.2


def test_there_are_words_enough() -> None:
    words = recall_corpus.vocabulary()
    assert len(set(words)) == len(words) == recall_corpus.VOCABULARY


def test_it_measures_every_place_and_both_plans(ran: tuple[str, dict[str, Any]]) -> None:
    rows = ran[1]["rows"]
    assert [row["records"] for row in rows[:-1]] == sorted([*TINY.branches, TINY.records])
    assert rows[-1]["records"] >= TINY.scattered
    few = [row for row in rows if row["records"] <= (TINY.exact_up_to or 0)]
    assert few
    assert all("walk" in row and row["recall_at_10"] == 1.0 for row in few)
    assert all(row["recall_at_10"] >= 0.9 for row in rows)
    assert all(row["whole"]["p95_ms"] >= row["whole"]["p50_ms"] > 0 for row in rows)
    assert all(row["legs"][leg]["p50_ms"] > 0 for row in rows for leg in ("scope", "meaning", "words", "open"))


def test_the_index_was_built_and_took_in_what_was_written(ran: tuple[str, dict[str, Any]]) -> None:
    assert ran[1]["built"]["index_mb"] > 0
    assert ran[1]["fresh"]["taken_in"] == ran[1]["fresh"]["rows"] > 0


def test_a_recall_costs_as_many_queries_wherever_it_is_asked_but_for_the_settings_of_a_walk(
    ran: tuple[str, dict[str, Any]],
) -> None:
    queries = [row["queries"] for row in ran[1]["rows"]]
    assert max(queries) - min(queries) <= 12


def test_it_prints_tables_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    lines = ran[0].splitlines()
    assert "4,300 records in" in lines[1]
    assert any(line.startswith("| 4,000 ") for line in lines)
    assert any("P3 worst p95 of meaning, ms" in line for line in lines)


def test_goals_are_ratios_of_what_was_measured_in_one_run() -> None:
    def row(records: int, meaning: float, exact: float, share: float, **more: Any) -> dict[str, Any]:
        span = {"p50_ms": meaning, "p95_ms": meaning * 2}
        return {
            **{"records": records, "meaning": span, "exact": {"p50_ms": exact, "p95_ms": exact}},
            **{"recall_at_10": share, **more},
        }

    rows = [
        row(10_000, 10, 10, 1.0, walk={"p50_ms": 30, "p95_ms": 40}),
        row(200_000, 5, 200, 0.98),
        row(1_000_000, 4, 1_000, 0.99),
        row(50_000, 8, 70, 0.97),
    ]
    goals = bench_recall.goals(rows, {"product_p50_ms": 30, "list_p50_ms": 300}, {})
    assert goals["P1 meaning / comparing everything, at 200,000"] == 0.025
    assert goals["P2 meaning / walking the index, p95 at 10,000"] == 0.5
    assert goals["P3 worst p95 of meaning, ms"] == 20
    assert goals["P4 words at everything / with a list of ids"] == 0.1
    assert goals["least recall@10 of meaning, by the index"] == 0.97
