"""The life of a record: remembered, revised, forgotten; its history; and the references between records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from members.models import Member
from memories.content import read_changes, read_draft
from memories.models import Memory, Version
from memories.providers import registry
from memories.providers.base import Followed, RecordVersion, Writer
from memories.services import records, tree
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, RecordNotFound

pytestmark = pytest.mark.django_db

TICK = timedelta(microseconds=1)


def path(memory: Memory, record: str = "", rest: str = "") -> str:
    return f"/v1/memories/{memory.id}/records" + (f"/{record}" if record else "") + rest


def revise(who: Member, memory: Memory, record: RecordVersion, **changes: Any) -> RecordVersion:
    return records.revise(at(who, memory), record.id, read_changes(changes))


def words(version: RecordVersion) -> str:
    return "".join(part["text"] for part in version.draft.content)


def test_a_record_comes_back_as_it_was_stated(api: Api, bob: Member, shared: Memory) -> None:
    body: dict[str, Any] = {
        "type": "note",
        "title": "On tea",
        "content": [{"type": "text", "text": "Green.", "role": "user"}, {"type": "x.leaf", "grams": 2.5}],
        "attributes": {"standing": True, "nested": {"deep": [1, None]}},
        "time": {"valid_from": "2026-03-01T11:00:00+01:30", "written_at": "1999-01-01T00:00:00Z"},
        "written_by": {"kind": "member", "id": "someone-else"},
        "unknown": "ignored",
    }
    made = api.ok("POST", path(shared), body, bob)
    assert {name: made[name] for name in ("type", "title", "content", "attributes")} == {
        name: body[name] for name in ("type", "title", "content", "attributes")
    }
    assert made["time"]["valid_from"] == "2026-03-01T09:30:00.000000Z"
    assert made["time"]["written_at"] > "2026"
    assert (made["object"], made["memory_id"], made["trust"]) == ("memory.record", shared.id, "untrusted")
    assert (made["version"], made["status"], made["supersedes"]) == (1, "active", None)
    assert made["written_by"] == {"kind": "member", "id": bob.id, "type": "human"}
    assert made["references"] == []
    assert api.get(path(shared, made["id"]), bob) == made


def test_an_agent_is_named_as_the_writer_like_anyone(api: Api, agent: Member, shared: Memory) -> None:
    made = api.ok("POST", path(shared), {"content": "w"}, agent)
    assert made["written_by"] == {"kind": "member", "id": agent.id, "type": "agent"}


def test_a_record_for_a_memory_deleted_meanwhile_is_refused(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    tree.delete(at(alice, shared))
    with pytest.raises(MemoryNotFound):
        records.remember(place, read_draft({"content": "too late"}))


def test_reading_does_not_write(carol: Member, shared: Memory, alice: Member) -> None:
    record = factories.record(alice, shared)
    with pytest.raises(MemoryForbidden):
        factories.record(carol, shared)
    with pytest.raises(MemoryForbidden):
        revise(carol, shared, record, content="x")
    with pytest.raises(MemoryForbidden):
        records.forget(at(carol, shared), record.id)


def test_writing_does_not_read(alice: Member, carol: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "write")
    record = factories.record(carol, shared)
    with pytest.raises(MemoryForbidden):
        records.get(at(carol, shared), record.id)


def test_a_revision_is_the_next_version(api: Api, alice: Member, bob: Member, shared: Memory) -> None:
    first = api.ok("POST", path(shared), {"content": "March", "title": "When"}, alice)
    second = api.ok("PATCH", path(shared, first["id"]), {"content": "April"}, bob)
    assert (second["id"], second["version"], second["supersedes"]) == (first["id"], 2, 1)
    assert (second["title"], second["content"][0]["text"]) == ("When", "April")
    assert second["written_by"]["id"] == bob.id
    assert api.get(path(shared, first["id"]), alice) == second


def test_history_is_oldest_first_each_version_with_its_writer(
    api: Api, alice: Member, bob: Member, shared: Memory
) -> None:
    record = factories.record(alice, shared, "March")
    revise(bob, shared, record, content="April")
    old, new = api.get(path(shared, record.id, "/history"), alice)["data"]
    assert (old["status"], new["status"]) == ("superseded", "active")
    assert (old["content"][0]["text"], new["content"][0]["text"]) == ("March", "April")
    assert old["time"]["invalidated_at"] == new["time"]["written_at"]
    assert (old["written_by"]["id"], new["written_by"]["id"]) == (alice.id, bob.id)


def test_history_is_read_page_by_page(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    for number in range(2, 6):
        revise(alice, shared, record, title=str(number))
    address, cursor, seen = path(shared, record.id, "/history?limit=2"), "", []
    for _ in range(3):
        page = api.get(address + cursor, alice)
        seen += [one["version"] for one in page["data"]]
        cursor = f"&cursor={page['next']}"
    assert (seen, page["next"]) == ([1, 2, 3, 4, 5], None)


def test_an_episode_is_not_revised_but_may_be_forgotten(alice: Member, shared: Memory) -> None:
    episode = factories.record(alice, shared, type="episode")
    with pytest.raises(MemoryInvalid):
        revise(alice, shared, episode, content="otherwise")
    assert records.forget(at(alice, shared), episode.id).status == "forgotten"


def test_a_type_is_not_revised(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    assert api.ok("PATCH", path(shared, record.id), {"type": "note", "title": "t"}, alice)["type"] == "fact"


def test_forgetting_closes_a_record_in_place(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    forgotten = api.ok("DELETE", path(shared, record.id), None, alice)
    assert (forgotten["status"], forgotten["version"]) == ("forgotten", 1)
    assert forgotten["time"]["invalidated_at"] > forgotten["time"]["written_at"]
    assert api.get(path(shared, record.id), alice) == forgotten
    assert len(api.get(path(shared, record.id, "/history"), alice)["data"]) == 1


def test_a_forgotten_record_is_neither_listed_nor_counted(api: Api, alice: Member, shared: Memory) -> None:
    kept, gone = factories.record(alice, shared), factories.record(alice, shared)
    records.forget(at(alice, shared), gone.id)
    assert [one["id"] for one in api.get(path(shared), alice)["data"]] == [kept.id]
    assert api.get(f"/v1/memories/{shared.id}", alice)["records"] == {"count": 1}


def test_a_forgotten_record_is_not_changed_again(alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    records.forget(at(alice, shared), record.id)
    with pytest.raises(RecordNotFound):
        records.forget(at(alice, shared), record.id)
    with pytest.raises(RecordNotFound):
        revise(alice, shared, record, content="x")


def test_as_of_gives_what_was_there_the_moment_before_each_write(alice: Member, shared: Memory) -> None:
    place = at(alice, shared)
    first = factories.record(alice, shared, "one")
    second = revise(alice, shared, first, content="two")
    closed = records.forget(place, first.id).invalidated_at
    assert closed is not None
    for instant, expected in (
        (first.written_at, "one"),
        (second.written_at - TICK, "one"),
        (second.written_at, "two"),
        (closed - TICK, "two"),
    ):
        then = records.get(place, first.id, instant)
        assert (words(then), then.status, then.invalidated_at) == (expected, "active", None)
    for instant in (first.written_at - TICK, closed):
        with pytest.raises(RecordNotFound):
            records.get(place, first.id, instant)


def test_a_listing_as_of_an_instant_is_what_was_listed_then(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "one")
    then = record.written_at.isoformat().replace("+", "%2B")
    listed = api.get(path(shared), alice)["data"]
    revise(alice, shared, record, content="two")
    records.forget(at(alice, shared), record.id)
    assert api.get(path(shared) + f"?as_of={then}", alice)["data"] == listed


def test_everything_kept_is_listed_on_request(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared)
    revise(alice, shared, record, title="2")
    records.forget(at(alice, shared), record.id)
    shown = api.get(path(shared) + "?include=all", alice)["data"]
    assert [(one["version"], one["status"]) for one in shown] == [(1, "superseded"), (2, "forgotten")]


def test_records_are_listed_by_type(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared)
    note = factories.record(alice, shared, type="note")
    assert [one["id"] for one in api.get(path(shared) + "?type=note", alice)["data"]] == [note.id]


def test_records_are_read_page_by_page_in_the_order_written(api: Api, alice: Member, shared: Memory) -> None:
    written = [factories.record(alice, shared).id for _ in range(5)]
    same_moment = Version.objects.order_by("written_at").values_list("written_at", flat=True)[2]
    Version.objects.filter(record__in=written[2:4]).update(written_at=same_moment)
    address, cursor, seen = path(shared) + "?limit=2", "", []
    for _ in range(3):
        page = api.get(address + cursor, alice)
        seen += [one["id"] for one in page["data"]]
        cursor = f"&cursor={page['next']}"
    assert (seen, page["next"]) == (written, None)


def test_a_listing_names_the_memories_around_that_may_be_read(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    child = factories.memory(alice, shared, name="Child")
    factories.memory(alice, child, name="Hidden", restricted=True)
    factories.memory(alice, child, name="Open")
    shown = api.get(path(child), carol)
    assert shown["parent"]["id"] == shared.id
    assert [one["name"] for one in shown["children"]] == ["Open"]
    assert "parent" not in api.get(path(shared), carol)


def test_a_neighbour_that_is_seen_but_not_read_is_not_named(
    api: Api, alice: Member, carol: Member, stranger: Member, shared: Memory
) -> None:
    top = factories.memory(alice, name="Top")
    child = factories.memory(alice, top)
    factories.grant(alice, top, stranger, "create")
    factories.grant(alice, child, stranger, "read")
    assert "parent" not in api.get(path(child), stranger)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("as_of=yesterday", "as_of"),
        ("as_of=2026-01-01", "as_of"),
        ("as_of=%00", "as_of"),
        ("include=some", "include"),
        ("type=%00", "type"),
        ("type=" + "t" * 81, "type"),
        ("limit=0", "limit"),
        ("limit=1.5", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=WyJub3ciLCAiaHJlY18xIl0", "cursor"),
        ("cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsIDFd", "cursor"),
    ],
)
def test_a_malformed_listing_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, query: str, param: str
) -> None:
    answer = api.call("GET", f"{path(shared)}?{query}", as_=alice)
    assert (answer.status, answer.error["code"], answer.error["param"]) == (422, "memory_invalid", param)


def test_an_instant_at_either_end_of_time_is_an_instant(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared)
    assert api.get(path(shared) + "?as_of=0001-01-01T00:00:00Z", alice)["data"] == []
    assert len(api.get(path(shared) + "?as_of=9999-12-31T23:59:59.999999Z", alice)["data"]) == 1


def test_a_refused_revision_leaves_the_record_as_it_was(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "kept", title="")
    before = api.get(path(shared, record.id), alice)
    refused: list[dict[str, Any]] = [
        {"content": []},
        {"title": "a\0"},
        {"time": {"valid_to": "x"}},
        {"references": [{}]},
    ]
    for body in refused:
        assert api.call("PATCH", path(shared, record.id), body, as_=alice).status == 422
    assert api.get(path(shared, record.id), alice) == before
    assert len(api.get(path(shared, record.id, "/history"), alice)["data"]) == 1


def test_a_reference_into_the_same_memory_needs_no_memory_named(api: Api, alice: Member, shared: Memory) -> None:
    target = factories.record(alice, shared)
    made = factories.record(alice, shared, references=[{"record_id": target.id, "rel": "about"}])
    assert api.get(path(shared, made.id), alice)["references"] == [
        {"rel": "about", "record_id": target.id, "memory_id": shared.id, "available": True}
    ]


def test_a_reference_that_cannot_be_followed_says_only_that_it_is_there(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    target = factories.record(alice, hidden)
    pointer = {"record_id": target.id, "memory_id": hidden.id, "rel": "derived_from"}
    unknown = {"record_id": "hrec_" + "0" * 32, "memory_id": shared.id}
    made = factories.record(alice, shared, references=[pointer, unknown])
    blank = {"record_id": unknown["record_id"], "available": False}
    assert api.get(path(shared, made.id), alice)["references"] == [{**pointer, "available": True}, blank]
    for address in (path(shared, made.id), path(shared), path(shared, made.id, "/history")):
        shown = api.get(address, carol)
        assert hidden.id not in str(shown)
        assert (shown["data"][-1] if "data" in shown else shown)["references"] == [
            {"record_id": target.id, "available": False},
            blank,
        ]


@pytest.mark.parametrize("sent", ["left out", "sent back", "pointed elsewhere"])
def test_a_reference_the_reviser_cannot_follow_stays(
    api: Api, alice: Member, bob: Member, shared: Memory, sent: str
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    target = factories.record(alice, hidden)
    pointer = {"record_id": target.id, "memory_id": hidden.id, "rel": "part_of"}
    made = factories.record(alice, shared, references=[pointer])
    restated = {
        "left out": [],
        "sent back": api.get(path(shared, made.id), bob)["references"],
        "pointed elsewhere": [{"record_id": target.id, "memory_id": shared.id, "rel": "about"}],
    }[sent]
    mine = factories.record(bob, shared)
    api.ok("PATCH", path(shared, made.id), {"references": [*restated, {"record_id": mine.id}]}, bob)
    assert api.get(path(shared, made.id), alice)["references"] == [
        {"record_id": mine.id, "memory_id": shared.id, "rel": "related", "available": True},
        {**pointer, "available": True},
    ]


def test_a_hidden_subject_counts_as_the_one_subject(alice: Member, bob: Member, shared: Memory) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    target = factories.record(alice, hidden)
    made = factories.record(
        alice, shared, references=[{"record_id": target.id, "memory_id": hidden.id, "rel": "subject"}]
    )
    with pytest.raises(MemoryInvalid):
        revise(bob, shared, made, references=[{"record_id": made.id, "rel": "subject"}])


def test_a_version_says_what_it_said_whatever_came_after(alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "one", attributes={"a": 1})
    kept = Version.objects.values("content", "title", "attributes", "written_at", "writer_id").get(record=record.id)
    revise(alice, shared, record, content="two", attributes={"a": 2})
    records.forget(at(alice, shared), record.id)
    again = Version.objects.filter(record=record.id, number=1).values(*kept).get()
    assert again == kept


def test_a_record_is_named_by_its_title_or_the_start_of_its_words(alice: Member, shared: Memory) -> None:
    assert factories.record(alice, shared, "Words.", title="Title").name == "Title"
    assert factories.record(alice, shared, " Some \n words. " + "x" * 200).name.startswith("Some words. xxx")
    assert factories.record(alice, shared, [{"type": "x.leaf"}]).name == "Untitled record"


@pytest.mark.parametrize("text", ["\u2028", "🎈" * 3, "\U0010ffff", "́", "'; DROP TABLE x --", "\\ ' \" % {} $1", "﷽"])
def test_unusual_text_is_kept_to_the_character(api: Api, alice: Member, shared: Memory, text: str) -> None:
    body = {"content": f"a{text}b", "attributes": {text: text}}
    made = api.ok("POST", path(shared), body, alice)
    shown = api.get(path(shared, made["id"]), alice)
    assert (shown["content"][0]["text"], shown["attributes"]) == (f"a{text}b", {text: text})


def test_a_record_that_follows_an_outside_source_is_changed_there(api: Api, alice: Member, shared: Memory) -> None:
    source = Followed("page", "pg_7", "Price list")
    followed = registry.get("native").remember(
        shared.id, read_draft({"content": "Oak is 40."}), Writer("provider", "native"), source
    )
    address = path(shared, followed.id)
    shown = api.call("GET", address, as_=alice).json
    assert shown["follows"] == {"kind": "page", "id": "pg_7", "name": "Price list"}
    for method, body in (("PATCH", {"title": "Mine"}), ("DELETE", None)):
        refused = api.call(method, address, body, as_=alice)
        assert (refused.status, refused.error["code"]) == (422, "memory_unsupported")
    assert api.call("GET", address, as_=alice).json == shown
