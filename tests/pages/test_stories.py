"""What people come to the console for, told as they would: everything is found by its role and its label."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from members import services as membership
from members.models import Group, Member
from memories.content import read_changes
from memories.models import Memory
from memories.services import records
from memories.services.sight import look
from tests import factories, live
from tests.pages.browser import Watch
from tests.pages.conftest import OpenContext, Visit
from tests.pages.people import PASSWORD, Program, account


@pytest.fixture(scope="module")
def server() -> Iterator[live.LiveServer]:
    """The real thing, started as a newcomer starts it."""
    with live.live_server("--no-demo") as started:
        yield started


@pytest.fixture
def scout(alice: Member) -> Member:
    """An agent that was granted nothing yet."""
    return factories.member(alice.organisation, "Scout", type="agent")


def status(page: Page, words: str) -> None:
    """Expect the status region to say something."""
    expect(page.get_by_role("status")).to_contain_text(words)


def test_an_owner_closes_a_branch_and_the_agent_no_longer_finds_what_is_below(
    server: live.LiveServer, open_context: OpenContext
) -> None:
    world = Company(server)
    assert world.scout.finds(world.root, "When is the bonus paid?") == ["Bonus"]
    page = open_context(base_url=server.url).new_page()
    page.goto("/")
    page.get_by_label("Email").fill(world.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    open_below(page, "Staff")
    page.get_by_role("link", name="Pay", exact=True).press("Enter")
    page.get_by_role("link", name="Access", exact=True).press("Enter")
    page.get_by_role("link", name="Close the branch").press("Enter")
    question = page.get_by_role("dialog", name="Close “Pay”?")
    expect(question).to_contain_text("1 agent will lose access")
    question.get_by_role("button", name="Close the branch").press("Enter")
    status(page, "Pay is closed: 1 agent lost access.")
    assert world.scout.finds(world.root, "When is the bonus paid?") == []
    assert world.scout.sees(world.pay) == 404


class Company:
    """Three levels made over the protocol by an owner; an agent reads from the top down."""

    email = "owner@company.example"

    def __init__(self, server: live.LiveServer) -> None:
        founded = server.run(
            "create_organisation", "Company", "--owner-email", self.email, "--owner-password", PASSWORD
        )
        slug = founded["organisation"]["slug"]
        owner = Program(server.url, founded["api_key"])
        self.root = owner.create("Company")
        self.pay = owner.create("Pay", owner.create("Staff", self.root))
        owner.post(f"/v1/memories/{self.pay}/records", title="Bonus", content="The bonus is paid in March.")
        added = server.run("create_member", slug, "--name", "Scout", "--type", "agent")
        owner.post(f"/v1/memories/{self.root}/grants", principal=added["member"]["principal"], privileges=["read"])
        self.scout = Program(server.url, added["api_key"])


def open_below(page: Page, name: str) -> None:
    """Open what is below a memory in the tree, from the keyboard: the way there leads through its name."""
    page.get_by_role("link", name=name, exact=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def test_an_agent_is_given_access_and_loses_it_again(
    visit: Visit, live_server: LiveServer, alice: Member, shared: Memory, scout: Member
) -> None:
    agent = Program(live_server.url, factories.key(scout))
    page = visit(alice, address(shared, "access"))
    page.get_by_role("combobox", name="Who").select_option("Scout")
    page.get_by_role("checkbox", name="write").check()
    page.get_by_role("button", name="Give access").click()
    status(page, "Scout may now read, write here and below.")
    assert agent.sees(shared.id) == 200
    page.get_by_role("link", name="Take back the access of Scout").click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    status(page, "What Scout was given here was taken back.")
    expect(page.get_by_role("row").filter(has_text="Scout")).to_have_count(0)
    assert agent.sees(shared.id) == 404


def test_a_person_of_two_organisations_switches_between_them(
    visit: Visit, alice: Member, shared: Memory, mallory: Member
) -> None:
    factories.memory(mallory, name="Harvest")
    membership.join(mallory.organisation, name="Alice", type="human", email=account(alice).email)
    page = visit(alice)
    page.get_by_role("link", name="Acme").click()
    expect(page.get_by_role("link", name="Shared", exact=True)).to_be_visible()
    page.get_by_text("Organisation: Acme").click()
    page.get_by_role("link", name="Elsewhere").click()
    expect(page.get_by_role("main")).to_contain_text("No memories yet")
    expect(page.get_by_role("link", name="Harvest")).to_have_count(0)


def test_a_memory_is_created_closed_then_renamed_and_deleted(
    visit: Visit, watch: Watch, alice: Member, shared: Memory
) -> None:
    page = visit(alice, address(shared))
    page.get_by_role("link", name="New memory below").click()
    page.get_by_label("Name").fill("Pay")
    page.get_by_label("Close this branch").check()
    page.get_by_role("button", name="Create the memory").click()
    expect(page.get_by_text("Closed branch")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("textbox", name="Name").fill("Salaries")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Salaries", level=1)).to_be_visible()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_label("Type Salaries to confirm").fill("Salaries")
    page.get_by_role("button", name="Delete the memory").click()
    status(page, "Salaries was deleted with everything below it.")


def test_deleting_asks_for_the_right_name(visit: Visit, watch: Watch, alice: Member, shared: Memory) -> None:
    watch.expected.add(422)
    page = visit(alice, address(shared, "delete"))
    page.get_by_label("Type Shared to confirm").fill("Sharde")
    page.get_by_role("button", name="Delete the memory").click()
    expect(page.get_by_role("alert")).to_contain_text("not the name of this memory")
    assert Memory.objects.filter(pk=shared.id).exists()


def test_a_record_is_read_as_it_is_and_as_it_was_and_then_forgotten(
    visit: Visit, alice: Member, shared: Memory
) -> None:
    place = look(factories.caller(alice), shared.id)
    note = factories.record(alice, shared, "Rent is due in May.", title="Rent")
    records.revise(place, note.id, read_changes({"content": "Rent is due in June."}))
    page = visit(alice, address(shared))
    page.get_by_role("link", name="Rent").click()
    expect(page.get_by_role("region", name="Content")).to_contain_text("June")
    page.get_by_role("link", name="Version 1").click()
    expect(page.get_by_role("region", name="Content")).to_contain_text("May")
    page.get_by_role("link", name="Show the latest").click()
    page.get_by_role("link", name="Forget…").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget the record").click()
    status(page, "The record was forgotten.")
    expect(page.get_by_role("link", name="Rent")).to_have_count(0)


def test_an_agent_is_added_and_its_key_works_until_it_is_revoked(
    visit: Visit, live_server: LiveServer, alice: Member, shared: Memory, team: Group
) -> None:
    page = visit(alice, f"/console/{alice.organisation.slug}/people")
    page.get_by_label("Name").fill("Courier")
    page.get_by_role("radio", name="Agent").check()
    page.get_by_role("button", name="Add the member").click()
    page.get_by_role("button", name="Make a key").click()
    courier = Program(live_server.url, page.get_by_role("textbox", name="Key").input_value())
    assert courier.lists() == 200
    page.reload()
    page.get_by_role("button", name="Revoke the key API key").click()
    status(page, "The key API key was revoked.")
    expect(page.get_by_role("textbox", name="Key")).to_have_count(0)
    assert courier.lists() == 401


def test_a_wrong_password_is_said_and_the_right_one_leads_in(visit: Visit, alice: Member, shared: Memory) -> None:
    email = account(alice).email
    page = visit(None)
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill("guessed")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not correct")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()


def test_the_tree_and_the_access_pages_work_without_scripts(
    visit: Visit, live_server: LiveServer, alice: Member, shared: Memory, scout: Member
) -> None:
    below = factories.memory(alice, factories.memory(alice, shared, "Handbook"), "Travel")
    page = visit(alice, java_script_enabled=False)
    open_below(page, "Handbook")
    page.get_by_role("link", name="Show what is below").click()
    page.get_by_role("link", name="Travel").click()
    page.get_by_role("link", name="Access", exact=True).click()
    page.get_by_role("combobox", name="Who").select_option("Scout")
    page.get_by_role("button", name="Give access").click()
    status(page, "Scout may now read here and below.")
    page.get_by_role("link", name="Close the branch").click()
    expect(page.get_by_role("main")).to_contain_text("2 people and 1 agent will lose access")
    page.get_by_role("button", name="Close the branch").click()
    status(page, "Travel is closed")
    assert Memory.objects.get(pk=below.id).restricted


def address(memory: Memory, page: str = "") -> str:
    """The address of a page of a memory."""
    return f"/console/{memory.organisation.slug}/memories/{memory.id}/{page}".rstrip("/")
