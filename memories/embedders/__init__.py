"""Text to vectors. `get()` is the embedder that the settings name, `by_model()` the one behind a stored vector,
`warm()` makes the process ready before the first request."""

from __future__ import annotations

from memories.embedders.base import Embedder, EmbedderUnavailable
from memories.embedders.registry import by_model, get, warm

__all__ = ["Embedder", "EmbedderUnavailable", "by_model", "get", "warm"]
