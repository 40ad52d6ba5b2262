"""Vectors from an OpenAI-compatible endpoint: `POST {url}/embeddings`, with a bounded wait and no trace of the key."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from memories.embedders.base import MAX_CHARACTERS, EmbedderUnavailable

# How many texts one request carries, and how many requests this process has open at once.
BATCH = 64
CONNECTIONS = 4
# Seconds: for one answer, for a question with all its attempts, and the more of them for each text of a batch.
ANSWER, QUESTION, EACH = 10.0, 4.0, 0.4
ATTEMPTS = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 4.0
# After a failure nobody waits for it again so soon.
REST = 10.0
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
# What an endpoint says of a text that it does not take: too long for its model, or against its rules.
REFUSED = frozenset({400, 413, 422})
# A text that is refused is asked again in half, down to so many characters, and then left to NOTHING.
SHORTEST = 100
NOTHING = "."
# A number of a vector takes at most so many bytes of an answer, and everything around the vectors so many.
NUMBER, AROUND = 40, 65_536
LONGEST_NAME = 80

# It would write down every address it calls.
logging.getLogger("httpx").setLevel(logging.WARNING)


class _Refused(EmbedderUnavailable):
    """It answers, and does not take what it was given."""


class OpenAIEmbedder:
    """A model behind an endpoint. What it is asked for leaves the server; what it answers is checked.

    Raises EmbedderUnavailable where a vector cannot be had in time; for some seconds after, at once. A text that the
    endpoint refuses keeps no other from its vector: of it as much is embedded as is taken.
    """

    def __init__(self, url: str, key: str, model: str, dimensions: int) -> None:
        self.name = name_of(model, dimensions)
        self.dimensions = dimensions
        self._model = model
        self._says_dimensions = True
        self._rests_until = 0.0
        self._lock = Lock()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._address = f"{url.rstrip('/')}/embeddings"
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(ANSWER, connect=min(ANSWER, 3.0)),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row per text, in order. Raises EmbedderUnavailable."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            batch = [_sendable(text) for text in texts[start : start + BATCH]]
            try:
                vectors[start : start + len(batch)] = self._ask(batch)
            except _Refused:
                # One that takes nothing at all is not set up for this.
                nothing = self._taken([NOTHING])[0]
                vectors[start : start + len(batch)] = self._piecemeal(batch, nothing)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of one text. Raises EmbedderUnavailable."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _piecemeal(self, texts: Sequence[str], nothing: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vectors of texts of which some are refused: those by as much of them as is taken, or by nothing."""
        try:
            return self._ask(texts)
        except _Refused:
            if len(texts) > 1:
                middle = len(texts) // 2
                parts = (texts[:middle], texts[middle:])
                return np.concatenate([self._piecemeal(part, nothing) for part in parts])
            half = texts[0][: len(texts[0]) // 2].strip()
            return self._piecemeal([half], nothing) if len(half) >= SHORTEST else nothing[None]

    def _taken(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `_ask`, for what an endpoint must take."""
        try:
            return self._ask(texts)
        except _Refused:
            self._rest()
            raise

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if time.monotonic() < self._rests_until:
            raise EmbedderUnavailable("The embedding endpoint did not answer a moment ago.")
        until = time.monotonic() + QUESTION + EACH * (len(texts) - 1)
        try:
            return self._read(self._answer(texts, until), len(texts))
        except _Refused:
            raise
        except EmbedderUnavailable:
            self._rest()
            raise

    def _rest(self) -> None:
        with self._lock:
            self._rests_until = time.monotonic() + REST

    def _answer(self, texts: Sequence[str], until: float) -> Any:
        why = "does not answer"
        for pause in _pauses():
            left = until - time.monotonic()
            if left <= 0:
                break
            status, body, after = self._post(texts, min(left, ANSWER), says_dimensions=self._says_dimensions)
            if status == 200:
                return body
            if status in REFUSED and self._says_dimensions:
                # Some endpoints do not know the field; the length of what comes back is checked in any case.
                status, body, after = self._post(texts, min(left, ANSWER), says_dimensions=False)
                if status == 200:
                    self._says_dimensions = False
                    return body
            if status in REFUSED:
                raise _Refused(f"The embedding endpoint answers {status}.")
            why = f"answers {status}" if status else "does not answer"
            if status and status not in RETRIED:
                break
            wait = min(max(pause, after), LONGEST_PAUSE)
            if time.monotonic() + wait >= until:
                break
            time.sleep(wait)
        raise EmbedderUnavailable(f"The embedding endpoint {why}.")

    def _post(self, texts: Sequence[str], timeout: float, *, says_dimensions: bool) -> tuple[int, Any, float]:
        """Status, body and how long to wait; status 0 when nothing usable came back. Never says what was sent."""
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if says_dimensions:
            body["dimensions"] = self.dimensions
        most = len(texts) * self.dimensions * NUMBER + AROUND
        until = time.monotonic() + timeout
        try:
            with self._client.stream("POST", self._address, json=body, timeout=timeout) as response:
                if response.status_code != 200:
                    return response.status_code, None, _seconds(response.headers.get("retry-after", ""))
                content = bytearray()
                for piece in response.iter_bytes():
                    content += piece
                    if len(content) > most or time.monotonic() > until:
                        return 0, None, 0.0
                return 200, json.loads(content), 0.0
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
            return 0, None, 0.0

    def _read(self, answer: Any, count: int) -> NDArray[np.float32]:
        rows = answer.get("data") if isinstance(answer, Mapping) else None
        if not isinstance(rows, list) or len(rows) != count:
            raise EmbedderUnavailable("The embedding endpoint answers something else than vectors.")
        try:
            ordered = sorted(rows, key=lambda row: int(row.get("index", 0)))
            vectors = np.asarray([row["embedding"] for row in ordered], dtype=np.float32)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise EmbedderUnavailable("The embedding endpoint answers something else than vectors.") from None
        if vectors.shape != (count, self.dimensions):
            raise EmbedderUnavailable(
                f"The embedding endpoint's vectors have not the {self.dimensions} numbers that are set."
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or not (lengths > 1e-9).all():
            raise EmbedderUnavailable("The embedding endpoint answers vectors without a direction.")
        unit: NDArray[np.float32] = vectors / lengths
        return unit


def name_of(model: str, dimensions: int) -> str:
    """What is stored with each vector of a model behind an endpoint; `model_of` reads it."""
    name = f"openai:{model}:{dimensions}"
    if len(name) <= LONGEST_NAME:
        return name
    digest = blake2b(model.encode(), digest_size=8).hexdigest()
    return f"openai:#{digest}:{dimensions}"


def model_of(name: str) -> tuple[str, int] | None:
    """Model and dimensions of a name that `name_of` made; None when it is another's, or the model was too long."""
    kind, _, rest = name.partition(":")
    model, _, dimensions = rest.rpartition(":")
    if kind != "openai" or not model or model.startswith("#") or not dimensions.isdecimal():
        return None
    return model, int(dimensions)


def _sendable(text: str) -> str:
    # No endpoint takes an empty text, and a lone surrogate has no UTF-8.
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8").replace("\0", " ").strip() or "."


def _pauses() -> Iterator[float]:
    for attempt in range(ATTEMPTS):
        yield FIRST_PAUSE * 2**attempt * random.uniform(0.75, 1.25)  # noqa: S311 - it only spreads the attempts


def _seconds(value: str) -> float:
    return float(value) if value.isdecimal() else 0.0
