"""Which embedder this process uses. Importing this module loads neither numpy nor a model; `get()` does."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from memories.embedders.base import EmbedderUnavailable

if TYPE_CHECKING:
    from memories.embedders.base import Embedder

EMBEDDERS = {
    "minilm": "memories.embedders.minilm.MiniLmEmbedder",
    "hashing": "memories.embedders.hashing.HashingEmbedder",
}
OPENAI = "openai"
# What pgvector can index at half precision.
MOST_DIMENSIONS = 4_000
# The names that the bundled ones store with their vectors.
MODELS = {"all-MiniLM-L6-v2-int8-mean-256": "minilm", "hashing-384-v1": "hashing"}

log = logging.getLogger(__name__)

_instances: dict[str, Embedder] = {}
_lock = Lock()


def get() -> Embedder:
    """Return the embedder that `settings.EMBEDDER` names, one per process: a key of `EMBEDDERS`, `openai` for the
    endpoint that the settings describe, or a dotted path.

    Raises ImproperlyConfigured when there is no such embedder.
    """
    name = settings.EMBEDDER
    return _kept(name, lambda: _load(name))


def by_model(model: str) -> Embedder:
    """Return the embedder whose vectors are stored under a model's name, whatever the settings name now.

    Raises EmbedderUnavailable for a model that cannot be had any more.
    """
    configured = get()
    if configured.name == model:
        return configured
    return _kept(f"model {model}", lambda: _load_model(model))


def warm() -> None:
    """Load the embedder and use it once, so that the first request does not pay for it."""
    try:
        get().embed_query("warm")
    except EmbedderUnavailable as failure:
        log.warning("embedder_unavailable: %s", failure)


def _kept(name: str, load: Callable[[], Embedder]) -> Embedder:
    embedder = _instances.get(name)
    if embedder is None:
        with _lock:
            embedder = _instances.get(name)
            if embedder is None:
                embedder = _instances[name] = load()
    return embedder


def _load(name: str) -> Embedder:
    if name == OPENAI:
        return _endpoint(settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS)
    path = EMBEDDERS.get(name, name)
    if "." not in path:
        known = ", ".join([*EMBEDDERS, OPENAI])
        raise ImproperlyConfigured(f"EMBEDDER is {name!r}; it must be one of {known}, or a dotted path.")
    try:
        embedder: Embedder = import_string(path)()
    except ImportError as error:
        raise ImproperlyConfigured(f"EMBEDDER is {name!r}, which cannot be imported: {error}") from error
    return embedder


def _load_model(model: str) -> Embedder:
    from memories.embedders.openai import model_of

    if model in MODELS:
        return _load(MODELS[model])
    behind = model_of(model)
    if behind is None or not settings.EMBEDDING_URL:
        raise EmbedderUnavailable(f"Nothing here makes vectors of the model {model}.")
    return _endpoint(*behind)


def _endpoint(model: str, dimensions: int) -> Embedder:
    from memories.embedders.openai import OpenAIEmbedder

    if not settings.EMBEDDING_URL.startswith(("http://", "https://")):
        raise ImproperlyConfigured("HEARTWOOD_EMBEDDING_URL must name an endpoint: https://…, without /embeddings.")
    if not model:
        raise ImproperlyConfigured("HEARTWOOD_EMBEDDING_MODEL must name the model to ask the endpoint for.")
    if not 0 < dimensions <= MOST_DIMENSIONS:
        raise ImproperlyConfigured(
            f"HEARTWOOD_EMBEDDING_DIMENSIONS must say how many numbers a vector has, 1 to {MOST_DIMENSIONS}."
        )
    return OpenAIEmbedder(settings.EMBEDDING_URL, settings.EMBEDDING_KEY, model, dimensions)


def _start_anew() -> None:
    """A forked child has its parent's memory but not its threads: a model or a lock from before may never answer."""
    global _lock
    _lock = Lock()
    _instances.clear()


os.register_at_fork(after_in_child=_start_anew)
