"""Every page, light, dark and on a phone: what assistive technology would stumble over, and what would overflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Page, expect

from harnesses.services.configuration import Draft
from harnesses.services.configuration import create as create_harness
from members.models import Member
from members.setup import found
from members.webhooks import try_out
from memories import demo
from memories.models import Grant
from tests import factories
from tests.pages.browser import Watch
from tests.pages.conftest import Visit
from tests.pages.crawl import kind
from tests.pages.people import html_of, pages_of, tree_of

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
GRAVE = """async (rules) => {
  const some = rules.length ? { runOnly: rules } : {};
  const { violations } = await axe.run(document, { resultTypes: ["violations"], preload: false, ...some });
  return violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`));
}"""
# Whatever reaches past the edge, scrolled to or cut off; code may scroll inside its own box.
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !one.closest("pre, .visually-hidden, .table thead, .skip-link, .sidebar, svg"))
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 160))"""
# Nothing but colours differs in the dark.
RULES = {"light": [], "dark": ["color-contrast"]}
LOOKS: dict[str, Any] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 800}, "has_touch": True},
}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}

# Routes that no link can lead to, because a form does, or because they lead on.
NOT_LINKED = {
    # The search of every page leads there, as a form.
    *("home", "search", "grant-give", "group-add", "invitation-withdraw", "join"),
    *("key-revoke", "agent-key-revoke", "member-add", "member-reactivate", "take-over", "records-forget"),
    *("run-stop", "run-accept", "schedule-asks", "schedule-engine", "job-retry", "job-cancel"),
    *("inbox-many", "inbox-decide", "inbox-undo"),
    *("webhook-test", "webhook-rotate", "webhook-pause", "webhook-redeliver", "digest-stop"),
    *("golden-run", "golden-remove", "golden-report"),
    # Of a history, a hold, a job or a file, which what the crawl meets first does not have: see test_record_stories.
    *("record-compare", "record-restore", "record-content", "record-operate", "hold-lift", "job"),
}
# What is shown before sign-in, and where there is nothing.
ENTRANCE = ("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/password/reset/done/")
MISSING = "/nowhere"
LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"


@pytest.fixture
def owner(db: None) -> Member:
    """The owner of the demo, who can look at everything in it."""
    founded = found(demo.ORGANISATION, "owner@demo.example", owner_name=demo.OWNER)
    demo.plant(founded.organisation, founded.owner)
    create_harness(factories.caller(founded.owner), Draft(base="codex", name="Quote writer"))
    try_out(factories.caller(founded.owner), factories.webhook(founded.owner, name="Chat").webhook.id)
    return founded.owner


@pytest.fixture
def tester(alice: Member, carol: Member) -> Member:
    """Somebody in whose organisation everything that can be named has a name too long for a phone, in one word."""
    everything = factories.memory(alice, name=LONG, description=LONG * 3)
    below = factories.memory(alice, everything, LONG[::-1])
    content = [{"type": "text", "role": "user", "name": LONG, "text": LONG * 5}]
    factories.record(alice, everything, content, title=LONG, attributes={LONG: LONG}, type="note")
    for memory in (everything, below):
        factories.grant(alice, memory, factories.group(alice.organisation, alice, name=f"{LONG} {memory.id}"), "read")
    create_harness(factories.caller(alice), Draft(base="codex", name=LONG, system_prompt=LONG * 3))
    hook = factories.webhook(alice, f"https://93.184.215.14/{LONG * 9}", LONG).webhook
    try_out(factories.caller(alice), hook.id)
    for named in (alice, alice.organisation):
        named.name = LONG
        named.save()
    return alice


def first_of_each(member: Member) -> list[str]:
    """One page of every kind that a member reaches."""
    return [addresses[0] for addresses in pages_of(member).values()]


def once_a_path(addresses: Sequence[str]) -> list[str]:
    """Of several addresses that differ in what is asked alone, the first."""
    return list({address.partition("?")[0]: address for address in reversed(addresses)}.values())


def console_routes() -> Iterator[tuple[str, str]]:
    """The name of every route of the console, and its kind as the crawl calls it."""

    def walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[tuple[str, str]]:
        for one in patterns:
            path = before + str(one.pattern)
            if isinstance(one, URLResolver):
                yield from walk(one.url_patterns, path)
            elif path.startswith("/console/"):
                yield one.name or path, "/".join("*" if "<" in part else part for part in path.split("/"))

    return walk(get_resolver().url_patterns, "/")


class Outline(HTMLParser):
    """What can be counted on a page without drawing it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.roles: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.roles += given.get("role", "").split()
        self.ids += [given["id"]] if "id" in given else []
        for name in ("for", "aria-labelledby", "aria-describedby"):
            self.targets += given.get(name, "").split()


def test_links_lead_to_every_page_and_each_has_one_heading_one_status_region_and_ids_that_lead_somewhere(
    owner: Member,
) -> None:
    reader = owner.organisation.members.get(name="Sofia Reyes")
    html = html_of(owner, examples=2)
    linked = {kind(address).partition("?")[0] for address in html}
    unreached = {name for name, of_kind in console_routes() if of_kind not in linked} - NOT_LINKED
    assert not unreached
    html |= html_of(reader, examples=2) | {page: Client().get(page).content.decode() for page in (*ENTRANCE, MISSING)}
    assert len(html) >= 50
    for address, text in html.items():
        outline = Outline(text)
        assert outline.tags.count("h1") == 1, address
        assert outline.tags.count("main") == 1, address
        assert outline.roles.count("status") == 1, address
        assert len(outline.ids) == len(set(outline.ids)), address
        assert {*outline.targets} - {*outline.ids} <= {"dialog-title"}, address


def test_no_page_has_a_grave_fault_in_any_light_and_none_is_wider_than_a_phone(owner: Member, visit: Visit) -> None:
    # Following all links takes about as long as looking at the pages, so it is done once.
    addresses = first_of_each(owner)
    assert len(addresses) >= 20
    faults = []
    for look, options in LOOKS.items():
        page = visit(owner, tree_of(owner), bypass_csp=True, **options)
        for address in addresses if look == "light" else once_a_path(addresses):
            page.set_viewport_size(options["viewport"])
            go(page, address)
            faults += [f"{address}, {look}: {fault}" for fault in grave(page, RULES[look])]
            if look == "dark":
                # Loading each page once more for its width takes longer than anything else here.
                page.set_viewport_size(PHONE["viewport"])
                faults += [f"{address} is too wide: {one}" for one in page.evaluate(TOO_WIDE)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("look", LOOKS)
def test_neither_the_entrance_nor_a_missing_page_has_a_grave_fault(
    look: str, visit: Visit, watch: Watch, db: None
) -> None:
    watch.expected.add(404)
    page = visit(None, bypass_csp=True, **LOOKS[look])
    for address in (*ENTRANCE, MISSING):
        go(page, address)
        assert not grave(page, RULES[look]), address


def go(page: Page, address: str) -> None:
    """Go to an address and be there, not sent on to sign in."""
    page.goto(address)
    assert page.url.endswith(address), f"{address} led to {page.url}"


def grave(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe calls serious or critical on a page as it stands; by all its rules, or by these alone."""
    page.evaluate(AXE)
    found: list[str] = page.evaluate(GRAVE, list(rules))
    return found


def test_words_that_do_not_break_do_not_widen_a_phone(tester: Member, visit: Visit) -> None:
    check_width(visit(tester, tree_of(tester), **PHONE), first_of_each(tester))


def check_width(page: Page, addresses: Sequence[str]) -> None:
    """Nothing on these pages reaches past the edge of the screen."""
    assert len(addresses) >= 15
    faults = []
    for address in addresses:
        go(page, address)
        faults += [f"{address}: {fault}" for fault in page.evaluate(TOO_WIDE)]
    assert not faults, "\n".join(faults)


def test_the_question_in_the_dialog_is_sound_and_focus_goes_in_and_back(owner: Member, visit: Visit) -> None:
    given = Grant.objects.filter(memory__organisation=owner.organisation).first()
    assert given
    page = visit(owner, f"{tree_of(owner)}/{given.memory_id}/access", bypass_csp=True)
    opener = page.get_by_role("link", name="Take back the access of").first
    opener.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="Take back")).to_be_visible()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    assert not grave(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(opener).to_be_focused()


def test_the_colour_scheme_is_chosen_and_kept(owner: Member, visit: Visit) -> None:
    page = visit(owner, tree_of(owner), color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("body")).not_to_have_css("background-color", light)
    page.reload()
    expect(page.locator("body")).not_to_have_css("background-color", light)
