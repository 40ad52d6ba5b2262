"""Housekeeping in the background."""

from __future__ import annotations

from celery import shared_task

from . import delivering, idempotency, outbox


@shared_task(name="members.purge_answers")
def purge_answers() -> None:
    """Remove the kept answers whose time is over."""
    idempotency.purge()


@shared_task(name=outbox.SEND)
def send_webhooks() -> None:
    """Send what webhooks are to be told, first attempts and those that are due again."""
    delivering.send_due()


@shared_task(name="members.purge_deliveries")
def purge_deliveries() -> None:
    """Remove the log of deliveries that are old, and secrets that sign no more."""
    delivering.prune()
