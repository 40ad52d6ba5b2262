"""Versions: what a revision is based on, and what was remembered at any instant, against a model of the history."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from members.ids import mint
from members.models import Member
from memories.content import read_changes
from memories.models import Memory, Version
from memories.providers.base import RecordVersion, View
from memories.services import records, snapshots
from memories.services.sight import Place, look
from tests import factories
from tests.conftest import Answer, Api
from tests.parallel import at_once
from uhp_site.http.errors import RecordNotFound
from uhp_site.http.pagination import make_cursor

TICK = timedelta(microseconds=1)


def path(memory: Memory, record: RecordVersion, rest: str = "") -> str:
    return f"/v1/memories/{memory.id}/records/{record.id}{rest}"


def revise(
    api: Api, who: Member, memory: Memory, record: RecordVersion, body: dict[str, Any], match: str | None = None
) -> Answer:
    headers = {} if match is None else {"If-Match": match}
    return api.call("PATCH", path(memory, record), body, as_=who, headers=headers)


@pytest.mark.django_db(transaction=True)
def test_of_twenty_revisions_with_the_same_base_one_succeeds(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "First.")
    api.key(alice)
    bodies = [{"content": f"By {number}.", "expected_version": 1} for number in range(20)]
    answers = at_once([partial(revise, api, alice, shared, record, body) for body in bodies])
    refused = [answer for answer in answers if answer.status != 200]
    assert len(refused) == 19
    for answer in refused:
        assert (answer.status, answer.error["code"]) == (409, "heartwood_version_conflict")
        assert answer.error["detail"] == {"version": 2}
    assert [one.number for one in records.history(look(factories.caller(alice), shared.id), record.id)] == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_of_twenty_revisions_without_a_base_each_is_a_version(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "First.")
    api.key(alice)
    bodies = [{"content": f"By {number}."} for number in range(20)]
    answers = at_once([partial(revise, api, alice, shared, record, body) for body in bodies])
    assert {answer.status for answer in answers} == {200}
    history = api.get(path(shared, record, "/history"), alice)["data"]
    assert [one["version"] for one in history] == list(range(1, 22))
    assert {one["content"][0]["text"] for one in history[1:]} == {body["content"] for body in bodies}
    closed = [one["time"]["invalidated_at"] for one in history]
    assert closed == [*(one["time"]["written_at"] for one in history[1:]), None]


@pytest.mark.django_db(transaction=True)
def test_of_a_revision_and_a_forgetting_with_the_same_base_one_succeeds(
    api: Api, alice: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared, "First.")
    api.key(alice)
    body = {"expected_version": 1}
    answers = at_once(
        [
            partial(revise, api, alice, shared, record, {**body, "content": "Second."}),
            partial(api.call, "DELETE", path(shared, record), body, as_=alice),
        ]
    )
    # Who comes after the forgetting finds no open record; who comes after the revision meets another version.
    assert sorted(answer.status for answer in answers) in ([200, 404], [200, 409])


@pytest.mark.django_db
def test_the_etag_of_a_read_is_what_a_revision_matches(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    etag = api.call("GET", path(shared, record), as_=alice).headers["ETag"]
    assert etag == '"1"'
    answer = revise(api, alice, shared, record, {"content": "Second."}, match=etag)
    assert (answer.status, answer.headers["ETag"]) == (200, '"2"')
    stale = revise(api, alice, shared, record, {"content": "Third."}, match=etag)
    assert (stale.status, stale.error["detail"]) == (409, {"version": 2})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("match", "body", "status"),
    [
        ('"1"', {}, 200),
        ('W/"1"', {}, 200),
        ('"7", "1"', {}, 200),
        ("*", {}, 200),
        ('"1"', {"expected_version": 1}, 200),
        ('"1"', {"expected_version": 2}, 409),
        ('"2"', {}, 409),
        ('"2", "3"', {}, 409),
        ("1", {}, 422),
        ('"one"', {}, 422),
        ("", {}, 422),
        (None, {"expected_version": 0}, 422),
        (None, {"expected_version": "1"}, 422),
        (None, {"expected_version": True}, 422),
    ],
)
def test_a_precondition_is_one_or_several_versions(
    api: Api, alice: Member, shared: Memory, match: str | None, body: dict[str, Any], status: int
) -> None:
    record = factories.record(alice, shared)
    answer = revise(api, alice, shared, record, {"content": "Other.", **body}, match=match)
    assert answer.status == status
    assert Version.objects.filter(record_id=record.id).count() == (2 if status == 200 else 1)


@pytest.mark.django_db
def test_a_record_that_was_revised_meanwhile_is_not_forgotten(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    revise(api, alice, shared, record, {"content": "Other."})
    refused = api.call("DELETE", path(shared, record), as_=alice, headers={"If-Match": '"1"'})
    assert refused.error["code"] == "heartwood_version_conflict"
    assert api.get(path(shared, record), alice)["status"] == "active"
    forgotten = api.call("DELETE", path(shared, record), {"expected_version": 2}, as_=alice)
    assert forgotten.json["status"] == "forgotten"


@pytest.mark.django_db
def test_a_reason_is_that_of_one_version(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, attributes={"colour": "green"})
    for attributes in ({"revision_reason": "A typing error."}, None, {"revision_reason": "It moved."}, {"size": 2}):
        body: dict[str, Any] = {"title": "T"} if attributes is None else {"attributes": attributes}
        assert revise(api, alice, shared, record, body).status == 200
    history = api.get(path(shared, record, "/history"), alice)["data"]
    reasons = [one["attributes"].get("revision_reason") for one in history]
    assert reasons == [None, "A typing error.", None, "It moved.", None]
    assert history[-1]["attributes"] == {"colour": "green", "size": 2}


@pytest.mark.django_db
def test_twenty_five_revisions_leave_twenty_six_versions_each_with_its_writer_and_reason(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared, "Version 1.")
    for number in range(2, 27):
        body = {"content": f"Version {number}.", "attributes": {"revision_reason": f"Because of {number}."}}
        assert revise(api, (alice, bob)[number % 2], shared, record, body).status == 200
    history = api.get(path(shared, record, "/history"), alice)["data"]
    assert [one["content"][0]["text"] for one in history] == [f"Version {number}." for number in range(1, 27)]
    assert [one["written_by"]["id"] for one in history] == [
        (alice, bob)[n % 2].id if n > 1 else alice.id for n in range(1, 27)
    ]
    for one in history:
        then = api.get(path(shared, record, f"?as_of={one['time']['written_at']}"), alice)
        assert then["content"] == one["content"]


@pytest.mark.django_db
def test_a_refused_revision_leaves_no_version(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    bodies: list[dict[str, Any]] = [{"content": 1}, {"content": "Other.", "expected_version": 9}, {"attributes": []}]
    for body in bodies:
        assert revise(api, alice, shared, record, body).status in {409, 422}
    assert Version.objects.filter(record_id=record.id).count() == 1


@pytest.mark.django_db
def test_a_history_is_read_page_by_page_and_a_cursor_goes_on_where_it_was(
    api: Api, alice: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared)
    for number in range(2, 6):
        assert revise(api, alice, shared, record, {"title": f"Version {number}"}).status == 200
    pages, cursor = [], ""
    while True:
        page = api.get(path(shared, record, f"/history?limit=2{cursor}"), alice)
        pages.append([one["version"] for one in page["data"]])
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        # What is written meanwhile comes at the end.
        if len(pages) == 1:
            assert revise(api, alice, shared, record, {"title": "Version 6"}).status == 200
    assert pages == [[1, 2], [3, 4], [5, 6]]
    after = api.get(path(shared, record, f"/history?cursor={make_cursor(6)}"), alice)
    assert (after["data"], after["next"]) == ([], None)
    unknown = api.call(
        "GET", f"/v1/memories/{shared.id}/records/{mint('hrec_')}/history?cursor={make_cursor(6)}", as_=alice
    )
    assert unknown.status == 404


@pytest.mark.django_db
def test_a_page_of_a_history_reads_a_page_of_versions(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    counts = []
    for _ in range(2):
        for _ in range(6):
            assert revise(api, alice, shared, record, {"title": "Another"}).status == 200
        api.get(path(shared, record, "/history?limit=2"), alice)
        with CaptureQueriesContext(connection) as queries:
            api.get(path(shared, record, "/history?limit=2"), alice)
        read = [one["sql"] for one in queries.captured_queries if 'FROM "memories_version"' in one["sql"]]
        assert len(read) == 1
        assert "LIMIT 3" in read[0]
        counts.append(len(queries))
    assert counts[0] == counts[1]


@dataclass
class Said:
    """A version as the model knows it."""

    number: int
    text: str
    written_at: datetime
    closed_at: datetime | None = None
    status: str = "active"


@dataclass
class Told:
    """What was done so far, and the instants at which the whole was written down."""

    versions: dict[str, list[Said]] = field(default_factory=dict)
    instants: list[tuple[datetime, dict[str, str]]] = field(default_factory=list)

    def now(self) -> dict[str, str]:
        """What is remembered now, by record."""
        return {record: said[-1].text for record, said in self.versions.items() if said[-1].status == "active"}

    def at(self, instant: datetime) -> dict[str, Said]:
        """What was remembered at an instant."""
        return {
            record: one
            for record, said in self.versions.items()
            for one in said
            if one.written_at <= instant and (one.closed_at is None or instant < one.closed_at)
        }


STEPS = st.lists(
    st.tuples(st.sampled_from(["remember", "revise", "revise", "forget", "snapshot"]), st.integers(0, 7)),
    min_size=4,
    max_size=25,
)


def text_of(version: RecordVersion) -> str:
    return str(version.draft.content[0]["text"])


class TestHistory(TestCase):
    place: ClassVar[Place]

    @classmethod
    def setUpTestData(cls) -> None:
        alice = factories.member(factories.organisation("Model"))
        cls.place = look(factories.caller(alice), factories.memory(alice).id)

    @settings(max_examples=25)
    @given(STEPS)
    def test_what_is_read_is_what_was_done(self, steps: list[tuple[str, int]]) -> None:
        told = Told()
        for number, (step, which) in enumerate(steps):
            self.take(told, step, which, f"Words {number}.")
        for instant, then in told.instants:
            assert self.listed(View(as_of=instant)) == then
        for instant in {moment for said in told.versions.values() for one in said for moment in self.edges(one)}:
            self.check_instant(told, instant)
        self.check_all(told)

    def take(self, told: Told, step: str, which: int, text: str) -> None:
        """Do one step to the server and to the model."""
        if step == "snapshot":
            told.instants.append((snapshots.take(self.place, text).at, told.now()))
            return
        if step == "remember" or not told.versions:
            version = factories.record(self.place.caller.member, self.place.memory, text)
            told.versions[version.id] = [Said(1, text, version.written_at)]
            return
        record_id = list(told.versions)[which % len(told.versions)]
        said = told.versions[record_id]
        try:
            if step == "revise":
                version = records.revise(self.place, record_id, read_changes({"content": text}))
            else:
                version = records.forget(self.place, record_id)
        except RecordNotFound:
            assert said[-1].status == "forgotten"
            return
        if step == "revise":
            said[-1].closed_at, said[-1].status = version.written_at, "superseded"
            said.append(Said(len(said) + 1, text, version.written_at))
        else:
            said[-1].closed_at, said[-1].status = version.invalidated_at, "forgotten"

    def edges(self, one: Said) -> set[datetime]:
        """The instants at which something can go wrong: a version's own, and those beside."""
        closed = {one.closed_at - TICK, one.closed_at, one.closed_at + TICK} if one.closed_at else set()
        return {one.written_at - TICK, one.written_at, *closed}

    def check_instant(self, told: Told, instant: datetime) -> None:
        """Listing and getting as of an instant say what the model says."""
        then = told.at(instant)
        assert self.listed(View(as_of=instant)) == {record: one.text for record, one in then.items()}
        for record_id in told.versions:
            if record_id in then:
                got = records.get(self.place, record_id, instant)
                assert (got.number, got.status, got.invalidated_at) == (then[record_id].number, "active", None)
            else:
                with pytest.raises(RecordNotFound):
                    records.get(self.place, record_id, instant)

    def check_all(self, told: Told) -> None:
        """Histories, the listing of now, and the listing of everything."""
        assert self.listed(View()) == told.now()
        every = records.page(self.place, View(include_all=True), 200).versions
        assert len(every) == sum(map(len, told.versions.values()))
        assert list(every) == sorted(every, key=lambda version: (version.written_at, version.id))
        for record_id, said in told.versions.items():
            history = records.history(self.place, record_id)
            assert said == [
                Said(one.number, text_of(one), one.written_at, one.invalidated_at, one.status) for one in history
            ]

    def listed(self, view: View) -> dict[str, str]:
        """The listing by record."""
        versions = records.page(self.place, view, 200).versions
        assert len({version.id for version in versions}) == len(versions)
        return {version.id: text_of(version) for version in versions}
