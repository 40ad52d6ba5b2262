"""The benchmark of the agents' tools at its smallest: that it measures both ways, and compares what they answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench_mcp import MCP, REST, SCALES, describe

ROOT = Path(__file__).resolve().parents[2]
TINY = SCALES["tiny"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "mcp.json"
    command = ["-m", "benchmarks.bench_mcp", "--scale", "tiny", "--embedder", "hashing", "--json", str(file)]
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_both_tools_are_timed_both_ways(ran: tuple[str, dict[str, Any]]) -> None:
    rows = ran[1]["rows"]
    assert [(row["tool"], row["surface"]) for row in rows] == [
        (tool, surface) for tool in ("memory_recall", "memory_remember") for surface in (REST, MCP)
    ]
    assert all(row["calls"] == TINY.calls and row["p95_ms"] >= row["p50_ms"] > 0 for row in rows)
    assert all(row["per_second"] > 0 for row in rows)


def test_the_overhead_is_that_of_the_rows(ran: tuple[str, dict[str, Any]]) -> None:
    rows = ran[1]["rows"]
    for tool, rest, through in (("memory_recall", rows[0], rows[1]), ("memory_remember", rows[2], rows[3])):
        assert ran[1]["overhead"][tool] == round(through["p50_ms"] / rest["p50_ms"], 2)


def test_it_prints_a_table_that_can_be_pasted(ran: tuple[str, dict[str, Any]]) -> None:
    assert ran[0].strip() == describe(ran[1])
    assert len([line for line in ran[0].splitlines() if line.startswith("| ")]) == 4 + 2
    assert ran[0].startswith("```text\n")
