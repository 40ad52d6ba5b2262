"""Asks the same questions of every method, first to compare the answers, then to time them side by side."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from django.db import connection, transaction
from tqdm import tqdm

from benchmarks import metrics
from benchmarks.access_corpus import Corpus
from benchmarks.access_cte import RecursiveQueries, RecursiveQueriesFromHeld
from benchmarks.access_guardian import Libraries
from benchmarks.access_load import number_of, public
from benchmarks.access_methods import Asking, Audience, Method
from benchmarks.access_product import Product
from benchmarks.stage import Wrong
from members.callers import caller_for
from members.models import Member

WRITES = 5
REPEATS = 20
PAGE = 50
# How many decisions inside the branch are compared after it was closed or moved.
CHECKED = 40
SHOWN = 200


class Disagreement(Wrong):
    """Two methods answered the same question differently; no time is worth anything then."""


class RolledBack(Exception):
    """Ends a transaction whose changes are not wanted."""


@dataclass
class Stopwatch:
    """What was sent to the database while it was held, and how long the answers took, in seconds."""

    seconds: float = 0.0
    queries: int = 0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            self.seconds += time.perf_counter() - started
            self.queries += 1


@dataclass
class Times:
    """Milliseconds of every call of one method, the part spent in the database, and the queries it made."""

    whole: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    queries: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, float | int]:
        """The figures that are published."""
        return {
            "p50_ms": round(metrics.percentile(self.whole, 50), 3),
            "p95_ms": round(metrics.percentile(self.whole, 95), 3),
            "database_p50_ms": round(metrics.percentile(self.database, 50), 3),
            "database_p95_ms": round(metrics.percentile(self.database, 95), 3),
            "queries_min": min(self.queries),
            "queries_max": max(self.queries),
        }


@dataclass(frozen=True)
class Question:
    """One row of the table: what is asked, of whom, and how the answers are made comparable.

    What is in `also` is asked and compared, and not timed.
    """

    name: str
    ask: Callable[..., Any]
    samples: Sequence[tuple[Any, ...]]
    comparable: Callable[[Any], Any]
    size: Callable[[Any], int] = len
    rivals: Sequence[Method] = ()
    writes: bool = False
    also: Sequence[tuple[Any, ...]] = ()


def everybody(corpus: Corpus, numbers: Sequence[int]) -> list[Asking]:
    """Resolve members as callers, as at the start of a request."""
    members = Member.objects.in_bulk([public("mbr", number) for number in numbers])
    return [_asking(corpus, number, members[public("mbr", number)]) for number in numbers]


def _asking(corpus: Corpus, number: int, member: Member) -> Asking:
    groups = corpus.members.groups_of[corpus.members.organisation[number]]
    inside = [group + 1 for group in groups if number in corpus.members.groups[group]]
    everyone = len(corpus.members.groups) + corpus.members.organisation[number] + 1
    return Asking(number, caller_for(member), number + 1, (*inside, everyone))


def questions(corpus: Corpus, seed: int) -> list[Question]:
    """The rows of the table, in its order."""
    random = Random(seed)
    cte, libraries = RecursiveQueries(), Libraries()
    pair: tuple[Method, ...] = (cte, libraries)
    reading: tuple[Method, ...] = (cte, RecursiveQueriesFromHeld(), libraries)
    people = [
        number
        for number, agent in enumerate(corpus.members.is_agent)
        if not agent and number not in {of[place] for of in corpus.members.of for place in (0, 1)}
    ]
    of_largest = [number for number in people if corpus.members.organisation[number] == 0]
    count = corpus.scale.samples
    callers = everybody(corpus, random.sample(people, min(count, len(people))))
    largest = everybody(corpus, random.sample(of_largest, min(count, len(of_largest))))
    reader, founder = everybody(corpus, [corpus.reader, corpus.founder])

    def decision(method: Method, asking: Asking, memory: int) -> Any:
        return method.decide(asking, memory)

    def entering(method: Method, asking: Asking) -> Any:
        return method.entry_points(asking)

    def readable(method: Method, asking: Asking, memory: int) -> Any:
        return method.readable(asking, memory)

    def reaching(method: Method, asking: Asking, limit: int) -> Any:
        return method.audience(asking, corpus.crowded, limit)

    def closing(method: Method, asking: Asking) -> Any:
        method.restrict(asking, corpus.branch)
        return method

    def moving(method: Method, asking: Asking) -> Any:
        method.move(asking, corpus.branch, corpus.target)
        return method

    below = corpus.subtree(corpus.branch)
    checked = [(random.choice([*largest, reader]), random.choice(below)) for _ in range(CHECKED)]

    def decisions_now(method: Method) -> list[int]:
        return [method.decide(asking, memory) for asking, memory in checked]

    branch = f"{corpus.scale.branch:,}"
    any_caller = [(one, corpus.branch) for one in largest]
    wide = [(reader, corpus.branch)] * REPEATS
    crowd = f"who reaches a memory and why, {PAGE} of {corpus.scale.audience:,}"
    writing = [(founder,)] * WRITES
    return [
        Question("one decision", decision, list(_pairs(corpus, callers, random)), int, bool, pair),
        Question("entry points of a caller", entering, [(one,) for one in callers], _numbers, len, pair),
        Question(f"readable below a branch of {branch}, any caller", readable, any_caller, _numbers, len, reading),
        Question(f"readable below a branch of {branch}, wide reader", readable, wide, _numbers, len, reading),
        Question(
            crowd,
            reaching,
            [(founder, PAGE)] * REPEATS,
            _members,
            lambda answer: int(answer.total),
            pair,
            also=[(founder, corpus.scale.members)],
        ),
        Question(f"close a branch of {branch}", closing, writing, decisions_now, _none, pair, writes=True),
        Question(f"move a branch of {branch}", moving, writing, decisions_now, _none, pair, writes=True),
    ]


def measure(corpus: Corpus, seed: int = 7) -> list[dict[str, Any]]:
    """Compare and time every question; return the rows of the table. Raises Disagreement."""
    rows = []
    asked = questions(corpus, seed)
    # As a web server does with what it has loaded: the collector would go through a whole world of it now and then.
    gc.collect()
    gc.freeze()
    for question in tqdm(asked, desc="asking", unit=" questions"):
        methods: list[Method] = [Product(), *question.rivals]
        sizes = compare(question, methods)
        times = clock(question, methods)
        rows.append(
            {
                "question": question.name,
                "writes": question.writes,
                "samples": len(question.samples),
                "answers_p50": metrics.percentile(sizes, 50),
                "answers_max": max(sizes),
                "answers_none": sum(1 for size in sizes if not size),
                "methods": {method.name: times[method.name].summary() for method in methods},
            }
        )
    return rows


def compare(question: Question, methods: Sequence[Method]) -> list[int]:
    """Ask every method every sample; return the sizes of the answers. Raises Disagreement where they differ."""
    sizes = []
    # Repeats of one question have one answer.
    for sample in dict.fromkeys([*question.samples, *question.also]):
        answers = {}
        for method in methods:
            with undone(question.writes):
                answer = question.ask(method, *sample)
                answers[method.name] = question.comparable(answer)
        agree(question.name, answers)
        sizes.append(int(question.size(answer)))
    return sizes


def agree(question: str, answers: dict[str, Any]) -> None:
    """Raise Disagreement unless all methods gave the same answer."""
    (first, expected), *others = answers.items()
    for name, answer in others:
        if answer != expected:
            raise Disagreement(f"{question}: {name} and {first} differ: {_short(answer)} and {_short(expected)}.")


def clock(question: Question, methods: Sequence[Method]) -> dict[str, Times]:
    """Time every sample with every method, one after the other, so that all meet the same disturbances."""
    times = {method.name: Times() for method in methods}
    for sample in question.samples:
        for method in methods:
            watch = Stopwatch()
            with undone(question.writes):
                started = time.perf_counter()
                with connection.execute_wrapper(watch):
                    question.ask(method, *sample)
                    if question.writes:
                        # What a commit would still have to check.
                        with connection.cursor() as cursor:
                            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                        watch.queries -= 1
                whole = time.perf_counter() - started
            times[method.name].whole.append(whole * 1000)
            times[method.name].database.append(watch.seconds * 1000)
            times[method.name].queries.append(watch.queries)
        if question.writes:
            _vacuum()
    return times


@contextmanager
def undone(writes: bool) -> Iterator[None]:
    """Take back what happens inside when it writes."""
    if not writes:
        yield
        return
    try:
        with transaction.atomic():
            yield
            raise RolledBack
    except RolledBack:
        pass


def _vacuum() -> None:
    """Clear away the rows that were taken back, which the next run would otherwise have to step over."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM memories_reach, memories_memory, access_rival_folder")


def _pairs(corpus: Corpus, callers: Sequence[Asking], random: Random) -> Iterator[tuple[Asking, int]]:
    """Callers with memories of their organisation: every other one lies at or below something they were granted."""
    inside: dict[int, list[int]] = {}
    for number, organisation in enumerate(corpus.organisation):
        inside.setdefault(organisation, []).append(number)
    granted: dict[int, list[int]] = {}
    for grant in corpus.grants:
        members = [grant.member] if grant.member is not None else corpus.members.groups[grant.group or 0]
        for member in members:
            granted.setdefault(member, []).append(grant.memory)
    for position, asking in enumerate(callers):
        memory = random.choice(inside[corpus.members.organisation[asking.number]])
        own = granted.get(asking.number)
        if position % 2 and own:
            memory = random.choice(own)
            while corpus.children[memory] and random.random() < 0.7:
                memory = random.choice(corpus.children[memory])
        yield asking, memory


def _number(one: str | int) -> int:
    return one - 1 if isinstance(one, int) else number_of(one)


def _numbers(answer: Any) -> Any:
    listed = [_number(one) for one in answer]
    if len(set(listed)) != len(listed):
        raise Disagreement("An answer names a memory twice.")
    return set(listed)


def _members(answer: Audience) -> Any:
    """The total and the page in numbers: of every member the privileges, and the memories and names of the sources."""
    page = {
        _number(one): (reaching.privileges, frozenset((_number(memory), name) for memory, _, name in reaching.sources))
        for one, reaching in answer.page.items()
    }
    return answer.total, page


def _none(_: Any) -> int:
    return 0


def _short(answer: Any) -> str:
    shown = repr(answer)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
