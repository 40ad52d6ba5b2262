"""What the commands name: an organisation by slug or id, its groups and members by id."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db.models import Q

from members.models import Group, Member, Organisation
from uhp_site.http.text import flaw


def organisation(value: str) -> Organisation:
    """The organisation with this id or slug. Raises CommandError."""
    found = None if flaw(value) else Organisation.objects.filter(Q(pk=value) | Q(slug=value)).first()
    if found is None:
        raise CommandError(f"There is no organisation with the slug or id {value!r}.")
    return found


def group(of: Organisation, value: str) -> Group:
    """The group of an organisation with this id. Raises CommandError, also for another organisation's."""
    found = Group.objects.filter(organisation=of, pk=value).first()
    if found is None:
        raise CommandError(f"{of.name} has no group with the id {value!r}.")
    return found


def member(of: Organisation, value: str) -> Member:
    """The member of an organisation with this id. Raises CommandError, also for another organisation's."""
    found = None if flaw(value) else Member.objects.of(of.id).filter(pk=value).first()
    if found is None:
        raise CommandError(f"{of.name} has no member with the id {value!r}.")
    return found
