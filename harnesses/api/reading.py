"""The body of a harness write: both spellings of every field, and nothing that is not stored (Harnesses §5.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harnesses.errors import EnvironmentNotFound, HarnessInvalid
from harnesses.folders import read_skills
from harnesses.remotes import read_servers
from harnesses.services.configuration import Draft
from uhp_site.http.fields import Fields

from .base import in_own_code

NAME_LENGTH = 120
PROMPT_LENGTH = 200_000
MOST_TOOLS = 500
MOST_STEPS = 2**31 - 1

FIELDS = (
    "name",
    "base",
    "default_model",
    "system_prompt",
    "mcp_servers",
    "skills",
    "plugins",
    "environment",
    "disabled_tools",
    "max_step",
    "timeout_seconds",
)
# What a harness says of itself, and a client sends back: read, and left alone.
READ_ONLY = frozenset({"id", "object", "baseLabel", "createdAt", "updatedAt"})


def camel(name: str) -> str:
    """The other spelling of a field."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


SPELLINGS = {camel(name): name for name in FIELDS} | {name: name for name in FIELDS}


def read(body: Mapping[str, Any]) -> Draft:
    """Read a write body. Raises HarnessInvalid, with the field as it was spelled, and EnvironmentNotFound."""
    sent = one_spelling(body)
    with in_own_code():
        return _draft(Fields(sent))


def one_spelling(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by their snake_case names; one that is null counts as not sent."""
    sent: dict[str, Any] = {}
    for spelled, value in body.items():
        name = SPELLINGS.get(spelled)
        if name is None:
            if spelled in READ_ONLY:
                continue
            raise HarnessInvalid("A harness has no such field.", param=spelled[:120])
        if value is None:
            continue
        if name in sent and sent[name] != value:
            raise HarnessInvalid("This field is sent twice, with two values.", param=spelled)
        sent[name] = value
    return sent


def _draft(fields: Fields) -> Draft:
    if fields.data.get("plugins"):
        raise HarnessInvalid("This server keeps no plugins.", param="plugins")
    if fields.text("environment", longest=200):
        raise EnvironmentNotFound(param="environment")
    prompt = fields.data.get("system_prompt", "")
    # Checked like any text, and then kept as it was written: its spaces and lines are the client's.
    fields.text("system_prompt", longest=PROMPT_LENGTH)
    return Draft(
        base=fields.text("base", longest=80),
        name=fields.text("name", longest=NAME_LENGTH, one_line=True) or "",
        default_model=fields.text("default_model", longest=120) or "",
        system_prompt=prompt,
        servers=read_servers(fields.data.get("mcp_servers", [])),
        skills=read_skills(fields.data.get("skills", [])),
        disabled_tools=tuple(fields.words("disabled_tools", longest=120, most=MOST_TOOLS)),
        max_step=fields.integer("max_step", least=1, most=MOST_STEPS),
        timeout_seconds=fields.integer("timeout_seconds", least=1, most=MOST_STEPS),
    )
