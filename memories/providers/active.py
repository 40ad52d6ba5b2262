"""Which model's vectors an organisation is asked by and written with, and what happens while there is none to be had.

The settings name the model that is wanted; a row names the one that is used. They differ while the vectors of the new
model are made (`services.reembed`): until all are there, questions are compared with the old ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import structlog
from django.db import connection

from members.ids import to_uuid
from memories.embedders import by_model
from memories.embedders.base import Embedder, EmbedderUnavailable
from memories.models import ActiveModel, Memory, Version

from . import inside, late, vectors
from .vectors import Written

UNAVAILABLE = "query:embedder_unavailable"

# Without a row there are vectors of one model only; they are looked for memory by memory, so that what others have is
# not read.
USED = """
SELECT coalesce(
    (SELECT model FROM memories_activemodel WHERE organisation_id = %(organisation)s),
    (SELECT found.model FROM memories_memory m, LATERAL (
        SELECT e.model FROM memories_embedding e WHERE e.memory_id = m.id AND e.current LIMIT 1
     ) found WHERE m.organisation_id = %(organisation)s LIMIT 1))
"""
PIN_ALL = """
INSERT INTO memories_activemodel (organisation_id, model, since)
SELECT o.id, found.model, now() FROM members_organisation o, LATERAL (
    SELECT e.model FROM memories_memory m, LATERAL (
        SELECT model FROM memories_embedding WHERE memory_id = m.id AND current LIMIT 1
    ) e WHERE m.organisation_id = o.id LIMIT 1
) found
WHERE NOT EXISTS (SELECT FROM memories_activemodel a WHERE a.organisation_id = o.id)
ON CONFLICT DO NOTHING
"""

log = structlog.get_logger(__name__)


def model(organisation_id: str, configured: Callable[[], Embedder]) -> str:
    """The model that an organisation is asked by: as its row says, or else that of its vectors, or the configured."""
    with connection.cursor() as cursor:
        cursor.execute(USED, {"organisation": to_uuid(organisation_id, "org_")})
        found = cursor.fetchone()[0]
    return str(found) if found else configured().name


def pin(organisation_id: str, configured: Callable[[], Embedder]) -> None:
    """Write down the model that an organisation is asked by, before vectors of another are made beside it."""
    used = model(organisation_id, configured)
    ActiveModel.objects.bulk_create([ActiveModel(organisation_id=organisation_id, model=used)], ignore_conflicts=True)


def pin_all() -> None:
    """Write it down for every organisation that has vectors, so that nobody has to look for them at every question."""
    with connection.cursor() as cursor:
        cursor.execute(PIN_ALL)


def switch(organisation_id: str, to: str) -> None:
    """Ask an organisation by another model from now on."""
    ActiveModel.objects.update_or_create(organisation_id=organisation_id, defaults={"model": to})


def embedder(organisation_id: str, configured: Callable[[], Embedder]) -> Embedder:
    """The embedder that an organisation is asked by. Raises EmbedderUnavailable when it cannot be had any more."""
    wanted, used = configured(), model(organisation_id, configured)
    return wanted if wanted.name == used else by_model(used)


def embedder_for(memory_ids: Sequence[str], configured: Callable[[], Embedder]) -> Embedder:
    """The embedder for a question asked of these memories, all of one organisation. Raises EmbedderUnavailable."""
    if isinstance(memory_ids, inside.Branches):
        return embedder(memory_ids.organisation_id, configured)
    home = Memory.deleted_too.filter(pk__in=memory_ids[:1]).values_list("organisation_id", flat=True).first()
    return embedder(home, configured) if home else configured()


def soon(written: Sequence[Written], configured: Callable[[], Embedder]) -> None:
    """Have the vectors of versions made that were just stored, all of one organisation; nobody waits for them here.

    A worker makes them, or who asks before it does. In a block of `together` they are made at its end.
    """
    waiting = _together.get()
    if waiting is not None:
        waiting.add(written, configured)
    elif written:
        late.awaited(written[0].row.organisation_id, [one.row.pk for one in written])


def write(written: Sequence[Written], configured: Callable[[], Embedder]) -> None:
    """Make the vectors of versions that were just stored, all of one organisation; what cannot be made is awaited."""
    if not written:
        return
    organisation_id = written[0].row.organisation_id
    missing = configured().name != model(organisation_id, configured)
    try:
        vectors.write(written, embedder(organisation_id, configured))
    except EmbedderUnavailable as failure:
        log.warning("embedder_unavailable", why=str(failure), versions=len(written))
        missing = True
    if missing:
        late.awaited(organisation_id, [one.row.pk for one in written])


class Together:
    """Versions whose vectors are made at once, at the end of a block."""

    def __init__(self) -> None:
        self._written: list[Written] = []
        self._configured: Callable[[], Embedder] | None = None

    def add(self, written: Sequence[Written], configured: Callable[[], Embedder]) -> None:
        """Take some that were stored."""
        self._written += written
        self._configured = configured

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A block whose versions do not count when it raises: its savepoint takes them back."""
        kept = len(self._written)
        try:
            yield
        except BaseException:
            del self._written[kept:]
            raise

    def finish(self) -> None:
        """Make the vectors."""
        if self._written and self._configured:
            _refresh(self._written)
            write(self._written, self._configured)


def _refresh(written: Sequence[Written]) -> None:
    # What was closed again in the same block is not current any more.
    closed = Version.objects.filter(pk__in=[one.row.pk for one in written]).exclude(invalidated_at=None)
    ended = dict(closed.values_list("pk", "invalidated_at"))
    for one in written:
        one.row.invalidated_at = ended.get(one.row.pk, one.row.invalidated_at)


_together: ContextVar[Together | None] = ContextVar("together", default=None)


@contextmanager
def together() -> Iterator[Together]:
    """Make the vectors of everything written in the block in batches, at its end, in the same transaction.

    What is written is of one organisation, and nothing in the block asks by meaning for what it wrote.
    """
    waiting = Together()
    token = _together.set(waiting)
    try:
        yield waiting
    finally:
        _together.reset(token)
    waiting.finish()
