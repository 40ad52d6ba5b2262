"""Secrets of MCP servers at rest."""

from __future__ import annotations

from uhp_site.vault import Unreadable, Vault

__all__ = ["Unreadable", "seal", "unseal"]

_vault = Vault(b"heartwood: secrets of a harness")
seal, unseal = _vault.seal, _vault.unseal
