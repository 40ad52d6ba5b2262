"""Secrets at rest: sealed with keys made from the site's secret key, and from those before it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """What was sealed cannot be opened with any key there is."""


@dataclass(frozen=True)
class Vault:
    """Seals for one purpose: what another purpose sealed does not open here."""

    purpose: bytes

    def seal(self, secrets: dict[str, Any]) -> bytes:
        """Encrypt a JSON object with the current key."""
        return self._box().encrypt(json.dumps(secrets, separators=(",", ":")).encode())

    def unseal(self, sealed: bytes) -> dict[str, Any]:
        """What was sealed, with this key or one before it. Raises Unreadable."""
        try:
            opened = json.loads(self._box().decrypt(bytes(sealed)))
        except (InvalidToken, ValueError):
            raise Unreadable from None
        assert isinstance(opened, dict)
        return opened

    def _box(self) -> MultiFernet:
        return _box_of(self.purpose, (str(settings.SECRET_KEY), *map(str, settings.SECRET_KEY_FALLBACKS)))


@lru_cache(maxsize=8)
def _box_of(purpose: bytes, keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(purpose, key)) for key in keys])


def _derived(purpose: bytes, key: str) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose)
    return base64.urlsafe_b64encode(derivation.derive(key.encode("utf-8", "surrogatepass")))
