from __future__ import annotations

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """What every request passes through, and the commands that run the server."""

    name = "uhp_site"

    def ready(self) -> None:
        """Make our Celery application the one that shared tasks belong to, in every process."""
        from uhp_site import celery  # noqa: F401
