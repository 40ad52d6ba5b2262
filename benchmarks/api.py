"""The public API as a benchmark uses it: one credential, connections that are kept, errors with what was answered."""

from __future__ import annotations

from typing import Any

import httpx


class Server:
    """A server's public API for one credential. May be shared by threads."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/")
        # Proxies are for the outside world; a benchmark through one would measure the proxy.
        self._client = httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the JSON object that was answered. Raises httpx.HTTPError when it was no success or not one."""
        response = self._client.request(method, path, json=body)
        request = response.request
        if response.status_code != httpx.codes.OK:
            message = f"{method} answered {response.status_code} {_code(response)}".strip()
            raise httpx.HTTPStatusError(message, request=request, response=response)
        try:
            answer = response.json()
        except ValueError as error:
            raise httpx.DecodingError(f"{method} answered something else than JSON", request=request) from error
        if not isinstance(answer, dict):
            raise httpx.DecodingError(f"{method} answered no JSON object", request=request)
        return answer


def _code(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""
