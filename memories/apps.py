from __future__ import annotations

from django.apps import AppConfig


class MemoriesConfig(AppConfig):
    """What is remembered, and who may reach it."""

    name = "memories"
