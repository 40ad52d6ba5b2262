"""Writing waits for no model; what was just written is found by meaning all the same, and by nobody who may not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from members.models import Member
from memories import embedders
from memories.content import read_changes, read_draft
from memories.embedders import openai, registry
from memories.embedders.openai import OpenAIEmbedder
from memories.models import Awaited, Embedding, Memory, Version
from memories.providers import late
from memories.providers import registry as providers
from memories.providers.base import RecordVersion
from memories.services import erasure, observing, records, reembed
from memories.services.sight import look
from tests import factories
from tests.conftest import Api
from tests.factories import at
from tests.memories.endpoint import Endpoint, endpoint, vectors
from tests.parallel import at_once
from uhp_site.alone import alone, is_taken
from uhp_site.waking import Waker

pytestmark = pytest.mark.django_db


@pytest.fixture
def served(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """The model is behind an endpoint, which notes what it is asked."""
    monkeypatch.setattr(openai, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(openai, "REST", 0.0)
    instances: dict[str, Any] = {}
    monkeypatch.setattr(registry, "_instances", instances)
    with endpoint() as running:
        settings.EMBEDDER = "openai"
        settings.EMBEDDING_URL = running.url
        settings.EMBEDDING_MODEL = "tiny"
        settings.EMBEDDING_DIMENSIONS = 384
        yield running
    for one in instances.values():
        if isinstance(one, OpenAIEmbedder):
            one.close()


@pytest.fixture(autouse=True)
def nothing_failed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed._failing, "until", 0.0)


def recall(api: Api, who: Member, memory: Memory, query: str = "harbour", **more: Any) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/recall", {"query": query, **more}, who)


def found(answer: Any) -> set[str]:
    return {one["record"]["id"] for one in answer["results"]}


def embedded() -> set[str]:
    """Of which records some version has a vector."""
    return set(Embedding.objects.values_list("version__record_id", flat=True))


def sent(served: Endpoint) -> list[str]:
    return [text for request in served.requests for text in request["input"]]


# Writing


def test_writing_revising_and_observing_ask_no_model(alice: Member, shared: Memory, served: Endpoint) -> None:
    place = at(alice, shared)
    written = factories.record(alice, shared, "In the harbour.")
    records.revise(place, written.id, read_changes({"content": "At sea."}))
    turns = [read_draft({"content": f"Turn {number}.", "type": "episode"}) for number in range(3)]
    observing.observe(place, turns)
    assert served.requests == []
    assert Awaited.objects.count() == Version.objects.count() == 5
    assert reembed.catch_up() == 5
    assert len(sent(served)) == Embedding.objects.count()
    assert not Awaited.objects.exists()


def test_a_write_that_is_taken_back_awaits_nothing(alice: Member, shared: Memory) -> None:
    def fail() -> None:
        factories.record(alice, shared, "Never there.")
        raise RuntimeError

    with pytest.raises(RuntimeError), transaction.atomic():
        fail()
    assert not Awaited.objects.exists()


# Asking before anybody has made them


def test_what_was_just_written_is_found_by_meaning(api: Api, alice: Member, shared: Memory, served: Endpoint) -> None:
    written = factories.record(alice, shared, "In the harbour.")
    answer = recall(api, alice, shared)
    assert (found(answer), answer["degraded"]) == ({written.id}, [])
    assert embedded() == {written.id}
    before = len(served.requests)
    recall(api, alice, shared)
    assert [len(one["input"]) for one in served.requests[before:]] == [1]
    assert reembed.catch_up() == 1
    assert len(served.requests) == before + 1


@pytest.mark.parametrize("question", [{"text": "harbour"}, {"filters": {"field": "type", "op": "eq", "value": "note"}}])
def test_who_does_not_ask_by_meaning_makes_no_vectors(
    api: Api, alice: Member, shared: Memory, served: Endpoint, question: dict[str, Any]
) -> None:
    factories.record(alice, shared, "In the harbour.", type="note")
    answer = api.ok("POST", f"/v1/memories/{shared.id}/recall", question, alice)
    assert len(answer["results"]) == 1
    assert served.requests == []


def test_a_question_has_made_only_what_lies_where_it_asks(
    api: Api, alice: Member, mallory: Member, carol: Member, served: Endpoint
) -> None:
    root = factories.memory(alice)
    factories.grant(alice, root, carol)
    closed, below = factories.memory(alice, root, restricted=True), factories.memory(alice, root)
    hidden = factories.record(alice, closed, "Closed harbour.")
    read = factories.record(alice, below, "Open harbour.")
    theirs = factories.record(mallory, factories.memory(mallory), "Their harbour.")
    beside = factories.record(alice, factories.memory(alice), "Beside the harbour.")
    answer = recall(api, carol, root)
    assert (found(answer), answer["degraded"]) == ({read.id}, [])
    assert embedded() == {read.id}
    assert not any("Closed" in text or "Their" in text or "Beside" in text for text in sent(served))
    reembed.sweep()
    assert embedded() == {read.id, hidden.id, theirs.id, beside.id}


def test_what_was_superseded_before_it_had_a_vector_is_found_in_the_past_only(
    api: Api, alice: Member, shared: Memory
) -> None:
    written = factories.record(alice, shared, "In the harbour.")
    records.revise(at(alice, shared), written.id, read_changes({"content": "At sea."}))
    then = recall(api, alice, shared, as_of=written.written_at.isoformat())
    assert [one["record"]["version"] for one in then["results"]] == [1]
    assert [one["record"]["version"] for one in recall(api, alice, shared)["results"]] == [2]
    assert set(Embedding.objects.values_list("version__number", "current")) == {(1, False), (2, True)}


def test_more_than_one_batch_is_made_for_a_question(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "TOGETHER", 3)
    for number in range(8):
        factories.record(alice, shared, f"Harbour {number}.")
    answer = recall(api, alice, shared, limit=20)
    assert (len(answer["results"]), answer["degraded"]) == (8, [])
    assert Embedding.objects.count() == 8


def test_a_question_does_not_wait_for_very_many_and_says_so(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "TOGETHER", 3)
    monkeypatch.setattr(late, "PATIENCE_SECONDS", -1.0)
    written = factories.record(alice, shared, "In the harbour.")
    answer = recall(api, alice, shared)
    assert (found(answer), answer["degraded"]) == ({written.id}, ["query:vectors_awaited"])
    monkeypatch.undo()
    assert recall(api, alice, shared)["degraded"] == []


def test_where_too_much_is_awaited_to_look_through_that_is_said(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "LOOKED_THROUGH", 2)
    old = factories.record(alice, shared, "In the harbour.")
    for number in range(2):
        factories.record(alice, factories.memory(alice), f"Elsewhere {number}.")
    answer = recall(api, alice, shared)
    assert (found(answer), answer["degraded"]) == ({old.id}, ["query:vectors_awaited"])
    assert not Embedding.objects.exists()
    reembed.sweep()
    assert recall(api, alice, shared)["degraded"] == []


def test_a_model_that_answers_the_question_only_leaves_words_and_says_so(
    api: Api, alice: Member, shared: Memory, served: Endpoint
) -> None:
    written = factories.record(alice, shared, "In the harbour.")
    served.script = [vectors]
    served.always = lambda body: (503, {}, {})
    answer = recall(api, alice, shared)
    assert (found(answer), answer["degraded"]) == ({written.id}, ["query:vectors_awaited"])
    assert not Embedding.objects.exists()


def test_a_consolidation_compares_with_what_was_just_written(alice: Member, shared: Memory) -> None:
    nearby = providers.get("native").nearby(shared.id)
    assert nearby.near(["In the harbour."], 3) == [[]]
    written = factories.record(alice, shared, "In the harbour.")
    assert [version.id for version, _ in nearby.near(["In the harbour."], 3)[0]] == [written.id]


# The worker


def test_after_a_failure_only_the_schedule_tries_at_once(alice: Member, shared: Memory, served: Endpoint) -> None:
    factories.record(alice, shared, "In the harbour.")
    answers, served.always = served.always, lambda body: (503, {}, {})
    assert reembed.catch_up() == 0
    asked = len(served.requests)
    served.always = answers
    assert reembed.catch_up() == 0
    assert len(served.requests) == asked
    assert reembed.sweep() == 1


def test_who_makes_many_vectors_lets_other_work_come_first_and_asks_for_another_turn(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(late.waker, "wake", lambda: woken.append(Awaited.objects.count()))
    monkeypatch.setattr(reembed, "BATCH", 2)
    monkeypatch.setattr(reembed, "TURN_SECONDS", 0.0)
    for number in range(5):
        factories.record(alice, shared, f"Harbour {number}.")
    assert [reembed.catch_up() for _ in range(4)] == [2, 2, 1, 0]
    assert woken == [3, 1]


class Broker:
    """Takes messages, or refuses them."""

    def __init__(self, refuses: bool = False) -> None:
        self.messages: list[str] = []
        self.refuses = refuses

    def send_task(self, name: str) -> None:
        """Take a message."""
        self.messages.append(name)
        if self.refuses:
            raise OSError("Nobody is there.")


def eventually(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not true() and time.monotonic() < until:
        time.sleep(0.005)
    return true()


@pytest.mark.parametrize("refuses", [False, True])
def test_many_who_wake_a_worker_at_once_send_few_messages_and_the_last_is_heard(
    monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    broker = Broker(refuses)
    monkeypatch.setattr("uhp_site.waking.current_app", broker)
    waker = Waker("some.task", pause=0.05)
    for _ in range(100):
        waker.wake()
    assert eventually(lambda: len(broker.messages) >= 1)
    before = len(broker.messages)
    assert before <= 2
    waker.wake()
    assert eventually(lambda: len(broker.messages) > before)
    assert set(broker.messages) == {"some.task"}


@pytest.mark.django_db(transaction=True)
def test_no_message_is_sent_to_who_is_at_it_already(monkeypatch: pytest.MonkeyPatch) -> None:
    broker, asked = Broker(), list[bool]()

    def at_it() -> bool:
        asked.append(is_taken(late.SWEEPING))
        return asked[-1]

    monkeypatch.setattr("uhp_site.waking.current_app", broker)
    waker = Waker("some.task", pause=0.0, unless=at_it)
    with alone(late.SWEEPING) as mine:
        assert mine
        waker.wake()
        assert eventually(lambda: asked == [True])
    assert broker.messages == []
    waker.wake()
    assert eventually(lambda: broker.messages == ["some.task"])
    assert asked == [True, False]


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_woken_once_what_was_written_is_there_to_see(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(late.waker, "wake", lambda: seen.append(Awaited.objects.count()))
    with transaction.atomic():
        factories.record(alice, shared, "In the harbour.")
        assert seen == []
    assert seen == [1]


# At the same time


@pytest.mark.django_db(transaction=True)
def test_what_somebody_else_is_at_is_passed_over_and_made_later(alice: Member, shared: Memory) -> None:
    one, other = (factories.record(alice, shared, f"Harbour {number}.") for number in range(2))
    keys = dict(Version.objects.values_list("record_id", "pk"))
    embedder = embedders.get()
    with transaction.atomic():
        Version.objects.select_for_update().get(pk=keys[one.id])
        at_once([partial(late.make, list(keys.values()), embedder)])
        assert embedded() == {other.id}
    assert reembed.sweep() == 2
    assert embedded() == {one.id, other.id}


@pytest.mark.django_db(transaction=True)
def test_a_question_waits_for_who_is_making_them_already(api: Api, alice: Member, shared: Memory) -> None:
    written = factories.record(alice, shared, "In the harbour.")
    answers = at_once([partial(recall, api, alice, shared) for _ in range(4)] + [reembed.sweep])
    assert [(found(one), one["degraded"]) for one in answers[:4]] == [({written.id}, [])] * 4
    assert Embedding.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_making_vectors_while_others_revise_forget_and_erase_leaves_none_behind(alice: Member, shared: Memory) -> None:
    place = look(factories.caller(alice), shared.id)
    turn = {"type": "episode", "attributes": {"session_id": "s"}}
    turns = [factories.record(alice, shared, f"Harbour {number}.", **turn) for number in range(6)]
    revised = [factories.record(alice, shared, f"At sea {number}.") for number in range(3)]
    erased, forgotten = turns[::2], turns[1::2]

    def revise(record: RecordVersion) -> None:
        for number in range(4):
            records.revise(place, record.id, read_changes({"content": f"At sea {number}."}))

    def remove(record: RecordVersion) -> None:
        erasure.finish(place, erasure.begin(place, [record.id]).id)

    def make() -> None:
        for _ in range(6):
            late.catch_up([shared.id], embedders.get(), 5.0)
            reembed.sweep()

    steps: list[Callable[[], object]] = [make, make]
    steps += [partial(remove, one) for one in erased] + [partial(revise, one) for one in revised]
    steps += [partial(records.forget, place, one.id) for one in forgotten]
    at_once(steps)
    reembed.sweep()
    assert embedded() == {one.id for one in (*revised, *forgotten)}
    current = Embedding.objects.filter(current=True).values_list("version__record_id", "version__number")
    assert set(current) == {(one.id, 5) for one in revised}
    assert not Awaited.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM memories_embedding e WHERE NOT EXISTS (SELECT FROM memories_version v"
            " WHERE v.id = e.version_id) OR e.preceding IS NOT NULL AND NOT EXISTS (SELECT FROM memories_version v"
            " WHERE v.id = e.preceding)"
        )
        assert cursor.fetchone() == (0,)
