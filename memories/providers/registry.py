"""Provider id to provider. Importing this costs nothing; the embedder is loaded at its first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from memories import embedders
from uhp_site.http.errors import MemoryUnavailable

from .base import Provider
from .native import NativeProvider


@cache
def _providers() -> dict[str, Provider]:
    native = NativeProvider(embedders.get)
    return {native.id: native}


def connected() -> Sequence[Provider]:
    """The providers this server is connected to, the default one first."""
    return tuple(_providers().values())


def find(provider_id: str) -> Provider | None:
    """The provider with this id, if the server knows it."""
    return _providers().get(provider_id)


def get(provider_id: str) -> Provider:
    """The provider that keeps a memory's records. Raises MemoryUnavailable when it is not connected any more."""
    provider = find(provider_id)
    if provider is None:
        raise MemoryUnavailable()
    return provider
