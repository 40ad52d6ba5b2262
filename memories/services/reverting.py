"""Taking a run back, whole or in part: it appends. What a person changed since is left alone and named (contract A-21).

What is taken back is remembered as not wanted, so that the next run does not bring it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from django.db import transaction
from django.utils import timezone

from members import events
from memories.access import Privilege
from memories.content import Draft
from memories.models import Conflict, Run, RunChange
from memories.providers.base import Provider, RecordVersion
from uhp_site.http.errors import MemoryBusy, MemoryInvalid, MemoryNotFound

from . import refusals, types
from .records import provider_of, writer
from .sight import Place
from .writing import same

TOGETHER = 200
KIND, OUTCOME = RunChange.Kind, RunChange.Outcome
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


def preview(place: Place, run_id: str, change_ids: Collection[str] | None = None) -> list[Step]:
    """What `revert` would do now, record by record, and what it would skip and why. It shows records: needs read too.

    Raises what `revert` raises.
    """
    return list(steps(place, run_id, change_ids))


def steps(place: Place, run_id: str, change_ids: Collection[str] | None = None) -> Iterator[Step]:
    """What `preview` says, read some records at a time."""
    place.require(Privilege.READ | Privilege.DELETE)
    run = Run.objects.filter(memory_id=place.memory.id, pk=run_id).first()
    require_over(run, place)
    assert run is not None
    return (one for group in plans(place, run, change_ids) for one in group)


@transaction.atomic
def revert(place: Place, run_id: str, change_ids: Collection[str] | None = None) -> Run:
    """Take back a run, or some changes of it: created records are forgotten, the others written anew as they were.

    Again it changes nothing. Raises MemoryForbidden without delete, MemoryNotFound, MemoryInvalid for changes of
    another run, MemoryBusy while a run of this memory waits or runs.
    """
    place.require(Privilege.DELETE)
    run = Run.objects.select_for_update().filter(memory_id=place.memory.id, pk=run_id).first()
    require_over(run, place)
    assert run is not None
    provider = provider_of(place)
    provider.derive(place.caller.organisation_id)
    taken = Taken()
    for group in plans(place, run, change_ids):
        for step in group:
            take_back(place, provider, step, taken)
    if taken.news:
        run.reverted_at = timezone.now()
        run.save(update_fields=["reverted_at"])
    if taken.restored or taken.forgotten:
        counted = {name: len(getattr(taken, name)) for name in ("restored", "forgotten", "skipped")}
        events.record(
            place.caller.organisation_id,
            place.caller.actor,
            "consolidation.reverted",
            memory_id=place.memory.id,
            subject=run.id,
            **counted,
        )
        place.used(wrote=True)
    return run


def require_over(run: Run | None, place: Place) -> None:
    """Raise MemoryNotFound without a run, MemoryBusy while one of the memory waits or runs."""
    if run is None:
        raise MemoryNotFound()
    if Run.objects.filter(memory_id=place.memory.id).active().exists():
        raise MemoryBusy(BUSY)


def plans(place: Place, run: Run, change_ids: Collection[str] | None) -> Iterator[list[Step]]:
    """What to do, some records at a time."""
    undone = RunChange.objects.filter(run=run).exclude(outcome__in=[OUTCOME.RESTORED, OUTCOME.FORGOTTEN])
    chosen: set[str] | None = None
    if change_ids is not None:
        chosen = set(change_ids)
        known = dict(RunChange.objects.filter(run=run, pk__in=chosen).values_list("pk", "record_id"))
        if len(known) < len(chosen):
            raise MemoryInvalid("There is no such change in this run.", param="changes")
        undone = undone.filter(record_id__in=set(known.values()))
    provider = provider_of(place)
    # Newest first, so that nothing points at what is not there yet.
    records = iter(list(dict.fromkeys(undone.order_by("-position").values_list("record_id", flat=True))))
    while some := list(islice(records, TOGETHER)):
        rows: dict[str, list[RunChange]] = {one: [] for one in some}
        for change in undone.filter(record_id__in=some).order_by("position"):
            rows[change.record_id].append(change)
        histories = provider.histories(place.memory.id, some)
        steps = [plan(run, one, rows[one], chosen, histories.get(one, ())) for one in some]
        yield [step for step in steps if step]


def plan(
    run: Run, record_id: str, changes: Sequence[RunChange], chosen: set[str] | None, history: Sequence[RecordVersion]
) -> Step | None:
    """What to do about one record: back to before the first of the chosen changes, which have to be its last."""
    wanted = [one for one in changes if chosen is None or one.pk in chosen]
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


def take_back(place: Place, provider: Provider, step: Step, taken: Taken) -> None:
    """Do one step, and note what became of its changes."""
    memory = place.memory
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
                done = applied(place, provider, step)
        except Changed:
            done = False
    if done:
        (taken.forgotten if outcome == OUTCOME.FORGOTTEN else taken.restored).append(step.record_id)
        withdraw(memory.id, [step.record_id])
    else:
        taken.skipped.append(step.record_id)
        outcome = OUTCOME.SKIPPED
    ids = [one.pk for one in step.changes]
    moment = timezone.now()
    noted = RunChange.objects.filter(pk__in=ids).exclude(outcome=outcome).update(outcome=outcome, outcome_at=moment)
    taken.news = taken.news or noted > 0


def applied(place: Place, provider: Provider, step: Step) -> bool:
    """Forget the record, or write it anew; false when it is gone. Raises Changed."""
    memory_id = place.memory.id

    def unchanged(head: RecordVersion) -> None:
        if step.head is None or head.number != step.head.number:
            raise Changed

    if step.outcome == OUTCOME.FORGOTTEN:
        return provider.forget(memory_id, step.record_id, unchanged) is not None

    def as_before(head: RecordVersion) -> Draft:
        unchanged(head)
        assert step.to is not None
        registered = types.find(place.caller.organisation_id, step.to.draft.type)
        return replace(step.to.draft, projection=registered.text) if registered else step.to.draft

    closed = step.head is not None and step.head.status == "forgotten"
    write = provider.reopen if closed else provider.revise
    return write(memory_id, step.record_id, as_before, writer(place)) is not None


def withdraw(memory_id: str, record_ids: Iterable[str]) -> None:
    """Close the conflicts about records that are not there any more: there is nothing to decide."""
    found = Conflict.objects.filter(memory_id=memory_id, that__in=list(record_ids), state=Conflict.State.OPEN)
    found.update(state=Conflict.State.WITHDRAWN)


def outcome_of(run: Run, most: int) -> dict[str, list[str]]:
    """What became of the changes that somebody took back: the ids of the records, at most so many of each."""
    answer = {}
    for name in (OUTCOME.RESTORED, OUTCOME.FORGOTTEN, OUTCOME.SKIPPED):
        rows = RunChange.objects.filter(run=run, outcome=name).order_by("position").values_list("record_id", flat=True)
        answer[name.value] = list(dict.fromkeys(rows[:most]))
    return answer
