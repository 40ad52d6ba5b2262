"""Calling a tool: which are offered to a caller, and what one of them answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from harnesses.errors import MemoriesNotAttached
from harnesses.services import attachment
from members.callers import Caller
from memories.access import Privilege
from memories.models import Memory
from memories.providers import registry
from uhp_site.http.errors import MemoryInvalid

from . import words
from .addresses import Answered, ask, refused
from .tools import BY_NAME, TOOLS, Tool


@dataclass(frozen=True)
class Result:
    """What an agent is given: words, and the JSON of the protocol's answer."""

    text: str
    json: dict[str, Any]
    failed: bool = False


def offered(caller: Caller) -> list[Tool]:
    """The tools for a caller: those some provider serves, and those that write only where it may write somewhere."""
    writer = holds(caller, Privilege.WRITE)
    return [tool for tool in TOOLS if served(tool) and (writer or not tool.writes)]


def served(tool: Tool) -> bool:
    """Whether some provider does what a tool is for."""
    return any(tool.served(provider.capabilities()) for provider in registry.connected())


def holds(caller: Caller, privilege: Privilege = Privilege.NONE) -> bool:
    """Whether a caller holds a privilege, or anything at all, on some memory."""
    # What reaches a memory from above is held where it was given, so looking there is enough.
    given = Memory.objects.of(caller.organisation_id).directly_held_by(caller.principals)
    return given.held_by(caller.principals, privilege).exists()


def call(caller: Caller, outer: HttpRequest, name: str, arguments: Mapping[str, Any]) -> Result:
    """Use the tool of this name."""
    tool = BY_NAME[name]
    answered = _answer(caller, outer, tool, arguments)
    if answered.ok:
        return Result(words.told(answered.body), answered.body)
    text, error = words.refusal(answered)
    return Result(text, error, failed=True)


def _answer(caller: Caller, outer: HttpRequest, tool: Tool, arguments: Mapping[str, Any]) -> Answered:
    if (flaw := tool.flaw(arguments)) is not None:
        return refused(MemoryInvalid(flaw[1], param=flaw[0] or None))
    if tool.name == "memory_remember" and "memory_id" not in arguments:
        default = attachment.default_memory_of(caller)
        if default is None:
            return refused(_without_default(caller))
        arguments = {**arguments, "memory_id": default}
    answered = ask(caller, outer, tool.ask(arguments))
    nothing = (
        answered.ok and not answered.body.get("data") and "memory_id" not in arguments and tool.name == "memory_list"
    )
    lost = not answered.ok and answered.body["error"]["code"] == "memory_not_found"
    if (nothing or lost) and not holds(caller):
        return refused(MemoriesNotAttached())
    return answered


def _without_default(caller: Caller) -> MemoryInvalid | MemoriesNotAttached:
    if not holds(caller):
        return MemoriesNotAttached()
    return MemoryInvalid("You have no default memory that you may write to: name one.", param="memory_id")
