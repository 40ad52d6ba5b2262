"""The benchmark of records at its smallest: that it measures everything it promises, and that its tables hold it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import records_load, stage
from benchmarks.bench_records import SCALES

ROOT = Path(__file__).resolve().parents[2]
TINY = SCALES["tiny"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "records.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_records", "--scale", "tiny", "--json", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_it_writes_as_many_records_as_the_scale_says(ran: tuple[str, dict[str, Any]]) -> None:
    writes = ran[1]["writes"]
    assert [one["count"] for one in writes] == [TINY.bulk, TINY.bulk, *[TINY.single] * 3, TINY.versions - 1]
    assert all(one["per_second"] > 0 for one in writes)


def test_every_read_is_timed(ran: tuple[str, dict[str, Any]]) -> None:
    reads = ran[1]["reads"]
    assert [one["part"] for one in reads] == [records_load.LISTS] * 3 + [records_load.HISTORY] * 4
    assert all(one["calls"] == TINY.samples and one["p95_ms"] >= one["p50_ms"] > 0 for one in reads)


def test_a_deep_page_costs_no_more_queries_than_the_first(ran: tuple[str, dict[str, Any]]) -> None:
    first, middle, last = (one["queries_max"] for one in ran[1]["reads"][:3])
    assert first == middle == last > 0


def test_both_exports_are_whole_and_their_peak_is_known(ran: tuple[str, dict[str, Any]]) -> None:
    exports = ran[1]["exports"]
    assert [one["records"] for one in exports] == [TINY.bulk, TINY.records]
    assert all(one["peak_mib"] >= one["peak_before_mib"] > 10 for one in exports)


def test_it_prints_tables_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    lines = [line for line in ran[0].splitlines() if line.startswith("| ")]
    assert len(lines) == (6 + 2) + (7 + 2) + (2 + 2)
    assert ran[0].startswith("```text\n")
    assert "a memory of 100 records, one record with 12 versions" in ran[0]


def test_an_answer_that_was_not_written_ends_the_run() -> None:
    with pytest.raises(stage.Wrong, match=r"The version: 2 instead of 3\."):
        records_load.expect("the version", 2, 3)
