"""What memories have to do with a harness: two settings, and what its agent holds, read off the grants (§4.18)."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, OuterRef, SmallIntegerField, Subquery
from django.db.models.functions import Lower

from harnesses.models import Harness
from members import events
from members.callers import Caller, caller_for
from members.models import Member, annotated
from memories.access import Privilege
from memories.models import Memory, Reach
from memories.services import sight as memory_sight
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound
from uhp_site.http.fields import MISSING, Missing

from .sight import Desk, look

MOST = 1_000


@dataclass(frozen=True)
class Held:
    """A memory that an agent was granted, and what it may do there."""

    memory_id: str
    name: str
    privileges: Privilege
    default: bool


@dataclass(frozen=True)
class Attachment:
    """The memory settings of a harness as one caller sees them; `capped` says that more is held than is named."""

    principal: str
    default_memory_id: str | None
    observe: bool
    data: tuple[Held, ...]
    capped: bool


def attachment(desk: Desk) -> Attachment:
    """What the agent holds, highest in the tree first, as far as the caller sees those memories (contract A-23)."""
    agent = caller_for(desk.harness.agent)
    default = default_memory(agent, desk.harness)
    depth = Reach.objects.filter(descendant=OuterRef("pk")).order_by("-distance").values("distance")[:1]
    rows = (
        Memory.objects.of(agent.organisation_id)
        .directly_held_by(agent.principals)
        .with_privileges(agent.principals)
        .held_by(desk.caller.principals)
    )
    rows = annotated(rows, level=Subquery(depth, output_field=SmallIntegerField()), sort_name=Lower("name"))
    found = list(rows.order_by(F("level"), F("sort_name"), "id")[: MOST + 1])
    seen = default is not None and sees(desk.caller, default)
    return Attachment(
        principal=desk.harness.agent.principal,
        default_memory_id=default if seen else None,
        observe=desk.harness.observe,
        data=tuple(Held(one.id, one.name, Privilege(one.held), one.id == default) for one in found[:MOST]),
        capped=len(found) > MOST,
    )


@transaction.atomic
def attach(desk: Desk, default_memory_id: str | Missing | None = MISSING, observe: bool | None = None) -> Desk:
    """Set the default memory, or none, and whether turns are observed; what is not named stays.

    Raises InsufficientScope, MemoryNotFound when the caller does not see the memory, and MemoryInvalid when the
    agent may not write there.
    """
    desk.require_manager()
    harness = look(desk.caller, desk.harness.id, locked=True).harness
    if not isinstance(default_memory_id, Missing):
        if default_memory_id is not None:
            _require_writable(desk.caller, harness, default_memory_id)
        harness.default_memory_id = default_memory_id or ""
    if observe is not None:
        harness.observe = observe
    harness.save(update_fields=["default_memory_id", "observe", "updated_at"])
    events.record(
        harness.organisation_id,
        desk.caller.actor,
        "harness.attached",
        subject=f"member:{harness.id}",
        default_memory_id=harness.default_memory_id or None,
        observe=harness.observe,
    )
    return Desk(desk.caller, harness)


def default_memory(agent: Caller, harness: Harness) -> str | None:
    """Where an unaddressed remember goes: the default memory, as long as the agent may write there."""
    if not harness.default_memory_id:
        return None
    try:
        place = memory_sight.look(agent, harness.default_memory_id)
    except MemoryNotFound:
        return None
    return place.memory.id if Privilege.WRITE in place.privileges else None


def default_memory_of(caller: Caller) -> str | None:
    """The default memory of a member that acts under a harness; others have none."""
    harness = Harness.objects.of(caller.organisation_id).filter(pk=caller.member.id).first()
    return default_memory(caller, harness) if harness else None


def sees(caller: Caller, memory_id: str) -> bool:
    """Whether a caller sees a memory."""
    try:
        memory_sight.look(caller, memory_id)
    except MemoryNotFound:
        return False
    return True


def _require_writable(caller: Caller, harness: Harness, memory_id: str) -> None:
    memory_sight.look(caller, memory_id)
    agent = caller_for(Member.objects.get(pk=harness.agent_id))
    try:
        writable = Privilege.WRITE in memory_sight.look(agent, memory_id).privileges
    except MemoryNotFound:
        writable = False
    if not writable:
        raise MemoryInvalid("The agent may not write in this memory; grant it that first.", param="default_memory_id")
