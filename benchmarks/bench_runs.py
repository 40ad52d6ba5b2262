"""Measures consolidation runs: episodes per second, memory used, and how long one organisation waits for another's.

    python -m benchmarks.bench_runs --scale small

It runs on an embedded Postgres of its own, as durable as a server's, which is thrown away afterwards. A worker of its
own does the long runs; the default engine and, unless told otherwise, the bundled embedder do the work. Exit code 0:
measured; 1: an answer was not what it had to be; 2: the database cannot be run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import report, runs_load, stage
from benchmarks.stage import Wrong

TOGETHER = 200
PART = 10
NOTES = (
    "Every run is one of one memory, from its first episode to its last, embedding included, in a worker process of",
    "its own that does nothing else. A quarter of the invented turns says something worth keeping, each something",
    "else, so the records to compare with grow with the episodes. Episodes are loaded in bulk, with stand-ins for",
    "their vectors, which no run reads. Memory is that of the worker, the application and its embedder included;",
    "processor time is that of all its threads. Turns are counted from the moment the quiet organisation starts.",
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
    parser = stage.arguments(
        "Measures consolidation runs and how fairly turns are given out.", SCALES, seed=None, embedder=True
    )
    options = parser.parse_args(arguments)

    def measure() -> dict[str, Any]:
        # Nobody listens to messages: turns are taken here, one after the other.
        with stage.database("runs", HEARTWOOD_EMBEDDER=options.embedder, CELERY_BROKER_URL="memory://"):
            return run(options.scale, options.embedder)

    return stage.perform(measure, describe, options.json)


def run(scale: str, embedder: str) -> dict[str, Any]:
    """Migrate, observe and consolidate; return all numbers. Raises Wrong."""
    stage.migrate()
    size = SCALES[scale]
    return {
        "scale": scale,
        "embedder": embedder,
        "machine": report.machine(),
        "part": throughput(size.episodes // PART),
        "run": throughput(size.episodes),
        "fair": fairness(size),
    }


def throughput(episodes: int) -> dict[str, Any]:
    """One run over many episodes, done by a worker that is started for it."""
    place = founded(f"Long {episodes}", f"Long {episodes}")
    runs_load.load(place.memory.id, episodes)
    figures = runs_load.worked(started(place).id, episodes)
    said = f"{episodes:,} episodes: {figures['per_second']:.1f} a second, {figures['peak_mib']:.0f} MiB at most"
    print(said, file=sys.stderr)
    return figures


def fairness(size: Scale) -> dict[str, Any]:
    """How many turns, and how long, a quiet organisation waits behind a noisy one."""
    from memories.services import fairness as turns
    from memories.tasks import KINDS

    noisy = [planted(f"Noisy {number}", size.each, "Noisy") for number in range(size.noisy)]
    quiet = planted("Quiet", size.each, "Quiet")
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


def founded(name: str, organisation: str) -> Any:
    """A new memory, in an organisation that is founded when it is not there."""
    from members import services as members
    from members.callers import caller_for
    from memories.services import tree
    from memories.services.sight import look

    if organisation not in _known:
        there = members.found_organisation(organisation)
        _known[organisation] = members.join(there, name="Owner", type="human", is_owner=True)
    caller = caller_for(_known[organisation])
    return look(caller, tree.create(caller, name=name).id)


def planted(name: str, episodes: int, organisation: str) -> Any:
    """A memory in which so many episodes were observed."""
    from memories.content import Draft
    from memories.services import observing, reembed

    place = founded(name, organisation)
    drafts = [
        Draft("episode", content=({"type": "text", "text": text},), attributes={"speaker": speaker})
        for speaker, text in runs_load.turns(episodes)
    ]
    for start in range(0, episodes, TOGETHER):
        observing.observe(place, drafts[start : start + TOGETHER])
        # As a worker does meanwhile.
        reembed.sweep()
    return place


def started(place: Any) -> Any:
    """A run of a memory; the turn that it is given is taken here, not by a worker."""
    from memories.services import runs

    return runs.start(place)


def describe(summary: dict[str, Any]) -> str:
    """Return what is printed."""
    part, run, fair = summary["part"], summary["run"], summary["fair"]
    both, kinds = (part, run), ("created", "superseded", "supported")
    rows = [
        ("Episodes per second", *(f"{one['per_second']:.1f}" for one in both)),
        ("Episodes per second of processor time", *(f"{one['per_processor_second']:.1f}" for one in both)),
        *((f"Records {name}", *(f"{one[name]:,}" for one in both)) for name in kinds),
        ("Conflicts", *(f"{one['conflicts']:,}" for one in both)),
        ("Memory of the worker before it begins, MiB", *(f"{one['peak_before_mib']:.0f}" for one in both)),
        ("Its peak, MiB", *(f"{one['peak_mib']:.0f}" for one in both)),
    ]
    turns = [
        ("Runs of another organisation that wait", f"{fair['queued']:,}"),
        ("Turns before the first run of a quiet one", f"{fair['turns_before']}"),
        ("Seconds until that run has ended", f"{fair['seconds_to_end']:.2f}"),
    ]
    head = ("One run", *(f"{one['episodes']:,} episodes" for one in both))
    lines = [f"Scale {summary['scale']}, embedder {summary['embedder']}; {report.on(summary['machine'])}", ""]
    tables = [report.table(head, rows), "", report.table(("Taking turns", "Measured"), turns)]
    return "\n".join([*lines, *tables, "", *NOTES])


if __name__ == "__main__":
    sys.exit(main())
