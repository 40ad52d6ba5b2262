"""The bases an agent can be configured for, as the settings declare them: the first one is named first everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings


@dataclass(frozen=True)
class Base:
    """A kind of harness. `models` are the ids it runs, its default first; empty when it is asked for none."""

    name: str
    label: str
    models: tuple[str, ...]

    @property
    def default(self) -> str:
        """The model it runs when none is named."""
        return self.models[0] if self.models else ""

    def catalogue(self) -> list[dict[str, Any]]:
        """Its models (Harnesses §3.9); none is available while this server runs no tasks."""
        return [
            {"id": model, "label": model, "backend": self.name, "default": model == self.default, "available": False}
            for model in self.models
        ]


def declared() -> dict[str, Base]:
    """The bases by name."""
    return {
        str(one["name"]): Base(str(one["name"]), str(one.get("label") or one["name"]), tuple(one.get("models", ())))
        for one in settings.HARNESS_BASES
    }
