"""The SDK's own client against a running server: every tool over HTTP, two agents at once, a stolen session id."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.harnesses.running import Agent, World, done, engaged


@asynccontextmanager
async def connected(world: World, key: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    """A client as an agent's harness makes one."""
    sent = {"Authorization": f"Bearer {key}", **headers}
    async with httpx2.AsyncClient(headers=sent, timeout=60, trust_env=False) as http:
        transport = streamable_http_client(f"{world.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """The JSON of a tool that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The code of a tool that must be refused."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is not None
    return str(result.structured_content["error"]["code"])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_every_tool_is_driven_by_two_agents_at_once(world: World, mode: str) -> None:
    async def live_through(client: Client, me: Agent, other: Agent) -> list[str]:
        offered = [tool.name for tool in (await client.list_tools()).tools]
        used: list[str] = []

        async def use(tool: str, **arguments: Any) -> Any:
            used.append(tool)
            return await told(client, tool, **arguments)

        for number in range(5):
            word = f"{me.id[-6:]}{number}"
            written = await use("memory_remember", content=f"The code is {word}.", type="note")
            assert (written["memory_id"], written["written_by"]["id"]) == (me.memory_id, me.id)
            at = {"memory_id": me.memory_id, "record_id": written["id"]}
            start = await use("memory_list")
            assert [one["id"] for one in start["data"]] == [me.memory_id]
            found = await use("memory_recall", memory_id=me.memory_id, text=word)
            assert [hit["record"]["id"] for hit in found["results"]] == [written["id"]]
            assert (await use("memory_get", **at))["content"] == written["content"]
            revised = await use("memory_revise", **at, reason="To see.", title=word)
            assert revised["version"] == 2
            if "memory_graph" in offered:
                graph = await use("memory_graph", memory_id=me.memory_id, around=written["id"])
                assert [node["record"]["id"] for node in graph["nodes"]] == [written["id"]]
            if "memory_run_query" in offered:
                await use("memory_run_query", memory_id=me.memory_id)
            if "memory_query" in offered:
                await use("memory_query", memory_id=me.memory_id, statement={"text": word}, language="filter")
            task = await told(client, "memory_remember", content="Do it.", type="x.task", attributes={"state": "open"})
            changed = await use("memory_operate", memory_id=me.memory_id, record_id=task["id"], operation="complete")
            assert changed["result"]["attributes"]["state"] == "done"
            assert (await use("memory_forget", **at))["status"] == "forgotten"
            for tool, more in (("memory_list", {}), ("memory_recall", {"query": "code"})):
                assert await refused(client, tool, memory_id=other.memory_id, **more) == "memory_not_found"
        assert set(used) == set(offered)
        return used

    async def both() -> None:
        async with connected(world, world.one.key, mode) as one, connected(world, world.two.key, mode) as two:
            first, second = await asyncio.gather(
                live_through(one, world.one, world.two), live_through(two, world.two, world.one)
            )
            assert first == second

    asyncio.run(both())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_prime_of_each_agent_is_its_own(world: World, mode: str) -> None:
    standing = {"content": f"Answer politely, {world.one.id}.", "attributes": {"standing": True}}
    done(world.owner.post(f"/memories/{world.one.memory_id}/records", json=standing))

    async def read() -> None:
        for me, other in ((world.one, world.two), (world.two, world.one)):
            async with connected(world, me.key, mode) as client:
                message = (await client.get_prompt("prime")).messages[0]
                text = getattr(message.content, "text", "")
                resource = (await client.read_resource("heartwood://prime")).contents[0]
                assert text == getattr(resource, "text", None)
                assert me.memory_id in text
                assert other.memory_id not in text
                assert ("Answer politely" in text) == (me is world.one)

    asyncio.run(read())


def test_a_stolen_session_id_opens_nothing(world: World) -> None:
    async def steal() -> None:
        session = {"Mcp-Session-Id": "a-session-of-somebody-else"}
        async with connected(world, world.two.key, "legacy", **session) as thief:
            start = await told(thief, "memory_list")
            assert [one["id"] for one in start["data"]] == [world.two.memory_id]
        for headers in (session, {**session, "Authorization": "Bearer hw_made_up"}):
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            async with httpx2.AsyncClient(trust_env=False) as http:
                answer = await http.post(f"{world.url}/mcp", json=message, headers=headers)
            assert answer.status_code == httpx.codes.UNAUTHORIZED

    asyncio.run(steal())


def test_a_grant_taken_back_ends_what_an_open_connection_reaches(world: World) -> None:
    agent = engaged(world.owner, "Three")
    grants = f"/memories/{agent.memory_id}/grants"

    async def lose() -> None:
        async with connected(world, agent.key) as client:
            assert (await told(client, "memory_list"))["data"]
            (grant,) = done(world.owner.get(grants))["data"]
            done(world.owner.delete(f"{grants}/{grant['id']}"))
            assert await refused(client, "memory_list") == "memories_not_attached"
            assert await refused(client, "memory_remember", content="Still there?") == "memories_not_attached"
            assert [tool.name for tool in (await client.list_tools()).tools if "remember" in tool.name] == []

    asyncio.run(lose())
