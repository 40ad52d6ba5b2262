"""Many callers change one tree at the same time: never a cycle, a deadlock or a failure, and reach stays true."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg.errors
import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from members.models import Group, Member, Organisation
from memories.models import Grant, Job, Memory, Reach
from memories.services import asking, grants, jobs, steady, tree
from memories.services.sight import look
from memories.tasks import KINDS
from tests import factories
from tests.access.worlds import Truth, World
from tests.conftest import Api
from uhp_site.http.errors import MemoryBusy

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")
THREADS = 6
SECONDS = 6
REFUSALS = {403, 404, 409, 422}


def together(*works: Callable[[], T]) -> list[T]:
    """Run in threads of their own, begun at the same instant; what each returned."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], T]) -> T:
        try:
            barrier.wait(10)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [one.result(60) for one in [pool.submit(run, work) for work in works]]


def deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


class Mess:
    """One of many who change whatever they find, through the API."""

    def __init__(self, seed: int, who: Member, principals: list[str], api: Api, until: float) -> None:
        self.random, self.who, self.principals = random.Random(seed), who, principals  # noqa: S311
        self.api, self.until, self.statuses = api, until, Counter[int]()

    def make(self) -> Counter[int]:
        organisation = self.who.organisation_id
        while time.monotonic() < self.until:
            found = list(Memory.objects.of(organisation).order_by("id").values_list("id", flat=True))
            if found:
                verb, path, body = self.pick(found)
                self.statuses[self.api.call(verb, path, body, as_=self.who).status] += 1
            else:
                self.statuses[self.api.call("POST", "/v1/memories", {"name": "New"}, as_=self.who).status] += 1
        return self.statuses

    def pick(self, found: list[str]) -> tuple[str, str, object]:
        one, other, draw = self.random.choice(found), self.random.choice(found), self.random.random()
        path = f"/v1/memories/{one}"
        if draw < 0.30:
            return "PUT", path, {"parent_id": other, "name": "Moved"}
        if draw < 0.45:
            return "PUT", path, {"restricted": self.random.random() < 0.4}
        if draw < 0.50:
            return "PUT", path, {"name": f"Name {draw}"}
        if draw < 0.70 or len(found) < 15:
            return "POST", "/v1/memories", {"name": "New", "parent_id": one}
        if draw < 0.85:
            principal = self.random.choice(self.principals)
            return "POST", f"{path}/grants", {"principal": principal, "privileges": ["read", "create", "delete"]}
        if draw < 0.90:
            given = Grant.objects.filter(memory_id=one).values_list("id", flat=True).first()
            return "DELETE", f"{path}/grants/{given or 'hgrt_none'}", None
        if draw < 0.95:
            return "POST", f"{path}/records", {"content": "Words."}
        return "DELETE", path, None


def test_many_callers_changing_one_tree_leave_it_sound(
    organisation: Organisation, alice: Member, bob: Member, team: Group, api: Api
) -> None:
    people = [alice, bob, factories.member(organisation), factories.member(organisation)]
    everyone = organisation.groups.get(is_everyone=True)
    root = factories.memory(alice, name="root")
    factories.grant(alice, root, everyone, "read", "write", "create", "delete")
    for person in people:
        branch = factories.memory(person, root)
        factories.memory(person, factories.memory(person, branch))
    principals = [*(one.principal for one in people), team.principal, everyone.principal]
    apis = [Api() for _ in range(THREADS)]
    before, until = deadlocks(), time.monotonic() + SECONDS
    for number in range(THREADS):
        apis[number].key(people[number % len(people)])
    messes = [
        Mess(number, people[number % len(people)], principals, apis[number], until).make for number in range(THREADS)
    ]
    statuses: Counter[int] = Counter()
    for one in together(*messes):
        statuses += one
    assert set(statuses) <= {200} | REFUSALS, statuses
    assert statuses[200] > THREADS, statuses
    world = World(organisation, [alice, bob], [team, everyone])
    truth = Truth(world)
    for memory_id in truth.memories:
        # A cycle would never reach the top.
        assert len(truth.chain(memory_id)) <= len(truth.memories)
    rows = Reach.objects.filter(organisation=organisation)
    assert set(rows.values_list("ancestor_id", "descendant_id", "distance", "open")) == truth.reach()
    then = asking.at_instant(organisation.id, timezone.now())
    assert {one.id: one.parent_id for one in then.memories.values()} == {
        one.id: one.parent_id for one in truth.memories.values()
    }
    assert {grant for one in then.memories.values() for grant in one.grants} == set(
        Grant.objects.filter(memory__in=truth.memories).values_list("id", flat=True)
    )
    for job in Job.objects.filter(kind=tree.PURGE):
        jobs.run(job.id, KINDS)
    assert not Memory.deleted_too.exclude(deletion=None).exists()
    assert deadlocks() == before


def test_two_moves_under_each_other_make_no_cycle(alice: Member, api: Api) -> None:
    for _ in range(10):
        one, other = factories.memory(alice), factories.memory(alice)
        api.key(alice)

        def move(what: Memory, under: Memory) -> int:
            return api.call("PUT", f"/v1/memories/{what.id}", {"parent_id": under.id}, as_=alice).status

        answers = together(lambda a=one, b=other: move(a, b), lambda a=one, b=other: move(b, a))  # type: ignore[misc]
        assert sorted(answers) == [200, 422]


def test_of_two_deletions_one_finds_nothing(alice: Member, api: Api) -> None:
    api.key(alice)
    root = factories.memory(alice)
    child = factories.memory(alice, root)
    answers = together(
        lambda: api.call("DELETE", f"/v1/memories/{root.id}", as_=alice).status,
        lambda: api.call("DELETE", f"/v1/memories/{child.id}", as_=alice).status,
    )
    assert sorted(answers) in ([200, 200], [200, 404])
    assert not Memory.objects.filter(pk__in=[root.id, child.id]).exists()


def test_the_same_grant_given_many_times_at_once_is_one(alice: Member, bob: Member) -> None:
    memory = factories.memory(alice)
    together(*[lambda: factories.grant(alice, memory, bob, "read", "delete")] * THREADS)
    assert Grant.objects.get(memory=memory).principal == bob.principal


def test_nobody_inheriting_sees_what_is_made_restricted(alice: Member, bob: Member, api: Api) -> None:
    root = factories.memory(alice)
    factories.grant(alice, root, bob, "read")
    api.key(alice), api.key(bob)
    stop = threading.Event()

    def make() -> int:
        for _ in range(20):
            asked = {"name": "Secret", "parent_id": root.id, "restricted": True}
            api_of_alice.ok("POST", "/v1/memories", asked, alice)
        stop.set()
        return 0

    def watch() -> int:
        looks = 0
        while not stop.is_set():
            assert api.get(f"/v1/memories?ancestor={root.id}", bob)["data"] == []
            assert api.get(f"/v1/memories/{root.id}", bob)["children"] == {"count": 0}
            looks += 1
        return looks

    api_of_alice = Api()
    api_of_alice.key(alice)
    assert together(make, watch)[1]


def test_a_change_that_meets_another_halfway_is_run_again(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [psycopg.errors.DeadlockDetected(), psycopg.errors.SerializationFailure()]
    plant = type(Reach.objects.all()).plant

    def failing(self: object, memory: Memory) -> None:
        if failures:
            raise OperationalError from failures.pop()
        plant(Reach.objects.all(), memory)

    monkeypatch.setattr(type(Reach.objects), "plant", failing)
    memory = factories.memory(alice)
    assert list(Memory.objects.all()) == [memory]


def test_one_that_never_comes_through_is_told_to_try_again(
    alice: Member, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = factories.memory(alice)
    monkeypatch.setattr(steady, "PATIENCE", "50ms")
    held, done = threading.Event(), threading.Event()

    def hold() -> tuple[int, str]:
        with transaction.atomic():
            steady.lock_tree(alice.organisation_id)
            held.set()
            done.wait(20)
        return 0, ""

    def change() -> tuple[int, str]:
        held.wait(10)
        try:
            answer = api.call("PUT", f"/v1/memories/{memory.id}", {"restricted": True}, as_=alice)
            return answer.status, answer.error["code"]
        finally:
            done.set()

    assert together(hold, change)[1] == (409, "memory_busy")


def test_any_other_failure_of_the_database_is_not_hidden(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OperationalError from psycopg.errors.DiskFull()

    monkeypatch.setattr(grants, "put", failing)
    memory = factories.memory(alice)
    with pytest.raises(OperationalError):
        factories.grant(alice, memory, alice)


def test_inside_a_transaction_nothing_is_run_twice(alice: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def failing(*_: object) -> None:
        tried.append(1)
        raise OperationalError from psycopg.errors.DeadlockDetected()

    monkeypatch.setattr(grants, "put", failing)
    memory = factories.memory(alice)
    with pytest.raises(MemoryBusy), transaction.atomic():
        factories.grant(alice, look(factories.caller(alice), memory.id).memory, alice)
    assert tried == [1]
