"""Trying a tool call as an agent: reading tools, in what the person looks after and may read themself."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_http_methods
from django_htmx.http import trigger_client_event

from harnesses.mcp import rehearsal
from harnesses.mcp.tools import BY_NAME, Tool
from harnesses.services import looking
from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.console.nodes import address
from memories.services.viewing import Eyes
from uhp_site.http import pages

from .frame import desk_of, eyes_of, frame

LONGEST = 20_000


@member_page
@require_http_methods(["GET", "POST"])
def attempt(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """Choose a tool and its arguments; a POST asks it, and shows the request and the answer as they are."""
    desk = desk_of(request, harness_id)
    eyes = eyes_of(desk)
    asked = request.POST.get("tool") or request.GET.get("tool")
    tool = BY_NAME[asked if asked in rehearsal.REHEARSED else rehearsal.REHEARSED[0]]
    text, error = request.POST.get("arguments", ""), ""
    context: dict[str, Any] = {**frame(request, desk, "agent-try")}
    if request.method == "POST":
        try:
            context["tried"] = rehearsal.rehearse(eyes, request, tool.name, read_arguments(text))
        except ValueError as refused:
            error = str(refused)
    else:
        text = json.dumps(example(eyes, tool), indent=2)
    url = address(request, "agent-try", harness_id)
    context |= {
        "tool": tool,
        "takes": taken(tool),
        "tools": [
            {"label": name, "url": f"{url}?tool={name}", "current": name == tool.name} for name in rehearsal.REHEARSED
        ],
        "arguments": text,
        "error": error,
        "url": url,
    }
    response = pages.answer(request, "harnesses/try.html", context, fragment="tried", status=422 if error else 200)
    if tried := context.get("tried"):
        said = "The call was refused." if tried.failed else "The call was answered, below the arguments."
        trigger_client_event(response, "status", {"text": said, "level": "caution" if tried.failed else "success"})
    return response


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call. Raises ValueError, with a sentence."""
    if len(text) > LONGEST:
        raise ValueError(f"Arguments have at most {LONGEST:,} characters.")
    try:
        value = json.loads(text or "{}", parse_constant=_no_number)
        # A half of a pair of surrogates is JSON, and no text.
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as flaw:
        raise ValueError(f"This is not JSON: {flaw.msg}, in line {flaw.lineno}.") from None
    except (ValueError, RecursionError):
        raise ValueError("This is not JSON that can be sent.") from None
    if not isinstance(value, dict):
        raise ValueError("Arguments are an object: names and values between { and }.")
    return value


def _no_number(word: str) -> None:
    raise ValueError(word)


def taken(tool: Tool) -> list[dict[str, Any]]:
    """What a tool takes, for reading."""
    required = tool.schema["required"]
    return [
        {"name": name, "says": schema.get("description", ""), "required": name in required}
        for name, schema in tool.schema["properties"].items()
    ]


def example(eyes: Eyes, tool: Tool) -> dict[str, Any]:
    """Arguments to begin with, in a memory that both may read."""
    readable = looking.Seer(eyes).tree.held_by(eyes.member.principals, Privilege.READ)
    first = readable.filter(pk__in=readable.granted_to(eyes.member.principals).values("pk")).by_name().first()
    if tool.name == "memory_list":
        return {}
    memory_id = first.id if first else ""
    if tool.name == "memory_recall":
        return {"memory_id": memory_id, "query": ""}
    return {"memory_id": memory_id, "record_id": ""}
