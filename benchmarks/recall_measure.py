"""Asks the recall of the product, by its own service, and its legs beside what they are compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from django.db import connection
from tqdm import tqdm

from benchmarks import metrics
from benchmarks.recall_corpus import HALL, Corpus, Floats, Planted, Vectors, key, public
from benchmarks.recall_load import People
from benchmarks.stage import Wrong
from members.callers import caller_for
from memories.models import Embedding
from memories.providers import indexes, meaning, native, plans, words
from memories.providers.base import Question, View
from memories.providers.inside import Branches
from memories.recall import scope
from memories.recall.pipeline import Ask
from memories.services import indexing, recall
from memories.services.sight import Place, look

TOP, CANDIDATES = 10, 100
COMMON = (
    "the a to and of in is it you that he was for on are with as his they be at one have this from meeting invoice "
    "garden project customer travel budget contract weather kitchen hiking music"
)
LEGS: dict[str, tuple[Any, str]] = {
    "scope": (scope, "readable"),
    "meaning": (meaning, "by_meaning"),
    "words": (words, "by_words"),
    "open": (native.NativeProvider, "open"),
}


@dataclass
class Clock:
    """Milliseconds of the whole call and of its legs, call by call."""

    whole: list[float] = field(default_factory=list)
    legs: dict[str, list[float]] = field(default_factory=lambda: {leg: [] for leg in LEGS})
    queries: list[int] = field(default_factory=list)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Time everything that happens inside, and the legs in it."""
        for times in self.legs.values():
            times.append(0.0)
        sent = 0

        def count(execute: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal sent
            sent += 1
            return execute(*arguments)

        with ExitStack() as stack:
            for leg, (owner, name) in LEGS.items():
                stack.enter_context(patch.object(owner, name, self._timed(leg, getattr(owner, name))))
            stack.enter_context(connection.execute_wrapper(count))
            started = time.perf_counter()
            yield
            self.whole.append((time.perf_counter() - started) * 1000)
        self.queries.append(sent)

    def _timed(self, leg: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.legs[leg][-1] += (time.perf_counter() - started) * 1000

        return timed

    def summary(self) -> dict[str, Any]:
        """The figures that are published."""
        return {
            "whole": span(self.whole),
            "legs": {leg: span(times) for leg, times in self.legs.items()},
            "queries": max(self.queries),
        }


def span(times: list[float]) -> dict[str, float]:
    """The median and the 95th percentile."""
    return {
        "p50_ms": round(metrics.percentile(times, 50), 2),
        "p95_ms": round(metrics.percentile(times, 95), 2),
    }


def build(organisation_id: str) -> dict[str, float]:
    """Have the index built as the product does it, and the common words counted."""
    started = time.perf_counter()
    indexes.build(indexes.Corner(organisation_id, Planted.name, meaning.OWN))
    built = time.perf_counter()
    indexing.review()
    done = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(
            "SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) / 1e6 FROM pg_index i "
            "JOIN memories_vectorindex v ON v.name::regclass = i.indexrelid"
        )
        (megabytes,) = cursor.fetchone()
    return {
        "index_s": round(built - started, 1),
        "words_s": round(done - built, 1),
        "index_mb": round(float(megabytes), 1),
    }


class Bench:
    """The places that are asked, and the questions."""

    def __init__(self, corpus: Corpus, people: People, samples: int | None = None) -> None:
        self.corpus, self.people = corpus, people
        self.questions = Vectors(corpus).questions(samples or corpus.scale.samples)

    def places(self) -> list[tuple[str, int, Place]]:
        """What is called what, how many records can be read there, and the place."""
        reader, scattered = caller_for(self.people.reader), caller_for(self.people.scattered)
        found = [
            (f"{size:,}", size, look(reader, public("hmem", top))) for size, top in sorted(self.corpus.tops.items())
        ]
        some = int(np.isin(self.corpus.memory_of, self.corpus.scattered).sum())
        here_and_there = f"{some:,} in {len(self.corpus.scattered):,} places"
        return [*found, (here_and_there, some, look(scattered, public("hmem", HALL)))]

    def measure(self) -> list[dict[str, Any]]:
        """Every place with every question; the rows of the table. Raises Wrong."""
        places = self.places()
        with tqdm(total=len(places) * len(self.questions), desc="asking", unit=" questions", mininterval=1.0) as bar:
            return [self._row(*place, bar) for place in places]

    def _row(self, name: str, size: int, place: Place, bar: tqdm[Any]) -> dict[str, Any]:
        clock, legs = Clock(), {"chosen": list[float](), "exact": list[float](), "walk": list[float]()}
        shares, few, degraded = list[float](), 0, set[str]()
        comparing = len(self.questions) if size <= plans.EXACT_UP_TO * 2 else max(5, len(self.questions) // 3)
        for number, (vector, text) in enumerate([self.questions[0], *self.questions]):
            Planted.answer = vector
            warm = Clock() if number == 0 else clock
            with warm.call():
                answer = recall.recall(place, Ask(Question(query=text, limit=TOP)))
            degraded |= set(answer.degraded)
            if len(answer.hits) < min(TOP, size) and not answer.degraded:
                raise Wrong(f"{len(answer.hits)} of {size} records came back, and nothing was said.")
            if 0 < number <= comparing:
                shares.append(self._compare(vector, place, size, legs))
                few += shares[-1] < 0
            bar.update(number > 0)
        if few:
            raise Wrong(f"{few} searches by meaning brought fewer rows than there are.")
        walked = {"walk": span(legs["walk"])} if legs["walk"] else {}
        return {
            **{"name": name, "records": size, "memories": len(self.covered(place)), **clock.summary()},
            **{"meaning": span(legs["chosen"]), "exact": span(legs["exact"]), **walked},
            **{"recall_at_10": round(metrics.mean(shares), 4), "degraded": sorted(degraded)},
        }

    def covered(self, place: Place) -> Branches:
        """What is searched when a place is asked, as the product sees it."""
        found = scope.readable(place.memory, place.caller.principals, None).memories
        if not isinstance(found, Branches):
            raise Wrong("The scope was capped.")
        return found

    def _compare(self, vector: Floats, place: Place, size: int, legs: dict[str, list[float]]) -> float:
        """The share of the ten nearest that the chosen plan finds, -1 for fewer rows than there are; all timed."""
        methods: dict[str, Callable[[Branches], Any]] = {
            "chosen": lambda covered: meaning.by_meaning(vector, Planted.name, covered, View(), CANDIDATES),
            "exact": lambda covered: meaning.exact(vector, Planted.name, covered, View(), CANDIDATES),
        }
        if size <= plans.EXACT_UP_TO:
            methods["walk"] = lambda covered: meaning.walk(vector, Planted.name, covered, View(), CANDIDATES)[0]
        found = {}
        for method, ask in methods.items():
            covered = self.covered(place)
            started = time.perf_counter()
            found[method] = ask(covered)
            legs[method].append((time.perf_counter() - started) * 1000)
        if len(found["chosen"]) < min(CANDIDATES, size):
            return -1.0
        best = {method: best_of(scores) for method, scores in found.items()}
        # Equals may change places: what is as near as the last of the exact ones counts.
        last = min(found["exact"][one] for one in best["exact"])
        near = [one for one in best["chosen"] if one in best["exact"] or found["chosen"][one] >= last - 1e-6]
        return len(near) / len(best["exact"])

    def id_list(self) -> dict[str, float]:
        """Words at everything readable, by a list of all memories and all words of the question (P4)."""
        place = look(caller_for(self.people.reader), public("hmem", self.corpus.tops[self.corpus.scale.records]))
        ids = [key("hmem", number) for number, of in enumerate(self.corpus.organisation) if of == 0 and number != HALL]
        times: dict[str, list[float]] = {"product": [], "list": []}
        for _, text in self.questions[: max(5, len(self.questions) // 3)]:
            started = time.perf_counter()
            words.by_words(text, self.covered(place), View(), CANDIDATES)
            times["product"].append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            with connection.cursor() as cursor:
                cursor.execute(
                    """
                    SELECT v.id, ts_rank(v.words, asked) AS score
                    FROM memories_version v, to_tsquery('english', %s) AS asked
                    WHERE v.memory_id = ANY(%s) AND v.words @@ asked AND v.invalidated_at IS NULL
                    ORDER BY score DESC, v.id LIMIT %s
                    """,
                    [" | ".join(text.split()), ids, CANDIDATES],
                )
                cursor.fetchall()
            times["list"].append((time.perf_counter() - started) * 1000)
        return {
            "product_p50_ms": round(metrics.percentile(times["product"], 50), 2),
            "list_p50_ms": round(metrics.percentile(times["list"], 50), 2),
        }

    def fresh(self) -> dict[str, float]:
        """Write some more: they are found before the index has them; then let it take them in. Raises Wrong."""
        count = min(2_000, self.corpus.scale.records // 20)
        top = self.corpus.tops[self.corpus.scale.records]
        place = look(caller_for(self.people.reader), public("hmem", top))
        ids = list(Embedding.objects.filter(memory=place.memory.id).values_list("id", flat=True)[:1])
        ids += list(
            Embedding.objects.filter(organisation=place.caller.organisation_id, indexed=True).values_list(
                "id", flat=True
            )[: count - 1]
        )
        Embedding.objects.filter(pk__in=ids).update(indexed=False)
        probe = Embedding.objects.get(pk=ids[-1])
        planted = np.asarray(probe.vector, dtype=np.float32)
        times = []
        for _ in range(20):
            covered = self.covered(place)
            started = time.perf_counter()
            found = meaning.by_meaning(planted, Planted.name, covered, View(), CANDIDATES)
            times.append((time.perf_counter() - started) * 1000)
            if probe.version_id not in found:
                raise Wrong("What was just written is not found.")
        started = time.perf_counter()
        taken = indexing.tend()
        seconds = time.perf_counter() - started
        return {
            "rows": len(ids),
            "meaning_p50_ms": round(metrics.percentile(times, 50), 2),
            "taken_in": taken,
            "per_second": round(taken / seconds, 1),
        }


def best_of(scores: dict[int, float]) -> list[int]:
    """The ten best."""
    return sorted(scores, key=lambda one: (scores[one], one), reverse=True)[:TOP]


def embedding(samples: int, seed: int) -> dict[str, float]:
    """How long the bundled model takes for a question, and how many records it embeds, one by one and many (P10)."""
    from memories.embedders.minilm import MiniLmEmbedder

    model = MiniLmEmbedder()
    random = np.random.default_rng(seed)
    common = COMMON.split()
    texts = [" ".join(random.choice(common, 35)) for _ in range(samples)]
    model.embed_query(texts[0])
    times = []
    for text in texts[: max(10, samples // 2)]:
        started = time.perf_counter()
        model.embed_query(" ".join(text.split()[:10]))
        times.append((time.perf_counter() - started) * 1000)
    started = time.perf_counter()
    for text in texts:
        model.embed([text])
    single = samples / (time.perf_counter() - started)
    started = time.perf_counter()
    model.embed(texts)
    together = samples / (time.perf_counter() - started)
    return {
        **{f"query_{name}": value for name, value in span(times).items()},
        "single_per_second": round(single, 1),
        "batched_per_second": round(together, 1),
    }
