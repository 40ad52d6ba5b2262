"""The cast, and a client for each of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client, TransactionTestCase
from hypothesis import HealthCheck, Phase, settings

from members.models import Group, Member, Organisation
from memories.models import Memory
from tests import emptying, factories, scheduling

# A failure in a pipeline costs seconds: same examples every time, no shrinking. At the desk: HYPOTHESIS_PROFILE=desk.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile(
    "ci",
    UNHURRIED,
    derandomize=True,
    database=None,
    print_blob=True,
    phases=[Phase.explicit, Phase.generate],
    max_examples=40,
)
settings.register_profile("desk", UNHURRIED, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@dataclass(frozen=True)
class Answer:
    """What came back: the status, the exact bytes, the headers, and the JSON in them."""

    status: int
    raw: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw)

    @property
    def error(self) -> Any:
        """The inside of the error envelope."""
        return self.json["error"]


@dataclass
class Api:
    """Calls the server in this process; every member gets a key at its first call."""

    _keys: dict[str, str] = field(default_factory=dict)
    _client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        as_: Member | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request, as nobody when no member is named; bytes and strings are sent as they are."""
        sent = dict(headers or {})
        if as_ is not None:
            sent.setdefault("Authorization", f"Bearer {self.key(as_)}")
        raw = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        response = self._client.generic(method, path, raw, content_type="application/json", headers=sent)
        return Answer(response.status_code, response.content, dict(response.headers))

    def get(self, path: str, as_: Member) -> Any:
        """The JSON of a read that must succeed."""
        return self.ok("GET", path, None, as_)

    def ok(self, method: str, path: str, body: object, as_: Member) -> Any:
        """The JSON of a call that must succeed."""
        answer = self.call(method, path, body, as_=as_)
        assert answer.status == 200, f"{method} {path}: {answer.status} {answer.raw!r}"
        return answer.json

    def key(self, member: Member) -> str:
        """The key of a member."""
        if member.id not in self._keys:
            self._keys[member.id] = factories.key(member)
        return self._keys[member.id]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep together what shares a server."""
    return scheduling.scheduler(config, log)


@pytest.fixture(scope="session", autouse=True)
def emptied_by_rows() -> Iterator[None]:
    """Tests that commit leave an empty database behind, in less time than they take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", emptying.empty)
        yield


@pytest.fixture
def api(db: None) -> Api:
    """The server."""
    return Api()


@pytest.fixture
def organisation(db: None) -> Organisation:
    """Where everyone but mallory belongs."""
    return factories.organisation("Acme")


@pytest.fixture
def alice(organisation: Organisation) -> Member:
    """Made the shared memory, and so holds everything on it."""
    return factories.member(organisation, "Alice", is_owner=True)


@pytest.fixture
def bob(organisation: Organisation) -> Member:
    """A teammate: in the team, and granted nothing himself."""
    return factories.member(organisation, "Bob")


@pytest.fixture
def agent(organisation: Organisation) -> Member:
    """An agent in the team: holds what bob holds."""
    return factories.member(organisation, "Agent", type="agent")


@pytest.fixture
def carol(organisation: Organisation) -> Member:
    """Reads the shared memory, and nothing more."""
    return factories.member(organisation, "Carol")


@pytest.fixture
def stranger(organisation: Organisation) -> Member:
    """A member of the organisation who was granted nothing."""
    return factories.member(organisation, "Sam")


@pytest.fixture
def mallory(db: None) -> Member:
    """Owns another organisation."""
    elsewhere = factories.organisation("Elsewhere")
    return factories.member(elsewhere, "Mallory", is_owner=True)


@pytest.fixture
def team(organisation: Organisation, bob: Member, agent: Member) -> Group:
    """The group of bob and the agent."""
    return factories.group(organisation, bob, agent, name="Team")


@pytest.fixture
def shared(alice: Member, team: Group, carol: Member) -> Memory:
    """Alice's memory at the top: the team reads, writes and creates there, carol reads."""
    memory = factories.memory(alice, name="Shared")
    factories.grant(alice, memory, team, "read", "write", "create")
    factories.grant(alice, memory, carol, "read")
    return memory
