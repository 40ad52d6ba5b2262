"""Values to the protocol's JSON (Harnesses §3); nothing is decided here, and no secret comes this way."""

from __future__ import annotations

from typing import Any

from harnesses import bases
from harnesses.models import Harness, Server, Skill
from harnesses.services.attachment import Attachment
from members.models import Credential
from memories.api.shapes import instant, milliseconds


def harness(one: Harness) -> dict[str, Any]:
    """A Harness (Harnesses §3.1)."""
    base = bases.declared().get(one.base)
    return {
        "id": one.id,
        "object": "harness",
        "name": one.name,
        "base": one.base,
        "baseLabel": base.label if base else one.base,
        "defaultModel": one.default_model,
        "systemPrompt": one.system_prompt,
        "mcpServers": [server(each) for each in one.servers.all()],
        "skills": [skill(each) for each in one.skills.all()],
        "plugins": [],
        "environment": "",
        "disabledTools": list(one.disabled_tools),
        "maxStep": one.max_step,
        "timeoutSeconds": one.timeout_seconds,
        "createdAt": milliseconds(one.created_at),
        "updatedAt": milliseconds(one.updated_at),
    }


def server(one: Server) -> dict[str, Any]:
    """An McpServer; `secrets` names what is kept and not shown."""
    return {
        "name": one.name,
        "transport": one.transport,
        "url": one.url,
        "enabled": one.enabled,
        "secrets": list(one.secrets),
    }


def skill(one: Skill) -> dict[str, Any]:
    """A Skill; its files are read at their own address, and `blob` stands for them when it is sent back."""
    shown: dict[str, Any] = {"name": one.name, "enabled": one.enabled}
    return {**shown, "blob": one.blob, "bytes": one.bytes} if one.blob else shown


def attachment(one: Attachment) -> dict[str, Any]:
    """A HarnessMemories (Memories §2.17)."""
    shown: dict[str, Any] = {
        "object": "harness.memories",
        "principal": one.principal,
        "default_memory_id": one.default_memory_id,
        "observe": one.observe,
        "data": [
            {"id": held.memory_id, "name": held.name, "privileges": held.privileges.words, "default": held.default}
            for held in one.data
        ],
    }
    return {**shown, "degraded": [f"data:capped_at_{len(one.data)}"]} if one.capped else shown


def key(one: Credential) -> dict[str, Any]:
    """A key of an agent: our own, beside the protocol."""
    return {
        "id": one.id,
        "object": "x-key",
        "name": one.name,
        "prefix": one.prefix,
        "created_at": instant(one.created_at),
        "last_used_at": instant(one.last_used_at),
        "expires_at": instant(one.expires_at),
    }
