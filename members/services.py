"""The verbs on members: found an organisation, join, group, issue and revoke keys. Each is one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from uhp_site.http.text import flaw

from . import credentials
from .models import Credential, Group, Member, Membership, Organisation, User

NAME_LENGTH = 120


class Refused(ValueError):
    """A change to members that cannot be made; the message is one sentence for a person, `field` names the input."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Issued:
    """A new key: the row, and the token that is shown this once."""

    credential: Credential
    token: str


def named(name: str, field: str = "name") -> str:
    """A trimmed name of 1 to 120 characters; raises Refused."""
    name = name.strip()
    if not name or len(name) > NAME_LENGTH:
        raise Refused(f"A name has 1 to {NAME_LENGTH} characters.", field)
    if problem := flaw(name):
        raise Refused(problem, field)
    return name


@transaction.atomic
def found_organisation(name: str) -> Organisation:
    """Create an organisation with its built-in group `everyone`."""
    name = named(name)
    organisation = Organisation.objects.create(name=name, slug=Organisation.free_slug(name))
    Group.objects.create(organisation=organisation, name=Group.EVERYONE, is_everyone=True)
    return organisation


@transaction.atomic
def join(
    organisation: Organisation,
    *,
    name: str,
    type: str,
    email: str = "",
    password: str | None = None,
    groups: list[Group] | None = None,
    is_owner: bool = False,
) -> Member:
    """Add a person or an agent to an organisation; an email ties a person to their account, made when new."""
    if type not in Member.Type.values:
        raise Refused("A member is human or agent.", "type")
    name = named(name)
    user = account(email, password) if email else None
    if user and Member.objects.of(organisation.id).filter(user=user).exists():
        raise Refused(f"{user.email} is already a member of {organisation.name}.", "email")
    member = Member.objects.create(organisation=organisation, name=name, type=type, user=user, is_owner=is_owner)
    for group in groups or []:
        add_to_group(group, member)
    return member


def account(email: str, password: str | None) -> User:
    """The account of an email address, made when there is none; an existing account keeps its password."""
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise Refused(f"{email!r} is not an email address.", "email") from None
    user = User.objects.filter(email__iexact=email).first()
    return user or User.objects.create_user(email, password)


@transaction.atomic
def create_group(organisation: Organisation, name: str, members: list[Member] | None = None) -> Group:
    """Create a group, with its first members; names are unique in an organisation whatever their case."""
    name = named(name)
    try:
        with transaction.atomic():
            group = Group.objects.create(organisation=organisation, name=name)
    except IntegrityError:
        raise Refused(f"{organisation.name} already has a group named {name}.", "name") from None
    for member in members or []:
        add_to_group(group, member)
    return group


def add_to_group(group: Group, member: Member) -> None:
    """Put a member into a group of its organisation; being there already changes nothing."""
    if group.is_everyone:
        raise Refused("Everyone is in this group already, and always will be.", "group")
    if group.organisation_id != member.organisation_id:
        raise Refused("The member and the group belong to different organisations.", "member")
    Membership.objects.get_or_create(group=group, member=member, defaults={"organisation_id": group.organisation_id})


def remove_from_group(group: Group, member: Member) -> None:
    """Take a member out of a group; not being in it changes nothing."""
    if group.is_everyone:
        raise Refused("Nobody can leave this group: it holds every active member.", "group")
    Membership.objects.filter(group=group, member=member).delete()


def issue_key(member: Member, name: str = "API key") -> Issued:
    """Make a key for a member; its token exists only in the answer."""
    minted = credentials.mint()
    credential = Credential.objects.create(
        organisation_id=member.organisation_id,
        member=member,
        name=named(name),
        prefix=minted.prefix,
        digest=minted.digest,
    )
    return Issued(credential, minted.token)


def revoke_key(credential: Credential) -> None:
    """End a key: it is refused from the next request on, in every process."""
    Credential.objects.filter(pk=credential.pk, revoked_at=None).update(revoked_at=timezone.now())


def deactivate(member: Member) -> None:
    """End what a member may do at once: its keys, its sessions and every grant it holds have no effect."""
    Member.objects.filter(pk=member.pk, deactivated_at=None).update(deactivated_at=timezone.now())


def reactivate(member: Member) -> None:
    """Let a deactivated member act again, with the grants it still holds."""
    Member.objects.filter(pk=member.pk).update(deactivated_at=None)
