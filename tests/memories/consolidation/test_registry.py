"""Which engine a memory has: the one without a model, unless somebody chose and the server has another."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from memories.consolidation.registry import available, default, engine_for
from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported


@pytest.fixture
def model(settings: Settings) -> None:
    settings.LLM_URL, settings.LLM_MODEL, settings.LLM_KEY = "https://models.example/v1", "large", "sk-canary"


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("chosen", [{}, {"engine": ""}, {"engine": "rules"}])
def test_a_memory_that_chose_nothing_sends_no_text_anywhere(chosen: dict[str, str]) -> None:
    assert engine_for(chosen).name == default().name == "rules"
    assert engine_for(chosen).declare()["sends_text_to"] == ""


@pytest.mark.usefixtures("model")
def test_a_memory_that_chose_the_model_says_where_its_text_goes() -> None:
    assert engine_for({"engine": "llm"}).declare()["sends_text_to"] == "https://models.example"
    assert available() == ("rules", "llm")


def test_a_model_that_is_not_set_up_cannot_be_chosen(settings: Settings) -> None:
    settings.LLM_URL, settings.LLM_MODEL = "https://models.example/v1", ""
    assert available() == ("rules",)
    with pytest.raises(MemoryUnsupported):
        engine_for({"engine": "llm"})


def test_an_engine_that_there_is_not_cannot_be_chosen() -> None:
    with pytest.raises(MemoryInvalid):
        engine_for({"engine": "magic"})
