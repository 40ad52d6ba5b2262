"""The verbs on grants: give and take back. Whoever holds delete decides who may do what (Memories §4.3)."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction

from members import events
from members.callers import Caller
from memories.access import WORDS, Privilege
from memories.models import Grant, Memory
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound

from .sight import Place
from .steady import lock_tree, steady

PRINCIPAL = re.compile(r"(member|group|x\.[a-z0-9_.-]+):[A-Za-z0-9_.@:+-]{1,160}")


def read_principal(value: object) -> str:
    """A principal that can hold grants: `member:`, `group:` or `x.…:` and an id. Raises MemoryInvalid."""
    if not isinstance(value, str) or not PRINCIPAL.fullmatch(value) or len(value) > 180:
        raise MemoryInvalid("A principal is member:<id>, group:<id> or x.<kind>:<id>.", param="principal")
    return value


def read_privileges(value: object) -> Privilege:
    """A non-empty set of the four privileges. Raises MemoryInvalid, naming the position of a wrong one."""
    if not isinstance(value, list) or not value:
        raise MemoryInvalid("Name at least one privilege.", param="privileges")
    for index, word in enumerate(value):
        if not isinstance(word, str) or word not in WORDS:
            raise MemoryInvalid(f"A privilege is one of: {', '.join(WORDS)}.", param=f"privileges.{index}")
    return Privilege.from_words(value)


@steady
def give(place: Place, principal: str, privileges: Privilege) -> Grant:
    """Grant a set of privileges on a memory; a principal that has a grant there gets this set instead, same id."""
    lock_tree(place.caller.organisation_id, shared=True)
    place = place.again()
    place.require(Privilege.DELETE)
    return put(place.caller, place.memory, principal, privileges)


def put(caller: Caller, memory: Memory, principal: str, privileges: Privilege) -> Grant:
    """Write a grant and its event; the tree must be locked, and the caller allowed to."""
    there = Grant.objects.select_for_update(no_key=True).filter(memory=memory, principal=principal)
    grant, before = there.first(), Privilege.NONE
    if grant is None:
        try:
            with transaction.atomic():
                grant = Grant.objects.create(
                    organisation_id=memory.organisation_id,
                    memory=memory,
                    principal=principal,
                    privileges=int(privileges),
                )
        except IntegrityError:
            # Somebody gave the same principal something here at the same moment.
            grant = there.get()
            before = grant.held
    else:
        before = grant.held
    if before:
        grant.privileges = int(privileges)
        grant.save(update_fields=["privileges", "updated_at"])
    events.record(
        caller.organisation_id,
        caller.actor,
        "grant.given",
        memory_id=memory.id,
        subject=principal,
        grant=grant.id,
        privileges=privileges.words,
        before=before.words,
    )
    return grant


def on(place: Place, grant_id: str) -> Grant:
    """A grant that sits on this memory. Raises MemoryNotFound for any other."""
    place.require(Privilege.DELETE)
    grant = Grant.objects.filter(memory=place.memory, pk=grant_id).first()
    if grant is None:
        raise unknown()
    return grant


def unknown() -> MemoryNotFound:
    """The error for a grant that does not sit where it is looked for, to be raised."""
    return MemoryNotFound("There is no such grant on this memory.")


@steady
def take_back(place: Place, grant_id: str) -> None:
    """Revoke a grant that sits on this memory, effective on the next request. Raises MemoryNotFound for any other."""
    lock_tree(place.caller.organisation_id, shared=True)
    place = place.again()
    place.require(Privilege.DELETE)
    grant = Grant.objects.select_for_update().filter(memory=place.memory, pk=grant_id).first()
    if grant is None:
        raise unknown()
    Grant.objects.filter(pk=grant.pk).delete()
    events.record(
        place.caller.organisation_id,
        place.caller.actor,
        "grant.taken_back",
        memory_id=place.memory.id,
        subject=grant.principal,
        grant=grant_id,
        privileges=grant.held.words,
    )
