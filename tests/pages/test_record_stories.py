"""What people do with records: compare and restore, revise together, erase with a report, hold, look back."""

from __future__ import annotations

import io
import json
import re
import struct
import zlib
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from members.ids import mint
from members.models import Member
from memories.console import memory as memory_pages
from memories.console import records as record_pages
from memories.content import read_changes
from memories.models import Hold, Job, Memory, Record, Version
from memories.providers import registry
from memories.providers.base import RecordVersion, Writer
from memories.services import files, holds, jobs, records, snapshots
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.pages.browser import Watch
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import PHONE, TOO_WIDE, grave
from tests.pages.test_stories import address, status


def chunk(kind: bytes, content: bytes) -> bytes:
    """One chunk of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


DOT = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\x1c\x5c\x45"))
    + chunk(b"IEND", b"")
)


def upload(by: Member, name: str, media_type: str, content: bytes = DOT) -> dict[str, Any]:
    """A file part with bytes that a member sent."""
    sent = files.Upload(io.BytesIO(content), name, mint("x_"), len(content), media_type)
    return {"type": "file", "file": {"id": files.keep(factories.caller(by), sent).id}}


def revise(by: Member, memory: Memory, record: RecordVersion, **changes: Any) -> RecordVersion:
    """The next version of a record."""
    return records.revise(look(factories.caller(by), memory.id), record.id, read_changes(changes))


@pytest.fixture
def rent(alice: Member, shared: Memory) -> RecordVersion:
    """A record of two versions."""
    written = factories.record(
        alice, shared, "Rent is due in May.", title="Rent", attributes={"amount": 900, "paid": True}
    )
    return revise(alice, shared, written, content="Rent is due in June.", attributes={"amount": 950, "late": "no"})


def at(record: RecordVersion, page: str = "") -> str:
    """The address of a page of a record."""
    return address(Memory.objects.get(pk=record.memory_id), f"records/{record.id}/{page}")


def test_two_versions_are_compared_and_the_older_is_restored(
    visit: Visit, alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    page = visit(alice, at(rent))
    page.get_by_role("link", name="What changed in version 2").click()
    content = page.get_by_role("region", name="Content")
    expect(content.get_by_role("deletion")).to_contain_text("May.")
    expect(content.get_by_role("insertion")).to_contain_text("June.")
    changed = page.get_by_role("region", name="Attributes and times")
    for name, kind in (("amount", "changed"), ("late", "added")):
        expect(changed.get_by_role("row").filter(has_text=name)).to_contain_text(kind)
    expect(changed.get_by_role("row").filter(has_text="paid")).to_have_count(0)
    page.get_by_role("link", name="Restore…").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    status(page, "Version 1 was restored as version 3.")
    expect(page.get_by_role("region", name="Content")).to_contain_text("May.")
    expect(page.get_by_role("region", name="History")).to_contain_text("restored version 1")
    head = records.get(look(factories.caller(alice), shared.id), rent.id)
    assert (head.number, head.draft.attributes) == (
        3,
        {"amount": 900, "paid": True, "revision_reason": "restored version 1"},
    )


def test_any_two_versions_are_compared_by_choosing_them(visit: Visit, alice: Member, rent: RecordVersion) -> None:
    page = visit(alice, at(rent, "compare"))
    page.get_by_label("Before").select_option("2")
    page.get_by_label("After").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("region", name="Content").get_by_role("insertion")).to_contain_text("May.")
    page.get_by_label("Before").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("main")).to_contain_text("Nothing differs")


def test_two_editors_meet_and_nothing_of_either_is_lost(
    visit: Visit, watch: Watch, alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    watch.expected.add(409)
    page = visit(alice, at(rent))
    page.get_by_role("link", name="Revise").click()
    page.get_by_label("Text").fill("Rent is due in July.")
    revise(alice, shared, rent, content="Rent is due in August.")
    page.get_by_role("button", name="Save the next version").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody was faster")
    expect(page.get_by_role("region", name="Content").get_by_role("insertion")).to_contain_text("August.")
    expect(page.get_by_label("Text")).to_have_value("Rent is due in July.")
    assert Version.objects.filter(record_id=rent.id).count() == 3
    page.get_by_label("Text").fill("Rent is due in July and in August.")
    page.get_by_label("Why").fill("Both were meant.")
    page.get_by_role("button", name="Save on top of theirs").click()
    status(page, "Version 4 was written.")
    expect(page.get_by_role("region", name="Content")).to_contain_text("July and in August.")
    expect(page.get_by_role("region", name="History")).to_contain_text("Both were meant.")


def test_a_revision_that_cannot_be_kept_says_so_and_keeps_what_was_typed(alice: Member, rent: RecordVersion) -> None:
    sent = {"title": "Rent", "text-0": "Words.", "expected_version": "2", "attributes": "{not JSON"}
    for attributes in ("{not JSON", "[1]", '{"a": NaN}'):
        answer = client_of(alice).post(at(rent, "revise"), {**sent, "attributes": attributes})
        assert answer.status_code == 422
        assert "Words." in answer.content.decode()
        assert 'aria-invalid="true"' in answer.content.decode()
    assert Version.objects.filter(record_id=rent.id).count() == 2


def test_an_attribute_that_was_left_out_is_gone_and_a_file_stays_where_it_was(alice: Member, shared: Memory) -> None:
    content = [{"type": "text", "text": "Before."}, upload(alice, "dot.png", "image/png")]
    note = factories.record(alice, shared, [*content, {"type": "text", "text": "After."}], attributes={"a": 1, "b": 2})
    sent = {"title": "", "text-0": "Earlier.", "text-2": "", "expected_version": "1", "attributes": '{"b": 2}'}
    assert client_of(alice).post(at(note, "revise"), sent).status_code == 302
    head = records.get(look(factories.caller(alice), shared.id), note.id)
    assert [part.get("text", part.get("file", {}).get("name")) for part in head.draft.content] == [
        "Earlier.",
        "dot.png",
    ]
    assert head.draft.attributes == {"b": 2}


def test_a_record_is_erased_with_everything_derived_and_the_report_shows_by_itself(
    visit: Visit, watch: Watch, alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    watch.expected.add(422)
    pointer = {"rel": "derived_from", "record_id": rent.id, "memory_id": shared.id}
    summary = derived(shared, pointer)
    factories.record(alice, shared, "I remember the rent.", title="My note", references=[pointer])
    page = visit(alice, at(rent))
    expect(page.get_by_role("region", name="What points here")).to_contain_text("My note")
    page.get_by_role("link", name="Erase…").click()
    expect(page.get_by_role("region", name="Will be erased")).to_contain_text("Rent")
    expect(page.get_by_role("region", name="Goes along")).to_contain_text("Summary")
    expect(page.get_by_role("region", name="Stays, though")).to_contain_text("My note")
    page.get_by_label("Type erase to confirm").fill("earse")
    page.get_by_role("button", name="Erase 1 record").click()
    expect(page.get_by_role("alert")).to_contain_text("Type erase to confirm")
    assert Record.objects.filter(pk=rent.id).exists()
    page.get_by_label("Type erase to confirm").fill("erase")
    page.get_by_role("button", name="Erase 1 record").click()
    expect(page.get_by_role("heading", name="Erasure", level=1)).to_be_visible()
    jobs.run(Job.objects.get(kind="erase").id, KINDS)
    removed = page.get_by_role("region", name="What was removed")
    expect(removed).to_contain_text("Versions")
    expect(removed.get_by_role("definition").nth(1)).to_have_text("3")
    expect(page.get_by_role("region", name="What could not be reached")).to_contain_text("My note")
    assert page.locator("[hx-trigger*=every]").count() == 0
    assert not Record.objects.filter(pk__in=[rent.id, summary.id]).exists()


def derived(memory: Memory, pointer: Mapping[str, str]) -> RecordVersion:
    """A record that a provider made of another one."""
    owner = Member.objects.get(organisation=memory.organisation, is_owner=True)
    draft = factories.record(owner, memory, "Rent, in short.", title="Summary", references=[pointer])
    Version.objects.filter(record_id=draft.id).update(writer_kind="provider", writer_id="native")
    found = registry.get(memory.provider).get(memory.id, draft.id)
    assert found
    assert found.writer == Writer("provider", "native", found.writer.type)
    return found


def test_an_erasure_is_followed_by_reloading_without_scripts(
    visit: Visit, live_server: LiveServer, alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    page = visit(alice, f"{address(shared, 'erase')}?record={rent.id}", java_script_enabled=False)
    page.get_by_label("Type erase to confirm").fill("erase")
    page.get_by_role("button", name="Erase 1 record").click()
    jobs.run(Job.objects.get(kind="erase").id, KINDS)
    page.reload()
    expect(page.get_by_role("region", name="What was removed")).to_be_visible()


def test_the_list_to_erase_is_confirmed_as_it_was_shown(alice: Member, shared: Memory, rent: RecordVersion) -> None:
    other = factories.record(alice, shared)
    holds.place_hold(look(factories.caller(alice), shared.id), "Asked by the court.", other.id)
    page = client_of(alice)
    url = address(shared, "erase")
    shown = page.get(url, {"record": [rent.id, other.id]}).content.decode()
    assert "Asked by the court." in shown
    assert re.findall(r'name="going" value="(\w+)"', shown) == [rent.id]
    both = {"record": [rent.id, other.id], "going": [rent.id, other.id], "confirm": "erase"}
    assert page.post(url, both).status_code == 422
    assert not Job.objects.exists()
    assert page.post(url, {**both, "going": [rent.id]}).status_code == 302
    assert Job.objects.get().payload["record_ids"] == [rent.id]


def test_a_record_is_put_on_hold_and_cannot_be_erased_until_it_is_lifted(
    visit: Visit, alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    page = visit(alice, at(rent))
    page.get_by_role("link", name="Hold…").click()
    page.get_by_label("Why").fill("Asked by the auditors.")
    page.get_by_role("button", name="Put on hold").click()
    status(page, "Put on hold.")
    expect(page.get_by_role("main")).to_contain_text("On hold: Asked by the auditors.")
    page.get_by_role("link", name="Erase…").click()
    expect(page.get_by_role("region", name="May not be erased")).to_contain_text("Asked by the auditors.")
    expect(page.get_by_role("button", name="Erase")).to_have_count(0)
    page.get_by_role("link", name="Cancel").click()
    page.get_by_role("link", name="Lift…").click()
    page.get_by_role("dialog").get_by_role("button", name="Lift the hold").click()
    status(page, "The hold was lifted.")
    hold = Hold.objects.get()
    assert (hold.placed_by, hold.lifted_by) == (alice.principal, alice.principal)


def test_a_memory_is_looked_at_as_of_a_snapshot(visit: Visit, alice: Member, shared: Memory) -> None:
    note = factories.record(alice, shared, "Tea is green.", title="Tea")
    page = visit(alice, address(shared))
    page.get_by_role("link", name="Snapshots").click()
    page.get_by_role("textbox", name="Name").fill("Before the audit")
    page.get_by_role("button", name="Take the snapshot").click()
    status(page, "The snapshot Before the audit was taken.")
    revise(alice, shared, note, title="Coffee", content="Coffee is black.")
    page.get_by_role("link", name="Back to the memory").click()
    expect(page.get_by_role("link", name="Coffee")).to_be_visible()
    page.get_by_label("Snapshot").select_option("Before the audit")
    expect(page.get_by_text("You are looking at the past")).to_be_visible()
    expect(page.get_by_role("link", name="Tea")).to_be_visible()
    page.reload()
    page.get_by_role("link", name="Tea").click()
    expect(page.get_by_role("region", name="Content")).to_contain_text("green")
    page.go_back()
    page.get_by_role("link", name="Back to now").click()
    expect(page.get_by_role("link", name="Coffee")).to_be_visible()


def test_records_are_filtered_by_what_the_address_says(
    alice: Member, bob: Member, team: Any, shared: Memory, rent: RecordVersion
) -> None:
    factories.record(bob, shared, "By Bob.", title="Bob's", type="note", attributes={"due": "Friday", "rounds": 2})
    gone = factories.record(alice, shared, "Gone.", title="Forgotten one")
    before = gone.written_at.isoformat()
    records.forget(look(factories.caller(alice), shared.id), gone.id)

    def titles(**query: str) -> list[str]:
        html = client_of(alice).get(address(shared), query).content.decode()
        return [unescape(title) for title in re.findall(r'record-card-title"><a [^>]*>([^<]*)<', html)]

    assert titles() == ["Rent", "Bob's"]
    assert titles(type="note") == ["Bob's"]
    assert titles(writer=bob.principal) == ["Bob's"]
    assert titles(status="forgotten") == ["Forgotten one"]
    assert titles(status="superseded", writer=alice.principal) == ["Rent"]
    assert titles(status="all") == ["Rent", "Rent", "Bob's", "Forgotten one"]
    assert titles(as_of=before) == ["Rent", "Bob's", "Forgotten one"]
    assert titles(as_of=before, writer=bob.principal) == ["Bob's"]
    assert titles(attribute="due") == titles(attribute="due = Friday") == titles(attribute="rounds=2") == ["Bob's"]
    assert titles(attribute="due=Monday") == titles(attribute="missing") == []


def test_records_that_are_ticked_are_forgotten_and_those_that_may_not_are_named(
    visit: Visit, alice: Member, shared: Memory
) -> None:
    for title in ("Tea", "Coffee", "Milk"):
        factories.record(alice, shared, f"{title} is a drink.", title=title)
    page = visit(alice, address(shared))
    page.get_by_role("checkbox", name="Choose Tea").check()
    page.get_by_role("checkbox", name="Choose Coffee").check()
    page.get_by_role("button", name="Forget…").click()
    going = page.get_by_role("region", name="Will be forgotten")
    expect(going.get_by_role("listitem")).to_have_text(["Tea", "Coffee"])
    place = look(factories.caller(alice), shared.id)
    records.forget(place, Version.objects.get(title="Tea").record_id)
    page.reload()
    expect(page.get_by_role("region", name="Will not, and why")).to_contain_text("Tea It is forgotten already.")
    page.get_by_role("button", name="Forget 1 record").click()
    status(page, "1 record was forgotten.")
    expect(page.get_by_role("link", name="Milk")).to_be_visible()
    expect(page.get_by_role("link", name="Coffee")).to_have_count(0)


def test_an_image_is_drawn_and_what_can_hold_a_script_is_only_saved(
    visit: Visit, alice: Member, shared: Memory
) -> None:
    script = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    parts = [
        upload(alice, "dot.png", "image/png"),
        upload(alice, "drawing.svg", "image/svg+xml", script),
        upload(alice, "page.html", "text/html", b"<script>alert(1)</script>"),
    ]
    note = factories.record(alice, shared, parts, title="Drawings")
    page = visit(alice, at(note))
    expect(page.get_by_role("main").locator("img")).to_have_js_property("naturalWidth", 1)
    for index, name in enumerate(("dot.png", "drawing.svg", "page.html")):
        with page.expect_download() as saved:
            page.get_by_role("link", name=name).click()
        assert saved.value.suggested_filename == name
        answer = client_of(alice).get(at(note, f"content/{index}"))
        answer.close()
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


@pytest.mark.django_db
def test_a_long_text_is_folded_and_all_there(alice: Member, shared: Memory) -> None:
    text = "word " * 1000 + "end"
    html = client_of(alice).get(at(factories.record(alice, shared, text))).content.decode()
    assert "<details" in html.split("record-content")[1]
    assert text in html


@pytest.mark.django_db
def test_pointers_are_shown_with_the_eyes_of_who_looks(alice: Member, carol: Member, shared: Memory) -> None:
    private = factories.memory(alice)
    tea = factories.record(alice, shared, "Tea.", title="Tea")
    secret = factories.record(
        alice, private, "Hidden.", title="Secret", references=[{"record_id": tea.id, "memory_id": shared.id}]
    )
    revise(alice, shared, tea, references=[{"record_id": secret.id, "memory_id": private.id, "rel": "because"}])
    hers, everything = (client_of(who).get(at(tea)).content.decode() for who in (carol, alice))
    assert everything.count("Secret") >= 2
    assert "not available to you" in hers
    assert not [word for word in ("Secret", secret.id, private.id, "because", "What points here") if word in hers]
    compared = client_of(carol).get(at(tea, "compare")).content.decode()
    assert "not available to you" in compared
    assert not [word for word in ("Secret", secret.id, private.id, "because") if word in compared]


@pytest.mark.django_db
def test_a_preview_names_only_what_its_reader_may_read(alice: Member, bob: Member, shared: Memory) -> None:
    factories.grant(alice, shared, bob, "read", "delete")
    private = factories.memory(alice)
    tea = factories.record(alice, shared, "Tea.", title="Tea")
    pointer = {"record_id": tea.id, "memory_id": shared.id, "rel": "derived_from"}
    secret = factories.record(alice, private, "Hidden.", title="Secret", references=[pointer])
    shown = client_of(bob).get(address(shared, "erase"), {"record": tea.id}).content.decode()
    assert "There is more where you may not read." in shown
    assert not [word for word in ("Secret", secret.id, private.id) if word in shown]


@pytest.mark.django_db
def test_a_preview_names_the_files_that_go_and_counts_those_that_others_keep(alice: Member, shared: Memory) -> None:
    kept, gone = upload(alice, "kept.png", "image/png"), upload(alice, "gone.png", "image/png", b"other")
    drawing = factories.record(alice, shared, [kept, gone])
    factories.record(alice, factories.memory(alice), [kept])
    shown = client_of(alice).get(address(shared, "erase"), {"record": drawing.id}).content.decode()
    assert "gone.png" in shown
    assert "kept.png" not in shown.partition("<dt>Files</dt>")[2]
    assert "1 file of theirs stays" in shown


@pytest.mark.django_db
def test_a_job_of_another_kind_or_memory_has_no_page(alice: Member, shared: Memory) -> None:
    client: Client = client_of(alice)
    other = factories.memory(alice)
    about: dict[str, Any] = {"organisation_id": alice.organisation_id, "memory_id": other.id}
    erasure, purge = (Job.objects.create(kind=kind, **about) for kind in ("erase", "purge"))
    assert client.get(address(other, f"jobs/{erasure.id}")).status_code == 200
    assert client.get(address(shared, f"jobs/{erasure.id}")).status_code == 404
    assert client.get(address(other, f"jobs/{purge.id}")).status_code == 404


@pytest.mark.django_db
def test_a_page_of_what_fits_goes_on_where_it_stopped(
    alice: Member, bob: Member, team: Any, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_pages, "PAGE", 2)
    for number in range(7):
        factories.record(bob if number % 2 == 0 else alice, shared, title=f"Number {number}")
    client, url, titles = client_of(alice), f"{address(shared)}?writer={bob.principal}", []
    for _ in range(3):
        html = client.get(url).content.decode()
        titles.append(re.findall(r"Number \d(?=<)", html))
        following = re.search(r'href="([^"]+)" rel="next"', html)
        if following is None:
            break
        url = unescape(following[1])
    assert titles == [["Number 0", "Number 2"], ["Number 4", "Number 6"]]


@pytest.mark.django_db
def test_a_long_history_is_listed_page_by_page_with_the_version_that_is_shown(
    alice: Member, shared: Memory, rent: RecordVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pages, "TIMELINE", 2)
    for day in range(4):
        revise(alice, shared, rent, content=f"Day {day}.")
    client = client_of(alice)

    def listed(query: dict[str, str]) -> tuple[list[str], list[str]]:
        html = client.get(at(rent), query).content.decode()
        compared = re.findall(r"compare\?from=(\d)&amp;to=(\d)", html)
        return re.findall(r">Version (\d)<", html), [f"{before}-{after}" for before, after in compared]

    assert listed({}) == (["6", "5"], ["5-6", "4-5"])
    assert listed({"version": "2"}) == (["6", "5", "2"], ["5-6", "4-5", "1-2"])
    assert listed({"version": "1"}) == (["6", "5", "1"], ["5-6", "4-5"])
    assert listed({"version": "9"}) == (["6", "5"], ["5-6", "4-5"])
    assert listed({"older": "5"}) == (["6", "4", "3"], ["5-6", "3-4", "2-3"])
    assert listed({"older": "3", "version": "4"}) == (["4", "2", "1"], ["3-4", "1-2"])
    assert listed({"older": "1"}) == (["6"], ["5-6"])


@pytest.mark.django_db
def test_one_walks_from_the_newest_versions_to_the_oldest_and_back(
    alice: Member, shared: Memory, rent: RecordVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pages, "TIMELINE", 2)
    for day in range(3):
        revise(alice, shared, rent, content=f"Day {day}.")
    client, url, pages = client_of(alice), at(rent), []
    while True:
        html = client.get(url).content.decode()
        pages.append(re.findall(r">Version (\d)<", html))
        following = re.search(r'href="([^"]+)" rel="next">Older versions', html)
        if following is None:
            break
        url = unescape(following[1])
    assert pages == [["5", "4"], ["5", "3", "2"], ["5", "1"]]
    newest = re.search(r'href="([^"]+)">Newest versions', html)
    assert newest
    assert re.findall(r">Version (\d)<", client.get(unescape(newest[1])).content.decode()) == ["5", "4"]


@pytest.mark.django_db
def test_a_record_page_reads_one_page_of_a_long_history(
    alice: Member, shared: Memory, rent: RecordVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pages, "TIMELINE", 2)
    client, counts = client_of(alice), []
    client.get(at(rent))
    for _ in range(2):
        for day in range(4):
            revise(alice, shared, rent, content=f"Day {day}.")
        with CaptureQueriesContext(connection) as queries:
            client.get(at(rent))
        counts.append(len(queries))
    assert counts[0] == counts[1]
    read = [one["sql"] for one in queries.captured_queries if '"memories_version"."record_id" = ' in one["sql"]]
    assert read
    assert all(" LIMIT 3" in one for one in read)


@pytest.mark.django_db
def test_the_pages_of_a_list_cost_the_same_however_many_records_are_named(alice: Member, shared: Memory) -> None:
    client = client_of(alice)
    ids = [factories.record(alice, shared).id for _ in range(12)]
    holds.place_hold(look(factories.caller(alice), shared.id), "Kept.", ids[0])
    client.get(address(shared))
    for page in ("forget", "erase"):
        counts = []
        for some in (ids[:2], ids):
            with CaptureQueriesContext(connection) as asked:
                assert client.get(address(shared, page), {"record": some}).status_code == 200
            counts.append(len(asked))
        assert counts[0] == counts[1], page


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}"


@pytest.mark.django_db
def test_hostile_words_are_inert_on_the_pages_of_a_record(alice: Member, shared: Memory) -> None:
    note = factories.record(alice, shared, HOSTILE, title=HOSTILE, attributes={HOSTILE: HOSTILE})
    revise(alice, shared, note, title=f"New {HOSTILE}", content=f"New {HOSTILE}", attributes={HOSTILE: "changed"})
    place = look(factories.caller(alice), shared.id)
    holds.place_hold(place, HOSTILE, note.id)
    snapshots.take(place, HOSTILE, HOSTILE)
    for url in pages(shared, note):
        html = client_of(alice).get(url).content.decode()
        assert "<script>alert" not in html, url
        assert "<img" not in html, url
        assert "alert(1)" in unescape(html), url


def pages(memory: Memory, record: RecordVersion) -> list[str]:
    """The pages of a record of two versions, and of what one does with it."""
    return [
        address(memory),
        at(record),
        at(record, "compare"),
        at(record, "revise"),
        f"{at(record, 'restore')}?version=1",
        f"{address(memory, 'forget')}?record={record.id}",
        f"{address(memory, 'erase')}?record={record.id}",
        f"{address(memory, 'holds')}?record={record.id}",
        address(memory, "snapshots"),
    ]


LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 3


@pytest.mark.parametrize("look_", ["light", "dark", "phone"])
def test_the_pages_of_a_record_are_sound_and_fit_a_phone(
    look_: str, visit: Visit, alice: Member, shared: Memory
) -> None:
    content = [{"type": "text", "text": LONG}, upload(alice, f"{LONG[:90]}.png", "image/png")]
    note = factories.record(alice, shared, content, title=LONG[:200], attributes={LONG: LONG, "state": json.dumps([1])})
    note = revise(alice, shared, note, content=[{"type": "text", "text": f"{LONG} anew"}], attributes={LONG: "short"})
    place = look(factories.caller(alice), shared.id)
    holds.place_hold(place, LONG, note.id)
    other = factories.record(alice, shared, "Words.", title="Words")
    snapshots.take(place, LONG[:150], LONG)
    job = Job.objects.create(
        kind="erase", organisation_id=alice.organisation_id, memory_id=shared.id, payload={"record_ids": [other.id]}
    )
    options: dict[str, Any] = PHONE if look_ == "phone" else {"color_scheme": look_}
    page = visit(alice, address(shared), bypass_csp=True, **options)
    found = []
    erasing = f"{address(shared, 'erase')}?record={other.id}"
    for url in [*pages(shared, note), erasing, address(shared, f"jobs/{job.id}")]:
        page.goto(url)
        found += [f"{url}: {fault}" for fault in (page.evaluate(TOO_WIDE) if look_ == "phone" else grave(page))]
    page.goto("about:blank")
    assert not found, "\n".join(found)
