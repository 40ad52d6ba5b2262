"""The benchmark of the console at its smallest: that it looks at every page, and that its tables hold it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_console
from benchmarks.bench_console import OPENED, PAGES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "console.json"
    command = [sys.executable, "-m", "benchmarks.bench_console", "--scale", "tiny", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_every_page_is_timed_and_weighed(ran: tuple[str, dict[str, Any]]) -> None:
    rows = ran[1]["pages"]
    assert [row["what"] for row in rows] == [one.what for one in PAGES]
    assert all(row["p95_ms"] >= row["p50_ms"] > 0 and row["bytes"] > 100 for row in rows)


def test_every_page_goes_out_compressed(ran: tuple[str, dict[str, Any]]) -> None:
    assert {row["encoding"] for row in ran[1]["pages"]} == {"gzip"}


def test_the_pages_opened_most_weigh_little_and_bring_one_script(ran: tuple[str, dict[str, Any]]) -> None:
    opened = ran[1]["opened"]
    assert set(opened) == set(OPENED)
    for one in opened.values():
        assert one["first"]["scripts"] == bench_console.SCRIPTS
        assert one["later"]["bytes"] < one["first"]["bytes"] < bench_console.FIRST_VISIT_BYTES


def test_a_fragment_is_a_fragment(ran: tuple[str, dict[str, Any]]) -> None:
    sizes = {row["what"]: row["bytes"] for row in ran[1]["pages"]}
    assert sizes["inbox of one writer, fragment"] < sizes["inbox"]
    assert all(one.target for one in PAGES if "fragment" in one.what)


def test_it_prints_tables_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    lines = [line for line in ran[0].splitlines() if line.startswith("| ")]
    assert len(lines) == (len(PAGES) + 2) + (len(OPENED) + 2)
    assert ran[0].startswith("```text\n")


def test_what_is_over_is_named() -> None:
    row = {"what": "inbox", "p95_ms": 151.0, "queries": 9, "queries_small": 8}
    slow = {"first": {"bytes": 100_001, "scripts": 2}, "later": {"ms": 1_001}}
    said = bench_console.over([row], {"inbox": slow})
    assert [re.sub(r"^inbox: ", "", one) for one in said] == [
        "151.0 ms at p95",
        "9 queries, 8 on a small organisation",
        "100,001 bytes on a first visit",
        "2 scripts",
        "1001 ms to open",
    ]
