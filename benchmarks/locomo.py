"""Loads long conversations through the public API, asks about them through recall, and measures what comes back.

    python -m benchmarks.locomo --data locomo10.json --url http://127.0.0.1:8000 --key KEY

Without --data it does the same with an invented corpus. In one run: the server as it is, its single signals, ranks
fused, BM25 and the bare model (both computed here), and what it says when there is no answer. Exit code 0: measured
without an error; 1: measured, but some request failed; 2: the server or the data cannot be used.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import baselines, locomo_format, metrics, planted, report
from benchmarks import locomo_report as figures
from benchmarks.api import Server
from benchmarks.corpus import ADVERSARIAL, Conversation, Question, generate
from benchmarks.locomo_report import AT_PARENT, BARE, BM25, ELSEWHERE, MODEL, OURS, RANKS, SESSIONS, WORDS
from benchmarks.locomo_run import Asked, Log, Unusable, Way, ask, find, place, settle, write

TINY_TURNS = 60
# The published file has so many questions with an answer, and so many of those name evidence that exists.
PUBLISHED_ANSWERABLE, PUBLISHED_WITH_EVIDENCE = 1540, 1536

WAYS = (
    Way(OURS, explain=True, twisted=True),
    Way(WORDS, "words"),
    Way(MODEL, "meaning"),
    Way(RANKS, "rank_fusion"),
    Way(AT_PARENT, at_root=True),
    Way(SESSIONS, limit=50, twisted=True),
    Way(ELSEWHERE, elsewhere=True, explain=True),
)
# What is left out to see what it is worth.
PARTS = ("vectors", "context", "words", "fields", "names", "neighbours")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    options = parse(arguments)
    # A run that is stopped still removes what it put on the server.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        conversations = choose(options.data, options.scale)
        with Server(options.url, options.key) as server:
            summary = measure(server, conversations, options)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(summary["text"])
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 1 if summary["errors"] else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measures recall through the public API with long conversations.")
    parser.add_argument("--data", type=Path, help="the LoCoMo file; without it the corpus is invented")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the server is (%(default)s)")
    parser.add_argument("--key", required=True, help="an API key whose member may create a memory")
    parser.add_argument("--reader-key", help="the key of another member, who is granted part of the planted tree")
    parser.add_argument("--scale", choices=("tiny", "full"), help="tiny: the first 60 turns of the first conversation")
    parser.add_argument("--workers", type=int, default=4, help="threads that write (%(default)s)")
    parser.add_argument("--ask-workers", type=int, default=1, help="threads that ask (%(default)s)")
    parser.add_argument("--parts", type=int, default=0, metavar="N", help="leave each part out for every Nth question")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="ask every Nth question only (%(default)s)")
    parser.add_argument("--root", metavar="ID", help="ask in what a run with --keep left below this memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    parser.add_argument("--keep", action="store_true", help="leave the memories on the server")
    options = parser.parse_args(arguments)
    if min(options.workers, options.ask_workers, options.every) < 1:
        parser.error("at least one worker is needed, and every question or every second or so")
    options.scale = options.scale or ("full" if options.data else "tiny")
    return options


def choose(data: Path | None, scale: str) -> list[Conversation]:
    """Return the conversations to measure with. Raises Unusable when the file is not what it should be."""
    if data is None:
        conversations = generate() if scale == "tiny" else generate(conversations=10, sessions=12, turns=25)
    else:
        try:
            conversations = locomo_format.load(data)
        except (OSError, ValueError) as error:
            raise Unusable(f"The data cannot be read: {error}") from error
        counts = len(answerable(conversations)), len([q for q in answerable(conversations) if q.evidence])
        if counts[0] == PUBLISHED_ANSWERABLE and counts[1] != PUBLISHED_WITH_EVIDENCE:
            raise Unusable(f"{counts[1]} answerable questions have evidence; {PUBLISHED_WITH_EVIDENCE} should.")
    return [conversations[0].beginning(TINY_TURNS)] if scale == "tiny" else conversations


def answerable(conversations: Sequence[Conversation]) -> list[Question]:
    """Return the questions that have an answer, whether or not their evidence is known."""
    return [asked for one in conversations for asked in one.questions if asked.category != ADVERSARIAL]


def measure(server: Server, conversations: Sequence[Conversation], options: argparse.Namespace) -> dict[str, Any]:
    """Write, ask in every way, clean up, and return all numbers. Raises Unusable when the server cannot be used."""
    log, root = Log(), options.root
    try:
        discovery = server.call("GET", "/v1/uhp")
        provider = first_provider(server)
        placed = find(server, conversations, root) if root else place(server, conversations, provider)
    except httpx.HTTPError as error:
        raise Unusable(f"The server at {server.url} cannot be used: {_sentence(error)}") from error
    try:
        written, seconds = (0, 0.0) if root else write(server, conversations, placed.memories, options.workers, log)
        settle(server, placed.root)
        runs: dict[str, list[Asked]] = {}
        for way in WAYS:
            if way.elsewhere and len(conversations) < 2:
                runs[way.name] = []
                continue
            each = Way(**{**vars(way), "every": options.every})
            runs[way.name] = ask(server, conversations, placed, each, options.ask_workers, log)
        parts = _parts(server, conversations, placed, options, log)
        seeded = planted.measure(server, provider, options.reader_key, log, tiny=options.scale == "tiny")
    except httpx.HTTPError as error:
        raise Unusable(f"The memories could not be made: {_sentence(error)}") from error
    finally:
        if not options.keep and not root:
            clean_up(server, placed.root, log)
    runs[BM25] = _some(figures.local(conversations, baselines.bm25), options.every)
    runs[BARE] = _some(figures.local(conversations, _bare()), options.every)
    return summarise(discovery, conversations, options, (written, seconds), runs, parts, seeded, log)


def summarise(
    discovery: dict[str, Any],
    conversations: Sequence[Conversation],
    options: argparse.Namespace,
    writing: tuple[int, float],
    runs: dict[str, list[Asked]],
    parts: dict[str, tuple[float, float]],
    seeded: dict[str, float],
    log: Log,
) -> dict[str, Any]:
    """All numbers of a run, and the text that says them."""
    durations = [one.milliseconds for one in runs[OURS] if one.milliseconds is not None]
    goals = figures.goals(runs, parts)
    machine = report.machine()
    server = discovery.get("implementation") or {}
    asked = answerable(conversations)
    known = figures.abstention(runs[OURS], runs[ELSEWHERE])
    written, seconds = writing
    lines = [
        f"{server.get('name', 'unnamed server')} {server.get('version', '')}; {machine['cpu']}, {machine['cores']} "
        f"cores, Python {machine['python']}, {machine['date']}",
        f"{options.data.name if options.data else 'invented'} ({options.scale}): {len(conversations)} conversations, "
        f"{sum(len(one.turns) for one in conversations)} turns, {sum(len(one.questions) for one in conversations)} "
        f"questions; {sum(1 for one in asked if one.evidence)} of {len(asked)} answerable ones have evidence"
        + (f"; every {options.every}th asked" if options.every > 1 else ""),
        *([f"written: {written / seconds:.0f} records/s with {options.workers} workers"] if seconds else []),
        f"recall: p50 {metrics.percentile(durations, 50):.1f} ms, p95 {metrics.percentile(durations, 95):.1f} ms with "
        f"{options.ask_workers} at a time; degraded: {_counts(log.degraded)}; errors: {_counts(log.errors)}",
        f"abstains, as shipped: {known['declined']:.1%} of the answerable questions ({known['declined_held_out']:.1%} "
        f"of the held-out half), {known['caught']:.1%} ({known['caught_held_out']:.1%}) of those asked where the "
        f"answer is not; AUROC {known['auroc']:.3f} ({known['auroc_held_out']:.3f})",
        "",
        figures.ways_table(runs),
        "",
        figures.goals_table(goals),
        "",
        "planted facts: " + "; ".join(f"{name} {value:g}" for name, value in seeded.items()),
    ]
    return {
        "server": server,
        "machine": machine,
        "quality": {name: figures.judge(some) for name, some in runs.items()},
        "goals": [{"id": one.id, "what": one.what, "measured": one.measured, "met": one.met} for one in goals],
        "abstention": known,
        "planted": seeded,
        "errors": dict(log.errors),
        "degraded": dict(log.degraded),
        "text": "\n".join(lines),
    }


def first_provider(server: Server) -> str:
    """Return the id of the provider to use. Raises Unusable when the server names none."""
    try:
        return str(server.call("GET", "/v1/memories/providers")["data"][0]["id"])
    except (KeyError, IndexError, TypeError) as error:
        raise Unusable(f"The server at {server.url} names no memory provider.") from error


def clean_up(server: Server, root: str, log: Log) -> None:
    """Delete the parent memory and everything below it."""
    try:
        server.call("DELETE", f"/v1/memories/{root}")
    except httpx.HTTPError as error:
        log.failed(f"cleaning up (memory {root} is left)", error)


def _parts(
    server: Server, conversations: Sequence[Conversation], placed: Any, options: argparse.Namespace, log: Log
) -> dict[str, tuple[float, float]]:
    # Recall with everything and without each part, over the same questions.
    if not options.parts:
        return {}

    def of(name: str, profile: str) -> float:
        way = Way(name, profile, every=options.parts)
        asked = ask(server, conversations, placed, way, options.ask_workers, log)
        return metrics.mean(figures.recalls(figures.answerable(asked)))

    whole = of("with everything", "default")
    return {part: (whole, of(f"without {part}", f"without_{part}")) for part in PARTS}


def _some(asked: list[Asked], every: int) -> list[Asked]:
    return [one for one in asked if one.question.category != ADVERSARIAL][::every]


def _bare() -> Any:
    # Loaded only here: the model, and the settings that nothing else of a benchmark needs.
    from memories.embedders.minilm import MiniLmEmbedder

    embedder = MiniLmEmbedder()
    return lambda conversation: baselines.bare(conversation, embedder)


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.') or type(error).__name__}."


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in counts.items()) or "none"


if __name__ == "__main__":
    sys.exit(main())
