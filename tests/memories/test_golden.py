"""Golden questions: who may save them, what a run finds as whom, what got worse, and that nothing of them is left."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from members.models import Event, Member
from memories.content import Reference, read_changes
from memories.models import GoldenQuestion, Job, Memory
from memories.providers.base import RecordVersion
from memories.services import erasure, golden, jobs, leftovers, records, tree
from memories.services.golden import Outcome, Row
from memories.tasks import KINDS
from tests import factories
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, RecordNotFound

pytestmark = pytest.mark.django_db

QUESTION = "When is the rent due?"


def to(record: RecordVersion) -> Reference:
    return Reference(record.id, memory_id=record.memory_id)


def run(who: Member, memory: Memory) -> Job:
    """A finished run."""
    job = golden.begin(at(who, memory))
    jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert job.state == Job.State.COMPLETED, job.error
    return job


@pytest.fixture
def rent(alice: Member, shared: Memory) -> RecordVersion:
    """What answers the question."""
    for number in range(3):
        factories.record(alice, shared, f"Invoice {number} was paid.")
    return factories.record(alice, shared, "The rent is due in June.", title="Rent")


@pytest.fixture
def closed(alice: Member, shared: Memory) -> Memory:
    """A memory below that the team does not reach."""
    return factories.memory(alice, shared, "Closed", restricted=True)


def test_who_reads_and_writes_saves_and_removes_and_it_is_in_the_audit(
    bob: Member, shared: Memory, rent: RecordVersion
) -> None:
    saved = golden.save(at(bob, shared), f"  {QUESTION}\n", to(rent))
    assert (saved.question, saved.saved_by, saved.expected_record_id) == (QUESTION, bob.principal, rent.id)
    golden.remove(at(bob, shared), saved.id)
    assert not GoldenQuestion.objects.exists()
    told = Event.objects.filter(action__startswith="golden.").order_by("at").values_list("action", "subject", "detail")
    assert list(told) == [("golden.saved", saved.id, {}), ("golden.removed", saved.id, {})]


def test_a_reader_cannot_save_or_remove(bob: Member, carol: Member, shared: Memory, rent: RecordVersion) -> None:
    saved = golden.save(at(bob, shared), QUESTION, to(rent))
    with pytest.raises(MemoryForbidden):
        golden.save(at(carol, shared), QUESTION, to(rent))
    with pytest.raises(MemoryForbidden):
        golden.remove(at(carol, shared), saved.id)
    assert GoldenQuestion.objects.count() == 1


def test_the_same_question_twice_is_kept_once(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    first, second = (golden.save(at(bob, shared), QUESTION, to(rent)) for _ in range(2))
    assert first == second


def test_an_expected_record_that_one_may_not_read_is_an_unknown_one(
    alice: Member, bob: Member, shared: Memory, closed: Memory
) -> None:
    hidden, elsewhere = factories.record(alice, closed), factories.record(bob, factories.memory(bob))
    refusals = set()
    for expected in (to(hidden), to(elsewhere), Reference(hidden.id), Reference("nonsense", memory_id="nonsense")):
        with pytest.raises(RecordNotFound) as refused:
            golden.save(at(bob, shared), QUESTION, expected)
        refusals.add(str(refused.value))
    assert len(refusals) == 1
    assert golden.save(at(alice, shared), QUESTION, to(hidden))


@pytest.mark.parametrize("question", ["", " \n", "?" * (golden.LONGEST + 1)])
def test_a_question_has_words_and_an_end(question: str, bob: Member, shared: Memory, rent: RecordVersion) -> None:
    with pytest.raises(MemoryInvalid):
        golden.save(at(bob, shared), question, to(rent))


def test_a_memory_keeps_only_so_many(
    monkeypatch: pytest.MonkeyPatch, bob: Member, shared: Memory, rent: RecordVersion
) -> None:
    monkeypatch.setattr(golden, "MOST_KEPT", 1)
    golden.save(at(bob, shared), QUESTION, to(rent))
    with pytest.raises(MemoryInvalid):
        golden.save(at(bob, shared), "Who pays the rent?", to(rent))


def test_a_question_of_another_memory_is_an_unknown_one(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    saved = golden.save(at(bob, shared), QUESTION, to(rent))
    with pytest.raises(MemoryNotFound):
        golden.remove(at(bob, factories.memory(bob)), saved.id)


def test_a_run_finds_what_is_expected_and_says_where(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    saved = golden.save(at(bob, shared), QUESTION, to(rent))
    job = run(bob, shared)
    assert golden.outcomes(job) == {saved.id: Outcome(1, abstained=False)}
    assert (job.done, job.total) == (1, 1)
    assert rent.id not in str((job.payload, job.result))
    assert QUESTION not in str((job.payload, job.result))


def test_what_a_near_identical_record_stands_for_is_found(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    said = rent.draft.content[0]["text"]
    twins = [factories.record(bob, shared, said) for _ in range(2)]
    for number in range(golden.LOOKED_THROUGH):
        factories.record(bob, shared, f"The rent of house {number} is {number} euro.")
    for number, one in enumerate([rent, *twins]):
        golden.save(at(bob, shared), f"{QUESTION}{'?' * number}", to(one))
    ranks = [outcome.rank for outcome in golden.outcomes(run(bob, shared)).values()]
    assert len(ranks) == 3
    assert None not in ranks


def test_a_run_asks_as_whoever_started_it(
    alice: Member, bob: Member, agent: Member, shared: Memory, closed: Memory
) -> None:
    pay = factories.record(alice, closed, "The bonus is paid in March.")
    inside = golden.save(at(alice, closed), "When is the bonus paid?", to(pay))
    above = golden.save(at(alice, shared), "When is the bonus paid?", to(pay))
    assert golden.outcomes(run(alice, shared)) == {one.id: Outcome(1, abstained=False) for one in (inside, above)}
    for other in (bob, agent):
        seen = golden.outcomes(run(other, shared))
        assert (set(seen), seen[above.id].rank) == ({above.id}, None)
    assert [job.actor for job in golden.runs(at(bob, shared))] == [bob.principal]


def test_what_somebody_lost_meanwhile_is_not_asked_for_them(
    alice: Member, bob: Member, shared: Memory, rent: RecordVersion
) -> None:
    golden.save(at(bob, shared), QUESTION, to(rent))
    job = golden.begin(at(bob, shared))
    tree.change(at(alice, shared), restricted=True)
    Member.objects.filter(pk=bob.id).update(deactivated_at="2026-01-01T00:00:00Z")
    jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert (job.state, golden.outcomes(job)) == (Job.State.COMPLETED, {})


def test_a_run_that_was_interrupted_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, bob: Member, shared: Memory, rent: RecordVersion
) -> None:
    for number in range(3):
        golden.save(at(bob, shared), f"{QUESTION} {number}", to(rent))
    job, asked, really = golden.begin(at(bob, shared)), [], golden.ask

    def once(organisation_id: str, member_id: str, golden_id: str) -> Outcome | None:
        asked.append(golden_id)
        if len(asked) == 2:
            raise RuntimeError
        return really(organisation_id, member_id, golden_id)

    monkeypatch.setattr(golden, "ask", once)
    for _ in range(2):
        jobs.run(job.id, KINDS)
    job.refresh_from_db()
    assert (job.state, len(golden.outcomes(job)), len(asked)) == (Job.State.COMPLETED, 3, 4)


def test_one_run_at_a_time_and_none_without_questions(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    with pytest.raises(MemoryInvalid):
        golden.begin(at(bob, shared))
    golden.save(at(bob, shared), QUESTION, to(rent))
    assert golden.begin(at(bob, shared)) == golden.begin(at(bob, shared))


def test_what_got_worse_since_the_last_run_comes_first(bob: Member, shared: Memory, rent: RecordVersion) -> None:
    stays = factories.record(bob, shared, "The dentist is on Elm Street.")
    kept = golden.save(at(bob, shared), "Where is the dentist?", to(stays))
    worse = golden.save(at(bob, shared), QUESTION, to(rent))
    run(bob, shared)
    records.forget(at(bob, shared), rent.id)
    new = golden.save(at(bob, shared), "What was paid?", to(stays))
    found = golden.report(at(bob, shared), run(bob, shared))
    assert (found[0].question, found[0].change) == (worse, "worse")
    assert {row.question: row.change for row in found} == {worse: "worse", kept: "same", new: "new"}
    assert (found[0].before, found[0].now.rank) == (Outcome(1, abstained=False), None)


def test_a_forgotten_record_is_told_apart_from_one_that_may_not_be_read(
    alice: Member, bob: Member, shared: Memory, closed: Memory, rent: RecordVersion
) -> None:
    hidden, revised = factories.record(alice, closed), factories.record(alice, shared, title="Kept")
    records.revise(at(alice, shared), revised.id, read_changes({"content": "Other."}))
    records.forget(at(alice, shared), rent.id)
    pairs = [(one.memory_id, one.id) for one in (hidden, revised, rent)]
    told = golden.current(factories.caller(bob), pairs)
    assert {pair: (one.name, one.forgotten) for pair, one in told.items()} == {
        pairs[1]: ("Kept", False),
        pairs[2]: ("Rent", True),
    }


def test_erasing_the_expected_record_takes_the_question_with_it(
    alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    other = factories.record(alice, shared)
    golden.save(at(alice, shared), QUESTION, to(rent))
    kept = golden.save(at(alice, shared), "What else?", to(other))
    run(alice, shared)
    job = erasure.begin(at(alice, shared), [rent.id])
    report = erasure.finish(at(alice, shared), job.id)
    assert report.removed["golden"] == 1
    assert list(GoldenQuestion.objects.all()) == [kept]
    assert not [place for place in leftovers.naming([rent.id]) if "golden" in place]


def test_an_erasure_that_concerns_no_golden_question_says_nothing_of_them(
    alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    job = erasure.begin(at(alice, shared), [rent.id])
    assert "golden" not in erasure.finish(at(alice, shared), job.id).removed


def test_purging_a_memory_takes_its_questions_and_those_that_expect_what_it_held(
    alice: Member, shared: Memory, rent: RecordVersion
) -> None:
    below = factories.memory(alice, shared)
    held = factories.record(alice, below)
    golden.save(at(alice, below), "Asked below?", to(held))
    golden.save(at(alice, shared), "Asked above?", to(held))
    kept = golden.save(at(alice, shared), QUESTION, to(rent))
    tree.delete(at(alice, below))
    assert [one.memory for one in golden.below(at(alice, shared))] == [shared, shared]
    jobs.run(Job.objects.get(kind=tree.PURGE).id, KINDS)
    assert list(GoldenQuestion.objects.all()) == [kept]


@pytest.mark.parametrize("count", [2, 12])
def test_a_report_costs_the_same_however_many_questions_there_are(
    count: int, bob: Member, shared: Memory, rent: RecordVersion
) -> None:
    for number in range(count):
        golden.save(at(bob, shared), f"{QUESTION} {number}", to(rent))
    job, place = run(bob, shared), at(bob, shared)
    with CaptureQueriesContext(connection) as queries:
        assert len(golden.report(place, job)) == count
    assert len(queries) == 2


OUTCOMES = st.builds(Outcome, st.none() | st.integers(1, 20), st.booleans())


@given(OUTCOMES, OUTCOMES)
def test_worse_one_way_is_better_the_other_way(one: Outcome, other: Outcome) -> None:
    question: Any = None
    there, back = Row(question, one, other).change, Row(question, other, one).change
    assert {there, back} in ({"worse", "better"}, {"same"})
    if one.rank and not other.rank:
        assert there == "better"
