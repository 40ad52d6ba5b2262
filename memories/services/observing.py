"""The verb observe: what was said is kept at once, as it was said, each turn a record that is only ever appended to."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from memories.access import Privilege
from memories.content import Draft
from memories.models import Job
from memories.providers.base import RecordVersion
from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported

from . import gate, schedules
from .drafts import prepared
from .records import provider_of, standing, writer
from .sight import Place

KIND = "observe"
EPISODE = "episode"


@transaction.atomic
def observe(place: Place, episodes: Sequence[Draft]) -> list[RecordVersion]:
    """Keep episodes in the order given, all or none, written by the caller (Memories §4.9).

    Raises MemoryForbidden without write, and MemoryInvalid and MemoryUnsupported naming the episode.
    """
    place.require(Privilege.WRITE)
    provider = provider_of(place)
    if not provider.capabilities().get("observe"):
        raise MemoryUnsupported()
    kept = []
    with standing():
        for index, episode in enumerate(episodes):
            try:
                draft = prepared(place, episode)
            except (MemoryInvalid, MemoryUnsupported) as refusal:
                raise type(refusal)(refusal.message, param=f"episodes.{index}.{refusal.param or 'content'}") from None
            kept.append(gate.remember(place.memory, draft, writer(place)))
    schedules.heard(place.memory)
    place.used(wrote=True)
    return kept


@transaction.atomic
def observe_later(place: Place, episodes: Sequence[Draft]) -> Job:
    """Keep episodes and answer with a job that names them, for who does not want to wait for an answer with them.

    They are records before there is an answer: nothing that was said is anywhere else, nor lost.
    """
    kept = observe(place, episodes)
    now = timezone.now()
    return Job.objects.create(
        organisation_id=place.caller.organisation_id,
        kind=KIND,
        memory_id=place.memory.id,
        actor=place.caller.member.principal,
        state=Job.State.COMPLETED,
        result={"record_ids": [one.id for one in kept]},
        done=len(kept),
        total=len(kept),
        started_at=now,
        finished_at=now,
    )


def kept_by(place: Place, job: Job) -> list[RecordVersion]:
    """The records that an observation kept, as they are now, without erased ones. Raises MemoryForbidden."""
    place.require(Privilege.READ)
    ids = [str(one) for one in job.result.get("record_ids", ())] if job.kind == KIND else []
    if not ids:
        return []
    found = provider_of(place).histories(place.memory.id, ids)
    return [found[one][-1] for one in ids if one in found]
