"""Vectors in the background: those of a new model, while the old one answers; and those that could not be made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Count

from members.ids import to_uuid
from memories import embedders
from memories.embedders.base import Embedder, EmbedderUnavailable
from memories.models import ActiveModel, Awaited, Embedding, Job, Version
from memories.providers import active, vectors
from uhp_site.alone import alone

from . import jobs, stored

KIND = "reembed"
# How many versions one transaction makes vectors of.
BATCH = 128
# How long one round of the sweep works before it leaves the rest to the next, in seconds.
PATIENCE_SECONDS = 40.0
SWEEPING = 0x5EED
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
        _make(missing, embedder)
        before = missing
    active.switch(job.organisation_id, embedder.name)
    jobs.step(job, job.total or job.done)


def _pass(job: Job, embedder: Embedder) -> None:
    after = int(job.result.get("after", 0))
    while missing := _missing(job.organisation_id, embedder.name, after):
        _make(missing, embedder)
        after = missing[-1]
        job.result["after"] = after
        done = Version.objects.filter(organisation_id=job.organisation_id, pk__lte=after).count()
        jobs.step(job, min(done, job.total or done))


def sweep() -> int:
    """Make vectors that are awaited, a batch of each organisation in turn; returns how many versions have theirs now.

    Two rounds at once do not get in each other's way: the second does nothing.
    """
    with alone(SWEEPING) as mine:
        if not mine:
            return 0
        active.pin_all()
        return _round(time.monotonic() + PATIENCE_SECONDS)


def _round(until: float) -> int:
    made = 0
    waiting = list(Awaited.objects.order_by().values_list("organisation_id", flat=True).distinct())
    while waiting and time.monotonic() < until:
        for organisation_id in list(waiting):
            try:
                taken = _take(organisation_id)
            except EmbedderUnavailable as failure:
                # The others may have another model, which can be had.
                log.warning("embedder_unavailable", why=str(failure), organisation_id=organisation_id)
                taken = 0
            made += taken
            if not taken or time.monotonic() >= until:
                waiting.remove(organisation_id)
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
        _make(sorted(_without(keys, embedder.name)), embedder)
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


def _make(keys: Sequence[int], embedder: Embedder) -> None:
    """Make the vectors of these versions, and keep those of the ones that are still there."""
    rows = list(Version.objects.filter(pk__in=keys).order_by("pk"))
    written = [vectors.Written(row, draft) for row, draft in zip(rows, stored.drafts(rows), strict=True)]
    # Nothing is locked while an endpoint is waited for.
    made = vectors.made(written, embedder, apart=True)
    with transaction.atomic():
        named = {key for one in made for key in (one.version_id, one.preceding) if key}
        # What somebody else is at is passed over, so that nobody waits in a circle.
        versions = Version.objects.filter(pk__in=named).select_for_update(no_key=True, skip_locked=True)
        closed = dict(versions.values_list("pk", "invalidated_at"))
        Embedding.objects.filter(version_id__in=keys, model=embedder.name).delete()
        kept = [one for one in made if one.version_id in closed and (one.preceding or one.version_id) in closed]
        for one in kept:
            one.current = closed[one.version_id] is None
        Embedding.objects.bulk_create(kept)


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
