"""Small worlds, built with the product's own verbs; each takes what a test is about and fills in the rest."""

from __future__ import annotations

import itertools
from typing import Any

from members import outbox, webhooks
from members import services as members
from members.callers import Caller, caller_for
from members.models import Group, Member, Organisation
from memories.access import Privilege
from memories.content import read_draft
from memories.models import Grant, Memory
from memories.providers.base import RecordVersion
from memories.services import grants, records, tree
from memories.services.sight import Place, look

_number = itertools.count(1)


def organisation(name: str = "") -> Organisation:
    """A new organisation."""
    return members.found_organisation(name or f"Organisation {next(_number)}")


def member(of: Organisation, name: str = "", type: str = "human", **options: Any) -> Member:
    """A new member of an organisation."""
    return members.join(of, name=name or f"Member {next(_number)}", type=type, **options)


def group(of: Organisation, *in_it: Member, name: str = "") -> Group:
    """A new group with these members."""
    return members.create_group(of, name or f"Group {next(_number)}", list(in_it))


def memory(by: Member, under: Memory | None = None, name: str = "", **options: Any) -> Memory:
    """A memory made by a member, who therefore holds everything on it."""
    return tree.create(
        caller_for(by), parent_id=under.id if under else None, name=name or f"Memory {next(_number)}", **options
    )


def grant(by: Member, on: Memory, to: Member | Group, *privileges: str) -> Grant:
    """A grant by someone who holds delete there."""
    return grants.give(look(caller_for(by), on.id), to.principal, Privilege.from_words(privileges or ("read",)))


def record(by: Member, in_: Memory, content: Any = "", **fields: Any) -> RecordVersion:
    """A record written by a member who may write there."""
    body = {"content": content or f"Record {next(_number)}.", **fields}
    return records.remember(look(caller_for(by), in_.id), read_draft(body))


def key(of: Member) -> str:
    """A new API key of a member."""
    return members.issue_key(of).token


def webhook(
    by: Member, url: str = "https://93.184.215.14/in", name: str = "", *kinds: str, own: bool = False
) -> webhooks.Shown:
    """A webhook that an owner set up, or a person for themselves, told of everything unless kinds are named."""
    return webhooks.add(
        caller_for(by),
        name=name or f"Webhook {next(_number)}",
        url=url,
        kinds=kinds or list(outbox.KINDS),
        origin="https://memories.example.com",
        for_oneself=own,
    )


def caller(of: Member) -> Caller:
    """The member as a caller, resolved now."""
    return caller_for(of)


def at(who: Member, memory: Memory) -> Place:
    """A memory as somebody finds it now."""
    return look(caller(who), memory.id)
