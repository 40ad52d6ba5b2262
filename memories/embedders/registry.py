"""Which embedder this process uses. Importing this module loads neither numpy nor a model; `get()` does."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from memories.embedders.base import Embedder

EMBEDDERS = {
    "minilm": "memories.embedders.minilm.MiniLmEmbedder",
    "hashing": "memories.embedders.hashing.HashingEmbedder",
}

_instances: dict[str, Embedder] = {}
_lock = Lock()


def get() -> Embedder:
    """Return the embedder that `settings.EMBEDDER` names (a key of `EMBEDDERS` or a dotted path), one per process.

    Raises ImproperlyConfigured when there is no such embedder.
    """
    name = settings.EMBEDDER
    embedder = _instances.get(name)
    if embedder is None:
        with _lock:
            embedder = _instances.get(name)
            if embedder is None:
                embedder = _instances[name] = _load(name)
    return embedder


def warm() -> None:
    """Load the embedder and use it once, so that the first request does not pay for it."""
    get().embed_query("warm")


def _load(name: str) -> Embedder:
    path = EMBEDDERS.get(name, name)
    if "." not in path:
        raise ImproperlyConfigured(f"EMBEDDER is {name!r}; it must be one of {', '.join(EMBEDDERS)}, or a dotted path.")
    try:
        embedder: Embedder = import_string(path)()
    except ImportError as error:
        raise ImproperlyConfigured(f"EMBEDDER is {name!r}, which cannot be imported: {error}") from error
    return embedder


def _start_anew() -> None:
    """A forked child has its parent's memory but not its threads: a model or a lock from before may never answer."""
    global _lock
    _lock = Lock()
    _instances.clear()


os.register_at_fork(after_in_child=_start_anew)
