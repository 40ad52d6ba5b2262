"""A simple search over texts in this process: meaning by the bundled embedder and words by BM25, blended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memories.consolidation.words import content_words
from memories.embedders.minilm import MiniLmEmbedder

MEANING, WORDS = 0.7, 0.3
K1, B = 1.2, 0.75
SOME = 256

Floats = NDArray[np.float32]


class Vectors:
    """Vectors of texts, each embedded once; with a file also once over all runs."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._known: dict[str, Floats] = {}
        self._embedder: MiniLmEmbedder | None = None
        if file and file.exists():
            with np.load(file) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row per text."""
        keys = [sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        missing = list({key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}.items())
        for start in range(0, len(missing), SOME):
            some = missing[start : start + SOME]
            self._embedder = self._embedder or MiniLmEmbedder()
            rows = self._embedder.embed([text for _, text in some])
            self._known.update((key, row) for (key, _), row in zip(some, rows, strict=True))
        return np.stack([self._known[key] for key in keys]) if keys else np.zeros((0, 1), dtype=np.float32)

    def save(self) -> None:
        """Write the file, if there is one."""
        if self._file and self._known:
            np.savez(self._file, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))


class Scorer:
    """Ranks a fixed set of texts for a question."""

    def __init__(self, texts: Mapping[str, str], vectors: Vectors) -> None:
        self._ids = list(texts)
        self._vectors = vectors
        self._rows = vectors.embed(list(texts.values()))
        counts = [Counter(content_words(text)) for text in texts.values()]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float32)
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1e-9))
        self._postings: dict[str, tuple[NDArray[np.int64], Floats]] = {}
        places: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for word, times in count.items():
                places.setdefault(word, []).append((place, times))
        for word, found in places.items():
            index = np.array([place for place, _ in found], dtype=np.int64)
            times_ = np.array([times for _, times in found], dtype=np.float32)
            tells = np.log(1 + (len(counts) - len(found) + 0.5) / (len(found) + 0.5))
            weight = (tells * times_ * (K1 + 1) / (times_ + norm[index])).astype(np.float32)
            self._postings[word] = index, weight

    def best(self, question: str, limit: int) -> list[str]:
        """The ids of the best texts, best first."""
        if not self._ids:
            return []
        meaning = self._rows @ self._vectors.embed([question])[0]
        words = np.zeros(len(self._ids), dtype=np.float32)
        for word in dict.fromkeys(content_words(question)):
            if word in self._postings:
                index, weight = self._postings[word]
                words[index] += weight
        score = MEANING * _spread(meaning) + WORDS * _spread(words)
        return [self._ids[place] for place in np.argsort(-score, kind="stable")[:limit]]


def _spread(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
