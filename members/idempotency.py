"""Idempotency-Key: the first answer to a write is kept for a day, and given again instead of doing it twice.

The answer is committed in the transaction of the write, so that no crash can come between. Only successes are kept: a
refusal leaves the key free. Keys belong to one member, method and path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from uhp_site.http.errors import MemoryBusy, RecordNotFound, UHPError
from uhp_site.http.views import Asked, Outcome

from .callers import Caller
from .models import KeptAnswer

KEPT_FOR = timedelta(hours=24)
# How long a repeat waits for the request it repeats.
PATIENCE_SECONDS = 30
BATCH = 5_000
LOCK_NOT_AVAILABLE = "55P03"


def once(caller: Caller, asked: Asked, act: Callable[[], Outcome], gone: UHPError | None = None) -> Outcome:
    """What was answered the first time, or else what `act` answers now, kept with what it does.

    With `gone` nothing is done: it is raised when no answer is kept. Raises RecordNotFound when the answer showed a
    record that is erased, and MemoryBusy when the first request takes too long.
    """
    scope = scope_of(asked)
    with transaction.atomic():
        _queue(caller.member.id, scope)
        now = timezone.now()
        kept = KeptAnswer.objects.filter(member=caller.member, scope=scope).first()
        if kept is not None and kept.expires_at > now:
            return _again(kept)
        if gone is not None:
            raise gone
        outcome = act()
        if kept is not None:
            kept.delete()
        if 200 <= outcome.status < 300:
            _keep(caller, asked, scope, outcome, now)
        return outcome


def burn(organisation_id: str, ids: Collection[str]) -> int:
    """Empty the kept answers that show one of these records or files; their keys stay used. Returns how many."""
    showing = KeptAnswer.objects.filter(organisation_id=organisation_id, shows__overlap=list(ids))
    return showing.update(state=KeptAnswer.State.ERASED, key="", body="", request_digest=None, shows=[])


def kept(organisation_id: str, ids: Collection[str]) -> int:
    """How many kept answers show one of these records or files."""
    return KeptAnswer.objects.filter(organisation_id=organisation_id, shows__overlap=list(ids)).count()


def purge() -> int:
    """Remove the answers whose time is over; returns how many."""
    removed = 0
    while ids := list(KeptAnswer.objects.filter(expires_at__lte=timezone.now()).values_list("pk", flat=True)[:BATCH]):
        removed += KeptAnswer.objects.filter(pk__in=ids).delete()[0]
    return removed


def scope_of(asked: Asked) -> bytes:
    """What a key is unique within, for one member."""
    return hashlib.sha256("\0".join((asked.method, asked.path, asked.key)).encode()).digest()


def shown(value: Any) -> Iterator[str]:
    """The ids of all records and files anywhere inside an answer."""
    if isinstance(value, dict):
        if value.get("object") in {"memory.record", "file"} and isinstance(value.get("id"), str):
            yield value["id"]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from shown(inner)


def _queue(member_id: str, scope: bytes) -> None:
    # A lock that lasts as long as the transaction is both the mark that a request runs and the wait for it.
    number = int.from_bytes(hashlib.sha256(member_id.encode() + scope).digest()[:8], "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{PATIENCE_SECONDS}s"])
        try:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
        except OperationalError as failure:
            if getattr(failure.__cause__, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            raise MemoryBusy("The first request with this key still runs; try again shortly.") from None
        cursor.execute("SELECT set_config('lock_timeout', '0', true)")


def _keep(caller: Caller, asked: Asked, scope: bytes, outcome: Outcome, now: datetime) -> None:
    KeptAnswer.objects.create(
        organisation_id=caller.organisation_id,
        member=caller.member,
        scope=scope,
        method=asked.method,
        key=asked.key,
        request_digest=outcome.request_digest,
        state=KeptAnswer.State.BEGUN if outcome.begun else KeptAnswer.State.DONE,
        status=outcome.status,
        body=json.dumps(outcome.body, ensure_ascii=False),
        shows=sorted({*asked.record_ids, *shown(outcome.body)}),
        created_at=now,
        expires_at=now + KEPT_FOR,
    )


def _again(kept: KeptAnswer) -> Outcome:
    if kept.state == KeptAnswer.State.ERASED:
        raise RecordNotFound()
    return Outcome(kept.status, json.loads(kept.body), begun=kept.state == KeptAnswer.State.BEGUN, repeated=True)
