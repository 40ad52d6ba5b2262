"""What an embedder promises to everything that stores or compares vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MAX_CHARACTERS = 16_384
"""Embedders look at this many characters of a text and no further, so that one huge text costs a bounded time."""


class EmbedderUnavailable(Exception):
    """No vector can be had right now. The message is one sentence, and holds neither text, nor address, nor key."""


@runtime_checkable
class Embedder(Protocol):
    """Maps texts to unit vectors, so that a dot product is the cosine similarity.

    One instance serves a whole process and may be called from several threads at once. Any `str` is accepted,
    the empty one and lone surrogates included: every text gets a finite vector of length 1. Markers a model treats
    specially mean nothing here when they occur in a text. An embedder outside the process may raise
    EmbedderUnavailable, within a bounded time; one inside raises nothing.
    """

    name: str
    """Identifies the model and how it is applied. It is stored with each vector; only vectors of one name compare."""

    dimensions: int
    """Length of every vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, in the order given: shape (len(texts), dimensions), also for no texts at all.

        The same call gives the same numbers. Which other texts share a call may move a vector very slightly
        (cosine to the text embedded alone stays above 0.98).
        """
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of one question, shape (dimensions,), comparable with the rows of `embed`."""
        ...
