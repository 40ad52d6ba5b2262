"""Housekeeping in the background."""

from __future__ import annotations

from celery import shared_task

from . import idempotency


@shared_task(name="members.purge_answers")
def purge_answers() -> None:
    """Remove the kept answers whose time is over."""
    idempotency.purge()
