"""The language in which an organisation's words are indexed; changing it indexes them anew while recall goes on.

Until every version is indexed in the new language a question is asked in both.
"""

from __future__ import annotations

import time

from django.db import connection, transaction

from members import events
from members.events import Actor
from members.models import Organisation
from memories.models import Job, Version
from memories.providers import stored, words
from uhp_site.http.errors import MemoryBusy, MemoryInvalid

from . import jobs

KIND = "index_words"
# How many versions one transaction indexes.
BATCH = 200
# How long one attempt waits for transactions that began before the change, in seconds.
PATIENCE_SECONDS = 30.0


class Waiting(Exception):
    """A transaction from before the change is still going on."""


@transaction.atomic
def change(organisation_id: str, language: str, actor: Actor = events.SYSTEM) -> Job:
    """Index the words of an organisation in a language from now on, and what is there anew, in the background.

    The language it has already is fine: then everything is indexed anew. Raises MemoryInvalid for a language that the
    database has no text search configuration for, and MemoryBusy while words are being indexed.
    """
    if language not in words.configurations():
        raise MemoryInvalid(f"The database knows no language {language!r}.", param="language")
    organisation = Organisation.objects.select_for_update().get(pk=organisation_id)
    if Job.objects.of(organisation_id).filter(kind=KIND).unfinished().exists():
        raise MemoryBusy("The words of this organisation are being indexed; try again when that is done.")
    before = organisation.language
    if before != language:
        organisation.former_language, organisation.language = before, language
        organisation.save(update_fields=["language", "former_language"])
        events.record(organisation_id, actor, "organisation.language", before=before, after=language)
    return jobs.enqueue(KIND, organisation_id, actor=actor.principal, language=language)


def work(job: Job) -> None:
    """Index every version anew, oldest first. Stopped anywhere, it goes on where it was."""
    _wait_for_older(job)
    versions = Version.objects.filter(organisation_id=job.organisation_id).order_by("pk")
    if job.total is None:
        jobs.step(job, 0, versions.count())
    left: list[int] = list(job.result.get("left", []))
    after = int(job.result.get("after", 0))
    while batch := list(versions.filter(pk__gt=after).values_list("pk", flat=True)[:BATCH]):
        left += _index(batch, job.payload["language"])
        after = batch[-1]
        job.result |= {"after": after, "left": left}
        jobs.step(job, min(job.done + len(batch), job.total or 0))
    while left:
        still = _index(left[:BATCH], job.payload["language"])
        left = [*left[BATCH:], *still]
        if still:
            time.sleep(0.05)
    job.result.pop("left", None)
    Organisation.objects.filter(pk=job.organisation_id, language=job.payload["language"]).update(former_language="")
    jobs.step(job, job.total or 0)


@transaction.atomic
def _index(keys: list[int], language: str) -> list[int]:
    """Index these versions; those that somebody else is at are answered, and come later."""
    locked = Version.objects.filter(pk__in=keys).order_by("pk").select_for_update(no_key=True, skip_locked=True)
    rows = list(locked)
    for row, draft in zip(rows, stored.drafts(rows), strict=True):
        Version.objects.filter(pk=row.pk).update(words=words.vector(draft.text, language))
    there = set(Version.objects.filter(pk__in=keys).values_list("pk", flat=True))
    return sorted(there - {row.pk for row in rows})


def _wait_for_older(job: Job) -> None:
    # Whoever began to write before the change was there to be seen may still write in the old language, under a key
    # that this job has passed by then.
    with connection.cursor() as cursor:
        if "horizon" not in job.result:
            cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
            job.result["horizon"] = cursor.fetchone()[0]
            jobs.step(job, job.done)
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            cursor.execute(
                """
                SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8
                    OR pg_snapshot_xmin(pg_current_snapshot()) = pg_current_xact_id_if_assigned()
                """,
                [job.result["horizon"]],
            )
            if cursor.fetchone()[0]:
                return
            if time.monotonic() > until:
                raise Waiting
            time.sleep(0.1)
