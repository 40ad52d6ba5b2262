"""What is near in meaning among the current records of one memory, for comparing many texts one after the other.

The vectors are kept beside each other while a run lasts, at half precision, and follow what is written meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memories.embedders.base import Embedder
from memories.models import Embedding

from . import late
from .base import RecordVersion, View

EPISODE = "episode"
# How many vectors are multiplied at once, and read at once.
BLOCK = 8_192
# Versions that were begun before those already read may be committed after them.
OVERLAP = 1_000
# More candidates than asked for are opened: some have been replaced since they were read.
SPARE = 8
# How long what was written just before is waited for, in seconds.
PATIENCE_SECONDS = 60.0

Open = Callable[[Sequence[int], View], Mapping[int, RecordVersion]]


class NativeNearby:
    """The records of one memory by meaning, episodes left out. Not for use by several threads at once."""

    def __init__(self, memory_id: str, embedder: Embedder, opener: Open, longest: int) -> None:
        self._memory_id = memory_id
        self._embedder = embedder
        self._open = opener
        self._longest = longest
        self._keys: list[int] = []
        self._known: set[int] = set()
        self._newest = 0
        self._blocks: list[NDArray[np.float16]] = []

    def near(self, texts: Sequence[str], limit: int) -> Sequence[Sequence[tuple[RecordVersion, float]]]:
        """For each text the current records nearest in meaning, best first, with cosine similarity."""
        self._follow()
        if not texts or not self._keys:
            return [[] for _ in texts]
        vectors = np.asarray(self._embedder.embed([text[: self._longest] for text in texts]), dtype=np.float32)
        scores = np.concatenate([vectors @ block.astype(np.float32).T for block in self._blocks], axis=1)
        take = min(limit + SPARE, len(self._keys))
        best = np.argpartition(-scores, take - 1, axis=1)[:, :take]
        found = self._open(sorted({self._keys[column] for column in best.ravel()}), View())
        answers = []
        for row, columns in enumerate(best):
            ranked = sorted((-float(scores[row, column]), self._keys[column]) for column in columns)
            opened = ((found.get(key), -distance) for distance, key in ranked)
            current = [(version, score) for version, score in opened if version and version.status == "active"]
            answers.append(current[:limit])
        return answers

    def _follow(self) -> None:
        late.catch_up([self._memory_id], self._embedder, PATIENCE_SECONDS, apart=EPISODE)
        fresh = (
            Embedding.objects.filter(
                memory_id=self._memory_id,
                model=self._embedder.name,
                aspect=Embedding.Aspect.OWN,
                current=True,
                version_id__gt=max(0, self._newest - OVERLAP),
            )
            .exclude(version__type=EPISODE)
            .order_by("version_id")
            .values_list("version_id", "vector")
        )
        keys: list[int] = []
        vectors: list[NDArray[np.float16]] = []
        for key, vector in fresh.iterator(chunk_size=2_000):
            if key not in self._known:
                keys.append(key)
                vectors.append(np.asarray(vector, dtype=np.float16))
        if keys:
            self._add(keys, np.stack(vectors))

    def _add(self, keys: list[int], vectors: NDArray[np.float16]) -> None:
        self._keys += keys
        self._known.update(keys)
        self._newest = max(self._newest, keys[-1])
        if self._blocks and len(self._blocks[-1]) + len(vectors) <= BLOCK:
            self._blocks[-1] = np.concatenate([self._blocks[-1], vectors])
        else:
            self._blocks.append(vectors)
