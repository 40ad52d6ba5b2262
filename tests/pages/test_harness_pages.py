"""The pages on agents: made, connected, let in, primed, tried and deleted, and nothing seen through them."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import combinations
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from harnesses.mcp import calls, rehearsal
from harnesses.models import Harness
from harnesses.services import attachment, keys, preview, priming
from harnesses.services.configuration import Draft
from harnesses.services.configuration import create as create_harness
from harnesses.services.sight import look as look_at
from members.models import Event, Group, Member
from members.services import deactivate
from memories.models import LastUse, Memory
from memories.services import viewing
from tests import factories
from tests.conftest import Api
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import LONG, PHONE, TOO_WIDE, grave
from tests.pages.test_fragments import HOSTILE, Tags
from tests.pages.test_stories import status

pytestmark = pytest.mark.django_db

TABS = ("", "/memory", "/prime", "/connect", "/try", "/try?tool=memory_recall", "/delete")
KEY = re.compile(r"hw_[A-Za-z0-9_-]{43}")
# Masked anew in every page.
TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b")
WORDS = ("read", "write", "create", "delete")


@pytest.fixture
def clerk(alice: Member) -> Harness:
    """An agent that alice made, and that was granted nothing."""
    return create_harness(factories.caller(alice), Draft(base="codex", name="Clerk"))


def at(harness: Harness, tab: str = "") -> str:
    """The address of a page of an agent."""
    return f"/console/{harness.organisation.slug}/agents/{harness.id}{tab}"


def text_of(by: Member, address: str) -> str:
    """What a page says, without its markup."""
    response = client_of(by).get(address)
    assert response.status_code == 200, address
    return Tags(response.content.decode()).text


def tried(by: Member, harness: Harness, tool: str, **arguments: Any) -> str:
    """What the page says of a call."""
    sent = {"tool": tool, "arguments": json.dumps(arguments)}
    response = client_of(by).post(at(harness, "/try"), sent)
    assert response.status_code == 200
    return Tags(response.content.decode()).text


def test_an_agent_is_made_connected_let_in_primed_and_tried(
    visit: Visit, alice: Member, shared: Memory, api: Api
) -> None:
    factories.record(alice, shared, "The key is under the mat.", title="Spare key", attributes={"standing": True})
    page = visit(alice, f"/console/{alice.organisation.slug}/agents", bypass_csp=True)
    page.get_by_role("link", name="Create the first agent").click()
    page.get_by_label("Name").fill("Clerk")
    page.get_by_label("Runs in").select_option(label="Cursor")
    assert not grave(page)
    page.get_by_role("button", name="Create the agent").click()
    status(page, "Clerk was created.")

    page.get_by_label("Name").fill("Laptop")
    page.get_by_role("button", name="Make a key").click()
    shown = page.get_by_label("Key", exact=True)
    expect(shown).to_be_focused()
    key = shown.input_value()
    configured = json.loads(page.get_by_role("region", name="~/.cursor/mcp.json").inner_text())
    assert configured["mcpServers"]["heartwood"]["headers"] == {"Authorization": f"Bearer {key}"}
    assert not grave(page)
    harness = Harness.objects.get(name="Clerk")

    page.goto(f"/console/{alice.organisation.slug}/memories/{shared.id}/access")
    page.get_by_label("Who", exact=True).select_option(label="Clerk")
    page.get_by_role("checkbox", name="write").check()
    page.get_by_role("button", name="Give").click()
    status(page, "Clerk")
    page.goto(at(harness))
    expect(page.get_by_role("link", name="Shared", exact=True)).to_be_visible()

    page.get_by_role("link", name="Memory", exact=True).click()
    page.get_by_role("combobox", name="Default memory").select_option(label="Shared")
    page.get_by_role("button", name="Save").click()
    status(page, "Saved.")
    expect(page.get_by_text("Every finished turn is sent to Shared, kept by the provider native")).to_be_visible()

    page.get_by_role("link", name="Prime", exact=True).click()
    expect(page.get_by_role("region", name="Exactly this text")).to_contain_text("The key is under the mat.")
    page.get_by_label("Budget, in tokens").fill("1")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("These memories did not fit at all: Shared")).to_be_visible()

    page.get_by_role("link", name="Try a call").click()
    page.get_by_role("link", name="memory_recall").click()
    arguments = page.get_by_label("Arguments, as JSON")
    arguments.fill(arguments.input_value().replace('""', '"Where is the spare key?"'))
    page.get_by_role("button", name="Call it").click()
    expect(page.get_by_role("region", name="What the agent reads")).to_contain_text("under the mat")
    status(page, "The call was answered")
    assert not grave(page)


@pytest.mark.parametrize("look", [{}, {"color_scheme": "dark"}], ids=["light", "dark"])
def test_no_page_of_an_agent_has_a_grave_fault_and_none_is_wider_than_a_phone(
    look: dict[str, Any], visit: Visit, alice: Member, shared: Memory, clerk: Harness
) -> None:
    factories.grant(alice, shared, clerk.agent, "read", "write")
    factories.record(clerk.agent, shared, "W" * 400, title="X" * 200)
    Harness.objects.filter(pk=clerk.id).update(name=LONG, system_prompt=LONG * 3, disabled_tools=[LONG])
    Member.objects.filter(pk=clerk.id).update(name=LONG)
    Memory.objects.filter(pk=shared.id).update(name=LONG, description=LONG * 3)
    attachment.attach(look_at(factories.caller(alice), clerk.id), shared.id)
    page = visit(alice, at(clerk), bypass_csp=True, **{**PHONE, **look})
    for tab in TABS:
        page.goto(at(clerk, tab))
        assert not grave(page), tab
        assert not page.evaluate(TOO_WIDE), tab
    page.goto(at(clerk, "/try"))
    page.get_by_role("button", name="Call it").click()
    page.get_by_role("heading", name="The answer").wait_for()
    unfolded(page)
    assert not grave(page)
    assert not page.evaluate(TOO_WIDE)
    page.goto(at(clerk).rpartition("/")[0])
    assert not grave(page)
    assert not page.evaluate(TOO_WIDE)
    page.goto(at(clerk, "/connect"))
    unfolded(page)
    assert not grave(page)
    assert not page.evaluate(TOO_WIDE)


def unfolded(page: Page) -> None:
    """Open all that can be unfolded."""
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")


def test_a_key_is_shown_in_one_answer_and_filled_in_everywhere_there(alice: Member, clerk: Harness) -> None:
    response = client_of(alice).post(at(clerk, "/connect"), {"name": "Laptop"})
    made = set(KEY.findall(unescape(response.content.decode())))
    assert len(made) == 1
    assert "YOUR_KEY" not in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    assert keys.live(look_at(factories.caller(alice), clerk.id))[0].name == "Laptop"
    later = client_of(alice).get(at(clerk, "/connect")).content.decode()
    assert not KEY.search(later)
    assert "YOUR_KEY" in later


def test_a_revoked_key_is_refused_and_another_members_key_is_no_key_of_this_agent(
    alice: Member, clerk: Harness, api: Api
) -> None:
    desk = look_at(factories.caller(alice), clerk.id)
    issued, other = keys.issue(desk, "Laptop", None), factories.key(alice)
    headers = {"Authorization": f"Bearer {issued.token}"}
    assert api.call("GET", "/v1/memories", headers=headers).status == 200
    assert client_of(alice).post(at(clerk, f"/keys/{issued.credential.id}/revoke")).status_code == 302
    assert api.call("GET", "/v1/memories", headers=headers).status == 401
    hers = alice.credentials.first()
    assert hers is not None
    assert client_of(alice).post(at(clerk, f"/keys/{hers.id}/revoke")).status_code == 404
    assert api.call("GET", "/v1/memories", headers={"Authorization": f"Bearer {other}"}).status == 200


def test_everyone_else_meets_a_made_up_agent_to_the_byte(
    carol: Member, alice: Member, clerk: Harness, shared: Memory
) -> None:
    person = client_of(carol)
    for tab in TABS:
        unseen, made_up = (person.get(one) for one in (at(clerk, tab), at(clerk, tab).replace("chrn_0", "chrn_1")))
        assert (unseen.status_code, TOKEN.sub(b"", unseen.content)) == (404, TOKEN.sub(b"", made_up.content)), tab
    assert "Clerk" not in text_of(carol, f"/console/{carol.organisation.slug}/agents")


def test_only_owners_make_agents_where_the_server_says_so(bob: Member, alice: Member, settings: Settings) -> None:
    settings.HARNESSES_BY_OWNERS_ONLY = True
    url = f"/console/{bob.organisation.slug}/agents"
    assert client_of(bob).get(f"{url}/new").status_code == 403
    assert client_of(bob).post(f"{url}/new", {"name": "Mine", "base": "mcp"}).status_code == 403
    assert "Only an owner of the organisation may create agents here." in text_of(bob, url)
    assert client_of(alice).get(f"{url}/new").status_code == 200


def test_a_model_belongs_to_its_base(alice: Member) -> None:
    url = f"/console/{alice.organisation.slug}/agents/new"
    refused = client_of(alice).post(url, {"name": "Clerk", "base": "codex", "model": "claude-code/opus"})
    assert refused.status_code == 422
    assert b"Codex does not run this model" in refused.content
    assert client_of(alice).post(url, {"name": "Clerk", "base": "codex", "model": "codex/gpt-5"}).status_code == 302
    assert Harness.objects.get().default_model == "gpt-5"


def test_only_memories_the_agent_may_write_are_offered_and_none_that_the_person_does_not_see(
    alice: Member, bob: Member, shared: Memory, team: Group
) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    reads, secret = factories.memory(alice, shared, "Only read"), factories.memory(alice, name="Secret")
    factories.grant(alice, reads, mine.agent, "read")
    factories.grant(alice, secret, mine.agent, "write")
    page = client_of(bob).get(at(mine, "/memory")).content.decode()
    assert "It may not write anywhere that you see" in page
    assert "Secret" not in page
    assert "Only read" not in page
    factories.grant(alice, shared, mine.agent, "write")
    page = client_of(bob).get(at(mine, "/memory")).content.decode()
    assert "Shared / Only read" in page
    assert "Secret" not in page
    assert client_of(bob).post(at(mine, "/memory"), {"default_memory_id": secret.id}).status_code == 422


def test_a_default_that_the_person_does_not_see_stays_when_only_observing_changes(
    alice: Member, bob: Member, shared: Memory
) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    secret = factories.memory(alice, name="Secret")
    factories.grant(alice, secret, mine.agent, "write")
    attachment.attach(look_at(factories.caller(alice), mine.id), secret.id)
    assert client_of(bob).post(at(mine, "/memory"), {"default_memory_id": ""}).status_code == 302
    mine.refresh_from_db()
    assert (mine.default_memory_id, mine.observe) == (secret.id, False)
    assert "Secret" not in "".join(text_of(bob, at(mine, tab)) for tab in TABS)


def test_where_everything_may_be_seen_a_tried_call_is_answered_as_the_agents_own(
    alice: Member, shared: Memory, clerk: Harness
) -> None:
    below = factories.memory(alice, shared, "Below", description="What is below.")
    factories.grant(alice, shared, clerk.agent, "read", "write")
    target = factories.record(alice, below, "Quillon renews in March.", title="Renewal")
    pointer = {"rel": "about", "memory_id": below.id, "record_id": target.id}
    record = factories.record(alice, shared, "Ask Quillon.", references=[pointer])
    eyes = viewing.with_eyes_of(factories.caller(alice), clerk.agent)
    outer = RequestFactory().get("/")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("memory_list", {}),
        ("memory_list", {"memory_id": shared.id, "include": "all"}),
        ("memory_recall", {"memory_id": shared.id, "query": "When does Quillon renew?"}),
        ("memory_recall", {"memory_id": below.id, "text": "Quillon"}),
        ("memory_get", {"memory_id": shared.id, "record_id": record.id}),
        ("memory_get", {"memory_id": shared.id, "record_id": record.id, "history": True}),
        ("memory_get", {"memory_id": shared.id, "record_id": target.id}),
        ("memory_get", {"memory_id": shared.id}),
        ("memory_list", {"colour": "red"}),
    ]
    for name, arguments in asked:
        own = calls.call(eyes.member, outer, name, arguments)
        shown = rehearsal.rehearse(eyes, outer, name, arguments)
        assert (shown.text, json.loads(shown.json), shown.failed) == (own.text, own.json, own.failed), (name, arguments)
    assert priming.prime(eyes.member, 4_000, eyes) == priming.prime(eyes.member, 4_000)


def everything_shown(by: Member, harness: Harness, memory: Memory, record_id: str) -> str:
    """All that the pages say of an agent, tried calls and the prime included."""
    said = [text_of(by, at(harness, tab)) for tab in TABS]
    said.append(tried(by, harness, "memory_list"))
    said.append(tried(by, harness, "memory_list", memory_id=memory.id))
    said.append(tried(by, harness, "memory_recall", memory_id=memory.id, query="sesame"))
    said.append(tried(by, harness, "memory_get", memory_id=memory.id, record_id=record_id))
    return "".join(said)


def test_what_is_written_is_shown_through_an_agent_only_to_who_administers_and_reads_it(
    alice: Member, bob: Member
) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    memory = factories.memory(alice, name="Vault")
    factories.grant(alice, memory, mine.agent, "read")
    kept = factories.record(alice, memory, "open sesame", title="Password", attributes={"standing": True})
    for count in range(5):
        for held in combinations(WORDS, count):
            if held:
                factories.grant(alice, memory, bob, *held)
            shown = everything_shown(bob, mine, memory, kept.id)
            assert ("open sesame" in shown) == ({"read", "delete"} <= {*held}), held
            assert ("Vault" in shown) == ("delete" in held), held


def test_what_lies_elsewhere_takes_no_part_in_counts_children_pointers_or_the_budget(
    alice: Member, bob: Member
) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    house = factories.memory(alice, name="House")
    factories.grant(alice, house, bob, "read", "delete")
    attic = factories.memory(alice, house, "Attic", restricted=True)
    other = factories.memory(alice, name="Another tree")
    for memory in (house, attic, other):
        factories.grant(alice, memory, mine.agent, "read")
    hidden = factories.record(alice, attic, "A hidden sesame." * 30, title="Chest", attributes={"standing": True})
    pointer = {"rel": "about", "memory_id": attic.id, "record_id": hidden.id}
    record = factories.record(alice, house, "A sesame.", references=[pointer])
    shown = everything_shown(bob, mine, house, record.id) + text_of(bob, at(mine, "/prime?budget=60"))
    for name in ("Attic", "Another tree", "hidden sesame", "Chest", attic.id, other.id, hidden.memory_id):
        assert name not in shown.replace(f'"memory_id": "{attic.id}"', ""), name
    assert "1 records, 0 below" in shown
    assert "which you may not read or which is not there" in shown
    refused, made_up = (
        tried(bob, mine, "memory_list", memory_id=one) for one in (attic.id, attic.id.replace("hmem_0", "hmem_1"))
    )
    assert refused.replace(attic.id, "") == made_up.replace(attic.id.replace("hmem_0", "hmem_1"), "")


def test_an_agent_that_holds_nothing_here_is_told_so_whatever_it_holds_elsewhere(alice: Member, bob: Member) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    before = tried(bob, mine, "memory_list")
    factories.grant(alice, factories.memory(alice, name="Vault"), mine.agent, "read")
    assert "You hold no memory yet" in before
    assert tried(bob, mine, "memory_list") == before


def test_looking_is_in_the_audit_and_is_no_use_that_the_agent_made(
    alice: Member, shared: Memory, clerk: Harness
) -> None:
    factories.grant(alice, shared, clerk.agent, "read")
    everything_shown(alice, clerk, shared, factories.record(alice, shared, "Words.").id)
    assert not LastUse.objects.filter(member_id=clerk.id).exists()
    events = Event.objects.filter(action=viewing.VIEWED, subject=clerk.agent.principal).order_by("id")
    looked = [(one.memory_id, one.detail) for one in events]
    assert ("", {"primed": True}) in looked
    assert ("", {"tool": "memory_list"}) in looked
    assert (shared.id, {"tool": "memory_recall"}) in looked
    log = text_of(alice, f"/console/{alice.organisation.slug}/memories/{shared.id}/audit")
    assert "tried memory_recall" in log


@pytest.mark.parametrize("tool", ["memory_remember", "memory_forget", "memory_operate", "memory_query", "nothing"])
def test_no_tool_but_those_that_read_is_called(tool: str, alice: Member, shared: Memory, clerk: Harness) -> None:
    factories.grant(alice, shared, clerk.agent, "read", "write")
    sent = {"memory_id": shared.id, "content": "Words."}
    tried(alice, clerk, tool, **sent)
    assert Memory.objects.get().records.count() == 0
    assert not Event.objects.filter(detail__tool=tool).exists()


@pytest.mark.parametrize(
    "arguments", ["{", "[]", "null", '{"a": NaN}', '{"a": "\\ud800"}', "[" * 9_000, '{"a": "' + "b" * 20_000 + '"}']
)
def test_arguments_that_are_none_are_refused_and_stay_in_the_form(
    arguments: str, alice: Member, clerk: Harness
) -> None:
    response = client_of(alice).post(at(clerk, "/try"), {"tool": "memory_get", "arguments": arguments})
    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.content.decode()
    assert arguments in unescape(response.content.decode())


def test_ids_of_any_shape_are_refused_like_unknown_ones(alice: Member, shared: Memory, clerk: Harness) -> None:
    factories.grant(alice, shared, clerk.agent, "read")
    for strange in ("..", "a/b", "\n", "\0", "types", "providers", "ü", "?", "%2f", "x" * 3_000):
        for said in (
            tried(alice, clerk, "memory_list", memory_id=strange),
            tried(alice, clerk, "memory_get", memory_id=shared.id, record_id=strange),
        ):
            assert "It was refused" in said, strange


def test_what_people_wrote_stays_text_on_the_pages_of_an_agent(alice: Member) -> None:
    harness = create_harness(factories.caller(alice), Draft(base="mcp", name=HOSTILE[:120], system_prompt=HOSTILE))
    memory = factories.memory(alice, name=HOSTILE[:120], description=HOSTILE)
    factories.grant(alice, memory, harness.agent, "read", "write")
    factories.record(harness.agent, memory, HOSTILE, title=HOSTILE, attributes={"standing": True})
    pages = [client_of(alice).get(at(harness, tab)).content.decode() for tab in TABS]
    sent = {"tool": "memory_list", "arguments": json.dumps({"memory_id": memory.id, HOSTILE: HOSTILE})}
    pages.append(client_of(alice).post(at(harness, "/try"), sent).content.decode())
    pages.append(client_of(alice).post(at(harness, "/connect"), {"name": HOSTILE[:120]}).content.decode())
    for html in pages:
        elements = Tags(html).elements
        assert not [tag for tag, given in elements if tag in {"img", "b"} or given.get("hx-get") == "/x"]
    assert sum(HOSTILE in Tags(html).text for html in pages) >= 3


def test_the_page_of_an_agent_says_what_it_did_lately_to_who_may_know(
    alice: Member, stranger: Member, shared: Memory, clerk: Harness, api: Api
) -> None:
    secret = factories.memory(alice, name="Secret")
    for memory in (shared, secret):
        factories.grant(alice, memory, clerk.agent, "read", "write")
        api.ok("POST", f"/v1/memories/{memory.id}/records", {"content": f"Kept in {memory.name}."}, clerk.agent)
        api.ok("POST", f"/v1/memories/{memory.id}/recall", {"query": "kept"}, clerk.agent)
    factories.record(alice, shared, "By alice.")
    shown = text_of(alice, at(clerk))
    assert "Kept in Shared." in shown
    assert "Kept in Secret." in shown
    assert "By alice." not in shown
    Harness.objects.filter(pk=clerk.id).update(creator=stranger.principal)
    shown = text_of(stranger, at(clerk))
    assert "Kept in Shared." not in shown
    assert "Secret" not in shown
    factories.grant(alice, shared, stranger, "read")
    shown = text_of(stranger, at(clerk))
    assert "Kept in Shared." in shown
    assert "Nowhere yet" in shown


def test_a_deleted_agent_is_refused_and_what_it_wrote_still_names_it(
    visit: Visit, alice: Member, shared: Memory, clerk: Harness, api: Api
) -> None:
    factories.grant(alice, shared, clerk.agent, "read", "write")
    factories.record(clerk.agent, shared, "Words.", title="A note")
    issued = keys.issue(look_at(factories.caller(alice), clerk.id), "Laptop", None)
    page = visit(alice, at(clerk))
    page.get_by_role("link", name="Delete…").click()
    question = page.get_by_role("dialog", name="Delete the agent “Clerk”?")
    expect(question).to_contain_text("with 1 key.")
    expect(question).to_contain_text("1 agent will lose access")
    question.get_by_label("Type Clerk to confirm").fill("Clerk")
    question.get_by_role("button", name="Delete the agent").click()
    status(page, "Clerk was deleted.")
    assert api.call("GET", "/v1/memories", headers={"Authorization": f"Bearer {issued.token}"}).status == 401
    assert client_of(alice).get(at(clerk)).status_code == 404
    assert "Clerk" in text_of(alice, f"/console/{alice.organisation.slug}/memories/{shared.id}")


def test_an_agent_is_not_deleted_when_what_it_takes_away_has_changed_since(
    alice: Member, shared: Memory, clerk: Harness
) -> None:
    shown = client_of(alice).get(at(clerk, "/delete")).content.decode()
    found = re.search(r'name="expected" value="([^"]*)"', shown)
    assert found
    factories.grant(alice, shared, clerk.agent, "read")
    answer = client_of(alice).post(at(clerk, "/delete"), {"confirm": "Clerk", "expected": found[1]})
    assert answer.status_code == 422
    assert client_of(alice).get(at(clerk)).status_code == 200


def test_who_made_an_agent_is_not_told_of_memories_they_do_not_see_when_deleting_it(alice: Member, bob: Member) -> None:
    mine = create_harness(factories.caller(bob), Draft(base="mcp", name="Bob's"))
    before = text_of(bob, at(mine, "/delete"))
    factories.grant(alice, factories.memory(alice, name="Vault"), mine.agent, "read", "delete")
    assert text_of(bob, at(mine, "/delete")) == before
    assert "others that you may not see" in text_of(alice, at(mine, "/delete")) or "Vault" not in before


@pytest.mark.parametrize("page", ["list", "overview"])
def test_a_page_costs_the_same_queries_for_few_and_for_many(
    page: str, alice: Member, shared: Memory, clerk: Harness
) -> None:
    person = client_of(alice)
    address = at(clerk) if page == "overview" else at(clerk).rpartition("/")[0]

    def furnish(number: int) -> None:
        for _ in range(number):
            other = create_harness(factories.caller(alice), Draft(base="mcp", name="Other"))
            memory = factories.memory(alice)
            factories.grant(alice, memory, clerk.agent, "read", "write")
            factories.grant(alice, memory, other.agent, "write")
            attachment.attach(look_at(factories.caller(alice), other.id), memory.id)
            factories.record(clerk.agent, memory, "Words.")
            LastUse.objects.note(alice.organisation_id, clerk.id, memory.id)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert person.get(address).status_code == 200
        return len(queries)

    furnish(1)
    cost()
    few = cost()
    furnish(6)
    assert cost() == few


def test_agents_are_paged_by_name(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harnesses.console.agents.PAGE", 2)
    for name in ("beta", "Alpha", "alpha", "Gamma", "delta"):
        create_harness(factories.caller(alice), Draft(base="mcp", name=name))
    person, address, names = client_of(alice), f"/console/{alice.organisation.slug}/agents", list[str]()
    while address:
        html = person.get(address).content.decode()
        assert re.search(r"\d of 5", html)
        names += re.findall(r'agents/chrn_[^"]*"[^>]*>(\w+)<', html)
        following = re.search(r'href="([^"]+)" rel="next"', html)
        address = unescape(following[1]) if following else ""
    assert [one.lower() for one in names] == ["alpha", "alpha", "beta", "delta", "gamma"]


def test_the_prime_names_what_the_budget_kept_out(alice: Member, shared: Memory, clerk: Harness) -> None:
    factories.grant(alice, shared, clerk.agent, "read")
    for title, words in (("House rules", "Be kind."), ("Long story", "And then. " * 200)):
        factories.record(alice, shared, words, title=title, attributes={"standing": True})
    found = preview.preview(viewing.with_eyes_of(factories.caller(alice), clerk.agent), 200)
    assert [(one.records, one.truncated, list(one.squeezed), one.more) for one in found.shares] == [
        (1, True, ["Long story"], False)
    ]
    assert "Be kind." in found.text
    assert found.tokens <= 200
    assert "Long story" in text_of(alice, at(clerk, "/prime?budget=200"))
    everything = preview.preview(viewing.with_eyes_of(factories.caller(alice), clerk.agent), 4_000)
    assert [(one.records, one.squeezed) for one in everything.shares] == [(2, ())]


def test_a_deactivated_agent_reaches_nothing_on_its_pages(alice: Member, shared: Memory, clerk: Harness) -> None:
    factories.grant(alice, shared, clerk.agent, "read", "write")
    factories.record(alice, shared, "open sesame", attributes={"standing": True})
    deactivate(clerk.agent)
    for tab in TABS:
        assert "open sesame" not in text_of(alice, at(clerk, tab))
    assert "deactivated" in text_of(alice, at(clerk))
    assert "open sesame" not in tried(alice, clerk, "memory_recall", memory_id=shared.id, query="sesame")
    assert client_of(alice).post(at(clerk, "/connect"), {"name": "Laptop"}).status_code == 422
    assert not clerk.agent.credentials.exists()
