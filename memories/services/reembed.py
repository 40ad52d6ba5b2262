"""Vectors in the background: those of a new model, while the old one answers; and those that could not be made."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import connection
from django.db.models import Count

from members.ids import to_uuid
from memories import embedders
from memories.embedders.base import Embedder, EmbedderUnavailable
from memories.models import ActiveModel, Awaited, Embedding, Job, Version
from memories.providers import active, late
from uhp_site.alone import alone

from . import jobs

KIND = "reembed"
# How many versions one transaction makes vectors of.
BATCH = 128
# How long vectors are made before other work of the worker comes first, in seconds.
TURN_SECONDS = 5.0
# After a failure only the schedule tries again so soon, however many writers ask.
REST_SECONDS = 30.0
TOGETHER = 2_000

MISSING = """
SELECT v.id FROM memories_version v
WHERE v.organisation_id = %(organisation)s AND v.id > %(after)s AND NOT EXISTS (
    SELECT FROM memories_embedding e WHERE e.version_id = v.id AND e.model = %(model)s AND e.aspect = 'own')
ORDER BY v.id LIMIT %(limit)s
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class State:
    """How an organisation stands: the model it is asked by, the one that is wanted, and what is still to be done."""

    asked_by: str
    wanted: str
    vectors: dict[str, int]
    awaited: int
    job: Job | None


@dataclass
class _Failing:
    """Until when, by the clock of this process, nobody but the schedule asks for vectors again."""

    until: float = 0.0


_failing = _Failing()


def begin(organisation_id: str, model: str = "") -> Job:
    """Have the vectors of a model made, the configured one unless named, and then ask by it; the running job if any.

    Raises EmbedderUnavailable for a model that nothing here can make vectors of.
    """
    wanted = model or embedders.get().name
    embedders.by_model(wanted)
    same = Job.objects.of(organisation_id).filter(kind=KIND, payload={"model": wanted})
    running = same.unfinished().first()
    return running or jobs.enqueue(KIND, organisation_id, model=wanted)


def work(job: Job) -> None:
    """Make what is missing, oldest first, then switch. Stopped anywhere, it goes on where it was.

    While the embedder does not answer the job waits and says so.
    """
    try:
        _work(job)
    except EmbedderUnavailable as failure:
        log.warning("embedder_unavailable", why=str(failure), organisation_id=job.organisation_id)
        Job.objects.filter(pk=job.pk).update(error=str(failure))
        raise jobs.Later from None


def _work(job: Job) -> None:
    active.pin(job.organisation_id, embedders.get)
    embedder = embedders.by_model(job.payload["model"])
    if job.total is None:
        jobs.step(job, 0, Version.objects.filter(organisation_id=job.organisation_id).count())
    _pass(job, embedder)
    # What was written meanwhile has vectors of the model that was asked then.
    job.result.pop("after", None)
    before: list[int] = []
    while missing := _missing(job.organisation_id, embedder.name, 0):
        if missing == before:
            time.sleep(0.1)
        late.make(missing, embedder)
        before = missing
    active.switch(job.organisation_id, embedder.name)
    jobs.step(job, job.total or job.done)


def _pass(job: Job, embedder: Embedder) -> None:
    after = int(job.result.get("after", 0))
    while missing := _missing(job.organisation_id, embedder.name, after):
        late.make(missing, embedder)
        after = missing[-1]
        job.result["after"] = after
        done = Version.objects.filter(organisation_id=job.organisation_id, pk__lte=after).count()
        jobs.step(job, min(done, job.total or done))


def sweep() -> int:
    """Make vectors that are awaited, the schedule's way: also after failures, and whatever message was lost."""
    active.pin_all()
    return _for_a_turn()


def catch_up() -> int:
    """Make the vectors that writers await right now, unless that failed a moment ago; returns how many versions have
    theirs now.
    """
    return 0 if time.monotonic() < _failing.until else _for_a_turn()


def _for_a_turn() -> int:
    """Make what is awaited, a batch of each organisation in turn; returns how many versions have theirs now.

    After some seconds other messages come first, and what is left has its own. Two turns at once do not get in each
    other's way: the second does nothing, and the first looks once more after it.
    """
    made, until = 0, time.monotonic() + TURN_SECONDS
    while Awaited.objects.exists():
        with alone(late.SWEEPING) as mine:
            some = _round(until) if mine else 0
        made += some
        if not some or time.monotonic() >= until:
            break
    if made and Awaited.objects.exists():
        late.waker.wake()
    return made


def _round(until: float) -> int:
    made = 0
    waiting = list(Awaited.objects.order_by().values_list("organisation_id", flat=True).distinct())
    # Another one is first each time, so that the last is not always the one that is left.
    random.shuffle(waiting)
    while waiting:
        for organisation_id in list(waiting):
            try:
                taken = _take(organisation_id)
            except EmbedderUnavailable as failure:
                # The others may have another model, which can be had.
                log.warning("embedder_unavailable", why=str(failure), organisation_id=organisation_id)
                _failing.until = time.monotonic() + REST_SECONDS
                taken = 0
            made += taken
            if not taken:
                waiting.remove(organisation_id)
            if time.monotonic() >= until:
                return made
    return made


def _take(organisation_id: str) -> int:
    """One batch of what an organisation awaits, by every model that it needs. Raises EmbedderUnavailable."""
    keys = list(
        Awaited.objects.filter(organisation_id=organisation_id)
        .order_by("version_id")
        .values_list("version_id", flat=True)[:BATCH]
    )
    lacking: set[int] = set()
    active.pin(organisation_id, embedders.get)
    for embedder in _needed(organisation_id):
        late.make(sorted(_without(keys, embedder.name)), embedder)
        lacking |= _without(keys, embedder.name)
    lacking &= set(Version.objects.filter(pk__in=lacking).values_list("pk", flat=True))
    return Awaited.objects.filter(version_id__in=set(keys) - lacking).delete()[0]


def _without(keys: Sequence[int], model: str) -> set[int]:
    there = Embedding.objects.filter(version_id__in=keys, model=model, aspect=Embedding.Aspect.OWN)
    return set(keys) - set(there.values_list("version_id", flat=True))


def _needed(organisation_id: str) -> list[Embedder]:
    used = active.embedder(organisation_id, embedders.get)
    wanted = embedders.get()
    return [used] if used.name == wanted.name else [used, wanted]


def _missing(organisation_id: str, model: str, after: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            MISSING,
            {"organisation": to_uuid(organisation_id, "org_"), "model": model, "after": after, "limit": BATCH},
        )
        return [int(key) for (key,) in cursor.fetchall()]


def state(organisation_id: str) -> State:
    """How an organisation stands."""
    rows = Embedding.objects.filter(organisation_id=organisation_id, aspect=Embedding.Aspect.OWN)
    counted = dict(rows.order_by().values("model").annotate(total=Count("pk")).values_list("model", "total"))
    return State(
        asked_by=active.model(organisation_id, embedders.get),
        wanted=embedders.get().name,
        vectors=counted,
        awaited=Awaited.objects.filter(organisation_id=organisation_id).count(),
        job=Job.objects.of(organisation_id).filter(kind=KIND).order_by("-created_at").first(),
    )


def prune(organisation_id: str, progress: Callable[[int], Any] = lambda count: None) -> int:
    """Remove the vectors of models that an organisation is not asked by and that no job makes; return how many."""
    row = ActiveModel.objects.filter(pk=organisation_id).first()
    if row is None:
        # Then there was never a second one.
        return 0
    making = Job.objects.of(organisation_id).filter(kind=KIND).unfinished().values_list("payload", flat=True)
    kept = {row.model, *(payload.get("model", "") for payload in making)}
    old = Embedding.objects.filter(organisation_id=organisation_id).exclude(model__in=kept)
    total = 0
    while keys := list(old.values_list("pk", flat=True)[:TOGETHER]):
        removed = Embedding.objects.filter(pk__in=keys)._raw_delete(connection.alias)
        total += removed
        progress(removed)
    return total
