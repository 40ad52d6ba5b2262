"""Verbs that hold while many callers change the same tree: one order of locks, retried inside, refused when in vain."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction

from uhp_site.http.errors import MemoryBusy

P = ParamSpec("P")
R = TypeVar("R")

TREE_LOCK = 0x7EE
# How long one change waits for those before it; then the caller is told to try again.
PATIENCE = "10s"
TRIES = 5
FIRST_PAUSE = 0.02
# A serialization failure, a deadlock, and a lock waited for too long.
PASSING = {"40001", "40P01", "55P03"}


def steady(verb: Callable[P, R]) -> Callable[P, R]:
    """Run a verb in one transaction, again when it met another change halfway. Raises MemoryBusy in the end.

    Inside somebody else's transaction there is nothing to run again: what that had done is lost with it.
    """

    @functools.wraps(verb)
    def tried(*args: P.args, **kwargs: P.kwargs) -> R:
        alone = not connection.in_atomic_block
        for attempt in range(TRIES if alone else 1):
            try:
                with transaction.atomic():
                    return verb(*args, **kwargs)
            except OperationalError as failure:
                state = getattr(failure.__cause__, "sqlstate", None)
                if state not in PASSING:
                    raise
                if state == "55P03":
                    break
                time.sleep(FIRST_PAUSE * 2**attempt * random.random() if alone else 0)  # noqa: S311 - only to part ways
        raise MemoryBusy()

    return tried


def lock_tree(organisation_id: str, *, shared: bool = False) -> None:
    """Queue behind other changes of shape in an organisation.

    Who changes what is above or below what, or what comes through, has the lock alone; whoever adds something to the
    tree as it stands (a memory, a grant, a name) shares it.
    """
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT set_config('lock_timeout', %s, true), {function}(%s, hashtext(%s))",
            [PATIENCE, TREE_LOCK, organisation_id],
        )
