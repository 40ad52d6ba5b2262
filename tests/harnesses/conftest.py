"""A harness, its agent, and a way to make more of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from members.models import Member
from tests.conftest import Api
from tests.harnesses.rpc import Mcp
from tests.harnesses.running import World, running


@dataclass(frozen=True)
class Engaged:
    """A harness as it was answered, and the member that acts under it."""

    id: str
    agent: Member
    json: dict[str, Any]


Engage = Callable[..., Engaged]


@pytest.fixture
def engage(api: Api) -> Engage:
    """Creates a harness through the API, as the member named."""

    def create(by: Member, **fields: Any) -> Engaged:
        harness = api.ok("POST", "/v1/harnesses", {"base": "mcp", "name": "Clerk", **fields}, by)
        return Engaged(harness["id"], Member.objects.get(pk=harness["id"]), harness)

    return create


@pytest.fixture
def mcp(api: Api) -> Mcp:
    """The tools, asked message by message."""
    return Mcp(api)


@pytest.fixture(scope="package")
def world() -> Iterator[World]:
    """A running server with two agents."""
    with running() as found:
        yield found
