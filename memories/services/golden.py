"""Golden questions: save what a memory should answer and with which record, ask them all, see what got worse.

What a run says is as seen by whoever ran it, and is told to nobody else. A question goes when the record goes that it
expects: its words may be about nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from members import events
from members.callers import Caller, caller_for
from members.models import Member
from memories.access import Privilege
from memories.content import Reference
from memories.models import GoldenQuestion, Job, Memory
from memories.models.golden import GoldenQuestionQuerySet
from memories.models.jobs import JobQuerySet
from memories.providers import registry
from memories.providers.base import Question
from memories.recall.pipeline import Ask
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound, RecordNotFound

from . import jobs, recall
from .sight import Place, look

KIND = "golden"
LONGEST = 2_000
# How many questions one memory keeps, and how many one run asks.
MOST_KEPT = 500
MOST_ASKED = 500
# How far down the answers a run looks for the expected record.
LOOKED_THROUGH = 20


@dataclass(frozen=True)
class Outcome:
    """Where a run found the expected record: its place, 1 for the best, or None; and whether recall declined."""

    rank: int | None
    abstained: bool

    @property
    def badness(self) -> tuple[bool, bool, int]:
        """What tells the worse of two outcomes: nothing found, then found and declined, then further down."""
        return self.rank is None, self.abstained, self.rank or 0


@dataclass(frozen=True)
class Row:
    """A question of a run, what came of it, and what came of it in the run before, if it was asked then."""

    question: GoldenQuestion
    now: Outcome
    before: Outcome | None

    @property
    def change(self) -> str:
        """`worse`, `better`, `same`, or `new` for a question that was not asked before."""
        if self.before is None:
            return "new"
        if self.now.badness == self.before.badness:
            return "same"
        return "worse" if self.now.badness > self.before.badness else "better"


@dataclass(frozen=True)
class Expected:
    """An expected record that may be read: what it is called, and whether it was forgotten since."""

    name: str
    forgotten: bool


@transaction.atomic
def save(place: Place, question: str, expected: Reference) -> GoldenQuestion:
    """Keep a question of a memory with the record that should answer it; the same one twice is kept once.

    Raises MemoryForbidden without read and write, MemoryInvalid for an empty or too long question or too many of them,
    RecordNotFound unless the caller reads the record, and it is here or below.
    """
    place.require(Privilege.READ | Privilege.WRITE)
    asked = question.strip()
    if not 0 < len(asked) <= LONGEST:
        raise MemoryInvalid(f"A question has 1 to {LONGEST:,} characters.", param="question")
    memory, caller = place.memory, place.caller
    at = expected.memory_id or memory.id
    # Two who save at the same time wait for each other, so that the number holds.
    if Memory.objects.select_for_update(no_key=True).filter(pk=memory.pk).first() is None:
        raise MemoryNotFound()
    require_here(place, at, expected.record_id)
    kept = GoldenQuestion.objects.of(caller.organisation_id).filter(memory=memory)
    where = {"expected_memory_id": at, "expected_record_id": expected.record_id}
    if there := kept.filter(question=asked, **where).first():
        return there
    if kept.count() >= MOST_KEPT:
        raise MemoryInvalid(f"A memory keeps at most {MOST_KEPT} golden questions; remove some first.")
    saved = GoldenQuestion.objects.create(
        organisation_id=caller.organisation_id,
        memory=memory,
        question=asked,
        saved_by=caller.member.principal,
        **where,
    )
    events.record(caller.organisation_id, caller.actor, "golden.saved", memory_id=memory.id, subject=saved.id)
    return saved


def require_here(place: Place, memory_id: str, record_id: str) -> None:
    """Raise RecordNotFound unless a record is there, here or below, and the caller reads it; unseen is unknown.

    Until the transaction ends it is not erased, either.
    """
    at = (
        Memory.objects.at_or_below(place.memory)
        .filter(pk=memory_id)
        .held_by(place.caller.principals, Privilege.READ)
        .first()
    )
    if at is None:
        raise RecordNotFound()
    provider = registry.get(at.provider)
    provider.derive(at.organisation_id)
    if not provider.existing([Reference(record_id, memory_id=memory_id)]):
        raise RecordNotFound()


def find(place: Place, golden_id: str) -> GoldenQuestion:
    """A golden question of a memory. Raises MemoryNotFound when it is none of this memory's."""
    found = GoldenQuestion.objects.of(place.caller.organisation_id).filter(pk=golden_id, memory=place.memory).first()
    if found is None:
        raise MemoryNotFound()
    return found


@transaction.atomic
def remove(place: Place, golden_id: str) -> None:
    """Remove a golden question. Raises MemoryForbidden without read and write, MemoryNotFound."""
    place.require(Privilege.READ | Privilege.WRITE)
    found = find(place, golden_id)
    caller = place.caller
    events.record(caller.organisation_id, caller.actor, "golden.removed", memory_id=place.memory.id, subject=found.id)
    found.delete()


def below(place: Place) -> GoldenQuestionQuerySet:
    """The golden questions of a memory and of those below it that the caller reads, oldest first."""
    readable = Memory.objects.at_or_below(place.memory).held_by(place.caller.principals, Privilege.READ)
    of_them = GoldenQuestion.objects.of(place.caller.organisation_id).filter(
        memory__in=readable.order_by().values("pk")
    )
    return of_them.order_by("saved_at", "id")


@transaction.atomic
def begin(place: Place) -> Job:
    """Ask all golden questions here and below in the background; one run at a time for each who asks.

    Raises MemoryForbidden without read, MemoryInvalid when there are none.
    """
    place.require(Privilege.READ)
    caller, memory = place.caller, place.memory
    if at_it := runs(place).unfinished().first():
        return at_it
    questions = list(below(place).values_list("id", flat=True)[:MOST_ASKED])
    if not questions:
        raise MemoryInvalid("There are no golden questions here or below that you may read.")
    return jobs.enqueue(
        KIND,
        caller.organisation_id,
        memory_id=memory.id,
        actor=caller.member.principal,
        member=caller.member.id,
        questions=questions,
    )


def runs(place: Place) -> JobQuerySet:
    """The runs over a memory that the caller started, newest first."""
    own = Job.objects.of(place.caller.organisation_id).filter(
        kind=KIND, memory_id=place.memory.id, actor=place.caller.member.principal
    )
    return own.order_by("-created_at", "-id")


def work(job: Job) -> None:
    """Ask the questions of a run, one by one, as whoever started it holds the memories by then."""
    rows: dict[str, list[int | bool | None] | None] = dict(job.result.get("rows", {}))
    asked: Sequence[str] = job.payload["questions"]
    for golden_id in asked:
        if golden_id in rows:
            continue
        outcome = ask(job.organisation_id, job.payload["member"], golden_id)
        rows[golden_id] = [outcome.rank, outcome.abstained] if outcome else None
        job.result = {"rows": rows}
        jobs.step(job, done=len(rows), total=len(asked))


@transaction.atomic
def ask(organisation_id: str, member_id: str, golden_id: str) -> Outcome | None:
    """Ask one question as a member; None when it went, or the member may no longer ask there."""
    golden = GoldenQuestion.objects.of(organisation_id).filter(pk=golden_id).first()
    member = Member.objects.of(organisation_id).active().filter(pk=member_id).first()
    if golden is None or member is None:
        return None
    try:
        place = look(caller_for(member), golden.memory_id)
        found = recall.recall(place, Ask(Question(golden.question, limit=LOOKED_THROUGH)))
    except (MemoryNotFound, MemoryForbidden):
        return None
    at = (golden.expected_memory_id, golden.expected_record_id)
    # Where a near-identical record stands for the expected one, what it says was found.
    there = [{(one.memory_id, one.id) for one in (hit.version, *hit.similar)} for hit in found.hits]
    rank = next((rank for rank, records in enumerate(there, 1) if at in records), None)
    return Outcome(rank, found.abstain)


def outcomes(job: Job | None) -> Mapping[str, Outcome]:
    """What came of each question of a run that could be asked, by its id."""
    rows = job.result.get("rows", {}) if job else {}
    return {golden_id: Outcome(row[0], bool(row[1])) for golden_id, row in rows.items() if row}


def last(place: Place) -> Job | None:
    """The run over a memory that the caller finished last."""
    return runs(place).filter(state=Job.State.COMPLETED).first()


def report(place: Place, job: Job) -> Sequence[Row]:
    """The rows of a run of which the caller still reads the memory, those that got worse first; three queries."""
    before = runs(place).filter(state=Job.State.COMPLETED, created_at__lt=job.created_at).first()
    now, earlier = outcomes(job), outcomes(before)
    rows = [Row(one, now[one.id], earlier.get(one.id)) for one in below(place).filter(pk__in=now)]
    order = {"worse": 0, "better": 2}
    return sorted(rows, key=lambda row: (order.get(row.change, 1), row.now.rank is not None, row.question.id))


def erase(organisation_id: str, record_ids: Collection[str]) -> int:
    """Remove the golden questions that expect one of these records, and say how many there were."""
    removed, _ = GoldenQuestion.objects.of(organisation_id).expecting(record_ids).delete()
    return removed


def left(organisation_id: str, record_ids: Collection[str]) -> int:
    """How many golden questions still expect one of these records."""
    return GoldenQuestion.objects.of(organisation_id).expecting(record_ids).count()


def current(caller: Caller, expected: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], Expected]:
    """What the caller is told of expected records, by where they are; a constant number of queries by provider.

    One that is absent is gone, or where the caller does not read: the two look the same.
    """
    readable = dict(
        Memory.objects.of(caller.organisation_id)
        .filter(pk__in={memory_id for memory_id, _ in expected})
        .held_by(caller.principals, Privilege.READ)
        .values_list("id", "provider")
    )
    found: dict[tuple[str, str], Expected] = {}
    for provider_id in sorted(set(readable.values())):
        provider = registry.get(provider_id)
        asked = [Reference(one, memory_id=at) for at, one in expected if readable.get(at) == provider_id]
        names, links = provider.existing(asked), provider.links()
        there = (
            {one.place for one in links.of(sorted({at for at, _ in names}), {one for _, one in names})}
            if links and names
            else set(names)
        )
        found |= {pair: Expected(name, pair not in there) for pair, name in names.items()}
    return found
