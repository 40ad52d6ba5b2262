"""Going straight to something: with the keyboard, without a script, and never to what one may not see."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from members.models import Group, Member
from memories.models import Memory
from memories.providers.base import RecordVersion
from memories.services import records
from memories.services.sight import look
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.people import client_of, tree_of
from tests.pages.test_accessibility import grave


@pytest.fixture
def rent(alice: Member, shared: Memory) -> RecordVersion:
    """A record that the team reads."""
    return factories.record(alice, shared, "The rent of the tannery is due in June.", title="Tannery rent")


def found(by: Member, words: str) -> str:
    """What the page of a search says."""
    page = client_of(by).get(f"/console/{by.organisation.slug}/search", {"q": words})
    assert page.status_code == 200
    main: str = page.content.decode().partition("<main")[2].partition("</main>")[0]
    return main


def test_control_k_and_the_arrows_lead_to_a_memory(visit: Visit, alice: Member, shared: Memory) -> None:
    page = visit(alice, tree_of(alice))
    page.keyboard.press("Control+k")
    words = page.get_by_role("dialog").get_by_role("searchbox")
    expect(words).to_be_focused()
    expect(page.get_by_role("dialog").get_by_role("link", name="Members")).to_be_visible()
    words.fill("shar")
    target = page.get_by_role("dialog").get_by_role("region", name="Memories").get_by_role("link", name="Shared")
    expect(target).to_be_visible()
    assert not grave(page)
    page.keyboard.press("ArrowDown")
    expect(target).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(words).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Shared")).to_be_visible()


def test_one_escape_leaves_it_whatever_was_typed(visit: Visit, alice: Member, shared: Memory) -> None:
    page = visit(alice, tree_of(alice))
    page.keyboard.press("Control+k")
    words = page.get_by_role("dialog").get_by_role("searchbox")
    words.fill("shar")
    words.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_each_kind_of_thing_is_found(alice: Member, shared: Memory, team: Group, rent: RecordVersion) -> None:
    factories.member(alice.organisation, "Tanner", type="agent")
    factories.group(alice.organisation, name="Tanners")
    said = found(alice, "tann")
    for label in ("Agents", "Groups"):
        assert f'aria-label="{label}"' in said
    assert "Tannery rent" in found(alice, "tannery")
    assert 'aria-label="Pages"' in found(alice, "people")
    assert "Nothing found" in found(alice, "zebra")


def test_what_one_may_not_see_is_not_found(
    alice: Member, stranger: Member, shared: Memory, rent: RecordVersion
) -> None:
    assert "Tannery" not in found(stranger, "tannery")
    assert "Shared" not in found(stranger, "shared")
    closed = factories.memory(alice, shared, "Closed", restricted=True)
    factories.record(alice, closed, "The tannery is haunted.", title="Tannery ghost")
    teammate = factories.member(alice.organisation, "Tess")
    factories.grant(alice, shared, teammate, "read")
    assert "Tannery rent" in found(teammate, "tannery")
    assert "Tannery ghost" not in found(teammate, "tannery")
    assert "Tannery ghost" in found(alice, "tannery")


def test_a_memory_one_may_only_write_to_gives_no_records(alice: Member, shared: Memory, rent: RecordVersion) -> None:
    writer = factories.member(alice.organisation, "Willa")
    factories.grant(alice, shared, writer, "write")
    assert "Tannery" not in found(writer, "tannery")


def test_a_record_given_back_by_a_grant_below_a_closed_branch_is_found_once(alice: Member, shared: Memory) -> None:
    closed = factories.memory(alice, shared, "Closed", restricted=True)
    inner = factories.memory(alice, closed, "Inner")
    factories.record(alice, inner, "The tannery is haunted.", title="Tannery ghost")
    reader = factories.member(alice.organisation, "Rae")
    factories.grant(alice, shared, reader, "read")
    factories.grant(alice, inner, reader, "read")
    assert found(reader, "tannery").count("Tannery ghost") == 1


def test_what_is_forgotten_is_not_found(alice: Member, shared: Memory, rent: RecordVersion) -> None:
    records.forget(look(factories.caller(alice), shared.id), rent.id)
    assert "Tannery" not in found(alice, "tannery")
