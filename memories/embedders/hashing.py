"""An embedder without a model: words and pieces of words, hashed into a fixed number of places."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from memories.embedders.base import MAX_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

DIMENSIONS = 384

_WORD = re.compile(r"\w+")
_PIECE = 3
_PIECE_WEIGHT = 0.5
# Length stands in for rarity: short words are mostly the ones that every text has.
_FULL_WEIGHT_LENGTH = 6


class HashingEmbedder:
    """Signed feature hashing of lower-cased words and their character trigrams.

    It sees spelling, not meaning: "renew" is near "renews" and far from "extend". It needs no model, starts at
    once and gives the same numbers on every machine.
    """

    name = "hashing-384-v1"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text, in order."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            vector[:] = _vector(text)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of one text."""
        return _vector(text)


def _vector(text: str) -> NDArray[np.float32]:
    normalised = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).casefold()
    vector = np.zeros(DIMENSIONS, dtype=np.float64)
    for feature, count in Counter(_features(normalised)).items():
        place, sign = _place(feature)
        vector[place] += sign * _weight(feature) * (1.0 + np.log(count))
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        # No words, or words that cancel out exactly: the text as a whole is its only feature.
        place, sign = _place(f"t:{normalised.strip()}")
        vector[place], length = sign, 1.0
    unit: NDArray[np.float32] = (vector / length).astype(np.float32)
    return unit


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        yield f"w:{word}"
        marked = f"^{word}$"
        for start in range(len(marked) - _PIECE + 1):
            yield f"p:{marked[start : start + _PIECE]}"


def _weight(feature: str) -> float:
    if feature.startswith("p:"):
        return _PIECE_WEIGHT
    return min(len(feature) - 2, _FULL_WEIGHT_LENGTH) / _FULL_WEIGHT_LENGTH


@lru_cache(maxsize=65_536)
def _place(feature: str) -> tuple[int, float]:
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return (number >> 1) % DIMENSIONS, 1.0 if number & 1 else -1.0
