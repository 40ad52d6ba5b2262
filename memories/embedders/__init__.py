"""Text to vectors. `get()` is the process's embedder, `warm()` makes it ready before the first request."""

from __future__ import annotations

from memories.embedders.base import Embedder
from memories.embedders.registry import get, warm

__all__ = ["Embedder", "get", "warm"]
