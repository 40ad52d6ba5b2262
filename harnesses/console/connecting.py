"""Connecting an agent: its keys, each shown once, and what to write where for the clients people use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST

from harnesses.errors import HarnessInvalid
from harnesses.models import Harness
from harnesses.services import keys
from members.forms import KeyForm
from members.models import Credential
from members.shell import ConsoleRequest, member_page
from memories.console.nodes import address
from uhp_site.http import pages

from .frame import desk_of, frame

# What stands for the key while there is none to show.
NO_KEY = "YOUR_KEY"
SERVER = "heartwood"
HOOKS = "/path/to/docs/hooks"


@dataclass(frozen=True)
class Text:
    """Something to copy: where it goes, and what it says."""

    where: str
    text: str

    @property
    def id(self) -> str:
        """What tells it from the others of its client."""
        return slugify(self.where)


@dataclass(frozen=True)
class Client:
    """A program that can be connected. `hooks` is what makes it send finished turns; `bases` where it comes first."""

    name: str
    bases: tuple[str, ...]
    texts: Sequence[Text]
    hooks: Sequence[Text]

    @property
    def generic(self) -> bool:
        """Whether it stands for those that are not named."""
        return self.bases == ("mcp",)

    @property
    def hook(self) -> str:
        """What its hook is called."""
        return f"Hook for {'any other client' if self.generic else self.name}"

    @property
    def slug(self) -> str:
        """Its name as part of an id."""
        return slugify(self.name)


@member_page
@require_http_methods(["GET", "POST"])
def connect(request: ConsoleRequest, harness_id: str) -> HttpResponse:
    """The keys of an agent and how to connect it; a POST makes a key, which this answer alone shows."""
    desk = desk_of(request, harness_id)
    form, new_key = KeyForm(request.POST or None), ""
    if request.method == "POST" and not desk.harness.agent.is_active:
        form.add_error(None, "This agent is deactivated: let it act again first.")
    elif request.method == "POST" and form.is_valid():
        try:
            new_key = keys.issue(desk, form.cleaned_data["name"], form.expires_at()).token
        except HarnessInvalid as refused:
            form.add_error("name", refused.message)
        else:
            form = KeyForm()
    server = request.build_absolute_uri("/").rstrip("/")
    context = {
        **frame(request, desk, "agent-connect"),
        "keys": [key_view(request, harness_id, one) for one in keys.live(desk)],
        "key_form": form,
        "key_url": request.path,
        "new_key": new_key,
        "address": f"{server}/mcp",
        "header": f"Authorization: Bearer {new_key or NO_KEY}",
        "environment": environment(server, desk.harness, new_key or NO_KEY),
        "clients": clients(f"{server}/mcp", new_key or NO_KEY, desk.harness.base),
        "observes": desk.harness.observe,
        "memory_url": address(request, "agent-memory", harness_id),
    }
    return pages.answer(request, "harnesses/connect.html", context, status=422 if form.errors else 200)


@member_page
@require_POST
def key_revoke(request: ConsoleRequest, harness_id: str, key_id: str) -> HttpResponse:
    """End a key of an agent."""
    keys.revoke(desk_of(request, harness_id), key_id)
    messages.success(request, "The key was revoked. It is refused from now on.")
    return redirect("console:agent-connect", request.organisation.slug, harness_id)


def key_view(request: ConsoleRequest, harness_id: str, key: Credential) -> dict[str, Any]:
    """A key in the list."""
    return {
        "prefix": key.prefix,
        "name": key.name,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoke_url": address(request, "agent-key-revoke", harness_id, key.id),
    }


def environment(server: str, harness: Harness, key: str) -> str:
    """What the hooks read, as lines for a shell."""
    return f"export HEARTWOOD_URL={server}\nexport HEARTWOOD_HARNESS={harness.id}\nexport HEARTWOOD_KEY={key}"


def clients(url: str, key: str, base: str) -> Sequence[Client]:
    """What to write where, the client that the harness is based on first."""
    known = (claude_code(url, key), codex(url, key), cursor(url, key), anything(url, key))
    return sorted(known, key=lambda one: base not in one.bases)


def claude_code(url: str, key: str) -> Client:
    """Claude Code: a command, and a hook in its settings."""
    hook = {"type": "command", "command": f"python3 {HOOKS}/claude_code.py"}
    return Client(
        "Claude Code",
        ("claude-code",),
        [
            Text(
                "Run once in a terminal",
                f'claude mcp add --transport http {SERVER} "{url}" --header "Authorization: Bearer {key}"',
            )
        ],
        [Text("~/.claude/settings.json", pretty({"hooks": {"Stop": [{"hooks": [hook]}]}}))],
    )


def codex(url: str, key: str) -> Client:
    """Codex: its configuration, which takes the key from the environment."""
    configuration = f'[mcp_servers.{SERVER}]\nurl = {json.dumps(url)}\nbearer_token_env_var = "HEARTWOOD_KEY"'
    return Client(
        "Codex",
        ("codex",),
        [
            Text("~/.codex/config.toml", configuration),
            Text("In the environment that Codex starts in", f"export HEARTWOOD_KEY={key}"),
        ],
        [Text("~/.codex/config.toml, above every table", f'notify = ["python3", "{HOOKS}/codex.py"]')],
    )


def cursor(url: str, key: str) -> Client:
    """Cursor: a file of its own for servers, and one for hooks."""
    server = {"url": url, "headers": {"Authorization": f"Bearer {key}"}}
    hook = [{"command": f"python3 {HOOKS}/cursor.py"}]
    hooks = {"version": 1, "hooks": {"beforeSubmitPrompt": hook, "afterAgentResponse": hook}}
    return Client(
        "Cursor",
        ("cursor",),
        [Text("~/.cursor/mcp.json", pretty({"mcpServers": {SERVER: server}}))],
        [Text("~/.cursor/hooks.json", pretty(hooks))],
    )


def anything(url: str, key: str) -> Client:
    """Any client that speaks MCP over Streamable HTTP."""
    server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {key}"}}
    turn = """echo '{"user": "What was asked", "assistant": "What was answered"}' | python3 """
    return Client(
        "Any other MCP client",
        ("mcp",),
        [Text("Streamable HTTP, as most clients write it", pretty({"mcpServers": {SERVER: server}}))],
        [Text("At the end of every turn", f"{turn}{HOOKS}/heartwood.py")],
    )


def pretty(value: Any) -> str:
    """JSON as people keep it in files."""
    return json.dumps(value, indent=2)
