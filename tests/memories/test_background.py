"""Jobs, for those they concern: seen, tried again, cancelled by who may do what they do."""

from __future__ import annotations

import pytest

from members.models import Member
from memories.models import Job, Memory
from memories.services import background, erasure, jobs, runs
from tests import factories
from tests.factories import at
from tests.memories.plain_engine import PlainEngine, done
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain")]


def seen(who: Member) -> set[str]:
    return {job.kind for job in background.listed(factories.caller(who), 10)}


def test_a_job_is_seen_by_who_may_do_what_it_does(
    alice: Member, bob: Member, carol: Member, mallory: Member, shared: Memory
) -> None:
    runs.start(at(alice, shared))
    record = factories.record(alice, shared)
    erasure.begin(at(alice, shared), [record.id])
    jobs.enqueue("purge", shared.organisation_id)
    assert seen(alice) == {"consolidation", "erase", "purge"}
    assert seen(bob) == {"consolidation"}
    assert seen(carol) == seen(mallory) == set()
    for who in (carol, mallory):
        for job in Job.objects.all():
            with pytest.raises(MemoryNotFound):
                background.find(factories.caller(who), job.id)
    assert len(background.listed(factories.caller(alice), 10, memory=shared)) == 2


def test_a_consolidation_is_cancelled_and_an_erasure_is_not(alice: Member, bob: Member, shared: Memory) -> None:
    run = runs.start(at(alice, shared))
    assert background.cancel(factories.caller(bob), run.job_id).state == "cancelled"
    run.refresh_from_db()
    assert run.state == "stopped"
    erase = erasure.begin(at(alice, shared), [factories.record(alice, shared).id])
    with pytest.raises(MemoryInvalid):
        background.cancel(factories.caller(alice), erase.id)
    assert Job.objects.get(pk=erase.id).state == "queued"


def test_what_failed_is_tried_again(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    factories.record(alice, shared, "fact: Tea.", type="episode")
    run = runs.start(at(alice, shared))
    with pytest.raises(MemoryInvalid):
        background.retry(factories.caller(alice), run.job_id)

    def fail() -> None:
        raise RuntimeError

    plain.between = fail
    for _ in range(jobs.MOST_ATTEMPTS):
        done(run)
    plain.between = lambda: None
    assert background.retry(factories.caller(alice), run.job_id).state == "queued"
    assert done(run).state == "completed"


def test_a_failed_run_waits_for_the_one_that_took_its_place(alice: Member, shared: Memory, plain: PlainEngine) -> None:
    factories.record(alice, shared, "fact: Tea.", type="episode")
    failed = runs.start(at(alice, shared))

    def fail() -> None:
        raise RuntimeError

    plain.between = fail
    for _ in range(jobs.MOST_ATTEMPTS):
        done(failed)
    plain.between = lambda: None
    runs.start(at(alice, shared))
    background.retry(factories.caller(alice), failed.job_id)
    assert done(failed).state == "failed"
    assert "Another consolidation" in Job.objects.get(pk=failed.job_id).error


def test_an_owner_is_told_of_the_others_that_there_is_one(alice: Member, bob: Member, shared: Memory) -> None:
    private = factories.memory(bob)
    runs.start(at(bob, private))
    runs.start(at(bob, shared))
    jobs.enqueue("purge", shared.organisation_id, memory_id="hmem_gone", actor=bob.principal)
    jobs.enqueue("reembed", shared.organisation_id)
    told = {}
    for who in (alice, bob):
        caller = factories.caller(who)
        found = background.listed(caller, 10, every=True)
        told[who.id] = {
            (one.job.kind, one.job.memory_id): (one.open, one.commands, one.memory)
            for one in background.shown(caller, found)
        }
    assert told[alice.id] == {
        ("consolidation", private.id): (False, False, None),
        ("consolidation", shared.id): (True, True, shared),
        ("purge", "hmem_gone"): (False, True, None),
        ("reembed", ""): (True, True, None),
    }
    assert told[bob.id] == {
        ("consolidation", private.id): (True, True, private),
        ("consolidation", shared.id): (True, True, shared),
        ("purge", "hmem_gone"): (True, False, None),
    }


def test_jobs_are_listed_by_state(alice: Member, shared: Memory) -> None:
    run = runs.start(at(alice, shared))
    caller = factories.caller(alice)
    assert [job.id for job in background.listed(caller, 10, states=["queued"])] == [run.job_id]
    assert not background.listed(caller, 10, states=["failed"])
