"""The inbox and its decisions: who decides, what becomes of a record, and that what waits is nowhere else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from members.ids import mint
from members.models import Event, Member
from memories.content import read_changes, read_draft
from memories.models import File, Held, Memory, Refused, ReviewItem
from memories.providers import registry
from memories.providers.base import RecordVersion, View, Writer
from memories.services import gate, judging, judging_many, policies, records, refusals, reviewing, tallies, undoing
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.pages.people import client_of
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, VersionConflict

pytestmark = pytest.mark.django_db

SAID = "The waiting heron stands at pier nineteen."


def hold(alice: Member, memory: Memory) -> None:
    policies.change(at(alice, memory), mode="hold")


def revise(who: Member, memory: Memory, record: RecordVersion, **changes: Any) -> RecordVersion:
    return records.revise(at(who, memory), record.id, read_changes(changes))


def current(memory: Memory, record_id: str) -> RecordVersion | None:
    return registry.get(memory.provider).get(memory.id, record_id)


def words(version: RecordVersion | None) -> str:
    assert version is not None
    return version.draft.said


def only(who: Member) -> tuple[str, str]:
    """The one item in somebody's inbox, and its fingerprint."""
    [item] = reviewing.inbox(factories.caller(who)).items
    return item.id, reviewing.find(factories.caller(who), item.id).fingerprint


def decline(who: Member, reason: str = "", *, tell: bool = False) -> None:
    """Decline the one item in somebody's inbox."""
    item_id, fingerprint = only(who)
    judging.decline(factories.caller(who), item_id, fingerprint, reason, tell=tell)


READS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/memories", None),
    ("GET", "/v1/memories?granted=true", None),
    ("GET", "/v1/memories/{memory}", None),
    ("GET", "/v1/memories/{memory}/records", None),
    ("GET", "/v1/memories/{memory}/records?include=all", None),
    ("GET", "/v1/memories/{memory}/records/{former}", None),
    ("GET", "/v1/memories/{memory}/records/{former}/history", None),
    ("POST", "/v1/memories/{memory}/recall", {"query": "waiting heron pier nineteen", "text": "heron"}),
    ("POST", "/v1/memories/{memory}/prime", {}),
    ("GET", "/v1/memories/{memory}/graph", None),
    ("GET", "/v1/memories/{memory}/queries", None),
    ("POST", "/v1/memories/{memory}/query", {"query": "heron"}),
    ("GET", "/v1/memories/{memory}/snapshots", None),
    ("GET", "/v1/memories/{memory}/consolidations", None),
)


@pytest.mark.parametrize("reader", ["alice", "agent", "bob", "carol"])
def test_what_waits_changes_no_list_recall_graph_count_or_query_for_anybody(
    api: Api, alice: Member, agent: Member, bob: Member, carol: Member, shared: Memory, reader: str
) -> None:
    who = {"alice": alice, "agent": agent, "bob": bob, "carol": carol}[reader]
    former = factories.record(alice, shared, "The heron stands at pier two.")
    hold(alice, shared)

    def answers() -> list[tuple[str, int, bytes]]:
        found = []
        for method, path, body in READS:
            address = path.format(memory=shared.id, former=former.id)
            answer = api.call(method, address, body, as_=who)
            found.append((address, answer.status, answer.raw))
        return found

    before = answers()
    assert sum(status == 200 for _, status, _ in before) >= 10
    factories.record(agent, shared, SAID, attributes={"standing": True})
    revise(agent, shared, former, content=SAID)
    assert answers() == before


@pytest.mark.parametrize("reader", ["bob", "carol", "stranger", "mallory"])
def test_to_others_what_waits_is_an_id_that_was_made_up(
    api: Api, alice: Member, agent: Member, shared: Memory, request: pytest.FixtureRequest, reader: str
) -> None:
    hold(alice, shared)
    waiting = factories.record(agent, shared, SAID)
    who = request.getfixturevalue(reader)
    for rest in ("", "/history", "/content/0", "/operations/attributes"):
        for method in ("GET", "POST", "PATCH", "DELETE"):
            path = f"/v1/memories/{shared.id}/records/%s{rest}"
            there = api.call(method, path % waiting.id, {"content": "x"} if method == "PATCH" else {}, as_=who)
            made_up = api.call(method, path % mint("hrec_"), {"content": "x"} if method == "PATCH" else {}, as_=who)
            assert (there.status, there.raw) == (made_up.status, made_up.raw)


def test_no_page_shows_what_waits(alice: Member, agent: Member, bob: Member, shared: Memory) -> None:
    hold(alice, shared)
    waiting = factories.record(agent, shared, SAID)
    client = client_of(bob)
    base = f"/console/{bob.organisation.slug}/memories"
    for path in (f"{base}", f"{base}/{shared.id}", f"{base}/find?q=heron", f"{base}/{shared.id}/records/{waiting.id}"):
        assert "nineteen" not in client.get(path, follow=True).content.decode()


def test_what_waits_is_no_input_of_a_run_and_no_duplicate(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    factories.record(agent, shared, SAID, type="episode")
    provider = registry.get(shared.provider)
    assert provider.awaiting(shared.id, ("episode",), None).count == 0
    assert list(provider.versions(shared.id)) == []
    assert list(provider.nearby(shared.id).near([SAID], 5)[0]) == []


def test_a_reviewer_holds_read_and_delete_and_is_a_person(
    alice: Member, agent: Member, bob: Member, carol: Member, shared: Memory
) -> None:
    hold(alice, shared)
    factories.record(agent, shared, SAID)
    item_id, fingerprint = only(alice)
    robot = factories.member(alice.organisation, type="agent")
    factories.grant(alice, shared, robot, "read", "write", "create", "delete")
    half = factories.member(alice.organisation)
    factories.grant(alice, shared, half, "delete")
    for who in (agent, bob, carol, robot, half):
        assert reviewing.inbox(factories.caller(who)).total == 0
        with pytest.raises(MemoryNotFound):
            judging.keep(factories.caller(who), item_id, fingerprint)
    assert Held.objects.get().state == "waiting"


@pytest.mark.parametrize("behalf", [False, True])
def test_nobody_decides_about_what_they_wrote_or_had_written(
    alice: Member, agent: Member, shared: Memory, behalf: bool
) -> None:
    hold(alice, shared)
    other = factories.member(alice.organisation)
    factories.grant(alice, shared, other, "read", "delete")
    if behalf:
        writer = Writer("member", agent.id, "agent", on_behalf_of=alice.principal)
        gate.remember(Memory.objects.get(pk=shared.pk), read_draft({"content": SAID}), writer)
    else:
        factories.record(alice, shared, SAID)
    assert reviewing.inbox(factories.caller(alice)).total == 0
    item_id, fingerprint = only(other)
    for decide in (judging.keep, judging.decline, judging.dismiss, judging.mark_standing):
        with pytest.raises(MemoryForbidden):
            decide(factories.caller(alice), item_id, fingerprint)
    with pytest.raises(MemoryForbidden):
        judging.edit(factories.caller(alice), item_id, fingerprint, read_changes({"content": "Mine."}))
    [verdict] = judging_many.bulk(factories.caller(alice), {item_id: fingerprint}, "keep")
    assert not verdict.may
    assert Held.objects.get().state == "waiting"
    judging.keep(factories.caller(other), item_id, fingerprint)
    assert Held.objects.get().state == "approved"


def test_approving_writes_it_under_its_id_in_the_name_of_its_writer(
    api: Api, alice: Member, agent: Member, carol: Member, shared: Memory
) -> None:
    hold(alice, shared)
    waiting = factories.record(agent, shared, SAID)
    judging.keep(factories.caller(alice), *only(alice))
    shown = api.get(f"/v1/memories/{shared.id}/records/{waiting.id}", carol)
    assert (shown["written_by"]["id"], shown["version"]) == (agent.id, 1)
    assert "x_review" not in shown
    assert Event.objects.get(action="review.approved").subject == waiting.id


def test_approving_a_revision_fails_when_the_record_has_moved_on(alice: Member, agent: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "Pier two.")
    hold(alice, shared)
    revise(agent, shared, record, content="Pier three.")
    item_id, fingerprint = only(alice)
    policies.change(at(alice, shared), mode="off")
    revise(alice, shared, record, content="Pier four.")
    for shown in (fingerprint, only(alice)[1]):
        with pytest.raises(VersionConflict):
            judging.keep(factories.caller(alice), item_id, shown)
    assert words(current(shared, record.id)) == "Pier four."
    assert Held.objects.get().state == "waiting"


def test_declining_what_waits_drops_it_and_no_run_writes_it_again(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    waiting = factories.record(agent, shared, SAID)
    judging.decline(factories.caller(alice), *only(alice))
    assert current(shared, waiting.id) is None
    assert Held.objects.get().state == "declined"
    assert refusals.refused(shared.id, [refusals.content_hash(shared.id, waiting.draft)])


def test_declining_what_is_live_forgets_it_with_others_that_say_the_same(
    alice: Member, agent: Member, shared: Memory
) -> None:
    first, again = (factories.record(agent, shared, SAID) for _ in range(2))
    judging.decline(factories.caller(alice), *only(alice))
    for record in (first, again):
        found = current(shared, record.id)
        assert found is not None
        assert found.status == "forgotten"


def test_declining_a_revision_goes_back_to_what_was_there(alice: Member, agent: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "Pier two.")
    revise(agent, shared, record, content="Pier three.")
    decline(alice, "It is two.")
    head = current(shared, record.id)
    assert words(head).startswith("Pier two.")
    assert head is not None
    assert (head.number, (head.draft.attributes or {})["revision_reason"]) == (3, "It is two.")


def test_a_reason_can_be_left_for_the_agent_as_a_record(alice: Member, agent: Member, shared: Memory) -> None:
    record = factories.record(agent, shared, SAID)
    decline(alice, "There is no such pier.", tell=True)
    notes = [one for one in registry.get(shared.provider).versions(shared.id) if one.draft.title == "Correction"]
    [note] = notes
    assert words(note).endswith("There is no such pier.") or "no such pier" in words(note)
    assert [(one.rel, one.record_id) for one in note.draft.references] == [("corrects", record.id)]


def test_what_is_edited_is_the_reviewers_on_behalf_of_the_writer(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    waiting = factories.record(agent, shared, SAID)
    item_id, fingerprint = only(alice)
    judging.edit(factories.caller(alice), item_id, fingerprint, read_changes({"content": "A heron, somewhere."}))
    head = current(shared, waiting.id)
    assert head is not None
    assert (words(head), head.writer.id, head.writer.on_behalf_of) == ("A heron, somewhere.", alice.id, agent.principal)
    assert len(registry.get(shared.provider).history(shared.id, waiting.id)) == 1


def test_it_can_be_made_standing_merged_or_moved(alice: Member, agent: Member, shared: Memory) -> None:
    target = factories.record(alice, shared, "What we know of herons.")
    elsewhere = factories.memory(alice)
    caller = factories.caller(alice)
    standing = factories.record(agent, shared, "Herons first.")
    judging.mark_standing(caller, *only(alice))
    assert ((current(shared, standing.id) or standing).draft.attributes or {})["standing"] is True
    merged = factories.record(agent, shared, "They stand.")
    judging.merge(caller, *only(alice), into=target.id)
    assert "They stand." in words(current(shared, target.id))
    assert (current(shared, merged.id) or merged).status == "forgotten"
    moved = factories.record(agent, shared, "They fly.")
    judging.move(caller, *only(alice), memory_id=elsewhere.id)
    assert (current(shared, moved.id) or moved).status == "forgotten"
    [there] = registry.get(elsewhere.provider).versions(elsewhere.id)
    assert (words(there), there.writer.on_behalf_of) == ("They fly.", agent.principal)


def test_moving_needs_write_where_it_goes(alice: Member, agent: Member, bob: Member, shared: Memory) -> None:
    theirs = factories.memory(bob)
    factories.grant(bob, theirs, alice, "read")
    factories.record(agent, shared, SAID)
    with pytest.raises(MemoryForbidden):
        judging.move(factories.caller(alice), *only(alice), memory_id=theirs.id)


def test_what_changed_since_it_was_shown_is_not_decided(alice: Member, agent: Member, shared: Memory) -> None:
    record = factories.record(agent, shared, SAID)
    item_id, fingerprint = only(alice)
    revise(agent, shared, record, content="Other words.")
    with pytest.raises(VersionConflict):
        judging.keep(factories.caller(alice), item_id, fingerprint)
    judging.keep(factories.caller(alice), *only(alice))
    with pytest.raises(VersionConflict):
        judging.decline(factories.caller(alice), item_id, fingerprint)


DECISIONS: dict[str, Any] = {
    "keep": lambda caller, shown: judging.keep(caller, shown[0], shown[1]),
    "decline": lambda caller, shown: judging.decline(caller, shown[0], shown[1], "No."),
    "edit": lambda caller, shown: judging.edit(caller, shown[0], shown[1], read_changes({"content": "Edited."})),
    "standing": lambda caller, shown: judging.mark_standing(caller, shown[0], shown[1]),
}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("revision", [False, True])
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_taken_back_and_can_be_made_again(
    alice: Member, agent: Member, shared: Memory, name: str, revision: bool, waits: bool
) -> None:
    caller = factories.caller(alice)
    record = factories.record(alice, shared, "Pier two.") if revision else None
    if waits:
        hold(alice, shared)
    written = revise(agent, shared, record, content=SAID) if record else factories.record(agent, shared, SAID)
    item_id, fingerprint = only(alice)
    DECISIONS[name](caller, (item_id, fingerprint))
    assert reviewing.inbox(caller).total == 0
    undoing.undo(caller, item_id)
    assert only(alice)[0] == item_id
    head = current(shared, written.id)
    if waits:
        assert head is None or head.status == "forgotten" or words(head).startswith("Pier two.")
        judging.keep(caller, *only(alice))
        head = current(shared, written.id)
    assert head is not None
    assert (head.status, words(head)) == ("active", SAID)
    assert not Refused.objects.exists()


def test_only_ones_own_decisions_of_a_day_are_taken_back(alice: Member, agent: Member, shared: Memory) -> None:
    other = factories.member(alice.organisation)
    factories.grant(alice, shared, other, "read", "delete")
    factories.record(agent, shared, SAID)
    item_id, fingerprint = only(alice)
    judging.keep(factories.caller(alice), item_id, fingerprint)
    with pytest.raises(MemoryNotFound):
        undoing.undo(factories.caller(other), item_id)
    ReviewItem.objects.update(decided_at=timezone.now() - timedelta(hours=25))
    with pytest.raises(MemoryNotFound):
        undoing.undo(factories.caller(alice), item_id)


def test_many_are_decided_after_a_preview_that_says_which_may_not_and_why(
    alice: Member, agent: Member, shared: Memory
) -> None:
    caller = factories.caller(alice)
    for number in range(3):
        factories.record(agent, shared, f"Pier {number}.")
    ids = [one.id for one in reviewing.inbox(caller).items]
    judging.keep(caller, ids[2], reviewing.find(caller, ids[2]).fingerprint)
    verdicts = judging_many.preview(caller, [*ids, mint("hrev_")], "decline")
    assert [one.may for one in verdicts] == [True, True, False, False]
    assert verdicts[2].why == "This is decided already."
    chosen = {one.item_id: one.fingerprint for one in verdicts if one.may}
    record = current(shared, ReviewItem.objects.get(pk=ids[1]).record_id)
    assert record is not None
    revise(agent, shared, record, content="Changed meanwhile.")
    done = judging_many.bulk(caller, chosen, "decline")
    assert [one.may for one in done] == [True, False]
    assert ReviewItem.objects.get(pk=ids[1]).state == "open"


def test_what_is_due_is_accepted_where_that_is_configured_and_only_there(
    alice: Member, agent: Member, shared: Memory
) -> None:
    factories.record(agent, shared, "Never by itself.")
    policies.change(at(alice, shared), mode="hold", accept_after_days=3)
    waiting = factories.record(agent, shared, SAID)
    assert undoing.sweep() == 0
    ReviewItem.objects.exclude(due_at=None).update(due_at=timezone.now())
    assert undoing.sweep() == 1
    assert words(current(shared, waiting.id)) == SAID
    assert sorted(ReviewItem.objects.values_list("state", flat=True)) == ["accepted", "open"]


def test_what_was_declined_is_emptied_after_a_day(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    factories.record(agent, shared, SAID)
    judging.decline(factories.caller(alice), *only(alice))
    Held.objects.update(decided_at=timezone.now() - timedelta(hours=25))
    undoing.sweep()
    assert Held.objects.get().draft is None


def test_a_conflict_is_asked_once_and_closes_when_it_is_decided(alice: Member, shared: Memory) -> None:
    for _ in range(2):
        gate.ask(shared, ReviewItem.Kind.CONFLICT, "conflict:1", record_id=mint("hrec_"), subject="hcnf_1")
    item = ReviewItem.objects.get()
    item_id, fingerprint = only(alice)
    with pytest.raises(MemoryInvalid):
        judging.decline(factories.caller(alice), item_id, fingerprint)
    gate.settled(shared.id, ReviewItem.Kind.CONFLICT, "hcnf_1", alice.principal)
    item.refresh_from_db()
    assert item.state == "kept"


def test_the_inbox_pages_by_key_filters_and_puts_the_strongest_first(
    alice: Member, agent: Member, shared: Memory
) -> None:
    caller = factories.caller(alice)
    for number in range(5):
        factories.record(agent, shared, f"Pier {number}.", type="note" if number % 2 else "fact")
    secret = factories.record(agent, shared, "The password is Kirsche19!")
    seen: list[str] = []
    after = None
    while True:
        page = reviewing.inbox(caller, limit=2, after=after)
        assert page.total == 6
        seen += [one.id for one in page.items]
        if page.next is None:
            break
        after = page.next
    assert len(seen) == len(set(seen)) == 6
    assert reviewing.inbox(caller, order="strongest").items[0].record_id == secret.id
    assert reviewing.inbox(caller, reviewing.Filters(type="note")).total == 2
    assert reviewing.inbox(caller, reviewing.Filters(signal="secret.assigned")).total == 1
    assert reviewing.inbox(caller, reviewing.Filters(held=True)).total == 0


def test_an_item_comes_with_the_nearest_records_and_what_differs(alice: Member, agent: Member, shared: Memory) -> None:
    near = factories.record(alice, shared, "The ferry to the island leaves from pier two.")
    factories.record(agent, shared, "The ferry to the island leaves from pier 3.")
    seen = reviewing.find(factories.caller(alice), only(alice)[0])
    found = reviewing.nearest(seen)
    assert found[0].version.id == near.id
    assert found[0].differences
    assert [one.name for one in reviewing.compared(seen, found)] == ["context.conflict"]


def test_the_numbers_are_of_what_one_reviews(alice: Member, agent: Member, bob: Member, shared: Memory) -> None:
    for number in range(3):
        factories.record(agent, shared, f"Pier {number}.")
    first, second, third = reviewing.inbox(factories.caller(alice)).items
    for decide, item in ((judging.keep, first), (judging.decline, second)):
        decide(factories.caller(alice), item.id, reviewing.find(factories.caller(alice), item.id).fingerprint)
    numbers = tallies.tally(factories.caller(alice))
    assert (numbers.waiting, numbers.oldest) == (1, third.created_at)
    assert (len(numbers.decided), sum(numbers.decided.values())) == (30, 2)
    assert numbers.writers == (tallies.Fared(agent.principal, 3, 1, 1),)
    nothing = tallies.tally(factories.caller(bob))
    assert (nothing.waiting, sum(nothing.decided.values()), nothing.writers) == (0, 0, ())


def test_a_file_that_a_draft_names_is_kept_as_long_as_the_draft(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    path = "/v1/files"
    api = Api()
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="heron.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\nA heron.\r\n--x--\r\n"
    )
    key = api.key(agent)
    sent = Client().generic(
        "POST", path, body, content_type="multipart/form-data; boundary=x", headers={"Authorization": f"Bearer {key}"}
    )
    file_id = sent.json()["id"]
    factories.record(agent, shared, [{"type": "file", "file": {"id": file_id}}])
    assert not File.objects.filter(pk=file_id).unnamed().exists()
    judging.keep(factories.caller(alice), *only(alice))
    Held.objects.update(draft=None)
    assert not File.objects.filter(pk=file_id).unnamed().exists()


def test_a_deleted_memory_takes_its_items_and_drafts_along(alice: Member, agent: Member, shared: Memory) -> None:
    hold(alice, shared)
    factories.record(agent, shared, SAID)
    Memory.deleted_too.filter(pk=shared.pk).delete()
    assert not Held.objects.exists()
    assert not ReviewItem.objects.exists()


@settings(max_examples=15)
@given(steps=st.lists(st.sampled_from(["write", "revise", "keep", "decline", "undo"]), max_size=8))
def test_whatever_is_done_readers_see_only_what_was_agreed_to(steps: list[str]) -> None:
    organisation = factories.organisation()
    alice, agent = factories.member(organisation), factories.member(organisation, type="agent")
    memory = factories.memory(alice)
    factories.grant(alice, memory, agent, "read", "write")
    hold(alice, memory)
    caller, made, decided = factories.caller(alice), [], []
    for number, step in enumerate(steps):
        if step == "write":
            made.append(factories.record(agent, memory, f"Words {number}."))
        elif step == "revise" and made and current(memory, made[-1].id) is None:
            item = ReviewItem.objects.filter(record_id=made[-1].id).latest("created_at")
            if item.state == "open":
                revise(agent, memory, made[-1], content=f"Others {number}.")
        elif step in ("keep", "decline") and (page := reviewing.inbox(caller).items):
            shown = reviewing.find(caller, page[0].id).fingerprint
            DECISIONS[step](caller, (page[0].id, shown))
            decided.append(page[0].id)
        elif step == "undo" and decided:
            undoing.undo(caller, decided.pop())
        agreed = set(ReviewItem.objects.filter(memory=memory, state="kept").values_list("record_id", flat=True))
        readable = {one.id for one in records.page(at(agent, memory), View(), 50).versions if one.status == "active"}
        assert readable == agreed
