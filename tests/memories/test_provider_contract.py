"""What every provider promises of the versions of a record and of a view: the same tests for each that is connected.

The numbers of versions are its pages: what is asked after a number never begins anew, and a page costs a page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from members.models import Member
from memories.content import Draft
from memories.filters import All, Filter, Some, has_attribute, matches, of_status, written_by
from memories.models import CommonWord, Memory
from memories.providers import registry
from memories.providers.base import Change, Provider, RecordVersion, View, Writer
from tests import factories

pytestmark = pytest.mark.django_db

VERSIONS = 7
WRITER = Writer("member", "mbr_" + "1" * 32, "human")
OTHER = Writer("member", "mbr_" + "2" * 32, "agent")


@pytest.fixture(params=registry.connected(), ids=lambda provider: provider.id)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def memory(alice: Member) -> Memory:
    return factories.memory(alice)


def said(text: str, **attributes: object) -> Draft:
    return Draft("fact", content=({"type": "text", "text": text},), attributes=attributes)


def revised(provider: Provider, memory: Memory, versions: int = VERSIONS) -> RecordVersion:
    """A record with so many versions."""
    record = provider.remember(memory.id, said("Version 1."), WRITER)
    for number in range(2, versions + 1):
        assert provider.revise(memory.id, record.id, to(said(f"Version {number}.")), WRITER)
    return record


def to(draft: Draft) -> Change:
    """The change to a draft, whatever there was before."""
    return lambda head: draft


@pytest.fixture
def record(provider: Provider, memory: Memory) -> RecordVersion:
    return revised(provider, memory)


def numbers(found: object) -> list[int]:
    assert isinstance(found, list | tuple)
    return [one.number for one in found]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    after=st.none() | st.integers(-1, VERSIONS + 2), limit=st.none() | st.integers(1, VERSIONS + 1), down=st.booleans()
)
def test_a_page_of_a_history_is_that_part_of_the_whole(
    provider: Provider, memory: Memory, record: RecordVersion, after: int | None, limit: int | None, down: bool
) -> None:
    whole = range(VERSIONS, 0, -1) if down else range(1, VERSIONS + 1)
    beyond = [one for one in whole if after is None or (one < after if down else one > after)]
    found = provider.history(memory.id, record.id, after=after, limit=limit, newest_first=down)
    assert numbers(found) == beyond[:limit]
    assert [one.draft.said for one in found] == [f"Version {one}." for one in beyond[:limit]]


def test_the_pages_of_a_history_are_all_of_it_once(provider: Provider, memory: Memory, record: RecordVersion) -> None:
    walked: list[int] = []
    while page := provider.history(memory.id, record.id, after=walked[-1] if walked else None, limit=3):
        walked += numbers(page)
    assert walked == list(range(1, VERSIONS + 1))


def test_a_page_of_a_history_costs_the_same_however_many_versions_there_are(provider: Provider, memory: Memory) -> None:
    counts = []
    for versions in (2, 2 * VERSIONS):
        record = revised(provider, memory, versions)
        with CaptureQueriesContext(connection) as queries:
            assert len(provider.history(memory.id, record.id, limit=2, newest_first=True)) == 2
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_versions_are_found_by_their_numbers(provider: Provider, memory: Memory, record: RecordVersion) -> None:
    found = provider.numbered(memory.id, record.id, {1, 3, VERSIONS + 1, 0})
    assert {number: one.draft.said for number, one in found.items()} == {1: "Version 1.", 3: "Version 3."}
    assert found[1].status == "superseded"
    assert provider.numbered(memory.id, record.id, set()) == {}


def test_a_record_of_another_memory_has_no_history_here(provider: Provider, memory: Memory, alice: Member) -> None:
    record = revised(provider, factories.memory(alice), 2)
    assert not provider.history(memory.id, record.id)
    assert not provider.history(memory.id, record.id, limit=1, newest_first=True)
    assert not provider.numbered(memory.id, record.id, {1, 2})


def world(provider: Provider, memory: Memory) -> datetime:
    """Records of two writers, one revised and one forgotten; an instant at which that had not happened yet."""
    by_hand = provider.remember(memory.id, said("First.", due="Friday", rounds=2), WRITER)
    gone = provider.remember(memory.id, said("Second.", due=None), OTHER)
    last = provider.remember(memory.id, said("Third.", **{"a.b": [1]}), OTHER)
    assert provider.revise(memory.id, by_hand.id, lambda head: replace(head.draft, attributes={"due": 2}), OTHER)
    assert provider.forget(memory.id, gone.id)
    return last.written_at


CONDITIONS: list[Callable[[], Filter]] = [
    lambda: written_by("member:" + WRITER.id),
    lambda: written_by("member:" + OTHER.id),
    lambda: written_by("group:" + WRITER.id),
    lambda: written_by("nobody"),
    lambda: of_status("active"),
    lambda: of_status("superseded"),
    lambda: of_status("forgotten"),
    lambda: of_status("unheard of"),
    lambda: has_attribute("due"),
    lambda: has_attribute("due", "Friday"),
    lambda: has_attribute("due", "2", 2),
    lambda: has_attribute("due", None),
    lambda: has_attribute("a"),
    lambda: has_attribute("a.b"),
    lambda: has_attribute("a.b", [1]),
    lambda: has_attribute(""),
    lambda: has_attribute("due", {}),
]


@pytest.mark.parametrize("number", range(len(CONDITIONS)))
@pytest.mark.parametrize("shown", ["now", "everything", "then"])
def test_a_view_shows_what_its_filter_means(provider: Provider, memory: Memory, number: int, shown: str) -> None:
    then = world(provider, memory)
    plain = {"now": View(), "everything": View(include_all=True), "then": View(as_of=then)}[shown]
    one = CONDITIONS[number]()
    every = provider.page(memory.id, plain, 50, None).versions
    assert len(every) == {"now": 2, "everything": 4, "then": 3}[shown]
    for asked in (one, All((one, of_status("active"))), Some((one, written_by("member:" + WRITER.id)))):
        meant = [(version.id, version.number) for version in every if matches(asked, version.facts)]
        found = provider.page(memory.id, replace(plain, filters=asked), 50, None).versions
        assert [(version.id, version.number) for version in found] == meant


def test_a_filter_is_no_reason_for_a_short_page(provider: Provider, memory: Memory) -> None:
    for number in range(12):
        provider.remember(memory.id, said(f"Number {number}."), OTHER if number % 4 == 0 else WRITER)
    view, after, pages = View(filters=written_by("member:" + OTHER.id)), None, []
    while True:
        page = provider.page(memory.id, view, 2, after)
        pages.append([one.draft.said for one in page.versions])
        after = page.next
        if after is None:
            break
    assert pages == [["Number 0.", "Number 4."], ["Number 8."]]


FERRY = "The ferry to the island leaves from pier 2 on weekdays."


def test_what_says_nearly_the_same_is_found_before_what_shares_some_words(provider: Provider, memory: Memory) -> None:
    other = provider.remember(memory.id, said(FERRY.replace("2", "3")), WRITER)
    for number in range(12):
        provider.remember(memory.id, said(f"{FERRY} {' '.join(f'w{n}x{number}' for n in range(90))}"), WRITER)
        provider.remember(memory.id, said(f"The ferry number {number}."), WRITER)
    same = provider.remember(memory.id, said(FERRY.upper()), WRITER)
    assert [one.id for one in provider.alike(memory.id, FERRY, 2)] == [same.id, other.id]


def test_what_is_alike_is_current_said_in_no_conversation_and_of_this_memory(
    provider: Provider, memory: Memory, alice: Member
) -> None:
    provider.remember(factories.memory(alice).id, said(FERRY), WRITER)
    provider.remember(memory.id, replace(said(FERRY), type="episode"), WRITER)
    forgotten = provider.remember(memory.id, said(FERRY), WRITER)
    provider.forget(memory.id, forgotten.id)
    record = provider.remember(memory.id, said(FERRY), WRITER)
    assert [one.id for one in provider.alike(memory.id, FERRY, 5)] == [record.id]
    assert provider.revise(memory.id, record.id, to(said("Tea at four.")), WRITER)
    assert provider.alike(memory.id, FERRY, 5) == []
    assert provider.alike(memory.id, "", 5) == []


def test_what_says_nearly_the_same_is_found_where_its_words_are_common(provider: Provider, memory: Memory) -> None:
    common = [CommonWord(organisation=memory.organisation, lexeme=one, records=20_000) for one in ("ferri", "island")]
    CommonWord.objects.bulk_create(common)
    same = provider.remember(memory.id, said(FERRY), WRITER)
    assert [one.id for one in provider.alike(memory.id, FERRY, 2)] == [same.id]
    assert [one.id for one in provider.alike(memory.id, "The ferry.", 2)] == [same.id]
