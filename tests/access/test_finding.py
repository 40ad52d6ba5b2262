"""Finding memories by name and description, and the places that one can be moved to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from members.models import Member
from memories.models import Memory
from memories.services import finding
from memories.services.finding import Found
from tests import factories

pytestmark = pytest.mark.django_db


def names(page: Callable[[tuple[bool, str, str] | None], Found]) -> list[str]:
    """Everything that is found, page by page."""
    found, after = list[str](), None
    while True:
        one = page(after)
        found += [memory.name for memory in one.memories]
        if (after := one.next) is None:
            return found


def found(who: Member, words: str, limit: int = 2) -> list[str]:
    return names(lambda after: finding.find(factories.caller(who), words, limit, after))


def test_every_word_has_to_occur_and_names_come_before_descriptions(alice: Member) -> None:
    top = factories.memory(alice, name="Travel", description="Trips and hotels")
    factories.memory(alice, top, "Hotels in Rome")
    factories.memory(alice, top, "Archive", description="Old hotels")
    factories.memory(alice, top, "rome")
    assert found(alice, "HOTELS") == ["Hotels in Rome", "Archive", "Travel"]
    assert found(alice, "rome hotels") == ["Hotels in Rome"]
    assert found(alice, "100%") == []


def test_only_what_is_seen_is_found(alice: Member, carol: Member, stranger: Member, shared: Memory) -> None:
    factories.memory(alice, shared, "Shared secrets", restricted=True)
    assert found(carol, "shared") == ["Shared"]
    assert found(stranger, "shared") == []
    assert found(alice, "shared") == ["Shared", "Shared secrets"]


def test_a_memory_moves_to_where_one_may_create_and_never_into_itself(
    alice: Member, bob: Member, shared: Memory
) -> None:
    branch = factories.memory(bob, shared, "Branch")
    factories.memory(bob, branch, "Twig")
    factories.memory(bob, shared, "Other")
    readable = factories.memory(alice, name="Only read")
    factories.grant(alice, readable, bob, "read")
    places = names(lambda after: finding.places_to_move(factories.caller(bob), branch, "", 1, after))
    assert places == ["Other"]
    twig = Memory.objects.get(name="Twig")
    places = names(lambda after: finding.places_to_move(factories.caller(bob), twig, "", 1, after))
    assert places == ["Other", "Shared"]


def test_finding_costs_the_same_queries_however_much_there_is(alice: Member) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            finding.find(factories.caller(alice), "memory", 50)
        return len(queries)

    factories.memory(alice)
    before = cost()
    for _ in range(20):
        factories.memory(alice)
    assert cost() == before
