"""The access benchmark at its smallest: what it measures in, that all methods answer alike, and that it would tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks import bench_access
from benchmarks.access_corpus import DEPTH, SCALES, Corpus, grow

ROOT = Path(__file__).resolve().parents[2]
METHODS = {bench_access.PRODUCT, bench_access.CTE, bench_access.LIBRARIES}
READS, WRITES = 5, 2


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return grow(SCALES["tiny"])


@pytest.fixture(scope="module")
def database_url() -> Iterator[str]:
    """An empty database beside the one of the tests."""
    url, name = os.environ["DATABASE_URL"], f"bench_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            parts = {key: str(value) for key, value in conninfo_to_dict(url).items()}
            yield _as_url(parts | {"dbname": name})
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def ran(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "access.json"
    done = _bench("--scale", "tiny", "--database-url", database_url, "--json", str(file))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_the_same_seed_grows_the_same_world(corpus: Corpus) -> None:
    again = grow(SCALES["tiny"])
    assert again == corpus
    assert grow(SCALES["tiny"], seed=8) != corpus


def test_the_world_has_the_shape_that_was_asked_for(corpus: Corpus) -> None:
    scale = SCALES["tiny"]
    assert len(corpus.organisation) == scale.memories
    assert len(corpus.roots) == len(set(corpus.organisation)) == scale.organisations
    assert len(corpus.grants) + len(corpus.to_everyone) == scale.grants
    assert max(corpus.depth) == DEPTH
    assert all(
        corpus.organisation[parent] == corpus.organisation[number] and parent < number
        for number, parent in enumerate(corpus.parent)
        if parent is not None
    )
    assert 0.01 < sum(corpus.restricted) / scale.memories < 0.03


def test_the_branch_lies_open_under_the_largest_root(corpus: Corpus) -> None:
    chain = list(corpus.chain(corpus.branch))
    assert chain[-1] == corpus.roots[0]
    assert not any(corpus.restricted[one] for one in chain)
    assert corpus.target not in corpus.subtree(corpus.branch)


def test_it_measures_every_question_with_every_method(ran: tuple[str, dict[str, Any]]) -> None:
    rows = ran[1]["rows"]
    assert [row["writes"] for row in rows] == [False] * READS + [True] * WRITES
    for row in rows:
        assert row["methods"].keys() >= METHODS
        assert all(figures["p95_ms"] >= figures["p50_ms"] > 0 for figures in row["methods"].values())


def test_the_questions_have_answers_to_compare(ran: tuple[str, dict[str, Any]]) -> None:
    for row in ran[1]["rows"][:READS]:
        assert row["answers_max"] > 0, row["question"]
    decisions = ran[1]["rows"][0]
    assert 0 < decisions["answers_none"] < decisions["samples"], "some are seen and some are not"


def test_the_loaded_reach_is_what_the_product_computes(ran: tuple[str, dict[str, Any]], corpus: Corpus) -> None:
    assert ran[1]["reach_rows_proven"] == sum(corpus.depth) == ran[1]["tables"]["memories_reach"]["rows"]


def test_a_decision_is_one_query(ran: tuple[str, dict[str, Any]]) -> None:
    figures = ran[1]["rows"][0]["methods"][bench_access.PRODUCT]
    assert figures["queries_min"] == figures["queries_max"] == 1


def test_it_prints_tables_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    lines = ran[0].splitlines()
    assert sum(line.startswith("| ") for line in lines) == 2 * (READS + WRITES + 2)
    assert "1,200 memories 6 levels deep in 4 organisations" in lines[1]


def test_it_leaves_a_database_alone_that_is_in_use(ran: tuple[str, dict[str, Any]], database_url: str) -> None:
    done = _bench("--scale", "tiny", "--database-url", database_url)
    assert done.returncode == 2
    assert "name an empty one" in done.stderr


def test_methods_that_differ_are_refused() -> None:
    script = (
        "import django; django.setup()\n"
        "from benchmarks.access_measure import Disagreement, agree\n"
        "agree('alike', {'one': {1, 2}, 'other': {2, 1}})\n"
        "try:\n    agree('entry points', {'one': {1, 2}, 'other': {1}})\n"
        "except Disagreement as error:\n    print(error)\n"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchmarks.access_settings"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "entry points: other and one differ: {1} and {1, 2}.\n", done.stderr


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_access", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _as_url(parts: dict[str, str]) -> str:

    rest = {key: value for key, value in parts.items() if key not in {"user", "password", "dbname"}}
    who = f"{quote(parts['user'], safe='')}:{quote(parts['password'], safe='')}"
    return f"postgresql://{who}@/{parts['dbname']}?{urlencode(rest)}"
