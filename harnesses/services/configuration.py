"""The verbs on harnesses: create one with its agent, change it, retire both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from harnesses import bases
from harnesses.errors import HarnessInvalid, HarnessMismatch, InsufficientScope, ModelUnavailable, UnsupportedBase
from harnesses.folders import SkillDraft
from harnesses.models import PREFIX, Harness
from harnesses.remotes import RemoteDraft
from members import events
from members import services as members
from members.callers import Caller
from members.ids import mint
from members.models import Credential, Member

from . import servers, skills
from .sight import Desk, look


@dataclass(frozen=True)
class Draft:
    """The whole mutable configuration of a harness; what is left out of it has its default (Harnesses §3.2)."""

    base: str | None = None
    name: str = ""
    default_model: str = ""
    system_prompt: str = ""
    servers: tuple[RemoteDraft, ...] = ()
    skills: tuple[SkillDraft, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    max_step: int | None = None
    timeout_seconds: int | None = None


def listed(caller: Caller) -> Sequence[Harness]:
    """The harnesses a caller sees, the oldest first."""
    rows = Harness.objects.seen_by(caller.member).prefetch_related("skills", "servers")
    return list(rows.order_by("created_at", "pk"))


def require_creator(caller: Caller) -> None:
    """Raise InsufficientScope where only owners may make harnesses, and the caller is none."""
    if settings.HARNESSES_BY_OWNERS_ONLY and not caller.member.is_owner:
        raise InsufficientScope("Only an owner of the organisation may create a harness.")


@transaction.atomic
def create(caller: Caller, draft: Draft) -> Harness:
    """Make a harness, and the agent that acts under it: a member like any other, in `everyone` and no other group.

    Raises InsufficientScope, UnsupportedBase, ModelUnavailable and HarnessInvalid.
    """
    require_creator(caller)
    base = base_of(draft.base)
    require_model(base, draft.default_model)
    agent = _engage(caller, draft.name or base.label)
    harness = Harness(agent=agent, organisation_id=caller.organisation_id, creator=caller.member.principal)
    harness.base = base.name
    _apply(harness, draft, base)
    harness.save(force_insert=True)
    skills.put(harness, draft.skills)
    servers.put(harness, draft.servers)
    _record("harness.created", caller, harness)
    return harness


@transaction.atomic
def change(desk: Desk, draft: Draft) -> Harness:
    """Replace the configuration; id, base, the agent's grants and its two memory settings stay (Memories §4.18).

    Raises InsufficientScope, HarnessMismatch, ModelUnavailable and HarnessInvalid.
    """
    desk.require_manager()
    harness = look(desk.caller, desk.harness.id, locked=True).harness
    if draft.base is not None and draft.base != harness.base:
        raise HarnessMismatch(param="base", detail={"base": harness.base})
    base = bases.declared().get(harness.base) or bases.Base(harness.base, harness.base, ())
    # What was stored stays good when the settings stop declaring it; something else has to be declared.
    if draft.default_model != harness.default_model:
        require_model(base, draft.default_model)
    _apply(harness, draft, base)
    harness.save()
    if harness.agent.name != harness.name:
        Member.objects.filter(pk=harness.agent_id).update(name=harness.name)
    skills.put(harness, draft.skills)
    servers.put(harness, draft.servers)
    _record("harness.changed", desk.caller, harness)
    return harness


@transaction.atomic
def retire(desk: Desk) -> None:
    """Delete a harness and end what its agent may do: grants and keys have no effect from the next request on.

    What the agent wrote stays and names it. Raises InsufficientScope.
    """
    desk.require_manager()
    harness = look(desk.caller, desk.harness.id, locked=True).harness
    actor = desk.caller.actor
    for key in Credential.objects.live().filter(member_id=harness.agent_id):
        members.revoke_key(key, actor=actor)
    members.retire(harness.agent, actor=actor)
    harness.skills.all().delete()
    harness.servers.all().delete()
    harness.retired_at = timezone.now()
    harness.save(update_fields=["retired_at", "updated_at"])
    _record("harness.deleted", desk.caller, harness)


def base_of(name: str | None) -> bases.Base:
    """The base of this name. Raises UnsupportedBase, with those there are."""
    known = bases.declared()
    base = known.get(name or "")
    if base is None:
        raise UnsupportedBase(param="base", detail={"supported": list(known)})
    return base


def require_model(base: bases.Base, model: str) -> None:
    """Raise ModelUnavailable for a model that the base does not run; no model at all is its default."""
    if model and model not in base.models:
        raise ModelUnavailable(param="default_model", detail={"supported": list(base.models)})


def _engage(caller: Caller, name: str) -> Member:
    # As `members.services.join` does, with the id that the harness has as well.
    try:
        name = members.named(name)
    except members.Refused as refused:
        raise HarnessInvalid(str(refused), param="name") from None
    agent = Member.objects.create(
        id=mint(PREFIX), organisation_id=caller.organisation_id, name=name, type=Member.Type.AGENT
    )
    joined: dict[str, Any] = {"name": name, "type": agent.type, "is_owner": False, "signs_in": False}
    events.record(caller.organisation_id, caller.actor, "member.joined", subject=agent.principal, **joined)
    return agent


def _apply(harness: Harness, draft: Draft, base: bases.Base) -> None:
    harness.name = draft.name or base.label
    harness.default_model = draft.default_model
    harness.system_prompt = draft.system_prompt
    harness.disabled_tools = list(draft.disabled_tools)
    harness.max_step = draft.max_step
    harness.timeout_seconds = draft.timeout_seconds


def _record(action: str, caller: Caller, harness: Harness) -> None:
    about = {"name": harness.name, "base": harness.base}
    events.record(harness.organisation_id, caller.actor, action, subject=f"member:{harness.id}", **about)
