"""Asks a chat endpoint that speaks the OpenAI protocol for an answer of a given shape, and counts what that costs.

Nothing here is logged, and no error says anything of what was sent, what came back, or the key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from memories.consolidation.base import EngineFailed

AGAIN = frozenset({408, 409, 425, 429})
LONGEST_PAUSE = 30.0
LONGEST_ANSWER = 2_000_000
"""Bytes of an answer that are read; more is no answer of a chat endpoint."""


@dataclass(frozen=True)
class LlmSettings:
    """Where the endpoint is and how it is used: `url` up to `/v1`, `pause` the seconds before the second attempt."""

    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout: float = 60.0
    attempts: int = 4
    pause: float = 1.0
    most_output: int = 4_000

    @property
    def address(self) -> str:
        """The full address of the endpoint."""
        base = self.url.rstrip("/")
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    @property
    def host(self) -> str:
        """Where text is sent, without anything secret."""
        address = httpx.URL(self.url)
        return f"{address.scheme}://{address.netloc.decode('ascii', 'replace')}"


@dataclass
class Meter:
    """The tokens that were used, and the most that may be; None is any number."""

    budget: int | None = None
    input: int = 0
    output: int = 0

    @property
    def left(self) -> int | None:
        """How many more may be used."""
        return None if self.budget is None else max(0, self.budget - self.input - self.output)

    def room(self, prompt: int, most: int) -> int:
        """How long an answer to a prompt of so many tokens may be."""
        return most if self.left is None else min(most, self.left - prompt)

    def failed(self, message: str) -> EngineFailed:
        """The failure with what it cost."""
        return EngineFailed(message, self.input, self.output)


SHORTEST_ANSWER = 200
"""Tokens below which an answer is not worth asking for."""


class _Unfit(Exception):
    """What was sent is not understood; something simpler may be."""


class Chat:
    """One endpoint. `wait` is how it sleeps between attempts."""

    def __init__(self, settings: LlmSettings, wait: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self._wait = wait

    def ask(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], meter: Meter) -> Any:
        """The answer, as JSON that fits the schema. Raises EngineFailed after the last attempt, or when it is hopeless.

        An attempt that the budget has no room for is not made.
        """
        validator = Draft202012Validator(schema)
        shaped = True
        message = "The language model gave no answer."
        with httpx.Client(timeout=self.settings.timeout, follow_redirects=False) as client:
            for attempt in range(self.settings.attempts):
                room = meter.room(tokens(messages), self.settings.most_output)
                if room < SHORTEST_ANSWER:
                    raise meter.failed("The budget leaves no room for another attempt.")
                pause = self.settings.pause * 2**attempt
                try:
                    response = self._send(client, self._body(messages, schema if shaped else None, room))
                    if response.status_code == 200:
                        text = self._count(response, messages, meter)
                        found = _json(text)
                        if found is not None and validator.is_valid(found):
                            return found
                        message = "The language model's answer was not of the shape that was asked for."
                        pause = 0.0
                    else:
                        message, pause = self._refused(response, pause, meter)
                except _Unfit:
                    if not shaped:
                        raise meter.failed("The language model's endpoint does not take the request.") from None
                    shaped, pause = False, 0.0
                except httpx.HTTPError as error:
                    message = f"The language model's endpoint cannot be reached ({type(error).__name__})."
                if attempt + 1 < self.settings.attempts and pause:
                    self._wait(min(pause, LONGEST_PAUSE))
        raise meter.failed(message)

    def _body(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None, room: int
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": list(messages),
            "temperature": 0,
            "seed": 1,
            "max_tokens": room,
        }
        if schema is not None:
            shape = {"name": "statements", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return body

    def _send(self, client: httpx.Client, body: Mapping[str, Any]) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.settings.key}"} if self.settings.key else {}
        with client.stream("POST", self.settings.address, json=body, headers=headers) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > LONGEST_ANSWER:
                    raise httpx.DecodingError("too long")
            return httpx.Response(response.status_code, headers=_kept(response.headers), content=bytes(content))

    def _count(self, response: httpx.Response, messages: Sequence[Mapping[str, str]], meter: Meter) -> str:
        """The words of an answer; its tokens are counted as the endpoint says, or else estimated."""
        data = _json(response.text)
        data = data if isinstance(data, dict) else {}
        try:
            text = data["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = ""
        text = text if isinstance(text, str) else ""
        usage = data.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        meter.input += _number(usage.get("prompt_tokens"), tokens(messages))
        meter.output += _number(usage.get("completion_tokens"), _estimate(text))
        return text

    def _refused(self, response: httpx.Response, pause: float, meter: Meter) -> tuple[str, float]:
        status = response.status_code
        if status in (400, 422):
            raise _Unfit
        if status in AGAIN or status >= 500:
            return f"The language model's endpoint answered {status}.", _after(response, pause)
        if status in (401, 403):
            raise meter.failed(f"The language model's endpoint refused the key ({status}).")
        raise meter.failed(f"The language model's endpoint answered {status}; its address or the model may be wrong.")


def tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """An estimate of the tokens of messages that is rather too high: a third of their bytes."""
    return sum(_estimate(message["content"]) + 8 for message in messages)


def _estimate(text: str) -> int:
    return ceil(len(text.encode("utf-8", "replace")) / 3)


def _number(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _json(text: str) -> Any:
    # Some models put their JSON in a fenced block, whatever they are told.
    bare = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        return json.loads(bare)
    except ValueError:
        return None


def _kept(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name] for name in ("retry-after",) if name in headers}


def _after(response: httpx.Response, pause: float) -> float:
    try:
        return max(pause, float(response.headers.get("retry-after", "")))
    except ValueError:
        return pause
