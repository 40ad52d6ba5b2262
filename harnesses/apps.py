from __future__ import annotations

from django.apps import AppConfig


class HarnessesConfig(AppConfig):
    """Agent configurations, and the agents that act under them."""

    name = "harnesses"
