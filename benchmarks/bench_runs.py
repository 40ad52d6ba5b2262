"""Measures consolidation runs: episodes per second, memory used, and how long one organisation waits for another's.

    python -m benchmarks.bench_runs --scale small

It runs on an embedded Postgres of its own, as durable as a server's, which is thrown away afterwards. One worker takes
turns in this process; the default engine and, unless told otherwise, the bundled embedder do the work. Exit code 0:
measured; 1: an answer was not what it had to be; 2: the database cannot be run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks import report
from benchmarks.bench_records import Unusable, Wrong, database, peak_mib
from benchmarks.corpus import generate

TOGETHER = 200
NOTES = (
    "One worker in this process, nobody else. Episodes are invented conversations; the run is one run of one memory,",
    "from its first episode to its last, embedding included. The peak is that of this process, the loaded application",
    "and its embedder included. Turns are counted from the moment the quiet organisation starts its run.",
)


@dataclass(frozen=True)
class Scale:
    """How many episodes the long run reads, how many runs a noisy organisation queues, and what each of those reads."""

    episodes: int
    noisy: int
    each: int


SCALES = {"tiny": Scale(200, 10, 5), "small": Scale(5_000, 200, 20), "full": Scale(100_000, 200, 200)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    parser = argparse.ArgumentParser(description="Measures consolidation runs and how fairly turns are given out.")
    parser.add_argument("--scale", choices=tuple(SCALES), default="small", help="(%(default)s)")
    parser.add_argument("--embedder", choices=("minilm", "hashing"), default="minilm", help="(%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with database():
            # Nobody listens to messages: turns are taken here, one after the other.
            os.environ |= {"HEARTWOOD_EMBEDDER": options.embedder, "CELERY_BROKER_URL": "memory://"}
            summary = run(options.scale, options.embedder)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except Wrong as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(describe(summary))
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 0


def run(scale: str, embedder: str) -> dict[str, Any]:
    """Migrate, observe and consolidate; return all numbers. Raises Wrong."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    size = SCALES[scale]
    return {
        "scale": scale,
        "embedder": embedder,
        "machine": report.machine(),
        "run": throughput(size),
        "fair": fairness(size),
    }


def throughput(size: Scale) -> dict[str, Any]:
    """One run over many episodes."""
    from memories.services import fairness as turns
    from memories.tasks import KINDS

    place, said = planted("Long", size.episodes)
    begun = started(place)
    before, began = peak_mib(), time.perf_counter()
    with tqdm(desc="turns", disable=None) as bar:
        while turns.take_turn(KINDS):
            bar.update()
    seconds = time.perf_counter() - began
    begun.refresh_from_db()
    if (begun.state, begun.episodes) != ("completed", said):
        raise Wrong(f"The run is {begun.state} after {begun.episodes} of {said} episodes.")
    return {
        "episodes": said,
        "seconds": seconds,
        "per_second": said / seconds,
        "created": begun.created,
        "superseded": begun.superseded,
        "supported": begun.supported,
        "conflicts": begun.conflicts,
        "peak_before_mib": before,
        "peak_mib": peak_mib(),
    }


def fairness(size: Scale) -> dict[str, Any]:
    """How many turns, and how long, a quiet organisation waits behind a noisy one."""
    from memories.services import fairness as turns
    from memories.tasks import KINDS

    noisy = [planted(f"Noisy {number}", size.each, "Noisy")[0] for number in range(size.noisy)]
    quiet, _ = planted("Quiet", size.each, "Quiet")
    for place in noisy:
        started(place)
    turns.take_turn(KINDS)
    begun = started(quiet)
    began, waited = time.perf_counter(), 0
    while (chosen := turns.take_turn(KINDS)) != begun.job_id:
        if chosen is None:
            raise Wrong("The run of the quiet organisation was never taken.")
        waited += 1
    seconds = time.perf_counter() - began
    return {"queued": size.noisy - 1, "turns_before": waited, "seconds_to_end": seconds}


_known: dict[str, Any] = {}


def planted(name: str, episodes: int, organisation: str = "Long") -> tuple[Any, int]:
    """A memory with so many episodes, in an organisation that is founded when it is not there."""
    from members import services as members
    from members.callers import caller_for
    from memories.content import Draft
    from memories.services import observing, tree
    from memories.services.sight import look

    if organisation not in _known:
        founded = members.found_organisation(organisation)
        _known[organisation] = members.join(founded, name="Owner", type="human", is_owner=True)
    caller = caller_for(_known[organisation])
    place = look(caller, tree.create(caller, name=name).id)
    said = [turn for one in generate(conversations=10, sessions=20, turns=25) for turn in one.turns]
    drafts = [
        Draft("episode", content=({"type": "text", "text": turn.text},), attributes={"speaker": turn.speaker})
        for turn in (said[number % len(said)] for number in range(episodes))
    ]
    for start in range(0, episodes, TOGETHER):
        observing.observe(place, drafts[start : start + TOGETHER])
    return place, episodes


def started(place: Any) -> Any:
    """A run of a memory; the turn that it is given is taken here, not by a worker."""
    from memories.services import runs

    return runs.start(place)


def describe(summary: dict[str, Any]) -> str:
    """Return what is printed."""
    run, fair = summary["run"], summary["fair"]
    rows = [
        ("Episodes read", f"{run['episodes']:,}"),
        ("Episodes per second", f"{run['per_second']:.1f}"),
        ("Records created", f"{run['created']:,}"),
        ("Superseded, supported, conflicts", f"{run['superseded']:,}, {run['supported']:,}, {run['conflicts']:,}"),
        ("Peak memory before and after, MiB", f"{run['peak_before_mib']:.0f}, {run['peak_mib']:.0f}"),
        ("Runs of another organisation that wait", f"{fair['queued']:,}"),
        ("Turns before the first run of a quiet one", f"{fair['turns_before']}"),
        ("Seconds until that run has ended", f"{fair['seconds_to_end']:.2f}"),
    ]
    machine = ", ".join(f"{key} {value}" for key, value in summary["machine"].items())
    lines = [f"Scale {summary['scale']}, embedder {summary['embedder']}; {machine}", ""]
    return "\n".join([*lines, report.table(("", "Measured"), rows), "", *NOTES])


if __name__ == "__main__":
    sys.exit(main())
