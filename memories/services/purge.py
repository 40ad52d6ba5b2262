"""What comes after a deletion: the job that removes what deleted memories held, batch by batch, until nothing is left.

It may stop anywhere and begin again: what is gone is not looked for, and the memories' own rows go last.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet

from members import idempotency
from memories.models import Job, Memory, Record
from memories.models.files import release
from memories.providers import registry

from . import golden, jobs

MEMORIES = 200
RECORDS = 200


def purge(job: Job) -> None:
    """Remove everything that the memories of one deletion held. Progress counts records and memories."""
    doomed = Memory.deleted_too.of(job.organisation_id).filter(deletion=job.payload["deletion"])
    held = Record.objects.filter(memory__in=doomed)
    left = doomed.count() + held.count()
    jobs.step(job, job.done, job.done + left)
    while batch := dict(doomed.order_by("id").values_list("id", "provider")[:MEMORIES]):
        while erase_some(job, batch):
            pass
        remove(job, batch)


@transaction.atomic
def erase_some(job: Job, batch: dict[str, str]) -> bool:
    """Erase some records of these memories, with every version, vector and file; false when there were none left."""
    some = dict(_records(batch).values_list("id", "memory_id")[:RECORDS])
    for provider_id in {batch[memory_id] for memory_id in some.values()}:
        provider = registry.get(provider_id)
        provider.settle(job.organisation_id)
        removed = provider.erase([one for one, memory_id in some.items() if batch[memory_id] == provider_id])
        release(removed.file_ids)
    idempotency.burn(job.organisation_id, list(some))
    golden.erase(job.organisation_id, list(some))
    jobs.step(job, job.done + len(some))
    return bool(some)


@transaction.atomic
def remove(job: Job, batch: dict[str, str]) -> None:
    """Remove what else these memories held, and then the memories."""
    for provider_id in sorted(set(batch.values())):
        registry.get(provider_id).drop([one for one, kept_by in batch.items() if kept_by == provider_id])
    Memory.deleted_too.filter(pk__in=batch).delete()
    jobs.step(job, job.done + len(batch))


def _records(batch: dict[str, str]) -> QuerySet[Record]:
    return Record.objects.filter(memory_id__in=batch).order_by("id")
