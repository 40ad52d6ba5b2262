"""Which engine consolidates a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from memories.consolidation.base import Engine
from memories.consolidation.engine import RulesEngine
from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported

RULES, LLM = "rules", "llm"


def default() -> Engine:
    """The engine that every memory has: rules, no model, no network."""
    return RulesEngine()


def engine_for(memory_settings: Mapping[str, Any]) -> Engine:
    """The engine that a memory's settings name under `engine`; the default one when they name none.

    Raises MemoryInvalid for an engine that there is not, and MemoryUnsupported for one that this server has not set up.
    """
    name = memory_settings.get("engine") or RULES
    if name == RULES:
        return default()
    if name != LLM:
        raise MemoryInvalid(f"An engine is one of: {RULES}, {LLM}.", param="engine")
    url, model = getattr(settings, "LLM_URL", ""), getattr(settings, "LLM_MODEL", "")
    if not url or not model:
        raise MemoryUnsupported("No language model is set up on this server.", param="engine")
    from memories.consolidation.chat import LlmSettings
    from memories.consolidation.llm import LlmEngine

    return LlmEngine(LlmSettings(url=url, model=model, key=getattr(settings, "LLM_KEY", "")))


def available() -> tuple[str, ...]:
    """The names of the engines that this server can run."""
    set_up = getattr(settings, "LLM_URL", "") and getattr(settings, "LLM_MODEL", "")
    return (RULES, LLM) if set_up else (RULES,)
