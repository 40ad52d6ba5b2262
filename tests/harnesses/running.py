"""A server that runs, its owner, and agents that came by harnesses: what a client outside sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.live import LiveServer, live_server

HTTP_OK = 200


@dataclass(frozen=True)
class Agent:
    """An agent that came by a harness: its id, its key, and the memory it was granted."""

    id: str
    key: str
    memory_id: str


@dataclass(frozen=True)
class World:
    """A running server, its owner, and two agents that may not reach each other's memory."""

    url: str
    owner: httpx.Client
    one: Agent
    two: Agent


@contextmanager
def running() -> Iterator[World]:
    """The server a newcomer runs, with its web workers, and what its owner set up through the API."""
    with live_server(env={"HEARTWOOD_EMBEDDER": "hashing"}) as live, owner_of(live) as owner:
        yield World(live.url, owner, *(engaged(owner, name) for name in ("One", "Two")))


def owner_of(live: LiveServer) -> httpx.Client:
    """A new organisation's owner, as a client of the API."""
    made = live.run("create_organisation", "Acme", "--owner-email", "owner@acme.example")
    headers = {"Authorization": f"Bearer {made['api_key']}"}
    return httpx.Client(base_url=f"{live.url}/v1", headers=headers, timeout=60, trust_env=False)


def engaged(owner: httpx.Client, name: str) -> Agent:
    """A harness, a memory that its agent may read and write in, which is its default one, and a key."""
    harness = done(owner.post("/harnesses", json={"base": "mcp", "name": name}))
    memory = done(owner.post("/memories", json={"name": f"Of {name}", "provider": "native"}))
    grant = {"principal": f"member:{harness['id']}", "privileges": ["read", "write"]}
    done(owner.post(f"/memories/{memory['id']}/grants", json=grant))
    settings = {"default_memory_id": memory["id"]}
    done(owner.put(f"/harnesses/{harness['id']}/memories", json=settings))
    key = done(owner.post(f"/harnesses/{harness['id']}/x-keys", json={"name": name}))
    return Agent(harness["id"], key["token"], memory["id"])


def done(response: httpx.Response) -> Any:
    """The JSON of a call that must succeed."""
    assert response.status_code == HTTP_OK, response.text
    return response.json()
