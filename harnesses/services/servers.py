"""Keeping the MCP servers of a harness: what is secret about them goes in, sealed, and never out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harnesses import vault
from harnesses.errors import HarnessInvalid
from harnesses.models import Harness, Server
from harnesses.remotes import RemoteDraft, origin
from uhp_site.http.fields import Missing


def put(harness: Harness, drafts: Sequence[RemoteDraft]) -> None:
    """Make these the servers of a harness; a server that stays keeps the secrets that were not sent again.

    Raises HarnessInvalid when a kept secret would go to another host than it was given for.
    """
    before = {server.name: server for server in harness.servers.all()}
    rows = []
    for position, draft in enumerate(drafts):
        secrets = _secrets(draft, before.get(draft.name), f"mcp_servers.{position}")
        rows.append(
            Server(
                organisation_id=harness.organisation_id,
                harness=harness,
                position=position,
                name=draft.name,
                url=draft.url,
                transport=draft.transport,
                enabled=draft.enabled,
                sealed=vault.seal(secrets) if secrets else None,
                secrets=names(secrets),
            )
        )
    harness.servers.all().delete()
    Server.objects.bulk_create(rows)


def names(secrets: Mapping[str, Any]) -> list[str]:
    """What is kept, without its value: `auth`, and `headers.<name>` for each header."""
    headers = [f"headers.{name}" for name in secrets.get("headers", {})]
    return [*(["auth"] if secrets.get("auth") else []), *headers]


def _secrets(draft: RemoteDraft, before: Server | None, at: str) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if before is not None and before.sealed and (isinstance(draft.auth, Missing) or isinstance(draft.headers, Missing)):
        try:
            kept = vault.unseal(bytes(before.sealed))
        except vault.Unreadable:
            message = "What was kept cannot be read any more; send auth and headers again."
            raise HarnessInvalid(message, param=at) from None
    secrets = {
        "auth": kept.get("auth", "") if isinstance(draft.auth, Missing) else draft.auth,
        "headers": kept.get("headers", {}) if isinstance(draft.headers, Missing) else draft.headers,
    }
    secrets = {name: value for name, value in secrets.items() if value}
    reused = any(secrets.get(name) and isinstance(getattr(draft, name), Missing) for name in ("auth", "headers"))
    if before is not None and reused and origin(before.url) != draft.origin:
        raise HarnessInvalid("The address names another server; send auth and headers for it.", param=f"{at}.url")
    return secrets
