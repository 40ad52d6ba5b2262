from __future__ import annotations

from django.apps import AppConfig


class MembersConfig(AppConfig):
    """Who is asking."""

    name = "members"

    def ready(self) -> None:
        """Register what extends other libraries."""
        from . import schema  # noqa: F401
