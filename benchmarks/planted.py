"""Facts planted in a tree of memories, among updates and look-alikes, and questions about them; all by one seed.

Of each subject some facts are stated, some of those revised, and some never told; every subject has a sibling of
which the same is told in the same words. A reader who is granted part of the tree must find there what an owner finds,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

from benchmarks import metrics
from benchmarks.api import Server
from benchmarks.locomo_run import Log

SUBJECTS = (
    *("Quillon Freight", "Vellacourt Bakery", "Tarn Optics", "Osprey Mills", "Brackwater Ferries", "Halden Paper"),
    *("Merrow Shipyard", "Castell Breweries", "Ivory Lane Dental", "Northgate Print", "Sable Foundry", "Wren Textiles"),
)
# What is said of a subject, what is asked about it, what it is when it changes.
TOLD = (
    ("The contract with {name} renews in {value}.", "When does the contract with {name} renew?", ("March", "October")),
    ("{name} pays by {value}.", "How does {name} settle its invoices?", ("bank transfer", "direct debit")),
    ("Deliveries to {name} go to the {value} gate.", "Which gate do we deliver to at {name}?", ("north", "harbour")),
    ("Our contact at {name} is {value}.", "Whom do we talk to at {name}?", ("Petra Lind", "Omar Haddad")),
    ("{name} wants its reports every {value}.", "How often does {name} want reports?", ("Monday", "fortnight")),
    ("The discount for {name} is {value} per cent.", "What discount was {name} given?", ("seven", "twelve")),
    ("{name} complained about {value} last winter.", "What did {name} complain about?", ("late trucks", "damp boxes")),
    (
        "The alarm code at {name} is kept by {value}.",
        "Who keeps the alarm code of {name}?",
        ("the porter", "the shift lead"),
    ),
)
NEVER = (
    "Which football club does {name} sponsor?",
    "What is the name of the cat that lives at {name}?",
    "How many violins does {name} own?",
)
LIMIT = 5
TINY = 2


@dataclass(frozen=True)
class Planted:
    """A question of a subject, by its number, and the words that answer it; None when nothing does."""

    subject: int
    question: str
    answer: str | None
    outdated: str | None = None


@dataclass(frozen=True)
class Fact:
    """What is told of a subject, and what it becomes when it is revised."""

    subject: int
    text: str
    revised: str | None


def grow(seed: int = 7, subjects: int = len(SUBJECTS)) -> tuple[list[Fact], list[Planted]]:
    """The facts about so many subjects in the order they are told, and the questions; one seed, one result."""
    random = Random(seed)
    facts: list[Fact] = []
    questions: list[Planted] = []
    for number, name in enumerate(SUBJECTS[:subjects]):
        told = random.sample(range(len(TOLD)), len(TOLD) - 2)
        for kind in told:
            statement, asked, values = TOLD[kind]
            first, second = random.sample(values, 2)
            revised = statement.format(name=name, value=second) if random.random() < 0.3 else None
            text = statement.format(name=name, value=first)
            facts.append(Fact(number, text, revised))
            questions.append(Planted(number, asked.format(name=name), revised or text, text if revised else None))
        questions += [Planted(number, asked.format(name=name), None) for asked in NEVER]
    random.shuffle(facts)
    return facts, questions


def measure(server: Server, provider: str, reader_key: str | None, log: Log, *, tiny: bool = False) -> dict[str, float]:
    """Plant, ask from the top, and as a reader who is granted every other memory; then remove it all.

    Shares from 0 to 1; `seen that may not be` is a number and must be 0.
    """
    subjects = TINY if tiny else len(SUBJECTS)
    facts, questions = grow(subjects=subjects)
    root = server.call("POST", "/v1/memories", {"name": "Planted", "provider": provider})["id"]
    try:
        places = [
            server.call("POST", "/v1/memories", {"name": name, "parent_id": root, "provider": provider})["id"]
            for name in SUBJECTS[:subjects]
        ]
        for fact in facts:
            _plant(server, places[fact.subject], fact)
        told = [_answers(server, root, one, log) for one in questions]
        found = _figures(questions, told)
        if reader_key:
            with Server(server.url, reader_key) as reader:
                found |= _as_reader(server, reader, places, questions, log)
        return found
    finally:
        server.call("DELETE", f"/v1/memories/{root}")


def _plant(server: Server, memory: str, fact: Fact) -> None:
    made = server.call("POST", f"/v1/memories/{memory}/records", {"type": "fact", "content": fact.text})
    if fact.revised:
        server.call("PATCH", f"/v1/memories/{memory}/records/{made['id']}", {"content": fact.revised})


@dataclass(frozen=True)
class _Answer:
    texts: Sequence[str]
    memories: Sequence[str]
    abstained: bool


def _answers(server: Server, memory: str, one: Planted, log: Log) -> _Answer:
    try:
        answer = server.call("POST", f"/v1/memories/{memory}/recall", {"query": one.question, "limit": LIMIT})
    except httpx.HTTPError as error:
        log.failed("asking what was planted", error)
        return _Answer([], [], abstained=False)
    results: list[dict[str, Any]] = answer["results"]
    texts = [result["record"]["content"][0]["text"] for result in results]
    return _Answer(texts, [result["memory"]["id"] for result in results], bool(answer["abstain"]))


def _figures(questions: Sequence[Planted], told: Sequence[_Answer]) -> dict[str, float]:
    pairs = list(zip(questions, told, strict=True))
    known = [(one, answer) for one, answer in pairs if one.answer]
    return {
        "found first": metrics.mean([float(answer.texts[:1] == [one.answer]) for one, answer in known]),
        "found in five": metrics.mean([float(one.answer in answer.texts) for one, answer in known]),
        "outdated shown": float(sum(one.outdated in answer.texts for one, answer in known if one.outdated)),
        "declined though told": metrics.mean([float(answer.abstained) for _, answer in known]),
        "declined when never told": metrics.mean([float(answer.abstained) for one, answer in pairs if not one.answer]),
    }


def _as_reader(
    server: Server, reader: Server, places: Sequence[str], questions: Sequence[Planted], log: Log
) -> dict[str, float]:
    own = reader.call("POST", "/v1/memories", {"name": "Of the reader"})["id"]
    try:
        writer = reader.call("POST", f"/v1/memories/{own}/records", {"content": "Hello."})["written_by"]
        principal = f"{writer['kind']}:{writer['id']}"
        granted = places[::2]
        for memory in granted:
            server.call("POST", f"/v1/memories/{memory}/grants", {"principal": principal, "privileges": ["read"]})
        hits, strays = [], 0
        for one in questions:
            if places[one.subject] not in granted:
                continue
            answer = _answers(reader, places[one.subject], one, log)
            strays += sum(memory not in granted for memory in answer.memories)
            if one.answer:
                hits.append(float(one.answer in answer.texts))
        return {"found by the reader": metrics.mean(hits), "seen that may not be": float(strays)}
    finally:
        reader.call("DELETE", f"/v1/memories/{own}")
