"""The server under test and the people who call it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from .client import JSON, Client, path
from .trees import open_root, remember

# Who the leak checks need, and the variable that holds the key of each on a server that is already running.
KEYS = {
    "owner": "UHP_API_KEY",
    "teammate": "UHP_TEAMMATE_KEY",
    "reader": "UHP_READER_KEY",
    "stranger": "UHP_STRANGER_KEY",
    "agent": "UHP_AGENT_KEY",
    "foreign": "UHP_FOREIGN_KEY",
}
DEFAULT_BODY_LIMIT = 64 * 1024 * 1024
OWN_BODY_LIMIT = 4 * 1024 * 1024


class Regroup(Protocol):
    """Puts the agent into the teammate's group, or takes it out."""

    def __call__(self, *, joined: bool) -> None: ...


@dataclass
class Cast:
    """Everybody with a key, and the group that the teammate belongs to."""

    base_url: str
    people: dict[str, Client]
    team: str = ""
    # Who is in a group is no part of the protocol, so only a server that we started ourselves can change it.
    regroup: Regroup | None = None
    body_limit: int = DEFAULT_BODY_LIMIT
    _named: set[str] = field(default_factory=set)

    def find(self, name: str) -> Client:
        """The client of one person, with its principal known; skips the test where the person was not given."""
        client = self.people.get(name)
        if client is None:
            pytest.skip(f"needs {KEYS[name]}")
        if not client.principal:
            client.principal = os.environ.get(KEYS[name].replace("_KEY", "_PRINCIPAL")) or own_principal(client)
        return client


def own_principal(client: Client) -> str:
    """Who a client is to the server: the writer of a record is exactly the principal that a grant would name."""
    root, _ = open_root(client)
    try:
        writer = remember(client, root, "who writes this?")["written_by"]
        return f"{writer['kind']}:{writer['id']}"
    finally:
        client.delete(path(root["id"]))


def given_cast(base_url: str) -> Cast:
    """The cast of a server that is already running, from the environment."""
    people = {
        name: Client(base_url, key, name=name) for name, variable in KEYS.items() if (key := os.environ.get(variable))
    }
    if "owner" not in people:
        raise pytest.UsageError("UHP_BASE_URL is set, so UHP_API_KEY must be, too")
    limit = int(os.environ.get("UHP_BODY_LIMIT", DEFAULT_BODY_LIMIT))
    return Cast(base_url, people, team=os.environ.get("UHP_TEAM_PRINCIPAL", ""), body_limit=limit)


@pytest.fixture(scope="package")
def cast() -> Iterator[Cast]:
    """The cast of the server in UHP_BASE_URL, or of one that is started for this run and stopped after it."""
    with ExitStack() as stack:
        if base_url := os.environ.get("UHP_BASE_URL"):
            cast = given_cast(base_url.rstrip("/"))
        else:
            from tests.live import live_server

            cast = found_organisations(stack.enter_context(live_server()))
        for client in cast.people.values():
            stack.enter_context(client)
        yield cast


class Runner(Protocol):
    """What the making of people needs from a live server."""

    url: str

    def run(self, command: str, *args: str) -> JSON: ...


def found_organisations(live: Runner) -> Cast:
    """Two organisations: one with five people, an agent among them, and one with somebody foreign."""

    def client(name: str, made: JSON) -> Client:
        return Client(live.url, made["api_key"], name=name, principal=made["member"]["principal"])

    first = live.run("create_organisation", "Northwind Freight", "--owner-email", "owner@northwind.example")
    other = live.run("create_organisation", "Elsewhere", "--owner-email", "owner@elsewhere.example")
    org = first["organisation"]["slug"]
    people = {"owner": client("owner", first), "foreign": client("foreign", other)}
    members: dict[str, JSON] = {}
    for name, kind in {"teammate": "human", "reader": "human", "stranger": "human", "agent": "agent"}.items():
        members[name] = live.run("create_member", org, "--name", name.capitalize(), "--type", kind)
        people[name] = client(name, members[name])
    group = live.run("create_group", org, "Team", "--member", members["teammate"]["member"]["id"])["group"]

    def regroup(*, joined: bool) -> None:
        command = "add_to_group" if joined else "remove_from_group"
        live.run(command, org, group["id"], members["agent"]["member"]["id"])

    return Cast(live.url, people, team=group["principal"], regroup=regroup, body_limit=OWN_BODY_LIMIT)


@pytest.fixture(scope="package")
def owner(cast: Cast) -> Client:
    """Whoever creates the trees of the tests."""
    return cast.find("owner")


@pytest.fixture(scope="package")
def teammate(cast: Cast) -> Client:
    """Somebody of the same organisation who is in a group; nothing is granted but to the group."""
    return cast.find("teammate")


@pytest.fixture(scope="package")
def team(cast: Cast) -> str:
    """The principal of the teammate's group."""
    if not cast.team:
        pytest.skip("needs UHP_TEAM_PRINCIPAL")
    return cast.team


@pytest.fixture(scope="package")
def reader(cast: Cast) -> Client:
    """Somebody of the same organisation to whom the tests grant something."""
    return cast.find("reader")


@pytest.fixture(scope="package")
def agent(cast: Cast) -> Client:
    """An agent of the same organisation to whom the tests grant something."""
    return cast.find("agent")


@pytest.fixture(scope="package")
def stranger(cast: Cast) -> Client:
    """Somebody of the same organisation to whom nobody ever grants anything."""
    return cast.find("stranger")


@pytest.fixture(scope="package")
def foreign(cast: Cast) -> Client:
    """A member of another organisation."""
    return cast.find("foreign")


@pytest.fixture(scope="package")
def nobody(cast: Cast) -> Iterator[Client]:
    """A caller without a credential."""
    with Client(cast.base_url, name="nobody") as client:
        yield client


@pytest.fixture(scope="package")
def discovery(nobody: Client) -> JSON:
    """The discovery document."""
    document = nobody.get("/v1/uhp").valid("Discovery")
    assert document["capabilities"].get("memories") is True, "this server does not have the Memories chapter"
    return document


@pytest.fixture(scope="package")
def document(owner: Client, discovery: JSON) -> JSON:
    """The capability document of the provider that the tests use: what it declares, it is held to."""
    root, document = open_root(owner)
    owner.delete(path(root["id"]))
    return document


@pytest.fixture
def root(owner: Client, document: JSON) -> Iterator[JSON]:
    """A fresh root memory of the owner, gone after the test."""
    root, _ = open_root(owner)
    yield root
    owner.send("DELETE", path(root["id"]))
