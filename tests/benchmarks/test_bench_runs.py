"""The benchmark of runs at its smallest: that it measures everything it promises, and that its tables hold it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_runs, runs_load
from benchmarks.bench_runs import SCALES

ROOT = Path(__file__).resolve().parents[2]
TINY = SCALES["tiny"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What the benchmark prints, and what it writes as JSON."""
    file = tmp_path_factory.mktemp("bench") / "runs.json"
    command = [sys.executable, "-m", "benchmarks.bench_runs", "--scale", "tiny", "--embedder", "hashing"]
    done = subprocess.run([*command, "--json", str(file)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_a_worker_reads_every_episode_of_a_tenth_and_of_all(ran: tuple[str, dict[str, Any]]) -> None:
    part, whole = ran[1]["part"], ran[1]["run"]
    assert (part["episodes"], whole["episodes"]) == (TINY.episodes // bench_runs.PART, TINY.episodes)
    assert whole["created"] > part["created"] > 0
    assert whole["per_second"] > 0
    assert whole["per_processor_second"] > 0


def test_the_memory_of_the_worker_is_measured(ran: tuple[str, dict[str, Any]]) -> None:
    for one in (ran[1]["part"], ran[1]["run"]):
        assert one["peak_mib"] >= one["peak_before_mib"] > 0


def test_a_quiet_organisation_is_next_however_many_runs_of_a_noisy_one_wait(ran: tuple[str, dict[str, Any]]) -> None:
    fair = ran[1]["fair"]
    assert fair["queued"] == TINY.noisy - 1
    assert fair["turns_before"] <= 1


def test_the_tables_hold_what_was_measured(ran: tuple[str, dict[str, Any]]) -> None:
    printed, summary = ran
    assert f"| {TINY.episodes} episodes |" in printed
    assert f"{summary['run']['per_second']:.1f}" in printed
    assert f"{summary['run']['peak_mib']:.0f}" in printed


def test_the_turns_are_the_same_every_time_and_a_quarter_of_them_tells_something() -> None:
    said = list(runs_load.turns(400))
    assert said == list(runs_load.turns(400))
    telling = [text for _, text in said if text.endswith(".") and any(text.split()[2] == one for one in runs_load.DID)]
    assert len(telling) == 100
    assert len(set(telling)) == 100
