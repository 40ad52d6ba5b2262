"""Loads long conversations through the public API, asks about them through recall, and measures what comes back.

    python benchmarks/locomo.py --data locomo10.json --url http://127.0.0.1:8000 --key KEY

Without --data it does the same with an invented corpus. Exit code 0: measured without an error; 1: measured, but
some request failed; 2: the server or the data cannot be used.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import httpx
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import locomo_format, metrics, report
from benchmarks.api import Server
from benchmarks.corpus import ADVERSARIAL, CATEGORIES, Conversation, Question, Turn, generate

LIMIT = 20
TINY_TURNS = 60
COLUMNS = ("questions", "recall@5", "recall@10", "recall@20", "MRR", "nDCG@10")
# The published file has so many questions with an answer, and so many of those name evidence that exists.
PUBLISHED_ANSWERABLE, PUBLISHED_WITH_EVIDENCE = 1540, 1536

Item = TypeVar("Item")


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


@dataclass
class Log:
    """What failed, and what was answered with less than was asked for. May be shared by threads."""

    errors: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)
    abstained: int = 0
    _lock: Lock = field(default_factory=Lock)

    def failed(self, doing: str, error: Exception) -> None:
        """Count one failure."""
        with self._lock:
            self.errors[f"{doing}: {str(error) or type(error).__name__}"] += 1

    def answered(self, recall: dict[str, Any]) -> None:
        """Count what one recall says about itself."""
        with self._lock:
            self.degraded.update(recall.get("degraded") or [])
            self.abstained += bool(recall.get("abstain"))


@dataclass(frozen=True)
class Asked:
    """One question and the turns found for it, best first; no duration when the request failed."""

    question: Question
    ranking: Sequence[str]
    milliseconds: float | None


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
    print(describe(summary))
    if options.json:
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return 1 if summary["errors"] else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measures recall through the public API with long conversations.")
    parser.add_argument("--data", type=Path, help="the LoCoMo file; without it the corpus is invented")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the server is (%(default)s)")
    parser.add_argument("--key", required=True, help="an API key whose member may create a memory")
    parser.add_argument("--scale", choices=("tiny", "full"), help="tiny: the first 60 turns of the first conversation")
    parser.add_argument("--workers", type=int, default=4, help="threads that write (%(default)s)")
    parser.add_argument("--ask-workers", type=int, default=1, help="threads that ask (%(default)s)")
    parser.add_argument("--signal", choices=("query", "text"), default="query", help="how to ask (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file too")
    parser.add_argument("--keep", action="store_true", help="leave the memories on the server")
    options = parser.parse_args(arguments)
    if min(options.workers, options.ask_workers) < 1:
        parser.error("at least one worker is needed")
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
    """Write, ask, clean up, and return all numbers. Raises Unusable when the server cannot be used."""
    log = Log()
    try:
        discovery = server.call("GET", "/v1/uhp")
        provider = first_provider(server)
        root = create(server, name="LoCoMo", description="Long conversations, one memory each.", provider=provider)
    except httpx.HTTPError as error:
        raise Unusable(f"The server at {server.url} cannot be used: {_sentence(error)}") from error
    try:
        memories = [
            create(server, name=one.name, description="A conversation.", parent_id=root, provider=provider)
            for one in conversations
        ]
        written, seconds = write(server, conversations, memories, options.workers, log)
        asked = ask(server, conversations, memories, options, log)
    except httpx.HTTPError as error:
        raise Unusable(f"The memories could not be made: {_sentence(error)}") from error
    finally:
        if not options.keep:
            clean_up(server, root, log)
    questions = answerable(conversations)
    durations = [one.milliseconds for one in asked if one.milliseconds is not None]
    return {
        "server": discovery.get("implementation") or {},
        "machine": report.machine(),
        "data": {
            "source": options.data.name if options.data else "invented",
            "scale": options.scale,
            "conversations": len(conversations),
            "turns": sum(len(one.turns) for one in conversations),
            "questions": len(asked),
            "answerable": len(questions),
            "answerable_with_evidence": sum(1 for question in questions if question.evidence),
        },
        "writing": {
            "workers": options.workers,
            "records": written,
            "seconds": seconds,
            "records_per_second": written / seconds,
        },
        "asking": {"workers": options.ask_workers, "signal": options.signal, "limit": LIMIT},
        "quality": judge(asked),
        "latency_ms": {"p50": metrics.percentile(durations, 50), "p95": metrics.percentile(durations, 95)},
        "errors": dict(log.errors),
        "degraded": dict(log.degraded),
        "abstained": log.abstained,
    }


def _sentence(error: Exception) -> str:
    return f"{str(error).rstrip('.') or type(error).__name__}."


def first_provider(server: Server) -> str:
    """Return the id of the provider to use. Raises Unusable when the server names none."""
    try:
        return str(server.call("GET", "/v1/memories/providers")["data"][0]["id"])
    except (KeyError, IndexError, TypeError) as error:
        raise Unusable(f"The server at {server.url} names no memory provider.") from error


def create(server: Server, **body: str) -> str:
    """Create a memory and return its id."""
    try:
        return str(server.call("POST", "/v1/memories", body)["id"])
    except KeyError as error:
        raise Unusable(f"The server at {server.url} created a memory without saying its id.") from error


def clean_up(server: Server, root: str, log: Log) -> None:
    """Delete the parent memory and everything below it."""
    try:
        server.call("DELETE", f"/v1/memories/{root}")
    except httpx.HTTPError as error:
        log.failed(f"cleaning up (memory {root} is left)", error)


def write(
    server: Server, conversations: Sequence[Conversation], memories: Sequence[str], workers: int, log: Log
) -> tuple[int, float]:
    """Write every turn as a record, a session's in their order; return how many were taken and the seconds it took."""
    sessions = [
        (memory, list(turns))
        for memory, conversation in zip(memories, conversations, strict=True)
        for _, turns in groupby(conversation.turns, key=lambda turn: turn.session)
    ]

    def write_session(session: tuple[str, list[Turn]], bar: tqdm[Any]) -> None:
        memory, turns = session
        for turn in turns:
            try:
                server.call("POST", f"/v1/memories/{memory}/records", record(turn))
            except httpx.HTTPError as error:
                log.failed("writing", error)
            bar.update()

    turns = sum(len(turns) for _, turns in sessions)
    started = time.perf_counter()
    _spread(sessions, write_session, workers, "writing", "records", turns)
    return turns - log.errors.total(), time.perf_counter() - started


def record(turn: Turn) -> dict[str, Any]:
    """Return the request body that remembers one turn."""
    return {
        "type": "episode",
        "content": turn.content,
        "attributes": {"dia_id": turn.id, "speaker": turn.speaker, "session": turn.session},
        "time": {"valid_from": turn.said_at.strftime("%Y-%m-%dT%H:%M:%SZ")},
    }


def ask(
    server: Server,
    conversations: Sequence[Conversation],
    memories: Sequence[str],
    options: argparse.Namespace,
    log: Log,
) -> list[Asked]:
    """Ask every question of the memory of its conversation. A question that fails has found nothing."""
    questions = [
        (memory, question)
        for memory, conversation in zip(memories, conversations, strict=True)
        for question in conversation.questions
    ]
    asked: list[Asked] = []

    def ask_one(item: tuple[str, Question], bar: tqdm[Any]) -> None:
        memory, question = item
        body = {options.signal: question.text, "limit": LIMIT}
        started = time.perf_counter()
        try:
            answer = server.call("POST", f"/v1/memories/{memory}/recall", body)
            milliseconds = (time.perf_counter() - started) * 1000
            found = ranking(answer, memory)
            log.answered(answer)
        except (httpx.HTTPError, ValueError) as error:
            log.failed("asking", error)
            asked.append(Asked(question, [], None))
        else:
            asked.append(Asked(question, found, milliseconds))
        bar.update()

    _spread(questions, ask_one, options.ask_workers, "asking", "questions", len(questions))
    return asked


def ranking(answer: dict[str, Any], memory: str) -> list[str]:
    """Return the turn ids of a recall, best first. Raises ValueError for another memory's record or another form."""
    try:
        found = [(result["memory"]["id"], result["record"]["attributes"]["dia_id"]) for result in answer["results"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"recall answered in another form ({type(error).__name__}: {error})") from error
    if any(place != memory for place, _ in found):
        raise ValueError("recall returned a record of another memory")
    return [turn for _, turn in found]


def _spread(
    items: Sequence[Item], work: Callable[[Item, tqdm[Any]], None], workers: int, label: str, unit: str, total: int
) -> None:
    with tqdm(total=total, desc=label, unit=f" {unit}") as bar, ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, item, bar) for item in items]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def judge(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the mean of each measure, over all answerable questions with evidence and for each category."""
    judged = [one for one in asked if one.question.evidence]
    groups = {"all but adversarial": [one for one in judged if one.question.category != ADVERSARIAL]}
    for category, name in CATEGORIES.items():
        groups[name] = [one for one in judged if one.question.category == category]
    return {name: _means(group) for name, group in groups.items() if group}


def _means(group: Sequence[Asked]) -> dict[str, float]:
    pairs = [(one.ranking, one.question.evidence) for one in group]
    return {
        "questions": len(group),
        **{
            f"recall@{k}": metrics.mean([metrics.recall_at(found, gold, k) for found, gold in pairs])
            for k in (5, 10, 20)
        },
        "MRR": metrics.mean([metrics.reciprocal_rank(found, gold) for found, gold in pairs]),
        "nDCG@10": metrics.mean([metrics.ndcg_at(found, gold, 10) for found, gold in pairs]),
    }


def describe(summary: dict[str, Any]) -> str:
    """Return the numbers as text for a terminal or a document."""
    server, machine, data = summary["server"], summary["machine"], summary["data"]
    writing, asking, latency = summary["writing"], summary["asking"], summary["latency_ms"]
    name = f"{server.get('name', 'unnamed server')} {server.get('version', '')}".strip()
    rows = [
        [group, *(str(value) if isinstance(value, int) else f"{value * 100:.1f}" for value in means.values())]
        for group, means in summary["quality"].items()
    ]
    lines = [
        f"{name}; {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, {machine['date']}",
        f"{data['source']} ({data['scale']}): {data['conversations']} conversations, {data['turns']} turns, "
        f"{data['questions']} questions; {data['answerable_with_evidence']} of {data['answerable']} answerable ones "
        "have evidence",
        f"written: {writing['records_per_second']:.0f} records/s with {writing['workers']} workers "
        f"({writing['seconds']:.1f} s)",
        f"recall by {asking['signal']}: p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms with "
        f"{asking['workers']} at a time, limit {asking['limit']}",
        f"abstained: {summary['abstained']}; degraded: {_counts(summary['degraded'])}; "
        f"errors: {_counts(summary['errors'])}",
        "",
        report.table(["per cent", *COLUMNS], rows),
    ]
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{what} ({count})" for what, count in counts.items()) or "none"


if __name__ == "__main__":
    sys.exit(main())
