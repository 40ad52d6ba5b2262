"""Taking a run back, whole or in part: it appends. What a person changed since is left alone and named (contract A-21).

What is taken back is remembered as not wanted, so that the next run does not bring it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from members import events
from members.events import Actor
from memories.access import Privilege
from memories.content import Draft
from memories.models import Conflict, Job, Memory, ReviewItem, Run, RunChange
from memories.providers.base import Provider, RecordVersion, Writer
from uhp_site.http.errors import MemoryBusy, MemoryInvalid, MemoryNotFound

from . import gate, refusals, types
from .records import provider_of, writer
from .sight import Place
from .writing import same

TOGETHER = 200
KIND, OUTCOME = RunChange.Kind, RunChange.Outcome
# A job that takes much back; while it is at it, no run of its memory begins.
REVERT = "revert"
UNDOING = "What a run did is being undone here; try again when that is done."
BUSY = "A consolidation of this memory is running; stop it or wait for its end."


class Changed(Exception):
    """Somebody changed the record since the plan was made."""


@dataclass(frozen=True)
class Step:
    """What taking back would do to one record: forget it, or write version `to` anew; `skip` says why neither.

    `changes` are those of the run that it takes back, `head` is the version that has to be current.
    """

    record_id: str
    changes: tuple[RunChange, ...]
    outcome: RunChange.Outcome
    head: RecordVersion | None = None
    to: RecordVersion | None = None
    skip: str = ""


@dataclass
class Taken:
    """What was done, or would be: the ids of the records."""

    restored: list[str] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    news: bool = False


@dataclass(frozen=True)
class Hands:
    """Who takes something back, and where."""

    memory: Memory
    by: Writer

    @property
    def principal(self) -> str:
        """The same, as rows name it."""
        return f"{self.by.kind}:{self.by.id}"


@dataclass(frozen=True)
class Extent:
    """Which changes of a run are meant: the chosen ones, or all; the `rest` leaves out what somebody accepted."""

    chosen: frozenset[str] | None = None
    rest: bool = False


def preview(place: Place, run_id: str, change_ids: Collection[str] | None = None) -> list[Step]:
    """What `revert` would do now, record by record, and what it would skip and why. It shows records: needs read too.

    Raises what `revert` raises.
    """
    return list(steps(place, run_id, change_ids))


def steps(
    place: Place, run_id: str, change_ids: Collection[str] | None = None, *, rest: bool = False
) -> Iterator[Step]:
    """What `preview` says, some records at a time."""
    place.require(Privilege.READ | Privilege.DELETE)
    run = Run.objects.filter(memory_id=place.memory.id, pk=run_id).first()
    require_over(run, place.memory.id)
    assert run is not None
    extent = extent_of(run, change_ids, rest=rest)
    return (one for group in plans(provider_of(place), run, extent) for one in group.steps)


@transaction.atomic
def revert(place: Place, run_id: str, change_ids: Collection[str] | None = None, *, rest: bool = False) -> Run:
    """Take back a run, or some changes of it: created records are forgotten, the others written anew as they were.

    Again it changes nothing. Raises MemoryForbidden without delete, MemoryNotFound, MemoryInvalid for changes of
    another run, MemoryBusy while a run of this memory waits or runs.
    """
    place.require(Privilege.DELETE)
    run = Run.objects.select_for_update(of=("self",)).filter(memory_id=place.memory.id, pk=run_id).first()
    require_over(run, place.memory.id)
    assert run is not None
    provider = provider_of(place)
    provider.derive(place.caller.organisation_id)
    hands, taken = Hands(place.memory, writer(place)), Taken()
    for group in plans(provider, run, extent_of(run, change_ids, rest=rest)):
        for step in group.steps:
            take_back(hands, provider, step, taken)
    counted = {name: len(getattr(taken, name)) for name in ("restored", "forgotten", "skipped")}
    note(run, hands, place.caller.actor, news=taken.news, **counted)
    if counted["restored"] or counted["forgotten"]:
        place.used(wrote=True)
    return run


def note(run: Run, hands: Hands, actor: Actor, *, news: bool, restored: int, forgotten: int, skipped: int) -> None:
    """Note that something of a run was taken back, in the transaction that did it or the last of those."""
    if news:
        run.reverted_at = timezone.now()
        run.save(update_fields=["reverted_at"])
    if not remaining(run).exists():
        gate.settled(run.memory_id, ReviewItem.Kind.RUN, run.id, hands.principal, ReviewItem.State.DECLINED)
    if restored or forgotten:
        events.record(
            run.organisation_id,
            actor,
            "consolidation.reverted",
            memory_id=run.memory_id,
            subject=run.id,
            restored=restored,
            forgotten=forgotten,
            skipped=skipped,
        )


def require_over(run: Run | None, memory_id: str) -> None:
    """Raise MemoryNotFound without a run, MemoryBusy while one of the memory waits or runs."""
    if run is None:
        raise MemoryNotFound()
    if Run.objects.filter(memory_id=memory_id).active().exists():
        raise MemoryBusy(BUSY)


def undoing(memory: Memory) -> Job | None:
    """The job that takes back something in a memory right now, if there is one."""
    unfinished = Job.objects.of(memory.organisation_id).unfinished()
    return unfinished.filter(kind=REVERT, memory_id=memory.id).first()


def extent_of(run: Run, change_ids: Collection[str] | None, *, rest: bool = False) -> Extent:
    """Which changes are meant. Raises MemoryInvalid for changes of another run."""
    if change_ids is None:
        return Extent(rest=rest)
    chosen = frozenset(change_ids)
    if RunChange.objects.filter(run=run, pk__in=chosen).count() < len(chosen):
        raise MemoryInvalid("There is no such change in this run.", param="changes")
    return Extent(chosen, rest)


def undoable(run: Run) -> QuerySet[RunChange]:
    """The changes of a run that nobody has taken back."""
    return RunChange.objects.filter(run=run).exclude(outcome__in=[OUTCOME.RESTORED, OUTCOME.FORGOTTEN])


def remaining(run: Run) -> QuerySet[RunChange]:
    """The changes of a run that wrote something and that nobody has taken back."""
    return undoable(run).exclude(kind=KIND.SUPPORTED, after=None)


@dataclass(frozen=True)
class Group:
    """What to do about some records, and the position of the run that has been come down to."""

    steps: Sequence[Step]
    below: int
    changes: int


def plans(provider: Provider, run: Run, extent: Extent, below: int | None = None) -> Iterator[Group]:
    """What to do, some records at a time, from a position downward: nothing may point at what is not there yet."""
    while group := planned(provider, run, extent, below):
        yield group
        below = group.below


def changes_in(run: Run, extent: Extent) -> QuerySet[RunChange]:
    """The changes of the records that are meant, those that nobody has taken back."""
    if extent.chosen is None:
        return undoable(run)
    named = RunChange.objects.filter(run=run, pk__in=extent.chosen).values("record_id")
    return undoable(run).filter(record_id__in=named)


def planned(provider: Provider, run: Run, extent: Extent, below: int | None) -> Group | None:
    """What to do about the records of the next changes below a position; None when there are none left."""
    found = changes_in(run, extent)
    next_ones = found if below is None else found.filter(position__lt=below)
    slice_of = list(next_ones.order_by("-position").values_list("position", "record_id")[:TOGETHER])
    if not slice_of:
        return None
    lowest = slice_of[-1][0]
    rows: dict[str, list[RunChange]] = {record_id: [] for _, record_id in slice_of}
    for change in found.filter(record_id__in=rows).order_by("position"):
        rows[change.record_id].append(change)
    # A record is looked at once, at its last change.
    rows = {one: some for one, some in rows.items() if below is None or some[-1].position < below}
    histories = provider.histories(run.memory_id, rows)
    steps = [plan(run, one, some, wanted(some, extent), histories.get(one, ())) for one, some in rows.items()]
    return Group([step for step in steps if step], lowest, len(slice_of))


def wanted(changes: Sequence[RunChange], extent: Extent) -> list[RunChange]:
    """Which changes of one record are meant; what came before an accepted one is accepted with it."""
    if extent.chosen is not None:
        return [one for one in changes if one.pk in extent.chosen]
    if not extent.rest:
        return list(changes)
    last = max((index for index, one in enumerate(changes) if one.accepted_at), default=-1)
    return list(changes[last + 1 :])


def plan(
    run: Run,
    record_id: str,
    changes: Sequence[RunChange],
    wanted: Sequence[RunChange],
    history: Sequence[RecordVersion],
) -> Step | None:
    """What to do about one record: back to before the first change that is meant; those have to be its last."""
    if not wanted:
        return None
    first, last, taken = wanted[0], wanted[-1], tuple(wanted)
    wrote = [one for one in wanted if one.after is not None or one.kind == KIND.FORGOTTEN]
    outcome = OUTCOME.FORGOTTEN if first.kind == KIND.CREATED else OUTCOME.RESTORED
    if not history:
        return Step(record_id, taken, outcome, skip="erased")
    if not wrote:
        # Only what was heard again of a record that was not touched for it.
        return None
    head = history[-1]
    if changes[-1].pk != last.pk:
        return Step(record_id, taken, outcome, head, skip="changed_later_in_the_run")
    if outcome == OUTCOME.FORGOTTEN and head.status == "forgotten":
        return Step(record_id, taken, outcome, head, skip="forgotten")
    final = wrote[-1]
    if not as_left(final, history):
        return Step(record_id, taken, outcome, head, skip="changed_since")
    if outcome == OUTCOME.FORGOTTEN:
        return Step(record_id, taken, outcome, head)
    to = next((one for one in history if one.number == wrote[0].before), None)
    return Step(record_id, taken, outcome, head, to, skip="" if to else "erased")


def as_left(change: RunChange, history: Sequence[RecordVersion]) -> bool:
    """Whether a record says what it said when a change of a run was done, also when later ones were taken back."""
    head = history[-1]
    if change.kind == KIND.FORGOTTEN:
        return (head.number, head.status) == (change.before, "forgotten")
    if head.status != "active":
        return False
    wrote = next((one for one in history if one.number == change.after), None)
    return head.number == change.after or (wrote is not None and same(head.draft, wrote.draft))


def take_back(hands: Hands, provider: Provider, step: Step, taken: Taken) -> None:
    """Do one step, and note what became of its changes."""
    memory = hands.memory
    outcome = step.outcome
    if step.skip in ("", "forgotten"):
        # Also what somebody forgot already, so that it does not come again.
        refusals.refuse(
            memory, [one.content_hash for one in step.changes if one.kind in (KIND.CREATED, KIND.SUPERSEDED)]
        )
    done = False
    if not step.skip:
        try:
            with transaction.atomic():
                done = applied(hands, provider, step)
        except Changed:
            done = False
    if done:
        (taken.forgotten if outcome == OUTCOME.FORGOTTEN else taken.restored).append(step.record_id)
        withdraw(memory.id, [step.record_id], hands.principal)
    else:
        taken.skipped.append(step.record_id)
        outcome = OUTCOME.SKIPPED
    ids = [one.pk for one in step.changes]
    moment = timezone.now()
    noted = RunChange.objects.filter(pk__in=ids).exclude(outcome=outcome).update(outcome=outcome, outcome_at=moment)
    taken.news = taken.news or noted > 0


def applied(hands: Hands, provider: Provider, step: Step) -> bool:
    """Forget the record, or write it anew; false when it is gone. Raises Changed."""
    memory_id = hands.memory.id

    def unchanged(head: RecordVersion) -> None:
        if step.head is None or head.number != step.head.number:
            raise Changed

    if step.outcome == OUTCOME.FORGOTTEN:
        return provider.forget(memory_id, step.record_id, unchanged) is not None

    def as_before(head: RecordVersion) -> Draft:
        unchanged(head)
        assert step.to is not None
        registered = types.find(hands.memory.organisation_id, step.to.draft.type)
        return replace(step.to.draft, projection=registered.text) if registered else step.to.draft

    closed = step.head is not None and step.head.status == "forgotten"
    write = provider.reopen if closed else provider.revise
    return write(memory_id, step.record_id, as_before, hands.by) is not None


def withdraw(memory_id: str, record_ids: Iterable[str], principal: str) -> None:
    """Close what asks about records that are not there any more: there is nothing to decide."""
    ids = list(record_ids)
    found = Conflict.objects.filter(memory_id=memory_id, that__in=ids, state=Conflict.State.OPEN)
    found.update(state=Conflict.State.WITHDRAWN)
    gate.settled_records(memory_id, ids, principal, ReviewItem.State.DECLINED)


def outcome_of(run: Run, most: int) -> dict[str, list[str]]:
    """What became of the changes that somebody took back: the ids of the records, at most so many of each."""
    answer = {}
    for name in (OUTCOME.RESTORED, OUTCOME.FORGOTTEN, OUTCOME.SKIPPED):
        rows = RunChange.objects.filter(run=run, outcome=name).order_by("position").values_list("record_id", flat=True)
        answer[name.value] = list(dict.fromkeys(rows[:most]))
    return answer
