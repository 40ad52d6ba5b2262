"""Vectors come later when the embedder is down, and a new model takes over once all of its vectors are there."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from members.models import Member
from memories import tasks
from memories.content import read_changes
from memories.embedders import openai, registry
from memories.embedders.hashing import HashingEmbedder
from memories.embedders.openai import OpenAIEmbedder
from memories.models import ActiveModel, Awaited, Embedding, Job, Memory, Version
from memories.providers import active
from memories.services import bulk, erasure, jobs, records, reembed
from memories.services.sight import look
from tests import factories
from tests.conftest import Api
from tests.memories.endpoint import Endpoint, endpoint

pytestmark = pytest.mark.django_db

OLD = HashingEmbedder.name
NEW = "openai:tiny:384"
DOWN = "query:embedder_unavailable"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(openai, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(openai, "REST", 0.0)
    instances: dict[str, Any] = {}
    monkeypatch.setattr(registry, "_instances", instances)
    yield
    for one in instances.values():
        if isinstance(one, OpenAIEmbedder):
            one.close()


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture
def wanted(settings: Any, served: Endpoint) -> Endpoint:
    """The settings name the endpoint; what was written before has vectors of the old model."""
    settings.EMBEDDER = "openai"
    settings.EMBEDDING_URL = served.url
    settings.EMBEDDING_MODEL = "tiny"
    settings.EMBEDDING_DIMENSIONS = 384
    return served


def down(served: Endpoint) -> None:
    served.always = lambda body: (503, {}, {})


def up(served: Endpoint) -> None:
    del served.always
    served.always = Endpoint().always


def recall(api: Api, who: Member, memory: Memory, query: str) -> Any:
    return api.ok("POST", f"/v1/memories/{memory.id}/recall", {"query": query}, who)


def models() -> list[str]:
    return sorted(Embedding.objects.filter(aspect="own").values_list("model", flat=True))


def run(job: Job) -> Job:
    jobs.run(job.id, tasks.KINDS)
    return Job.objects.get(pk=job.id)


def test_a_write_succeeds_while_the_embedder_is_down_and_words_still_find_it(
    api: Api, alice: Member, shared: Memory, wanted: Endpoint
) -> None:
    down(wanted)
    written = factories.record(alice, shared, "Quillon renews in March.")
    assert (models(), Awaited.objects.count()) == ([], 1)
    answer = recall(api, alice, shared, "When does Quillon renew?")
    assert [one["record"]["id"] for one in answer["results"]] == [written.id]
    assert answer["degraded"] == [DOWN]


def test_what_could_not_be_made_is_made_later(api: Api, alice: Member, shared: Memory, wanted: Endpoint) -> None:
    down(wanted)
    factories.record(alice, shared, "Quillon renews in March.")
    assert reembed.sweep() == 0
    assert Awaited.objects.count() == 1
    up(wanted)
    assert reembed.sweep() == 1
    assert (models(), Awaited.objects.count()) == ([NEW], 0)
    assert recall(api, alice, shared, "renewal")["degraded"] == []


def test_the_sweep_serves_organisations_in_turn(
    alice: Member, mallory: Member, shared: Memory, wanted: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = factories.memory(mallory)
    down(wanted)
    for number in range(5):
        factories.record(alice, shared, f"Number {number}.")
    factories.record(mallory, theirs, "Just one.")
    up(wanted)
    monkeypatch.setattr(reembed, "BATCH", 2)
    took: list[str] = []
    take = reembed._take

    def noted(organisation_id: str) -> int:
        took.append(organisation_id)
        return take(organisation_id)

    monkeypatch.setattr(reembed, "_take", noted)
    assert reembed.sweep() == 6
    assert set(took[:2]) == {alice.organisation_id, mallory.organisation_id}


def test_what_was_closed_or_erased_meanwhile_gets_the_vector_it_needs_or_none(
    alice: Member, shared: Memory, wanted: Endpoint
) -> None:
    place = look(factories.caller(alice), shared.id)
    down(wanted)
    revised = factories.record(alice, shared, "Quillon renews in March.")
    erased = factories.record(alice, shared, "To be erased.")
    records.revise(place, revised.id, read_changes({"content": "Quillon renews in April."}))
    erasure.finish(place, erasure.begin(place, [erased.id]).id)
    up(wanted)
    reembed.sweep()
    assert Awaited.objects.count() == 0
    stored = Embedding.objects.order_by("version_id").values_list("version__record_id", "version__number", "current")
    assert list(stored) == [(revised.id, 1, False), (revised.id, 2, True)]


def test_a_new_model_takes_over_once_all_its_vectors_are_there(
    api: Api, alice: Member, shared: Memory, settings: Any, request: pytest.FixtureRequest
) -> None:
    for number in range(5):
        factories.record(alice, shared, f"Pallet {number} is in bay {number * 3}.")
    reembed.sweep()
    served: Endpoint = request.getfixturevalue("wanted")
    assert recall(api, alice, shared, "pallet")["degraded"] == []
    assert served.requests == []

    job = reembed.begin(alice.organisation_id)
    assert reembed.begin(alice.organisation_id) == job
    down(served)
    job = run(job)
    assert (job.state, job.error) == ("queued", "The embedding endpoint answers 503.")
    assert recall(api, alice, shared, "pallet")["degraded"] == []
    assert ActiveModel.objects.get().model == OLD

    up(served)
    job = run(job)
    assert (job.state, job.done, job.total, job.error) == ("completed", 5, 5, "")
    assert ActiveModel.objects.get().model == NEW
    assert models() == [OLD] * 5 + [NEW] * 5
    asked = len(served.requests)
    assert recall(api, alice, shared, "pallet")["degraded"] == []
    assert len(served.requests) == asked + 1

    assert reembed.prune(alice.organisation_id) == 5
    assert models() == [NEW] * 5


def test_a_job_that_was_stopped_goes_on_where_it_was(
    alice: Member, shared: Memory, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        factories.record(alice, shared, f"Pallet {number}.")
    served: Endpoint = request.getfixturevalue("wanted")
    monkeypatch.setattr(reembed, "BATCH", 2)
    job = reembed.begin(alice.organisation_id)
    answer = served.always
    served.script = [answer, *([(500, {}, {})] * openai.ATTEMPTS)]
    job = run(job)
    assert (job.state, job.done) == ("queued", 2)
    sent = len(served.requests)
    assert run(job).state == "completed"
    assert [len(one["input"]) for one in served.requests[sent:]] == [2, 2]


def test_what_is_written_while_the_model_changes_has_vectors_of_both(
    api: Api, alice: Member, shared: Memory, request: pytest.FixtureRequest
) -> None:
    factories.record(alice, shared, "Written before.")
    reembed.sweep()
    request.getfixturevalue("wanted")
    factories.record(alice, shared, "Written meanwhile.")
    reembed.sweep()
    assert (models(), Awaited.objects.count()) == ([OLD, OLD, NEW], 0)
    run(reembed.begin(alice.organisation_id))
    factories.record(alice, shared, "Written after.")
    reembed.sweep()
    assert models() == [OLD, OLD, NEW, NEW, NEW]


def test_a_vector_made_again_is_the_one_made_at_first(alice: Member, shared: Memory) -> None:
    for number, said in enumerate(["Shall we meet?", "Yes, at the harbour.", "At nine then."]):
        fields = {"type": "episode", "attributes": {"session_id": "s1", "speaker": "Ada", "position": number}}
        factories.record(alice, shared, said, **fields)
    factories.record(alice, shared, "Quillon renews in March.", title="Renewal", attributes={"city": "Samarkand"})
    reembed.sweep()
    first = {(one.version_id, one.aspect): (one.preceding, str(one.vector)) for one in Embedding.objects.all()}
    Embedding.objects.all().delete()
    run(reembed.begin(alice.organisation_id))
    again = {(one.version_id, one.aspect): (one.preceding, str(one.vector)) for one in Embedding.objects.all()}
    assert again == first
    assert len(again) == 6


def test_the_old_model_that_cannot_be_had_any_more_is_admitted(
    api: Api, alice: Member, shared: Memory, settings: Any
) -> None:
    factories.record(alice, shared, "Quillon renews in March.")
    active.switch(alice.organisation_id, "openai:gone:77")
    settings.EMBEDDING_URL = ""
    answer = recall(api, alice, shared, "Quillon")
    assert (len(answer["results"]), answer["degraded"]) == (1, [DOWN])


def test_the_sweep_writes_down_which_model_is_asked(alice: Member, mallory: Member, shared: Memory) -> None:
    factories.record(alice, shared, "Quillon renews in March.")
    assert not ActiveModel.objects.exists()
    for _ in range(2):
        reembed.sweep()
        assert list(ActiveModel.objects.values_list("organisation_id", "model")) == [(alice.organisation_id, OLD)]


def test_the_command_begins_says_how_far_and_prunes(
    alice: Member, shared: Memory, request: pytest.FixtureRequest
) -> None:
    factories.record(alice, shared, "Quillon renews in March.")
    reembed.sweep()
    request.getfixturevalue("wanted")
    slug = alice.organisation.slug

    def said(*arguments: str) -> str:
        out = io.StringIO()
        call_command("reembed", "--organisation", slug, *arguments, stdout=out)
        return out.getvalue()

    assert f"asked by {OLD}; vectors: {OLD} (1); awaited: 0" in said("--status")
    assert not Job.objects.filter(kind=reembed.KIND).exists()
    assert f"{NEW}: queued, not begun" in said()
    run(Job.objects.get(kind=reembed.KIND))
    assert f"asked by {NEW}" in said("--status")
    assert f"{NEW}: completed, 1 of 1" in said("--status")
    assert "removed 1 vectors" in said("--prune")
    with pytest.raises(CommandError, match="no-such-model"):
        said("--model", "no-such-model")


def test_a_refused_line_of_an_import_leaves_no_vector_and_the_others_are_made_together(
    alice: Member, shared: Memory, wanted: Endpoint, tmp_path: Path
) -> None:
    lines = [f'{{"content": "Pallet {number}."}}' for number in range(60)]
    twice = [{"record_id": "x", "rel": "subject"}, {"record_id": "y", "rel": "subject"}]
    lines[7] = json.dumps({"content": "Points nowhere.", "references": twice})
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(lines))
    refused: list[int] = []
    state = bulk.remember_lines(
        look(factories.caller(alice), shared.id), file, lambda number, why: refused.append(number), lambda count: None
    )
    assert (state.written, refused) == (59, [8])
    assert [len(one["input"]) for one in wanted.requests] == [49, 10]
    assert Version.objects.count() == Embedding.objects.filter(current=True).count() == 59


def test_an_attempt_that_fails_after_it_wrote_takes_its_vector_back(alice: Member, shared: Memory) -> None:
    def fail() -> None:
        factories.record(alice, shared, "Taken back.")
        raise RuntimeError

    with active.together() as together:
        factories.record(alice, shared, "Kept.")
        with pytest.raises(RuntimeError), together.attempt(), transaction.atomic():
            fail()
        assert Embedding.objects.count() == 0
    assert [one.version.content[0]["text"] for one in Embedding.objects.all()] == ["Kept."]
