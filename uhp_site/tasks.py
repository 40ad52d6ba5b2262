"""The one task of the runtime itself: proof that schedule, broker and worker work together."""

from __future__ import annotations

from celery import shared_task

from uhp_site.models import Heartbeat


@shared_task(name="uhp_site.heartbeat")
def heartbeat() -> None:
    """Stamp the row that /readyz looks at."""
    Heartbeat.stamp()
