"""The routes of the Harnesses chapter, and the door of the agents' tools."""

from __future__ import annotations

from django.urls import path

from .api import attachment, configuration
from .console import agents, connecting, memory, trying
from .mcp.door import mcp

ONE = "harnesses/<str:harness_id>"

api = [
    path("models", configuration.Models.as_view()),
    path("harnesses", configuration.Harnesses.as_view()),
    path(ONE, configuration.HarnessDetail.as_view()),
    path(f"{ONE}/models", configuration.HarnessModels.as_view()),
    path(f"{ONE}/memories", attachment.HarnessMemories.as_view()),
    path(f"{ONE}/skills/<str:skill>/files", configuration.SkillFiles.as_view()),
    path(f"{ONE}/x-keys", configuration.Keys.as_view()),
    path(f"{ONE}/x-keys/<str:key_id>", configuration.KeyDetail.as_view()),
]

# Beside the protocol's surface: what agents connect to.
door = [path("mcp", mcp, name="mcp")]

AGENTS = "<slug:organisation>/agents"
AGENT = f"{AGENTS}/<str:harness_id>"

pages = [
    path(AGENTS, agents.agents, name="agents"),
    path(f"{AGENTS}/new", agents.new, name="agent-new"),
    path(AGENT, agents.agent, name="agent"),
    path(f"{AGENT}/memory", memory.memory, name="agent-memory"),
    path(f"{AGENT}/prime", memory.prime, name="agent-prime"),
    path(f"{AGENT}/connect", connecting.connect, name="agent-connect"),
    path(f"{AGENT}/keys/<str:key_id>/revoke", connecting.key_revoke, name="agent-key-revoke"),
    path(f"{AGENT}/try", trying.attempt, name="agent-try"),
    path(f"{AGENT}/delete", agents.delete, name="agent-delete"),
]
