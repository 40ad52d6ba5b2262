"""What people do to understand recall: ask as themselves and as an agent, compare, keep golden questions, see links."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from members.models import Event, Member
from memories.console import explore_filters, explore_said, graph_drawing
from memories.console.explore_results import SNIPPET, snippet
from memories.console.graph_drawing import Link, Named, draw
from memories.content import Reference, read_changes
from memories.models import GoldenQuestion, Job, Memory
from memories.providers.base import View
from memories.recall import abstain
from memories.recall.abstain import Evidence
from memories.recall.marking import Marker, marker
from memories.services import golden, jobs, records
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import PHONE, TOO_WIDE, grave
from tests.pages.test_fragments import HOSTILE
from tests.pages.test_stories import address, status

pytestmark = pytest.mark.django_db


def page(who: Member, memory: Memory, tab: str = "ask", **query: Any) -> str:
    """The text of a page, without its markup."""
    answer = client_of(who).get(f"{address(memory, tab)}?{urlencode(query, doseq=True)}")
    assert answer.status_code == 200, answer.content.decode()
    text = re.sub(r"<[^>]*>", " ", f"<{answer.content.decode().partition('<main')[2]}")
    return " ".join(unescape(text).split())


def results(who: Member, memory: Memory, **query: Any) -> list[str]:
    """The titles of the results of a question, in their order."""
    answer = client_of(who).get(f"{address(memory, 'ask')}?{urlencode(query, doseq=True)}")
    found = re.findall(r'<h3 class="record-card-title">.*?<a [^>]*>(.*?)</a>', answer.content.decode(), re.DOTALL)
    return [re.sub(r"<[^>]*>", "", one).strip() for one in found]


@pytest.fixture
def pay(alice: Member, shared: Memory) -> Memory:
    """A closed branch below, with a record that answers best."""
    branch = factories.memory(alice, shared, "Pay", restricted=True)
    factories.record(alice, branch, "The bonus is paid in March.", title="Bonus")
    factories.record(alice, shared, "Invoices are paid within a month.", title="Invoices", attributes={"amount": 900})
    factories.record(alice, shared, "The kitchen opens at eight.", title="Kitchen", type="note")
    return branch


def test_somebody_asks_as_an_agent_saves_a_golden_question_and_runs_it(
    visit: Visit, alice: Member, agent: Member, shared: Memory, pay: Memory
) -> None:
    opened = visit(alice, address(shared))
    opened.get_by_role("link", name="Ask", exact=True).click()
    opened.get_by_role("searchbox", name="Ask this memory").fill("When is the bonus paid?")
    opened.get_by_role("button", name="Ask").click()
    found = opened.get_by_role("region", name="Found")
    first = found.get_by_role("listitem").first
    expect(first.get_by_role("link", name="Bonus")).to_be_visible()
    expect(first.locator("mark").first).to_have_text("Bonus")
    expect(first.get_by_role("link", name="Pay")).to_have_attribute("href", address(pay))
    assert not grave(opened)
    opened.get_by_label("With the eyes of").select_option("Agent (agent)")
    opened.get_by_role("button", name="Ask").click()
    expect(opened.get_by_role("note", name="Viewing as")).to_contain_text("Agent")
    expect(found.get_by_role("link", name="Invoices")).to_be_visible()
    expect(found.get_by_role("link", name="Bonus")).to_have_count(0)
    expect(found.get_by_role("button", name="Save as golden answer")).to_have_count(0)
    assert not grave(opened)
    opened.get_by_role("link", name="Stop").click()
    found.get_by_role("button", name="Save as golden answer (result 1)").click()
    status(opened, "Saved as a golden question.")
    assert GoldenQuestion.objects.get().question == "When is the bonus paid?"
    opened.get_by_role("button", name="Ask them all").click()
    expect(opened.get_by_role("region", name="Progress")).to_be_visible()
    jobs.run(Job.objects.get(kind=golden.KIND).id, KINDS)
    expect(opened.get_by_role("main")).to_contain_text("Nothing got worse")
    expect(opened.get_by_role("row").filter(has_text="When is the bonus paid?")).to_contain_text("found as no. 1")
    assert not grave(opened)
    told = Event.objects.get(action="viewed.as")
    assert (told.memory_id, told.subject, told.detail) == (shared.id, agent.principal, {"recalled": True})


def test_what_got_worse_is_shown_where_it_was_and_where_it_is(
    visit: Visit, bob: Member, shared: Memory, pay: Memory
) -> None:
    place = look(factories.caller(bob), shared.id)
    expected = records.page(place, View(), 1, None).versions[0]
    golden.save(place, "When are invoices paid?", Reference(expected.id, memory_id=shared.id))
    for number in range(2):
        jobs.run(golden.begin(place).id, KINDS)
        if not number:
            records.forget(place, expected.id)
    opened = visit(bob, address(shared, "golden"))
    row = opened.get_by_role("row").filter(has_text="When are invoices paid?")
    expect(row).to_contain_text("forgotten")
    expect(row).to_contain_text("not among the first 20")
    opened.get_by_role("region", name="Your runs").get_by_role("link").first.click()
    expect(opened.get_by_role("main")).to_contain_text("1 question got worse since your last run")
    expect(row.get_by_role("cell").nth(3)).to_contain_text("found as no. 1")
    assert not grave(opened)


def test_a_golden_question_is_removed(visit: Visit, bob: Member, shared: Memory, pay: Memory) -> None:
    opened = visit(bob, address(shared, "golden"))
    record = factories.record(bob, shared, title="Desk")
    opened.get_by_role("textbox", name="Question").fill("Whose is the desk?")
    opened.get_by_label("Expected record").fill(f"https://elsewhere.example{address(shared)}/records/{record.id}")
    opened.get_by_role("button", name="Save the question").click()
    status(opened, "Saved as a golden question.")
    opened.get_by_role("button", name="Remove the question Whose is the desk?").click()
    status(opened, "The golden question was removed.")
    expect(opened.get_by_role("main")).to_contain_text("No golden questions yet")


def test_two_profiles_stand_side_by_side(visit: Visit, alice: Member, shared: Memory, pay: Memory) -> None:
    opened = visit(alice, f"{address(shared, 'ask')}?q=bonus+paid")
    opened.get_by_text("Filters and settings").click()
    opened.get_by_label("Compared with").select_option("words alone")
    opened.get_by_role("button", name="Ask").click()
    sides = opened.get_by_role("region", name="words alone")
    expect(sides.get_by_role("link", name="Kitchen")).to_have_count(0)
    expect(
        opened.get_by_role("region", name="default").get_by_role("listitem").filter(has_text="Kitchen")
    ).to_contain_text("not on the other side")
    expect(sides.get_by_role("listitem").first).to_contain_text("the same place")
    assert not grave(opened)
    assert "against=words" in opened.url


@pytest.mark.parametrize("tab", ["ask?q=bonus+paid&type=note", "ask?q=bonus&against=words", "golden", "graph?around="])
def test_the_pages_fit_a_phone(tab: str, visit: Visit, alice: Member, shared: Memory, pay: Memory) -> None:
    bonus = records.page(look(factories.caller(alice), pay.id), View(), 1, None).versions[0]
    golden.save(look(factories.caller(alice), shared.id), "W" * 300, Reference(bonus.id, memory_id=pay.id))
    factories.record(alice, shared, references=[{"memory_id": pay.id, "record_id": bonus.id, "rel": "about"}])
    opened = visit(alice, address(shared, tab), **PHONE)
    expect(opened.get_by_role("heading", level=1)).to_be_visible()
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    assert not [one for one in opened.evaluate(TOO_WIDE) if "graph" not in one]


def test_whoever_may_not_give_access_is_not_offered_other_eyes(
    alice: Member, bob: Member, carol: Member, shared: Memory, pay: Memory
) -> None:
    assert "With the eyes of" in page(alice, shared)
    assert "With the eyes of" not in page(bob, shared)
    assert client_of(bob).get(f"{address(shared, 'ask')}?q=paid&as={carol.id}").status_code == 403
    assert not Event.objects.filter(action="viewed.as").exists()


def test_of_somebody_who_reads_nothing_here_it_is_said_and_nothing_is_asked(
    alice: Member, bob: Member, stranger: Member, shared: Memory, pay: Memory
) -> None:
    for who, where in ((stranger, shared), (bob, pay)):
        asked = page(alice, where, q="bonus", **{"as": who.id})
        assert f"{who.name} does not reach this memory" in asked
        assert "March" not in asked
    factories.grant(alice, pay, bob, "write")
    assert "Bob may not read here" in page(alice, pay, q="bonus", **{"as": bob.id})


def test_nothing_stored_nothing_matched_and_nothing_that_fits_are_told_apart(
    alice: Member, bob: Member, shared: Memory, pay: Memory
) -> None:
    empty = factories.memory(bob, name="Empty")
    closed = factories.memory(alice, shared, "Closed", restricted=True)
    factories.record(alice, closed, "Hidden words.")
    nothing, hidden = page(bob, empty, q="bonus"), page(bob, factories.memory(bob, shared), q="hidden")
    assert "Nothing is stored here yet" in nothing
    assert "Nothing is stored here yet" in hidden
    assert "Nothing here fits" in page(bob, shared, q="paid", path="amount", op="gt", value="1000")
    none = page(bob, shared, q="xylophone", profile="words")
    assert "Nothing matched" in none
    assert "Recall says that it does not know." in none
    near = page(bob, shared, q="xylophone")
    assert "The nearest, which is no answer" in near
    assert re.search(r"The nearest scores \d\.\d\d", near)
    for said in (nothing, hidden, none, near):
        assert "may read" not in said


def test_filters_are_built_by_the_form_and_kept_in_the_address(alice: Member, shared: Memory, pay: Memory) -> None:
    assert results(alice, shared, path="amount", op="gte", value="900") == ["Invoices"]
    assert results(alice, shared, path=["amount", "amount"], op=["gt", "lt"], value=["1", "900"]) == []
    assert results(alice, shared, path="amount", op="in", value="1, 900") == ["Invoices"]
    assert results(alice, shared, q="paid", type="note") == ["Kitchen"]
    assert results(alice, shared, type="note") == ["Kitchen"]
    assert results(alice, shared, type="note", written_from="2000-01-01T00:00", written_until="2001-01-01T00:00") == []
    assert set(results(alice, shared, q="paid", depth="0")) == {"Invoices", "Kitchen"}
    assert results(alice, shared, text='"paid in march"') == ["Bonus"]
    assert results(alice, shared, q="paid", as_of="2001-01-01T00:00") == []
    asked = client_of(alice).get(f"{address(shared, 'ask')}?path=amount&op=gt&value=12").content.decode()
    assert 'name="path" type="text" value="amount"' in asked
    assert '<option value="gt" selected>' in asked
    assert 'name="value" type="text" value="12"' in asked


def test_every_version_is_found_when_every_version_is_asked_for(alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "The desk is green.", title="Desk")
    records.revise(look(factories.caller(alice), shared.id), record.id, read_changes({"content": "The desk is blue."}))
    assert len(results(alice, shared, q="desk")) == 1
    assert len(results(alice, shared, q="desk", include="all")) == 2


def test_what_held_at_some_time_is_found_by_a_span(alice: Member, shared: Memory) -> None:
    for title, time in (
        ("Old", {"valid_from": "2019-01-01T00:00:00Z", "valid_to": "2020-01-01T00:00:00Z"}),
        ("Since", {"valid_from": "2021-01-01T00:00:00Z"}),
        ("Always", {}),
    ):
        factories.record(alice, shared, title=title, time=time)
    assert set(results(alice, shared, holds_from="2020-06-01T00:00")) == {"Since", "Always"}
    assert set(results(alice, shared, holds_until="2020-06-01T00:00")) == {"Old", "Always"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": "a..b", "op": "eq", "value": "1"},
        {"path": "a\0", "op": "eq", "value": "1"},
        {"written_from": "yesterday"},
        {"written_from": "2021-01-01T00:00", "written_until": "2020-01-01T00:00"},
        {"holds_until": "2020-13-01T00:00"},
        {"as_of": "9020-01-01T00:00"},
        {"q": "a\0b"},
        {"text": "x" * 3_000},
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_asked(
    wrong: dict[str, str], alice: Member, shared: Memory, pay: Memory
) -> None:
    answer = client_of(alice).get(address(shared, "ask"), {"q": "paid", **wrong})
    assert answer.status_code == 422
    assert "Nothing was asked:" in answer.content.decode()
    assert "Invoices" not in answer.content.decode()


@pytest.mark.parametrize("query", ["?depth=9&limit=7&profile=mine&against=yours&include=some&q=paid", "?op=eq&value=1"])
def test_what_the_form_never_sends_is_taken_for_nothing(query: str, alice: Member, shared: Memory, pay: Memory) -> None:
    assert client_of(alice).get(address(shared, "ask") + query).status_code == 200


def test_what_is_hostile_is_marked_and_stays_text(alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, f"{HOSTILE} bonus", title=HOSTILE)
    answer = client_of(alice).get(address(shared, "ask"), {"q": f"bonus {HOSTILE}"}).content.decode()
    assert "<mark>bonus</mark>" in answer
    assert "<img" not in answer
    assert "onerror=alert(1)&gt;" in answer.replace("<mark>", "").replace("</mark>", "")


@pytest.mark.parametrize("count", [3, 12])
def test_the_pages_cost_the_same_however_much_is_found(count: int, alice: Member, shared: Memory) -> None:
    place = look(factories.caller(alice), shared.id)
    for number in range(count):
        below = factories.memory(alice, shared, f"Below {number}")
        factories.record(alice, below, f"Unlike others is number {number} here.", title="The last one")
        record = factories.record(alice, below, f"Paid on day {number} by {number * 7}.", title=f"Payment {number}")
        golden.save(place, f"Paid {number}?", Reference(record.id, memory_id=below.id))
        pointer = {"memory_id": below.id, "record_id": record.id, "rel": "about"}
        factories.record(alice, shared, f"Note {number}.", references=[pointer])
    client = client_of(alice)
    costs = {}
    for tab in ("ask?q=who+paid&limit=50", "ask?q=who+paid&against=words", "golden", "graph?around="):
        client.get(address(shared, tab))
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address(shared, tab)).status_code == 200
        costs[tab] = len(queries)
    assert costs == {
        "ask?q=who+paid&limit=50": 43,
        "ask?q=who+paid&against=words": 56,
        "golden": 21,
        "graph?around=": 25,
    }


def test_a_question_is_listed_only_where_its_memory_may_be_read(
    alice: Member, bob: Member, shared: Memory, pay: Memory
) -> None:
    bonus = records.page(look(factories.caller(alice), pay.id), View(), 1, None).versions[0]
    expected = Reference(bonus.id, memory_id=pay.id)
    golden.save(look(factories.caller(alice), pay.id), "Asked in the closed branch?", expected)
    golden.save(look(factories.caller(alice), shared.id), "Asked above it?", expected)
    seen = page(bob, shared, "golden")
    assert "Asked above it?" in seen
    assert "not available to you" in seen
    for hidden in ("Asked in the closed branch?", "Bonus", "Pay"):
        assert hidden not in seen
    assert "Golden questions here and below 1" in seen


def test_the_report_of_somebody_else_is_no_page(alice: Member, bob: Member, shared: Memory, pay: Memory) -> None:
    place = look(factories.caller(alice), shared.id)
    expected = records.page(place, View(), 1, None).versions[0]
    golden.save(place, "When?", Reference(expected.id, memory_id=shared.id))
    job = golden.begin(place)
    url = address(shared, f"golden/runs/{job.id}")
    assert [client_of(who).get(url).status_code for who in (alice, bob)] == [200, 404]


def test_the_graph_is_drawn_and_the_table_says_the_same(
    visit: Visit, alice: Member, bob: Member, shared: Memory, pay: Memory
) -> None:
    bonus = records.page(look(factories.caller(alice), pay.id), View(), 1, None).versions[0]
    town = factories.record(alice, shared, title="Town", type="entity")
    pointers = [
        {"memory_id": shared.id, "record_id": town.id, "rel": "about"},
        {"memory_id": pay.id, "record_id": bonus.id, "rel": "derived_from"},
    ]
    office = factories.record(alice, shared, title="Office", references=pointers)
    opened = visit(bob, address(shared, "graph"))
    expect(opened.get_by_role("table")).to_have_count(0)
    opened.get_by_label("Around the record").fill(office.id)
    opened.get_by_role("button", name="Draw").click()
    picture = opened.get_by_role("group", name="Graph of records")
    expect(picture.get_by_role("link")).to_have_count(2)
    expect(picture.locator(".graph-hidden")).to_have_count(1)
    rows = opened.get_by_role("table").get_by_role("row")
    expect(rows.filter(has_text="Town")).to_contain_text("about")
    expect(rows.filter(has_text="not available to you")).to_contain_text("Office")
    for hidden in ("Bonus", "derived_from", bonus.id, pay.id):
        assert hidden not in opened.content()
    assert not grave(opened)
    picture.get_by_role("link", name="Town").click()
    expect(opened.get_by_role("heading", name="Town", level=1)).to_be_visible()


def test_a_graph_is_never_more_than_can_be_read(alice: Member, shared: Memory) -> None:
    hub = factories.record(alice, shared, title="Hub")
    for _ in range(70):
        factories.record(alice, shared, references=[{"memory_id": shared.id, "record_id": hub.id, "rel": "about"}])
    answer = client_of(alice).get(address(shared, "graph"), {"around": hub.id}).content.decode()
    assert answer.count('class="graph-dot') == 60
    assert "11 linked records more than can be read at once" in answer


def test_a_graph_without_links_says_so(alice: Member, shared: Memory, pay: Memory) -> None:
    assert "Nothing is linked here" in page(alice, shared, "graph", around="")


KEYS = st.integers(0, 12).map(lambda number: ("m", str(number)))
GRAPHS = st.tuples(
    st.lists(KEYS, unique=True, max_size=13),
    st.lists(st.builds(Link, KEYS, st.none() | KEYS), max_size=30),
    st.none() | KEYS,
)


@given(GRAPHS)
def test_a_drawing_has_every_record_once_inside_its_square_and_is_always_the_same(graph: Any) -> None:
    keys, links, start = graph
    named = [Named(key, "A title that is rather long", "/") for key in keys]
    drawing = draw(named, links, start)
    assert [dot.key for dot in drawing.dots] == keys
    assert len({(dot.x, dot.y) for dot in drawing.dots}) == len(keys)
    ends = [(dot.x, dot.y) for dot in drawing.dots] + [(one.x2, one.y2) for one in drawing.lines]
    assert all(0 <= value <= graph_drawing.SIDE for end in ends for value in end)
    shown = [one for one in links if one.holder in keys and (one.to is None or one.to in keys)]
    assert [one.hidden for one in drawing.lines] == [one.to is None for one in shown]
    assert draw(named, links, start) == drawing


@given(st.lists(st.sampled_from(["Rents", "and", "renting", "Straße", "x", " ", "…", "\n"]), max_size=80).map(" ".join))
def test_marking_loses_nothing_and_marks_what_was_asked_for(text: str) -> None:
    marks = Marker(frozenset({"rent"}), {"rents": frozenset({"rent"}), "renting": frozenset({"rent"})})
    pieces = marks.pieces(text)
    assert "".join(piece.text for piece in pieces) == text
    assert {piece.text for piece in pieces if piece.marked} <= {"Rents", "renting"}
    shown = snippet(text, marks)
    assert sum(len(piece.text) for piece in shown) <= SNIPPET + 4


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("When do we rent?", "Renting costs; the rents rose.", ["Renting", "rents"]),
        ("café", "The Cafe and the café.", ["Cafe", "café"]),
        ("the of and", "The end of the day and night.", []),
        ("東京の天気", "今日の東京の天気は晴れ。", ["東京の天気"]),
        ("", "Anything.", []),
    ],
)
def test_words_are_marked_as_they_are_looked_for(question: str, text: str, marked: list[str], shared: Memory) -> None:
    found = marker(question, [text], shared.organisation_id, shared.id).pieces(text)
    assert [piece.text for piece in found if piece.marked] == marked


def test_every_note_and_reason_is_a_sentence() -> None:
    notes = ["query:embedder_unavailable", "words:capped_at_5000_records", "subtree:capped_at_100000_memories", "x:y"]
    assert explore_said.sentences(notes) == [
        "The model that compares meanings could not be reached; only words were compared.",
        "So many records have these words that only 5,000 of them were ranked by words.",
        "There are more memories below than one question covers: the 100,000 nearest.",
        "Something was not done (x:y).",
    ]
    for reason in (abstain.NOTHING, abstain.EVIDENCE, abstain.STRANGER, abstain.WORDS):
        told = explore_said.decision(Evidence(True, reason, 0.1, 0.17))
        assert told is not None
        assert told.reason.endswith(".")
        assert (told.percent, told.threshold, told.at, told.threshold_at) == (10, 17, 40, 61)


def test_a_value_is_read_as_it_is_typed() -> None:
    typed = {"3": 3, "3.5": 3.5, "true": True, '"3"': "3", "green": "green", "[1": "[1", " open ": "open"}
    assert {text: explore_filters.value_of("eq", text) for text in typed} == typed
    assert explore_filters.value_of("in", "open, 3,") == ["open", 3]
