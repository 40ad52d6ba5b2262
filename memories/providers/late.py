"""Vectors that come after their version: a worker makes them a moment later, or the recall that comes before it.

Writing waits for no model. What lacks a vector is a row of `Awaited`, written with the version; whoever asks by meaning
has those made first that lie where it asks, so that what was just written is found.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import structlog
from django.db import OperationalError, connection, transaction

from members.ids import to_uuid
from memories.embedders.base import Embedder, EmbedderUnavailable
from memories.models import Awaited, Embedding, Version
from uhp_site.alone import is_taken
from uhp_site.waking import Waker

from . import inside, stored, vectors

MAKE = "memories.make_awaited_vectors"
# The right of the one worker that makes them.
SWEEPING = 0x5EED
NOTE = "query:vectors_awaited"
# How long a question waits for what was written just before it, in seconds, and how many are made at a time.
PATIENCE_SECONDS = 2.0
TOGETHER = 32
# Somebody else is making the rest.
PAUSE_SECONDS = 0.02
# So many of what an organisation awaits, the newest, are looked through for one question. Only while a model that
# could not be had for long is caught up with are there more.
LOOKED_THROUGH = 20_000

AWAITED = """
WITH newest AS MATERIALIZED (
    SELECT a.version_id FROM memories_awaited a WHERE a.organisation_id = {organisation}
    ORDER BY a.version_id DESC LIMIT %(looked_through)s
)
SELECT (SELECT count(*) FROM newest) < %(looked_through)s, ARRAY(
    SELECT v.id FROM newest JOIN memories_version v ON v.id = newest.version_id
    WHERE {within} AND v.type <> %(apart)s AND NOT EXISTS (
        SELECT FROM memories_embedding e WHERE e.version_id = v.id AND e.model = %(model)s AND e.aspect = 'own')
    ORDER BY v.id DESC LIMIT %(limit)s)
"""

log = structlog.get_logger(__name__)
waker = Waker(MAKE, pause=0.2, unless=lambda: is_taken(SWEEPING))


def awaited(organisation_id: str, versions: Collection[int]) -> None:
    """Have the vectors of these versions made once the current transaction is over."""
    Awaited.objects.bulk_create(
        [Awaited(version_id=key, organisation_id=organisation_id) for key in versions], ignore_conflicts=True
    )
    transaction.on_commit(waker.wake)


def catch_up(memory_ids: Sequence[str], embedder: Embedder, patience: float, apart: str = "") -> bool:
    """Make the vectors that are awaited in these memories, newest first; whether all of them are there now.

    Waits for no longer than `patience`, in seconds, and one batch. Records of the type `apart` are left out.
    """
    until, before = time.monotonic() + patience, list[int]()
    try:
        while True:
            all_seen, keys = _awaited_in(memory_ids, embedder.name, apart)
            if not keys or time.monotonic() > until:
                return all_seen and not keys
            if keys == before:
                time.sleep(PAUSE_SECONDS)
            make(keys, embedder)
            before = keys
    except (EmbedderUnavailable, OperationalError) as failure:
        log.warning("vectors_not_made", why=type(failure).__name__)
        return False


def _awaited_in(memory_ids: Sequence[str], model: str, apart: str) -> tuple[bool, list[int]]:
    """Whether all that the organisation awaits was looked through, and what of it lies here, newest first."""
    # There are few of them: it is asked of each whether it lies inside.
    within, parameters = inside.probed(memory_ids, "v.memory_id")
    if isinstance(memory_ids, inside.Branches):
        organisation = "%(organisation)s"
        parameters["organisation"] = to_uuid(memory_ids.organisation_id, "org_")
    elif memory_ids:
        organisation = "(SELECT organisation_id FROM memories_memory WHERE id = %(first)s)"
        parameters["first"] = to_uuid(memory_ids[0], "hmem_")
    else:
        return True, []
    with connection.cursor() as cursor:
        cursor.execute(
            AWAITED.format(organisation=organisation, within=within),
            {**parameters, "model": model, "apart": apart, "looked_through": LOOKED_THROUGH, "limit": TOGETHER},
        )
        all_seen, keys = cursor.fetchone()
    return all_seen, keys


def make(keys: Collection[int], embedder: Embedder) -> None:
    """Make the vectors of versions, and keep those of the ones that are there and that nobody else is at.

    Raises EmbedderUnavailable.
    """
    rows = list(Version.objects.filter(pk__in=keys).order_by("pk"))
    written = [vectors.Written(row, draft) for row, draft in zip(rows, stored.drafts(rows), strict=True)]
    # Nothing is locked while an endpoint is waited for.
    made = vectors.made(written, embedder, apart=True)
    with transaction.atomic():
        named = {key for one in made for key in (one.version_id, one.preceding) if key}
        # What somebody else is at is passed over, so that nobody waits in a circle.
        versions = Version.objects.filter(pk__in=named).select_for_update(no_key=True, skip_locked=True)
        closed = dict(versions.values_list("pk", "invalidated_at"))
        passed_over = {one.version_id for one in made if {one.version_id, one.preceding} - {None} - closed.keys()}
        kept = [one for one in made if one.version_id not in passed_over]
        for one in kept:
            one.current = closed[one.version_id] is None
        Embedding.objects.filter(version_id__in={one.version_id for one in kept}, model=embedder.name).delete()
        Embedding.objects.bulk_create(kept)
