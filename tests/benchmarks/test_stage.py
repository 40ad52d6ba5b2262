"""What the benchmarks stand on: how a run ends, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import stage


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """The environment and the signal as they were before."""
    environment, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    yield
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGTERM, handler)


def test_a_run_prints_its_numbers_and_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "numbers.json"
    assert stage.perform(lambda: {"calls": 3}, lambda summary: f"{summary['calls']} calls", file) == 0
    assert capsys.readouterr().out == "3 calls\n"
    assert json.loads(file.read_text(encoding="utf-8")) == {"calls": 3}


@pytest.mark.parametrize(("error", "code"), [(stage.Wrong("Two, not three."), 1), (stage.Unusable("No disk."), 2)])
def test_what_ends_a_run_is_said_in_one_sentence(
    error: Exception, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure() -> dict[str, Any]:
        raise error

    assert stage.perform(measure, lambda summary: "never", tmp_path / "numbers.json") == code
    assert capsys.readouterr() == ("", f"{error}\n")
    assert not list(tmp_path.iterdir())


def test_a_benchmark_has_the_arguments_that_it_has_a_use_for() -> None:
    every = stage.arguments("All.", ["tiny", "small"], samples="questions", embedder=True).parse_args([])
    assert vars(every) == {"scale": "small", "seed": 7, "samples": None, "embedder": "minilm", "json": None}
    assert vars(stage.arguments("Few.", ["tiny", "small"], seed=None).parse_args(["--scale", "tiny"])) == {
        "scale": "tiny",
        "json": None,
    }


def test_a_database_that_is_named_is_used_and_the_directory_goes() -> None:
    with stage.database("named", url="postgresql:///elsewhere", HEARTWOOD_EMBEDDER="minilm") as directory:
        assert os.environ["DATABASE_URL"] == "postgresql:///elsewhere"
        assert os.environ["HEARTWOOD_DATA"] == str(directory)
        assert os.environ["HEARTWOOD_EMBEDDER"] == "minilm"
        (directory / "left.txt").write_text("something", encoding="utf-8")
    assert not directory.exists()


def test_a_directory_that_is_kept_stays(tmp_path: Path) -> None:
    with stage.database("kept", url="postgresql:///elsewhere", keep=tmp_path / "here") as directory:
        (directory / "left.txt").write_text("something", encoding="utf-8")
    assert (tmp_path / "here" / "left.txt").exists()


def test_the_peak_grows_with_what_is_held() -> None:
    before = stage.peak_mib()
    held = b"x" * int((before + 64) * 1024 * 1024)
    assert stage.peak_mib() >= before + 64
    assert held
