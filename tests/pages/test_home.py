"""Where a person begins: what needs them, what happened, and where they are."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from members.models import Member
from memories.models import Job, Memory
from memories.services import tree
from memories.services.sight import look
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import grave


def home(by: Member) -> str:
    """What the first page says."""
    page = client_of(by).get(f"/console/{by.organisation.slug}/home")
    assert page.status_code == 200
    main: str = page.content.decode().partition("<main")[2].partition("</main>")[0]
    return main


@pytest.fixture
def scout(alice: Member, shared: Memory) -> Member:
    """An agent that may read and write there."""
    agent = factories.member(alice.organisation, "Scout", type="agent")
    factories.grant(alice, shared, agent, "read", "write")
    return agent


def test_what_an_agent_wrote_waits_and_is_listed(visit: Visit, alice: Member, shared: Memory, scout: Member) -> None:
    factories.record(scout, shared, "The ferry leaves at nine.", title="Ferry")
    page = visit(alice, f"/console/{alice.organisation.slug}/home")
    expect(page.get_by_role("heading", level=1, name="Acme")).to_be_visible()
    needs = page.get_by_role("region", name="What needs you")
    expect(needs.get_by_role("link", name="to review")).to_contain_text("1")
    lately = page.get_by_role("region", name="Written by agents lately")
    expect(lately.get_by_role("link", name="Ferry")).to_be_visible()
    expect(lately).to_contain_text("Scout")
    assert not grave(page)
    page.get_by_role("region", name="Your memories").get_by_role("link", name="Shared").click()
    expect(page.get_by_role("heading", level=1, name="Shared")).to_be_visible()


def test_what_people_write_is_not_among_what_agents_wrote(alice: Member, shared: Memory, scout: Member) -> None:
    factories.record(alice, shared, "The ferry leaves at ten.", title="Timetable")
    assert "Timetable" not in home(alice)


def test_nothing_of_memories_that_one_does_not_read_is_listed(
    alice: Member, stranger: Member, shared: Memory, scout: Member
) -> None:
    factories.record(scout, shared, "The ferry leaves at nine.", title="Ferry")
    for name, privileges in (("Wim", ("write",)), ("Del", ("delete",))):
        someone = factories.member(alice.organisation, name)
        factories.grant(alice, shared, someone, *privileges)
        assert "Ferry" not in home(someone)
    assert "Ferry" not in home(stranger)
    assert 'class="need ' not in home(stranger)


def test_work_that_failed_is_said_to_whom_it_concerns(alice: Member, bob: Member, shared: Memory) -> None:
    Job.objects.create(
        organisation=alice.organisation, kind="erase", memory_id=shared.id, actor=alice.principal, state="failed"
    )
    assert "failed in the background" in home(alice)
    assert "failed in the background" not in home(bob)


def test_a_person_with_nothing_is_told_what_to_do(stranger: Member, shared: Memory) -> None:
    said = home(stranger)
    assert "No memories yet" in said
    assert "Nothing. What agents write" in said


def test_what_was_deleted_is_gone_from_home(alice: Member, shared: Memory, scout: Member) -> None:
    factories.record(scout, shared, "The ferry leaves at nine.", title="Ferry")
    tree.delete(look(factories.caller(alice), shared.id))
    assert "Ferry" not in home(alice)
