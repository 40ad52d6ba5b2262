from __future__ import annotations

import pytest

from memories.services import schedules
from tests.memories.plain_engine import PlainEngine, checked


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> PlainEngine:
    """Memories are consolidated by the plain engine."""
    engine = PlainEngine()
    monkeypatch.setattr(schedules, "engine_for", lambda settings: checked(engine))
    return engine
