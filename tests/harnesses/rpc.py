"""Speaking MCP to the server in this process, message by message; what a client library would do stays visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from members.models import Member
from tests.conftest import Answer, Api

ACCEPT = "application/json, text/event-stream"
HANDSHAKE = {"Accept": ACCEPT, "MCP-Protocol-Version": "2025-11-25"}


@dataclass(frozen=True)
class Told:
    """The result of a tool: words, JSON, and whether it is a refusal."""

    text: str
    json: Any
    failed: bool


@dataclass(frozen=True)
class Mcp:
    """The door of the tools."""

    api: Api

    def send(self, message: object, as_: Member | None, headers: Mapping[str, str] | None = None) -> Answer:
        """Post one message."""
        return self.api.call("POST", "/mcp", message, as_=as_, headers={**HANDSHAKE, **(headers or {})})

    def request(self, as_: Member, method: str, /, **params: Any) -> Any:
        """The result of a request that must succeed."""
        answer = self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, as_)
        assert answer.status == 200, answer.raw
        assert "result" in answer.json, answer.raw
        return answer.json["result"]

    def error(self, as_: Member, method: str, /, **params: Any) -> Any:
        """The error of a request that must fail."""
        return self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, as_).json["error"]

    def tool(self, as_: Member, name: str, /, **arguments: Any) -> Told:
        """Call a tool."""
        result = self.request(as_, "tools/call", name=name, arguments=arguments)
        assert [one["type"] for one in result["content"]] == ["text"]
        return Told(result["content"][0]["text"], result["structuredContent"], result["isError"])

    def ok(self, as_: Member, name: str, /, **arguments: Any) -> Any:
        """The JSON of a tool that must succeed."""
        told = self.tool(as_, name, **arguments)
        assert not told.failed, told.text
        return told.json

    def names(self, as_: Member) -> list[str]:
        """The tools that are offered."""
        return [tool["name"] for tool in self.request(as_, "tools/list")["tools"]]
