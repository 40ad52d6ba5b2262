"""A fragment is a piece of its page, links work without scripts, and what people write is never more than text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser

import pytest
from django.http import HttpResponseBase
from django.test import Client

from harnesses.services.configuration import Draft
from harnesses.services.configuration import create as create_harness
from members.models import Group, Member
from memories.models import Memory
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.crawl import kind
from tests.pages.people import client_of, html_of, pages_of, tree_of

pytestmark = pytest.mark.django_db

FRAGMENTS = {
    "/console/*/agents",
    "/console/*/agents/*/delete",
    "/console/*/agents/*/prime",
    "/console/*/agents/*/try",
    "/console/*/agents/*/try?tool",
    "/console/*/as/*",
    "/console/*/as/*/memories/*",
    "/console/*/as/*?below",
    "/console/*/audit",
    "/console/*/groups/*/reach",
    "/console/*/jobs",
    "/console/*/jobs?state",
    "/console/*/memories",
    "/console/*/memories/*",
    "/console/*/memories/*/access",
    "/console/*/memories/*/access/*/change",
    "/console/*/memories/*/access/*/take-back",
    "/console/*/memories/*/ask",
    "/console/*/memories/*/audit",
    "/console/*/memories/*/conflicts",
    "/console/*/memories/*/delete",
    "/console/*/memories/*/golden",
    "/console/*/memories/*/graph",
    "/console/*/memories/*/move",
    "/console/*/memories/*/records/*/forget",
    "/console/*/memories/*/restrict",
    "/console/*/memories/*/runs",
    "/console/*/memories/*/who",
    "/console/*/memories/*/why",
    "/console/*/memories/*/why?principal&privilege",
    "/console/*/memories/find",
    "/console/*/memories/without-anybody",
    "/console/*/memories?below",
    "/console/*/memories?open",
    "/console/*/notifications/webhooks/*",
    "/console/*/notifications/webhooks/*/remove",
    "/console/*/notifications/webhooks/*?state",
    "/console/*/people",
    "/console/*/people/*/deactivate",
    "/console/*/people/*/reach",
    "/console/*/runs",
    "/console/*/review",
    "/console/*/review?memory",
}
# Every request has a token of its own.
TOKEN = re.compile(r'(?<=name="csrfmiddlewaretoken" value=")\w+')
HOSTILE = """"'><img src=x onerror=alert(1)></script><b hx-get=/x hx-trigger=load>{{7*7}}{% now "Y" %}"""
SCHEME = "javascript:alert(1)"


class Tags(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, Mapping[str, str]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Take note of text."""
        self.text += data


@pytest.fixture
def furnished(alice: Member, shared: Memory, team: Group) -> Memory:
    """A memory with one of everything: a memory below it, a record that was revised, grants."""
    factories.memory(alice, factories.memory(alice, shared, "Handbook"), "Travel")
    factories.record(alice, shared, "Rent is due in June.", title="Rent")
    create_harness(factories.caller(alice), Draft(base="mcp", name="Clerk"))
    factories.webhook(alice, name="Chat")
    return shared


def said(response: HttpResponseBase) -> str:
    """The HTML of an answer, without the token in its forms."""
    return TOKEN.sub("", getattr(response, "content", b"").decode())


def test_a_fragment_is_a_piece_of_its_page(alice: Member, furnished: Memory) -> None:
    person, script = client_of(alice), client_of(alice, hx_request="true")
    in_pieces = set()
    for of_kind, (address, *_) in pages_of(alice).items():
        page, fragment = person.get(address), script.get(address)
        if "HX-Request" not in page.headers.get("Vary", ""):
            continue
        in_pieces.add(of_kind)
        assert said(fragment) in said(page), address
        assert "<html" not in said(fragment), address
        assert "HX-Request" in fragment.headers["Vary"], address
    assert in_pieces == FRAGMENTS


@pytest.mark.parametrize("reason", ["hx_boosted", "hx_history_restore_request"])
def test_going_back_and_boosted_links_get_the_whole_page(reason: str, alice: Member, furnished: Memory) -> None:
    response = client_of(alice, hx_request="true", **{reason: "true"}).get(tree_of(alice))
    assert "<html" in said(response)


def test_whatever_a_script_asks_for_can_be_had_without_it(alice: Member, furnished: Memory) -> None:
    counted = 0
    for address, html in html_of(alice).items():
        for tag, given in Tags(html).elements:
            asked = given.get("hx-get") or given.get("hx-post")
            if not asked or tag in {"details", "select", "input", "div"}:
                continue
            counted += 1
            assert asked in (given.get("href"), given.get("action")), (address, tag, given)
            assert "hx-target" in given, (address, tag, given)
    assert counted >= 10


def test_an_invalid_form_comes_back_as_its_fragment(alice: Member, furnished: Memory) -> None:
    script = client_of(alice, hx_request="true")
    response = script.post(f"{tree_of(alice)}/{furnished.id}/access/give", {"principal": "", "privileges": []})
    assert response.status_code == 422
    assert "<html" not in said(response)
    assert 'aria-invalid="true"' in said(response)


QUESTIONS = ("restrict", "take-back", "forget", "delete")


def test_every_confirmed_question_leads_on_the_same_way_with_and_without_scripts(
    alice: Member, furnished: Memory
) -> None:
    first = {of_kind: page for of_kind, (page, *_) in pages_of(alice).items() if "/memories/" in page}
    for question in QUESTIONS:
        address = next(page for of_kind, page in first.items() if of_kind.endswith(f"/{question}"))
        answers = {"confirm": "Shared", "expected": expected(client_of(alice), address)}
        with_script = client_of(alice, hx_request="true").post(address, answers)
        assert with_script.status_code == 200, (question, said(with_script))
        led = with_script.headers["HX-Redirect"]
        assert led.startswith(tree_of(alice)), question
        assert client_of(alice).get(led).status_code == 200, question


def expected(client: Client, address: str) -> str:
    """What a question says it showed."""
    found = re.search(r'name="expected" value="([^"]*)"', said(client.get(address)))
    return found[1] if found else ""


def test_the_console_takes_what_people_write_for_text(alice: Member, team: Group) -> None:
    write_hostile(alice, team)
    shown = set()
    for address, html in html_of(alice, examples=3).items():
        page = Tags(html)
        assert not [given for tag, given in page.elements if tag in {"img", "b"}], address
        for tag, given in page.elements:
            assert tag != "script" or given.get("src", "").startswith("/assets/"), address
            assert not [name for name in given if name.startswith("on")], address
            assert not given.get("href", "").lower().startswith("javascript"), address
            assert given.get("hx-get") != "/x", address
        if HOSTILE in page.text:
            shown.add(kind(address))
    assert len(shown) >= 12


def test_hostile_words_do_nothing_in_a_browser(alice: Member, team: Group, visit: Visit) -> None:
    memory = write_hostile(alice, team)
    page = visit(alice, tree_of(alice))
    page.get_by_role("tree").get_by_role("link").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.goto(f"{tree_of(alice)}/{memory.id}/access")
    page.get_by_role("link", name="Close the branch").click()
    page.get_by_role("dialog").get_by_role("heading", name="Close").wait_for()
    assert page.evaluate("document.images.length") == 0


def write_hostile(alice: Member, team: Group) -> Memory:
    """Give everything in alice's organisation a hostile name, title, description and content."""
    memory = factories.memory(alice, name=HOSTILE, description=HOSTILE)
    factories.memory(alice, factories.memory(alice, memory, HOSTILE, description=HOSTILE), HOSTILE)
    content = [{"type": "text", "role": "user", "name": HOSTILE, "text": f"{HOSTILE} {SCHEME}"}]
    written = factories.record(alice, memory, content, title=HOSTILE, attributes={HOSTILE: HOSTILE, "link": SCHEME})
    reference = {"rel": HOSTILE[:20], "memory_id": memory.id, "record_id": written.id}
    factories.record(alice, memory, HOSTILE, title=SCHEME, references=[reference])
    factories.grant(alice, memory, team, "read")
    for named in (alice, alice.organisation, team):
        named.name = HOSTILE
        named.save()
    return memory
