"""What people who look after access come for, told as they would: everything is found by its role and its label."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from members.models import Event, Member
from memories.models import Grant, Memory
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.people import Program, tree_of


@pytest.fixture
def scout(alice: Member) -> Member:
    """An agent that was granted nothing yet."""
    return factories.member(alice.organisation, "Scout", type="agent")


@pytest.fixture
def branches(alice: Member, shared: Memory) -> dict[str, Memory]:
    """Two branches below the shared memory, with something below each."""
    handbook = factories.memory(alice, shared, "Handbook", description="What holds for everybody")
    staff = factories.memory(alice, shared, "Staff")
    return {
        "Handbook": handbook,
        "Travel": factories.memory(alice, handbook, "Travel"),
        "Staff": staff,
        "Pay": factories.memory(alice, staff, "Pay"),
    }


def address(memory: Memory, page: str = "") -> str:
    """The address of a page of a memory."""
    return f"/console/{memory.organisation.slug}/memories/{memory.id}/{page}".rstrip("/")


def status(page: Page, words: str) -> None:
    """Expect the status region to say something."""
    expect(page.get_by_role("status")).to_contain_text(words)


def item(page: Page, name: str) -> Locator:
    """A memory in the tree."""
    return page.get_by_role("treeitem", name=re.compile(f"^{name}($|,)"))


def test_an_agent_is_given_one_branch_and_reaches_nothing_else(
    visit: Visit, live_server: LiveServer, alice: Member, shared: Memory, branches: dict[str, Memory], scout: Member
) -> None:
    agent = Program(live_server.url, factories.key(scout))
    page = visit(alice, tree_of(alice))
    page.get_by_role("link", name="Handbook", exact=True).click()
    page.get_by_role("link", name="Access", exact=True).click()
    page.get_by_role("combobox", name="Who").select_option("Scout")
    page.get_by_role("button", name="Give access").click()
    status(page, "Scout may now read here and below.")
    page.get_by_role("link", name="Who can reach this").click()
    row = page.get_by_role("row").filter(has_text="Scout")
    expect(row).to_contain_text("given directly")
    row.get_by_role("link", name="Scout", exact=True).click()
    page.get_by_role("link", name="Within reach").click()
    expect(page.get_by_role("link", name="Handbook", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Staff", exact=True)).to_have_count(0)
    seen = {name: agent.sees(memory.id) for name, memory in branches.items()}
    assert seen == {"Handbook": 200, "Travel": 200, "Staff": 404, "Pay": 404}


def test_closing_a_branch_shows_who_is_left_out(
    visit: Visit, alice: Member, branches: dict[str, Memory], carol: Member
) -> None:
    staff = branches["Staff"]
    factories.grant(alice, branches["Pay"], carol, "read")
    page = visit(alice, address(staff, "access"))
    page.get_by_role("link", name="Close the branch").click()
    question = page.get_by_role("dialog", name="Close “Staff”?")
    expect(question).to_contain_text("2 people and 1 agent will lose access")
    expect(question).to_contain_text("It concerns 2 memories.")
    question.get_by_text("Member by member").click()
    expect(question.get_by_role("listitem").filter(has_text="loses 1 memory")).to_contain_text("Carol")
    expect(question.get_by_role("listitem").filter(has_text="loses 2 memories")).to_have_count(2)
    question.get_by_role("button", name="Close the branch").click()
    status(page, "Staff is closed: 2 people and 1 agent lost access.")
    page.get_by_role("link", name="Who can reach this").click()
    expect(page.get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("row").nth(1)).to_contain_text("Alice")


def test_somebody_finds_out_why_an_agent_can_read_something_and_why_no_longer(
    visit: Visit, alice: Member, agent: Member, branches: dict[str, Memory]
) -> None:
    factories.key(agent)
    page = visit(alice, address(branches["Pay"], "who"))
    page.get_by_role("link", name="Why Agent has access").click()
    expect(page.get_by_role("heading", name="Yes: Agent can read here")).to_be_visible()
    chain = page.get_by_role("list", name="What permits it")
    for link in ("Agent", "Team", "read", "Shared", "Pay"):
        expect(chain).to_contain_text(link)
    page.goto(address(branches["Staff"], "access"))
    page.get_by_role("link", name="Close the branch").click()
    page.get_by_role("dialog").get_by_role("button", name="Close the branch").click()
    status(page, "Staff is closed")
    page.goto(address(branches["Pay"], "why"))
    page.get_by_role("combobox", name="Who").select_option("Agent")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name="No: Agent cannot read here")).to_be_visible()
    expect(page.get_by_role("region", name="No: Agent")).to_contain_text("the branch is closed at Staff")
    expect(page.get_by_role("list", name="What would permit it")).to_contain_text("Team")


def test_an_owner_views_the_memories_as_an_agent_and_stops(
    visit: Visit, alice: Member, agent: Member, shared: Memory, branches: dict[str, Memory]
) -> None:
    factories.memory(alice, shared, "Board", restricted=True)
    factories.record(alice, branches["Travel"], "Trains are booked in second class.", title="Trains")
    page = visit(alice, f"/console/{alice.organisation.slug}/people/{agent.id}")
    page.get_by_role("link", name="View as").click()
    expect(page.get_by_role("note", name="Viewing as")).to_contain_text("Viewing as Agent")
    item(page, "Shared").focus()
    page.keyboard.press("ArrowRight")
    expect(item(page, "Handbook")).to_be_visible()
    expect(item(page, "Board")).to_have_count(0)
    page.get_by_role("link", name="Shared", exact=True).click()
    page.get_by_label("Recall here and below").fill("which class on the train")
    page.get_by_role("button", name="Recall").click()
    expect(page.get_by_role("heading", name="Trains")).to_be_visible()
    page.get_by_text("What it says").first.click()
    expect(page.get_by_text("Trains are booked in second class.")).to_be_visible()
    page.get_by_role("link", name="Stop").click()
    expect(page.get_by_role("heading", name="Agent", level=1)).to_be_visible()
    assert Event.objects.filter(action="viewed.as", actor=alice.principal).count() == 3


def test_the_tree_is_walked_with_the_keyboard(visit: Visit, alice: Member, branches: dict[str, Memory]) -> None:
    page = visit(alice, tree_of(alice))
    page.get_by_role("searchbox", name="Find memories").focus()
    page.keyboard.press("Tab")
    expect(item(page, "Shared")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(item(page, "Handbook")).to_be_focused()
    expect(item(page, "Handbook")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(item(page, "Travel")).to_be_visible()
    expect(item(page, "Handbook")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowRight")
    expect(item(page, "Travel")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(item(page, "Handbook")).to_be_focused()
    page.keyboard.press("End")
    expect(item(page, "Staff")).to_be_focused()
    page.keyboard.press("Home")
    expect(item(page, "Shared")).to_be_focused()
    page.keyboard.type("st")
    expect(item(page, "Staff")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(item(page, "Travel")).to_be_hidden()
    expect(page.locator("[role=treeitem][tabindex='0']")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Handbook", level=1)).to_be_visible()


def test_a_long_level_goes_on_from_where_it_was(visit: Visit, alice: Member) -> None:
    top = factories.memory(alice, name="Top")
    for number in range(105):
        factories.memory(alice, top, f"Memory {number:03}")
    page = visit(alice, tree_of(alice))
    item(page, "Top").focus()
    page.keyboard.press("End")
    expect(item(page, "Show more")).to_be_focused()
    page.keyboard.press("Enter")
    expect(item(page, "Memory 100")).to_be_focused()
    expect(item(page, "Memory 104")).to_be_visible()


def test_a_memory_is_dragged_and_moved_once_it_was_said_what_that_does(
    visit: Visit, alice: Member, branches: dict[str, Memory], carol: Member
) -> None:
    factories.grant(alice, branches["Staff"], factories.member(alice.organisation, "Dora"), "read")
    page = visit(alice, tree_of(alice))
    page.get_by_role("link", name="Handbook", exact=True).drag_to(page.get_by_role("link", name="Staff", exact=True))
    question = page.get_by_role("dialog", name="Move “Handbook”?")
    expect(question).to_contain_text("1 person will gain access")
    assert Memory.objects.get(name="Handbook").parent_id != branches["Staff"].id
    question.get_by_role("button", name="Move the memory").click()
    status(page, "Handbook was moved with everything below it.")
    assert Memory.objects.get(name="Handbook").parent_id == branches["Staff"].id


def test_a_memory_is_found_while_typing_and_moved_from_its_settings(
    visit: Visit, alice: Member, branches: dict[str, Memory]
) -> None:
    page = visit(alice, tree_of(alice))
    page.get_by_label("Find memories by name or description").press_sequentially("everybody")
    expect(page.get_by_role("heading", name="Found for “everybody”")).to_be_visible()
    page.get_by_role("link", name="Handbook", exact=True).click()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Move…").click()
    page.get_by_label("Name or description").fill("pay")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Pay", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Move the memory").click()
    status(page, "Handbook was moved")
    assert Memory.objects.get(name="Handbook").parent_id == branches["Pay"].id


def test_what_a_grant_permits_is_changed_in_the_dialog(
    visit: Visit, alice: Member, carol: Member, shared: Memory
) -> None:
    page = visit(alice, address(shared, "access"))
    page.get_by_role("link", name="Change the access of Carol").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox", name="write").check()
    dialog.get_by_role("button", name="See what this does").click()
    expect(dialog).to_contain_text("1 person will hold more than before")
    dialog.get_by_role("button", name="Change the access").click()
    status(page, "Carol may now read, write here and below.")
    assert Grant.objects.get(principal=carol.principal).held.words == ["read", "write"]


def test_a_person_is_asked_in_by_a_link(visit: Visit, alice: Member, shared: Memory) -> None:
    page = visit(alice, f"/console/{alice.organisation.slug}/people")
    page.get_by_role("link", name="Invite a person").click()
    page.get_by_label("Name of the person").fill("Nina")
    page.get_by_role("button", name="Make the link").click()
    link = page.get_by_role("textbox", name="Link").input_value()
    newcomer = visit(None, link)
    newcomer.get_by_label("Email").fill("nina@example.com")
    newcomer.get_by_label("Password").fill("a long enough one")
    newcomer.get_by_role("button", name="Make an account and join").click()
    status(newcomer, "Welcome to Acme.")


def test_access_is_looked_after_without_scripts(
    visit: Visit, alice: Member, carol: Member, branches: dict[str, Memory]
) -> None:
    page = visit(alice, address(branches["Pay"], "who"), java_script_enabled=False)
    page.get_by_label("Name", exact=True).fill("carol")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_role("link", name="Why Carol has access").click()
    expect(page.get_by_role("heading", name="Carol")).to_be_visible()
    page.goto(address(branches["Pay"], "move"))
    page.get_by_label("Name or description").fill("handbook")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Handbook", exact=True).click()
    page.get_by_role("button", name="Move the memory").click()
    status(page, "Pay was moved")
    page.goto(f"{tree_of(alice)}/find?q=pay")
    expect(page.get_by_role("link", name="Pay", exact=True)).to_be_visible()
