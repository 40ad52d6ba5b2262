"""The recall benchmark at its smallest, against a server: it measures everything it promises and leaves nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from benchmarks import locomo
from benchmarks.locomo_report import AT_PARENT, BARE, BM25, MODEL, OURS, RANKS, WORDS
from memories.models import Memory
from tests import factories


@pytest.mark.django_db(transaction=True)
def test_it_measures_every_way_to_ask_and_cleans_up(
    live_server: LiveServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    organisation = factories.organisation()
    owner, reader = factories.member(organisation, is_owner=True), factories.member(organisation)
    file = tmp_path / "figures.json"
    arguments = ["--url", live_server.url, "--key", factories.key(owner), "--reader-key", factories.key(reader)]
    assert locomo.main([*arguments, "--every", "3", "--json", str(file)]) == 0
    figures: dict[str, Any] = json.loads(file.read_text())
    for way in (OURS, WORDS, MODEL, RANKS, BM25, BARE, AT_PARENT):
        assert figures["quality"][way]["questions"] > 0, way
        assert 0 < figures["quality"][way]["recall@10"] <= 1, way
    assert {one["id"] for one in figures["goals"]} == {"R", *(f"Q{number}" for number in range(1, 12))}
    assert figures["errors"] == {}
    assert figures["planted"]["seen that may not be"] == 0
    assert figures["planted"]["outdated shown"] == 0
    assert figures["planted"]["found by the reader"] == 1
    printed = capsys.readouterr().out
    assert all(way in printed for way in (OURS, WORDS, MODEL, RANKS, BM25, BARE))
    assert not Memory.objects.exists()
