"""What docs/connect.md says can be done is done: its script, and the hooks that send finished turns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harnesses.running import Agent, World, done, engaged

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOOKS = DOCS / "hooks"


@pytest.fixture(scope="module")
def agent(world: World) -> Agent:
    """An agent whose turns are observed."""
    return engaged(world.owner, "Observed")


def hook(
    world: World, agent: Agent, name: str, *args: str, given: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a script as a harness would."""
    variables = {"HEARTWOOD_URL": world.url, "HEARTWOOD_HARNESS": agent.id, "HEARTWOOD_KEY": agent.key}
    return subprocess.run(
        [sys.executable, str(HOOKS / name), *args],
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **variables, **env},
    )


def heard(world: World, agent: Agent) -> list[Mapping[str, Any]]:
    """The episodes in the agent's memory, oldest first."""
    address = f"/memories/{agent.memory_id}/records?type=episode"
    data: list[Mapping[str, Any]] = done(world.owner.get(address))["data"]
    return data


def said(episode: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(part["role"], part["text"]) for part in episode["content"]]


def test_the_whole_loop_runs_as_it_is_written(world: World) -> None:
    script = re.findall(r"```sh\n(.*?)```", (DOCS / "connect.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    key = world.owner.headers["Authorization"].partition(" ")[2]
    ran = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HEARTWOOD_URL": world.url, "KEY": key, "no_proxy": "127.0.0.1,localhost"},
    )
    assert ran.returncode == 0, ran.stderr
    parts = re.split(r"== .*\n", ran.stdout)[1:]
    assert len(parts) == 4
    remembered, recalled, closed, lost = parts
    assert "Quillon Freight renews its contract every March." in remembered
    assert "Quillon Freight renews its contract every March." in recalled
    assert "Accounts" in recalled
    assert closed == ""
    assert lost.startswith("No results.")
    assert "Quillon" not in lost
    assert "Accounts" not in lost


def test_two_lines_send_a_turn(world: World, agent: Agent) -> None:
    before = len(heard(world, agent))
    ran = hook(world, agent, "heartwood.py", given=json.dumps({"user": "Tea?", "assistant": "Green."}))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert said(heard(world, agent)[before]) == [("user", "Tea?"), ("assistant", "Green.")]
    assert heard(world, agent)[before]["written_by"]["id"] == agent.id


def test_the_hook_of_claude_code_sends_the_last_turn_once(world: World, agent: Agent, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    tool = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    lines: list[Any] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "An older question"}},
        {"type": "assistant", "uuid": "a1", "message": {"content": [{"type": "text", "text": "An older answer"}]}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": "When does Quillon renew?"}},
        {"type": "assistant", "uuid": "a2", "message": {"content": [{"type": "text", "text": "I look."}, tool]}},
        {"type": "user", "uuid": "r", "message": {"content": [{"type": "tool_result", "content": "Files"}]}},
        {"type": "assistant", "uuid": "s", "isSidechain": True, "message": {"content": "Aside"}},
        {"type": "assistant", "uuid": "a3", "message": {"content": [{"type": "text", "text": "In March."}]}},
        ["no entry"],
    ]
    transcript.write_text("\n".join([*map(json.dumps, lines), "cut off {"]), encoding="utf-8")
    event = json.dumps({"session_id": "s-1", "transcript_path": str(transcript), "hook_event_name": "Stop"})
    before = len(heard(world, agent))
    for _ in range(2):
        ran = hook(world, agent, "claude_code.py", given=event)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    (episode,) = heard(world, agent)[before:]
    assert said(episode) == [("user", "When does Quillon renew?"), ("assistant", "I look.\n\nIn March.")]
    assert episode["attributes"]["session_id"] == "s-1"


def test_the_program_of_codex_sends_finished_turns_and_nothing_else(world: World, agent: Agent) -> None:
    event = {"thread-id": "t-1", "turn-id": "1", "input-messages": ["Tea?"], "last-assistant-message": "Black."}
    before = len(heard(world, agent))
    for kind in ("approval-requested", "agent-turn-complete"):
        ran = hook(world, agent, "codex.py", json.dumps({"type": kind, **event}))
        assert (ran.returncode, ran.stderr) == (0, "")
    (episode,) = heard(world, agent)[before:]
    assert said(episode) == [("user", "Tea?"), ("assistant", "Black.")]


def test_the_hooks_of_cursor_send_question_and_answer(world: World, agent: Agent, tmp_path: Path) -> None:
    before = len(heard(world, agent))
    here = {"TMPDIR": str(tmp_path)}
    common = {"conversation_id": "c-1", "generation_id": "g-1"}
    asked = {**common, "hook_event_name": "beforeSubmitPrompt", "prompt": "Tea?"}
    ran = hook(world, agent, "cursor.py", given=json.dumps(asked), **here)
    assert json.loads(ran.stdout) == {"continue": True}
    answered = {**common, "hook_event_name": "afterAgentResponse", "text": "White."}
    assert hook(world, agent, "cursor.py", given=json.dumps(answered), **here).stderr == ""
    (episode,) = heard(world, agent)[before:]
    assert said(episode) == [("user", "Tea?"), ("assistant", "White.")]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_nothing_is_sent_while_the_harness_is_not_observed(world: World, agent: Agent) -> None:
    settings = f"/harnesses/{agent.id}/memories"
    before = len(heard(world, agent))
    turn = json.dumps({"user": "Tea?", "assistant": "None."})
    for off in ({"observe": False}, {"observe": True, "default_memory_id": None}):
        done(world.owner.put(settings, json=off))
        ran = hook(world, agent, "heartwood.py", given=turn)
        assert (ran.returncode, ran.stderr) == (0, "")
    done(world.owner.put(settings, json={"observe": True, "default_memory_id": agent.memory_id}))
    assert len(heard(world, agent)) == before


@pytest.mark.parametrize("name", ["heartwood.py", "claude_code.py", "codex.py", "cursor.py"])
def test_a_hook_never_stops_the_agent(world: World, agent: Agent, name: str) -> None:
    for given in ("", "no JSON", "[]", "{}", '{"transcript_path": "/nowhere"}'):
        assert hook(world, agent, name, given or "x", given=given).returncode == 0
    nobody = {"HEARTWOOD_URL": "http://127.0.0.1:9", "HEARTWOOD_KEY": "hw_x"}
    unreachable = hook(world, agent, "heartwood.py", given='{"user": "a", "assistant": "b"}', **nobody)
    assert unreachable.returncode == 0
    assert "the turn was not kept" in unreachable.stderr
