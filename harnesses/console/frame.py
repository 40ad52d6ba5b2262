"""What every page of one agent shows around itself, and how a person meets a harness."""

from __future__ import annotations

from typing import Any

from harnesses import bases
from harnesses.models import Harness
from harnesses.services.sight import Desk, look
from members.models import Credential
from members.shell import ConsoleRequest, shell
from memories.console.nodes import address
from memories.services import viewing
from memories.services.viewing import Eyes

TABS = {
    "agent": "Overview",
    "agent-memory": "Memory",
    "agent-prime": "Prime",
    "agent-connect": "Connect",
    "agent-try": "Try a call",
}


def desk_of(request: ConsoleRequest, harness_id: str) -> Desk:
    """The harness as the person sees it, who manages it then: an owner, or whoever made it. Raises HarnessNotFound."""
    desk = look(request.caller, harness_id)
    desk.require_manager()
    return desk


def eyes_of(desk: Desk) -> Eyes:
    """The eyes of the harness's agent, as far as the person may look through them."""
    return viewing.with_eyes_of(desk.caller, desk.harness.agent)


def frame(request: ConsoleRequest, desk: Desk, tab: str) -> dict[str, Any]:
    """The head of a page of one agent: its name, what it runs on, and the tabs."""
    harness = desk.harness
    return {
        **shell(request, "agents"),
        "agents_url": address(request, "agents"),
        "harness": {
            "id": harness.id,
            "name": harness.name,
            "base": base_label(harness),
            "model": harness.default_model,
            "active": harness.agent.is_active,
        },
        "tabs": [
            {"label": label, "url": address(request, page, harness.id), "current": page == tab, "count": None}
            for page, label in TABS.items()
        ],
        "view_as_url": address(request, "as", harness.id),
        "delete_url": address(request, "agent-delete", harness.id),
        "has_key": Credential.objects.live().filter(member_id=harness.id).exists(),
        "connect_url": address(request, "agent-connect", harness.id),
    }


def base_label(harness: Harness) -> str:
    """What a base is called; one that is not declared any more, by its own name."""
    base = bases.declared().get(harness.base)
    return base.label if base else harness.base
