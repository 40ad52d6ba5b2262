"""The verbs on grants: give and take back. Whoever holds delete decides who may do what (Memories §4.3)."""

from __future__ import annotations

import re

from django.db import IntegrityError, transaction

from memories.access import WORDS, Privilege
from memories.models import Grant
from uhp_site.http.errors import MemoryInvalid, MemoryNotFound

from .sight import Place

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


def give(place: Place, principal: str, privileges: Privilege) -> Grant:
    """Grant a set of privileges on a memory; a principal that has a grant there gets this set instead, same id."""
    place.require(Privilege.DELETE)
    try:
        with transaction.atomic():
            grant, _ = Grant.objects.update_or_create(
                memory=place.memory,
                principal=principal,
                defaults={"privileges": int(privileges)},
                create_defaults={"privileges": int(privileges), "organisation_id": place.memory.organisation_id},
            )
    except IntegrityError:
        # The memory was deleted between the look and the grant, which the database notices at the commit.
        raise MemoryNotFound() from None
    return grant


def on(place: Place, grant_id: str) -> Grant:
    """A grant that sits on this memory. Raises MemoryNotFound for any other."""
    place.require(Privilege.DELETE)
    grant = Grant.objects.filter(memory=place.memory, pk=grant_id).first()
    if grant is None:
        raise MemoryNotFound("There is no such grant on this memory.")
    return grant


@transaction.atomic
def take_back(place: Place, grant_id: str) -> None:
    """Revoke a grant that sits on this memory, effective on the next request. Raises MemoryNotFound for any other."""
    on(place, grant_id).delete()
