"""What happens inside a run: batch by batch, each one transaction with what it wrote, how far it read, and its cost.

Killed anywhere, nothing of a batch has happened, or all of it. Whoever goes on does so after the last batch that has:
no episode is read twice, and none is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils import timezone

from memories.consolidation.base import Batch, Engine, EngineFailed, Kept, Kind, Proposal, Reason
from memories.models import Job, Run
from memories.providers import registry
from memories.providers.base import Provider, View
from uhp_site.http.errors import MemoryBusy, UHPError

from . import fairness, jobs, reverting, run_asking, schedules, telling
from .knowing import Known, Position, kept
from .writing import PROVIDER, Writing

EPISODE = "episode"
EPISODES = View(types=(EPISODE,))
# How many episodes are read together, and how many of those before them an engine is shown.
TOGETHER = 32
BEFORE = 4
# How long a run works before it makes room for another organisation that waits.
TURN_SECONDS = 10.0


@dataclass
class Working:
    """What a process that works on a run holds while it does."""

    run: Run
    provider: Provider
    engine: Engine
    known: Known

    @property
    def position(self) -> Position | None:
        """The last episode that was read; None before the first."""
        return position_of(self.run)


def work(job: Job) -> None:
    """Do a run, or the rest of one. Raises jobs.Later to make room for others, and what the engine raises."""
    run = take_up(job)
    if run is None:
        return
    provider = registry.get(run.memory.provider)
    working = Working(run, provider, schedules.engine_of(run.memory), Known(provider, run.memory_id))
    began = time.monotonic()
    try:
        while batch(working):
            if job.attempts > 1:
                # What comes forward has not failed, however often its worker was lost.
                job.attempts = 1
                job.save(update_fields=["attempts"])
            jobs.step(job, done=working.run.episodes)
            if time.monotonic() - began > TURN_SECONDS and fairness.waits(but=job.organisation_id):
                raise jobs.Later
    except jobs.Later:
        raise
    except Exception as failure:
        if isinstance(failure, EngineFailed):
            spend(working.run, failure.input_tokens, failure.output_tokens)
        if job.attempts >= jobs.MOST_ATTEMPTS:
            end(working.run, Run.State.FAILED, error=sentence(failure))
        raise


@transaction.atomic
def take_up(job: Job) -> Run | None:
    """The run of a job, now running; None when it is over. One that failed goes on when its job is tried again."""
    run = Run.objects.select_for_update(of=("self",)).select_related("memory").filter(pk=job.payload["run"]).first()
    if run is None or run.state in (Run.State.COMPLETED, Run.State.STOPPED):
        return None
    if run.state == Run.State.FAILED and reverting.undoing(run.memory):
        raise MemoryBusy(reverting.UNDOING)
    run.engine = schedules.engine_of(run.memory).name
    run.state, run.error, run.finished_at = Run.State.RUNNING, "", None
    run.started_at = run.started_at or timezone.now()
    run.horizon = run.horizon or registry.get(run.memory.provider).horizon(run.memory_id)
    try:
        with transaction.atomic():
            run.save(update_fields=["engine", "state", "error", "finished_at", "started_at", "horizon"])
    except IntegrityError:
        raise MemoryBusy("Another consolidation of this memory was started meanwhile.") from None
    return run


def batch(working: Working) -> bool:
    """Read some episodes and write what the engine proposes; false when the run is over."""
    run = working.run
    if Run.objects.filter(pk=run.pk, stop_asked=True).exists():
        end(run, Run.State.STOPPED)
        return False
    episodes = read(working)
    if not episodes:
        retire(working)
        end(run, Run.State.COMPLETED)
        return False
    tokens = left(run, Run.Unit.TOKENS)
    allowed = left(run, Run.Unit.EPISODES)
    episodes = episodes[:allowed]
    if not episodes or tokens == 0:
        end(run, Run.State.STOPPED, exhausted=True)
        return False
    position = working.position
    before = (
        [kept(one) for one in working.provider.earlier(run.memory_id, EPISODES, BEFORE, position.key)]
        if position
        else []
    )
    made = working.engine.propose(episodes, before, working.known, tokens)
    count = len(episodes) if made.read is None else made.read
    if count == 0:
        spend(run, made.input_tokens, made.output_tokens)
        end(run, Run.State.STOPPED, exhausted=True)
        return False
    return keep(working, position, made, episodes[:count], [*before, *episodes[:count]])


def read(working: Working) -> Sequence[Kept]:
    """The next episodes up to the horizon, without what they quote from a memory."""
    run, position = working.run, working.position
    page = working.provider.page(run.memory_id, EPISODES, TOGETHER, position.key if position else None)
    assert run.horizon is not None
    return [kept(one) for one in page.versions if one.written_at <= run.horizon]


def retire(working: Working) -> None:
    """At the end: close what an engine wrote and what is over, whether or not somebody said something new."""
    while ended := retirable(working.known):
        before = working.run.forgotten
        proposals = tuple(Proposal(Kind.FORGET, Reason.EXPIRED, (), record_id=one.id) for one in ended)
        if not keep(working, working.position, Batch(proposals), (), ()) or working.run.forgotten == before:
            return


def retirable(known: Known) -> Sequence[Kept]:
    """Some of the records that are over and that a run may close: what a member wrote or made standing is theirs."""
    return [
        one
        for one in known.expired(timezone.now(), TOGETHER)
        if one.writer.kind == PROVIDER and (one.draft.attributes or {}).get("standing") is not True
    ]


@transaction.atomic
def keep(
    working: Working, position: Position | None, made: Batch, episodes: Sequence[Kept], given: Sequence[Kept]
) -> bool:
    """Write a batch with how far it read; false, and nothing is written, when the run was ended meanwhile.

    Raises jobs.Later when it went on without this process.
    """
    run = Run.objects.select_for_update(of=("self",)).select_related("memory").get(pk=working.run.pk)
    if run.state != Run.State.RUNNING:
        return False
    if position_of(run) != position:
        raise jobs.Later
    writing = Writing(run, run.memory, working.provider, {one.id: one for one in given})
    writing.write(made.proposals)
    counts = writing.counts
    run.changes += len(writing.changes)
    run.created += counts.created
    run.superseded += counts.superseded
    run.forgotten += counts.forgotten
    run.supported += counts.supported
    run.conflicts += counts.conflicts
    run.episodes += len(episodes)
    run.input_tokens += made.input_tokens
    run.output_tokens += made.output_tokens
    if episodes:
        run.through_at, run.through_id = episodes[-1].written_at, episodes[-1].id
    run.save()
    working.run = run
    return True


@transaction.atomic
def end(run: Run, state: Run.State, *, error: str = "", exhausted: bool = False) -> None:
    """End a run, once, and say when to look at its memory again."""
    locked = Run.objects.select_for_update(of=("self",)).select_related("memory").get(pk=run.pk)
    if not locked.is_active:
        return
    locked.state, locked.error, locked.exhausted, locked.finished_at = state, error, exhausted, timezone.now()
    locked.save(update_fields=["state", "error", "exhausted", "finished_at"])
    run_asking.consider(locked)
    telling.finished(locked)
    position = position_of(locked)
    provider = registry.get(locked.memory.provider)
    awaiting = provider.awaiting(locked.memory_id, (EPISODE,), position.key if position else None)
    # What a person stopped, or cannot be done, does not begin again by itself until something new is said.
    schedules.settle(locked.memory, unread=awaiting.count > 0 and state == Run.State.COMPLETED)


@transaction.atomic
def spend(run: Run, input_tokens: int, output_tokens: int) -> None:
    """Count what a batch cost that came to nothing."""
    locked = Run.objects.select_for_update().get(pk=run.pk)
    locked.input_tokens += input_tokens
    locked.output_tokens += output_tokens
    locked.save(update_fields=["input_tokens", "output_tokens"])


def left(run: Run, unit: Run.Unit) -> int | None:
    """How much of a budget is left; None when it is not counted in this unit."""
    if run.budget_limit is None or run.budget_unit != unit:
        return None
    used = run.tokens if unit == Run.Unit.TOKENS else run.episodes
    return max(0, run.budget_limit - used)


def position_of(run: Run) -> Position | None:
    """The last episode that a run, or one before it, has read."""
    return Position(run.through_at, run.through_id) if run.through_at else None


def sentence(failure: Exception) -> str:
    """What went wrong, without anything that a record says."""
    if isinstance(failure, UHPError):
        return failure.message[:300]
    if isinstance(failure, EngineFailed):
        return str(failure)[:300]
    return f"It failed ({type(failure).__name__})."
