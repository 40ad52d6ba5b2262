"""A seeded world to measure recall in: one large organisation and many small ones, their memories, records and vectors.

Vectors are clustered: a record is near one of many topics, and a memory keeps to a few of them. Words are English,
thrown together by Zipf's law. The memories of the large organisation form branches of known sizes under one root, so
that whoever reads a branch reads a known number of records.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories import embedders

DIMENSIONS, LATENT = 384, 48
TOPICS, TOPICS_OF_A_MEMORY = 2_000, 4
WITHIN_TOPIC, NOISE = 0.5, 0.1
VOCABULARY = 20_000
WORDS_OF_A_RECORD = 20
TOGETHER = 10_000
DEPTH = 6
HALL, ROOT = 0, 1
STARTED = datetime(2025, 1, 6, tzinfo=UTC)
KINDS = {"hmem": 1, "hrec": 2, "hgrt": 3}

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Scale:
    """How large a world is. `branches` are the sizes, in records, of branches under the root of the large organisation;
    `scattered` how many records one reader may read here and there; `exact_up_to` replaces the product's threshold
    where the world is too small for it."""

    records: int
    memories: int
    branches: tuple[int, ...]
    scattered: int
    small_organisations: int
    small_records: int
    samples: int
    exact_up_to: int | None = None


SCALES = {
    "tiny": Scale(4_000, 90, (20, 100, 1_000), 600, 3, 300, samples=6, exact_up_to=400),
    "small": Scale(100_000, 2_000, (100, 1_000, 10_000, 25_000, 50_000), 30_000, 9, 10_000, samples=60),
    "full": Scale(1_000_000, 20_000, (100, 1_000, 10_000, 25_000, 50_000, 200_000), 50_000, 49, 100_000, samples=100),
}


@dataclass
class Corpus:
    """The world, numbered from 0. Memory 0 is the hall, memory 1 the root of all branches, closed against the hall."""

    scale: Scale
    seed: int
    organisation: list[int]
    parent: list[int | None]
    tops: dict[int, int]
    memory_of: Integers
    scattered: list[int]
    words: list[str]

    @property
    def records(self) -> int:
        """How many there are, everywhere."""
        return len(self.memory_of)


def key(kind: str, number: int) -> uuid.UUID:
    """The id of the numbered thing of a kind, ordered by time like the product's own."""
    milliseconds = int(STARTED.timestamp() * 1000) + number * 20
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | KINDS[kind] << 48 | number)


def public(kind: str, number: int) -> str:
    """The id as Python and the wire see it."""
    return f"{kind}_{key(kind, number).hex}"


def grow(scale: Scale, seed: int = 7) -> Corpus:
    """Make the world; the same seed makes the same one."""
    random = np.random.default_rng(seed)
    organisation, parent, tops, sizes = [0, 0], [None, HALL], dict[int, int](), [0, 0]
    each = scale.records / scale.memories
    rest = scale.records - sum(scale.branches)
    for size in (*scale.branches, rest):
        first = len(parent)
        count = max(1, round(size / each))
        _branch(random, parent, count)
        organisation += [0] * count
        sizes += _shares(random, size, count)
        if size != rest:
            tops[size] = first
    plain = range(len(parent) - max(1, round(rest / each)), len(parent))
    scattered, some = [], 0
    for place in random.permutation(len(plain)):
        if some >= scale.scattered:
            break
        scattered.append(plain[int(place)])
        some += sizes[plain[int(place)]]
    tops[scale.records] = ROOT
    for number in range(scale.small_organisations):
        first = len(parent)
        size = scale.small_records // scale.small_organisations
        count = max(1, round(size / each))
        _branch(random, parent, count, under=None)
        organisation += [number + 1] * count
        sizes += _shares(random, size, count)
    memory_of = np.repeat(np.arange(len(sizes)), sizes)
    # Records are written here and there, so that those of a memory do not lie side by side.
    return Corpus(
        scale,
        seed,
        organisation,
        parent,
        tops,
        random.permutation(memory_of),
        scattered,
        vocabulary(),
    )


def _branch(random: np.random.Generator, parent: list[int | None], count: int, under: int | None = ROOT) -> None:
    first = len(parent)
    levels = [1]
    parent.append(under)
    for number in range(1, count):
        above = int(random.integers(max(0, number - 200), number))
        while levels[above] >= DEPTH:
            above = int(random.integers(0, number))
        levels.append(levels[above] + 1)
        parent.append(first + above)


def _shares(random: np.random.Generator, size: int, count: int) -> list[int]:
    """So many records over so many memories, unevenly."""
    weights = random.lognormal(0, 0.7, count)
    return [int(one) for one in random.multinomial(size, weights / weights.sum())]


def vocabulary() -> list[str]:
    """English words, the commonest first: those that the bundled model knows whole."""
    known = (Path(embedders.__file__).parent / "data" / "bert-base-uncased-vocab.txt").read_text(encoding="utf-8")
    words = [word for word in known.split("\n") if word.isascii() and word.isalpha() and len(word) > 2]
    return words[:VOCABULARY]


class Vectors:
    """The vectors and words of the records, made chunk by chunk, always alike."""

    def __init__(self, corpus: Corpus) -> None:
        random = np.random.default_rng((corpus.seed, 1))
        self.corpus = corpus
        self.topics = random.standard_normal((TOPICS, LATENT), dtype=np.float32)
        self.out = random.standard_normal((LATENT, DIMENSIONS), dtype=np.float32) / np.float32(np.sqrt(LATENT))
        self.preferred = random.integers(0, TOPICS, (len(corpus.parent), TOPICS_OF_A_MEMORY))
        ranks = np.arange(1, VOCABULARY + 1)
        self.usage = (1 / ranks) / (1 / ranks).sum()

    def near(self, random: np.random.Generator, memories: Integers) -> Floats:
        """Unit vectors of something said in these memories."""
        chosen = self.preferred[memories, random.integers(0, TOPICS_OF_A_MEMORY, len(memories))]
        inner = self.topics[chosen] + WITHIN_TOPIC * random.standard_normal((len(memories), LATENT), dtype=np.float32)
        rows = inner @ self.out + NOISE * random.standard_normal((len(memories), DIMENSIONS), dtype=np.float32)
        unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def said(self, random: np.random.Generator, count: int, words: int) -> list[str]:
        """Texts of so many words, as often as they are used."""
        numbers = random.choice(VOCABULARY, (count, words), p=self.usage)
        return [" ".join(self.corpus.words[number] for number in row) for row in numbers.tolist()]

    def chunks(self) -> Iterator[tuple[int, Floats, list[str]]]:
        """All records: the number of the first, the vectors, the texts."""
        for first in range(0, self.corpus.records, TOGETHER):
            random = np.random.default_rng((self.corpus.seed, 2, first))
            memories = self.corpus.memory_of[first : first + TOGETHER]
            yield first, self.near(random, memories), self.said(random, len(memories), WORDS_OF_A_RECORD)

    def questions(self, count: int) -> list[tuple[Floats, str]]:
        """Questions about something in the large organisation, wherever: a vector, and eight words of any kind."""
        random = np.random.default_rng((self.corpus.seed, 3))
        inside = np.flatnonzero(np.asarray(self.corpus.organisation) == 0)
        vectors = self.near(random, random.choice(inside, count))
        return list(zip(vectors, self.said(random, count, 8), strict=True))


class Planted:
    """An embedder that is told what to answer: making vectors is measured apart. Named like the bundled model."""

    name = "all-MiniLM-L6-v2-int8-mean-256"
    dimensions = DIMENSIONS
    answer: Floats = np.ones(DIMENSIONS, dtype=np.float32) / np.float32(np.sqrt(DIMENSIONS))

    def embed(self, texts: Sequence[str]) -> Floats:
        """The planted vector for every text."""
        return np.tile(self.answer, (len(texts), 1))

    def embed_query(self, text: str) -> Floats:
        """The planted vector."""
        return self.answer
