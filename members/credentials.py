"""API keys: minting, the prefix that may be shown, and the hash that is kept. Pure.

A key holds 256 random bits, so one round of SHA-256 is as good as a slow hash and lets a lookup be one index probe.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

SCHEME = "hw_"
SHOWN = 11


@dataclass(frozen=True)
class MintedKey:
    """A new key: `token` is shown once, the others are kept."""

    token: str
    prefix: str
    digest: bytes


def mint() -> MintedKey:
    """A new random key."""
    token = SCHEME + secrets.token_urlsafe(32)
    return MintedKey(token, token[:SHOWN], digest(token))


def digest(token: str) -> bytes:
    """The 32 bytes by which a presented key is looked up."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
