"""Memories that nobody can administer, taking one over, and handing over what a leaving member made.

Owning an organisation gives no sight of its memories. It gives this: what nobody active holds `delete` on may be taken
over, for everybody to see in the audit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Substr

from members import events
from members.callers import Caller
from members.models import Group, Member, MemberQuerySet, Membership
from memories.access import Privilege
from memories.models import Grant, Memory
from memories.models.grants import including
from memories.models.tree import MemoryQuerySet
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound

from . import grants
from .steady import lock_tree, steady


@dataclass(frozen=True)
class Orphans:
    """One page of memories that nobody can administer, the oldest first; `next` is the id of the last one."""

    memories: Sequence[Memory]
    next: str | None


def nobody_left(caller: Caller, limit: int, after: str | None = None) -> Orphans:
    """Memories on which no active member holds delete. Raises MemoryForbidden for whoever is no owner.

    Only the highest of each branch: whoever takes it over can administer what is open below it. To these nothing comes
    through from above, so that what sits right there decides, and nothing else is looked at.
    """
    _require_owner(caller)
    members = Member.objects.of(caller.organisation_id).active()
    is_member = members.filter(pk=Substr(OuterRef("principal"), len("member:") + 1))
    acts = Q(principal__in=_acting_groups(caller.organisation_id, members)) | Q(
        principal__startswith="member:"
    ) & Exists(is_member)
    held = Grant.objects.filter(acts, memory=OuterRef("pk"), privileges__in=including(Privilege.DELETE))
    made = members.filter(pk=Substr(OuterRef("creator"), len("member:") + 1))
    found = Memory.objects.of(caller.organisation_id).entered_anew().exclude(Exists(made)).exclude(Exists(held))
    if after:
        found = found.filter(id__gt=after)
    rows = list(found.order_by("id")[: limit + 1])
    return Orphans(rows[:limit], rows[limit - 1].id if len(rows) > limit else None)


def acting_principals(organisation_id: str, without: Collection[str] = ()) -> set[str]:
    """Everything that some active member counts as; `without` leaves members out, by id."""
    members = Member.objects.of(organisation_id).active().exclude(pk__in=without)
    acting = {f"member:{pk}" for pk in members.values_list("id", flat=True)}
    return acting | _acting_groups(organisation_id, members) if acting else acting


def _acting_groups(organisation_id: str, members: MemberQuerySet) -> set[str]:
    inside = Membership.objects.filter(organisation_id=organisation_id, member__in=members).values("group_id")
    groups = Group.objects.filter(Q(pk__in=inside) | Q(is_everyone=True), organisation_id=organisation_id)
    return {f"group:{pk}" for pk in groups.values_list("id", flat=True)}


def unadministered(tree: MemoryQuerySet, principals: Collection[str]) -> MemoryQuerySet:
    """Those on which none of these principals holds delete."""
    return tree.filter(~tree.held_q(principals, Privilege.DELETE))


@steady
def take(owner: Caller, memory_id: str) -> Grant:
    """Give an owner of the organisation delete on a memory that nobody active holds it on.

    Delete alone: whoever administers may give themself more, and that is one more entry in the audit. Raises
    MemoryForbidden for whoever is no owner, MemoryNotFound for any other memory.
    """
    _require_owner(owner)
    lock_tree(owner.organisation_id)
    tree = Memory.objects.of(owner.organisation_id).filter(pk=memory_id)
    memory = unadministered(tree, acting_principals(owner.organisation_id)).first()
    if memory is None:
        raise MemoryNotFound()
    principal = owner.member.principal
    events.record(owner.organisation_id, owner.actor, "memory.taken_over", memory_id=memory.id, subject=principal)
    held = Grant.objects.filter(memory=memory, principal=principal).values_list("privileges", flat=True).first()
    return grants.put(owner, memory, principal, Privilege(held or 0) | Privilege.DELETE)


@steady
def hand_over(owner: Caller, leaving: Member, to: Member) -> int:
    """Make a member the creator of everything another one made, and with it all that creators hold; how many memories.

    Grants stay as they are. Raises MemoryForbidden for whoever does not own the organisation.
    """
    _require_owner(owner)
    if leaving.organisation_id != owner.organisation_id or to.organisation_id != owner.organisation_id:
        raise MemoryNotFound("There is no such member.")
    if to.id == owner.member.id and leaving.is_active:
        # What an owner may take over for themself is only what nobody else can look after.
        raise MemoryInvalid("Deactivate the member first, or hand over to somebody else.", param="to")
    if leaving.id == to.id or not to.is_active:
        raise MemoryInvalid("Hand over to another member who is active.", param="to")
    lock_tree(owner.organisation_id)
    made = Memory.objects.of(owner.organisation_id).filter(creator=leaving.principal)
    count: int = made.update(creator=to.principal)
    if count:
        events.record(
            owner.organisation_id,
            owner.actor,
            "memory.handed_over",
            subject=leaving.principal,
            to=to.principal,
            memories=count,
        )
    return count


def _require_owner(caller: Caller) -> None:
    if not caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may do this.")
