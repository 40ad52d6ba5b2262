from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """What is remembered, and who may reach it."""

    name = "memories"

    def ready(self) -> None:
        """Say how much waits for a review, which the frame of the pages shows."""
        from members import shell

        from .services import triage

        shell.WAITING["review"] = triage.waiting
