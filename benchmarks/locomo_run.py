"""Putting conversations on a server and asking about them, through the public API alone."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import Any, TypeVar

import httpx
from tqdm import tqdm

from benchmarks.api import Server
from benchmarks.corpus import ADVERSARIAL, Conversation, Question, Turn

Item = TypeVar("Item")
LATE = "query:vectors_awaited"
SETTLED_WITHIN = 600.0


class Unusable(Exception):
    """The run cannot go on; the message is one sentence for the person who started it."""


@dataclass
class Log:
    """What failed, and what was answered with less than was asked for. May be shared by threads."""

    errors: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def failed(self, doing: str, error: Exception) -> None:
        """Count one failure."""
        with self._lock:
            self.errors[f"{doing}: {str(error) or type(error).__name__}"] += 1

    def answered(self, recall: dict[str, Any]) -> None:
        """Count what one recall says about itself."""
        with self._lock:
            self.degraded.update(recall.get("degraded") or [])


@dataclass(frozen=True)
class Asked:
    """One question of one conversation (by number, from 0) and the turns found for it, best first.

    No duration when the request failed. `probability` is the server's of there being an answer.
    """

    question: Question
    ranking: Sequence[str]
    milliseconds: float | None
    conversation: int = 0
    abstained: bool = False
    probability: float | None = None


@dataclass(frozen=True)
class Placed:
    """The memories of some conversations, in their order, and the one above them all."""

    root: str
    memories: Sequence[str]


@dataclass(frozen=True)
class Way:
    """A way to ask: by which profile, for how many results, where, and which questions; `twisted` ones, too, or not."""

    name: str
    profile: str = "default"
    limit: int = 10
    at_root: bool = False
    elsewhere: bool = False
    every: int = 1
    explain: bool = False
    twisted: bool = False


def create(server: Server, **body: str) -> str:
    """Create a memory and return its id."""
    try:
        return str(server.call("POST", "/v1/memories", body)["id"])
    except KeyError as error:
        raise Unusable(f"The server at {server.url} created a memory without saying its id.") from error


def place(server: Server, conversations: Sequence[Conversation], provider: str) -> Placed:
    """Make a memory for each conversation, under one."""
    root = create(server, name="LoCoMo", description="Long conversations, one memory each.", provider=provider)
    return Placed(
        root,
        [
            create(server, name=one.name, description="A conversation.", parent_id=root, provider=provider)
            for one in conversations
        ],
    )


def find(server: Server, conversations: Sequence[Conversation], root: str) -> Placed:
    """The memories that an earlier run left under a memory. Raises Unusable when one is missing."""
    listed = server.call("GET", f"/v1/memories?parent={root}&limit=200")
    named = {one["name"]: one["id"] for one in listed["data"]}
    missing = [one.name for one in conversations if one.name not in named]
    if missing:
        raise Unusable(f"Memory {root} has nothing called {missing[0]} below it.")
    return Placed(root, [named[one.name] for one in conversations])


def write(
    server: Server, conversations: Sequence[Conversation], memories: Sequence[str], workers: int, log: Log
) -> tuple[int, float]:
    """Write every turn as a record, a session's in their order; return how many were taken and the seconds it took."""
    sessions = [
        (memory, conversation.name, list(turns))
        for memory, conversation in zip(memories, conversations, strict=True)
        for _, turns in groupby(conversation.turns, key=lambda turn: turn.session)
    ]

    def write_session(session: tuple[str, str, list[Turn]], bar: tqdm[Any]) -> None:
        memory, name, turns = session
        for turn in turns:
            try:
                server.call("POST", f"/v1/memories/{memory}/records", record(turn, name))
            except httpx.HTTPError as error:
                log.failed("writing", error)
            bar.update()

    turns = sum(len(turns) for *_, turns in sessions)
    started = time.perf_counter()
    spread(sessions, write_session, workers, "writing", "records", turns)
    return turns - log.errors.total(), time.perf_counter() - started


def settle(server: Server, memory: str) -> None:
    """Wait until all that lies there is compared by meaning, as the answers say. Raises Unusable when it never is."""
    until, question = time.monotonic() + SETTLED_WITHIN, {"query": "settled", "limit": 1}
    while LATE in (server.call("POST", f"/v1/memories/{memory}/recall", question).get("degraded") or ()):
        if time.monotonic() > until:
            raise Unusable("The server does not make the vectors of what was written.")
        time.sleep(0.5)


def record(turn: Turn, conversation: str) -> dict[str, Any]:
    """Return the request body that remembers one turn: what was said, by whom, in which conversation, when."""
    return {
        "type": "episode",
        "content": turn.text,
        "attributes": {
            "dia_id": turn.id,
            "speaker": turn.speaker,
            "session_id": f"{conversation}/{turn.session}",
        },
        "time": {"valid_from": turn.said_at.strftime("%Y-%m-%dT%H:%M:%SZ")},
    }


def ask(
    server: Server, conversations: Sequence[Conversation], placed: Placed, way: Way, workers: int, log: Log
) -> list[Asked]:
    """Ask the questions of all conversations in one way. A question that fails has found nothing."""
    questions = [
        (number, question)
        for number, conversation in enumerate(conversations)
        for question in conversation.questions
        if question.evidence and (way.twisted or question.category != ADVERSARIAL)
    ][:: way.every]
    asked: list[Asked] = []

    def ask_one(item: tuple[int, Question], bar: tqdm[Any]) -> None:
        number, question = item
        own = placed.memories[number]
        at, text = own, question.text
        if way.at_root:
            at = placed.root
        elif way.elsewhere:
            at, text = placed.memories[number - 1], without_names(text, conversations[number])
        # The turns themselves are asked for: what a server may have drawn from them meanwhile is another matter.
        body: dict[str, Any] = {"query": text, "types": ["episode"], "limit": way.limit, "x_profile": way.profile}
        started = time.perf_counter()
        try:
            answer = server.call("POST", f"/v1/memories/{at}/recall", {**body, "x_explain": way.explain})
            milliseconds = (time.perf_counter() - started) * 1000
            found = ranking(answer, own, anywhere=at != own)
            log.answered(answer)
        except (httpx.HTTPError, ValueError) as error:
            log.failed("asking", error)
            asked.append(Asked(question, [], None, number))
        else:
            judged = (answer.get("x_explanation") or {}).get("abstain") or {}
            probability = judged.get("probability")
            asked.append(Asked(question, found, milliseconds, number, bool(answer.get("abstain")), probability))
        bar.update()

    spread(questions, ask_one, workers, way.name, "questions", len(questions))
    return asked


def ranking(answer: dict[str, Any], memory: str, *, anywhere: bool = False) -> list[str]:
    """Return the turn ids of a recall, best first. Raises ValueError for another memory's record or another form.

    With `anywhere`, those of other memories come with the id of theirs.
    """
    try:
        found = [(result["memory"]["id"], result["record"]["attributes"]["dia_id"]) for result in answer["results"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"recall answered in another form ({type(error).__name__}: {error})") from error
    if not anywhere and any(place != memory for place, _ in found):
        raise ValueError("recall returned a record of another memory")
    return [turn if place == memory else f"{place}/{turn}" for place, turn in found]


def without_names(question: str, conversation: Conversation) -> str:
    """A question without the names of those who speak, so that nothing gives away whose conversation it is about."""
    names = "|".join(sorted({re.escape(turn.speaker) for turn in conversation.turns}))
    return " ".join(re.sub(rf"\b(?:{names})\b(?:['\u2019]s)?", " ", question).split())


def spread(
    items: Sequence[Item], work: Callable[[Item, tqdm[Any]], None], workers: int, label: str, unit: str, total: int
) -> None:
    """Do something with every item, several at a time, and show how far it is."""
    with tqdm(total=total, desc=label, unit=f" {unit}") as bar, ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, item, bar) for item in items]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
