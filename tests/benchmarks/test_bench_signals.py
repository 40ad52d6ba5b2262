"""The benchmark of signals: it prints every kind with precision and recall, and what looking costs."""

from __future__ import annotations

import pytest

from benchmarks import bench_signals
from benchmarks.signal_corpus import KINDS, Example, examples


def test_it_prints_precision_and_recall_of_every_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_signals, "cost", lambda text, size: 1.0)
    assert bench_signals.main(["--seeds", "1"]) == 0
    printed = capsys.readouterr().out
    assert all(kind in printed for kind in KINDS)
    assert "microseconds" in printed


def test_a_score_counts_what_was_told_wrongly() -> None:
    shown = [
        Example("secret", "The password is Kirsche19!", True),
        Example("secret", "The password is Kirsche19!", False),
        Example("secret", "Tea at four.", True),
    ]
    told = bench_signals.score(shown)
    assert (told.hits, told.true, told.wrong, told.false) == (1, 2, 1, 1)
    assert (told.precision, told.recall) == (0.5, 0.5)


def test_the_same_seed_fills_the_blanks_alike_and_another_one_otherwise() -> None:
    assert examples("personal", 1) == examples("personal", 1)
    assert examples("personal", 1) != examples("personal", 2)


def test_looking_costs_time() -> None:
    assert bench_signals.cost("Tea at four. ", 1024) > 0
