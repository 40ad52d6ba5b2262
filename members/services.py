"""The verbs on members: found an organisation, join, group, invite, issue and revoke keys.

Each is one transaction, and each that changes something appends an event in it; `actor` is who does it, and from where.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from uhp_site.http.text import flaw

from . import credentials, events
from .events import SYSTEM, Actor
from .models import Credential, Group, Invitation, Member, Membership, Organisation, User

NAME_LENGTH = 120
INVITATION_LASTS = timedelta(days=7)


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


@dataclass(frozen=True)
class Invited:
    """A new invitation: the row, and the token of its link, which is shown this once."""

    invitation: Invitation
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
def found_organisation(name: str, *, actor: Actor = SYSTEM) -> Organisation:
    """Create an organisation with its built-in group `everyone`."""
    name = named(name)
    organisation = Organisation.objects.create(name=name, slug=Organisation.free_slug(name))
    events.record(organisation.id, actor, "organisation.founded", name=name, slug=organisation.slug)
    everyone = Group.objects.create(organisation=organisation, name=Group.EVERYONE, is_everyone=True)
    _group_created(everyone, actor)
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
    actor: Actor = SYSTEM,
) -> Member:
    """Add a person or an agent to an organisation; an email ties a person to their account, made when new."""
    if type not in Member.Type.values:
        raise Refused("A member is human or agent.", "type")
    name = named(name)
    user = account(email, password) if email else None
    if user and Member.objects.of(organisation.id).filter(user=user).exists():
        raise Refused(f"{user.email} is already a member of {organisation.name}.", "email")
    member = Member.objects.create(organisation=organisation, name=name, type=type, user=user, is_owner=is_owner)
    events.record(
        organisation.id,
        actor,
        "member.joined",
        subject=member.principal,
        name=name,
        type=type,
        is_owner=is_owner,
        signs_in=user is not None,
    )
    for group in groups or []:
        add_to_group(group, member, actor=actor)
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
def create_group(
    organisation: Organisation, name: str, members: list[Member] | None = None, *, actor: Actor = SYSTEM
) -> Group:
    """Create a group, with its first members; names are unique in an organisation whatever their case."""
    name = named(name)
    try:
        with transaction.atomic():
            group = Group.objects.create(organisation=organisation, name=name)
    except IntegrityError:
        raise Refused(f"{organisation.name} already has a group named {name}.", "name") from None
    _group_created(group, actor)
    for member in members or []:
        add_to_group(group, member, actor=actor)
    return group


@transaction.atomic
def add_to_group(group: Group, member: Member, *, actor: Actor = SYSTEM) -> None:
    """Put a member into a group of its organisation; being there already changes nothing."""
    if group.is_everyone:
        raise Refused("Everyone is in this group already, and always will be.", "group")
    if group.organisation_id != member.organisation_id:
        raise Refused("The member and the group belong to different organisations.", "member")
    _, entered = Membership.objects.get_or_create(
        group=group, member=member, defaults={"organisation_id": group.organisation_id}
    )
    if entered:
        _regrouped("group.joined", group, member, actor)


@transaction.atomic
def remove_from_group(group: Group, member: Member, *, actor: Actor = SYSTEM) -> None:
    """Take a member out of a group; not being in it changes nothing."""
    if group.is_everyone:
        raise Refused("Nobody can leave this group: it holds every active member.", "group")
    gone, _ = Membership.objects.filter(group=group, member=member).delete()
    if gone:
        _regrouped("group.left", group, member, actor)


@transaction.atomic
def issue_key(
    member: Member, name: str = "API key", *, expires_at: datetime | None = None, actor: Actor = SYSTEM
) -> Issued:
    """Make a key for a member; its token exists only in the answer. Raises Refused for an end that is past."""
    if expires_at is not None and expires_at <= timezone.now():
        raise Refused("A key ends in the future, or never.", "expires_at")
    minted = credentials.mint()
    credential = Credential.objects.create(
        organisation_id=member.organisation_id,
        member=member,
        name=named(name),
        prefix=minted.prefix,
        digest=minted.digest,
        expires_at=expires_at,
    )
    events.record(
        member.organisation_id,
        actor,
        "key.issued",
        subject=member.principal,
        key=credential.id,
        prefix=credential.prefix,
        expires_at=expires_at.isoformat() if expires_at else None,
    )
    return Issued(credential, minted.token)


@transaction.atomic
def revoke_key(credential: Credential, *, actor: Actor = SYSTEM) -> None:
    """End a key: it is refused from the next request on, in every process."""
    if Credential.objects.filter(pk=credential.pk, revoked_at=None).update(revoked_at=timezone.now()):
        events.record(
            credential.organisation_id,
            actor,
            "key.revoked",
            subject=f"member:{credential.member_id}",
            key=credential.id,
            prefix=credential.prefix,
        )


@transaction.atomic
def deactivate(member: Member, *, actor: Actor = SYSTEM) -> None:
    """End what a member may do at once: its keys, its sessions and every grant it holds have no effect."""
    if Member.objects.filter(pk=member.pk, deactivated_at=None).update(deactivated_at=timezone.now()):
        events.record(member.organisation_id, actor, "member.deactivated", subject=member.principal, name=member.name)


@transaction.atomic
def retire(member: Member, *, actor: Actor = SYSTEM) -> None:
    """Deactivate a member for good: what it set out from is gone, and it cannot be let act again."""
    deactivate(member, actor=actor)
    Member.objects.filter(pk=member.pk, retired_at=None).update(retired_at=timezone.now())


@transaction.atomic
def reactivate(member: Member, *, actor: Actor = SYSTEM) -> None:
    """Let a deactivated member act again, with the grants it still holds. Raises Refused for one that is retired."""
    if Member.objects.select_for_update().filter(pk=member.pk).exclude(retired_at=None).exists():
        raise Refused("This agent was retired with its harness. Create a new one.")
    if Member.objects.filter(pk=member.pk).exclude(deactivated_at=None).update(deactivated_at=None):
        events.record(member.organisation_id, actor, "member.reactivated", subject=member.principal, name=member.name)


@transaction.atomic
def invite(
    organisation: Organisation,
    *,
    name: str,
    email: str = "",
    groups: list[Group] | None = None,
    is_owner: bool = False,
    actor: Actor = SYSTEM,
) -> Invited:
    """Make a link by which one person may join within a week; with an email only the owner of that address may."""
    if any(group.organisation_id != organisation.id or group.is_everyone for group in groups or []):
        raise Refused("Choose groups of this organisation that have a list of members.", "groups")
    if email:
        email = email.strip().lower()
        try:
            validate_email(email)
        except ValidationError:
            raise Refused(f"{email!r} is not an email address.", "email") from None
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        organisation=organisation,
        name=named(name),
        email=email,
        is_owner=is_owner,
        digest=_digest(token),
        expires_at=timezone.now() + INVITATION_LASTS,
    )
    invitation.groups.set(groups or [])
    _invitation_changed("member.invited", invitation, actor)
    return Invited(invitation, token)


def open_invitation(token: str, *, locked: bool = False) -> Invitation:
    """The invitation behind a link. Raises Refused, alike for one unknown, used, withdrawn and past its end."""
    invitations = Invitation.objects.select_related("organisation").filter(digest=_digest(token))
    invitation = (invitations.select_for_update(of=("self",)) if locked else invitations).first()
    if invitation is None or not invitation.is_open:
        raise Refused("This invitation is not valid any more. Ask for a new one.", "token")
    return invitation


@transaction.atomic
def accept_invitation(
    token: str, *, email: str = "", password: str | None = None, user: User | None = None, actor: Actor | None = None
) -> Member:
    """Join by a link, once: as the signed-in `user`, or with a new account. Raises Refused.

    Having the link is not having the account: an address that has one already must be signed in.
    """
    invitation = open_invitation(token, locked=True)
    address = (user.email if user else email or invitation.email).strip().lower()
    if invitation.email and address != invitation.email:
        raise Refused("This invitation is for another email address.", "email")
    if user is None:
        if not address or not password:
            raise Refused(
                "Give an email address and a password to sign in with.", "email" if not address else "password"
            )
        if User.objects.filter(email__iexact=address).exists():
            raise Refused("This address has an account: sign in, then open the link again.", "email")
    member = join(
        invitation.organisation,
        name=invitation.name,
        type=Member.Type.HUMAN,
        email=address,
        password=password,
        groups=list(invitation.groups.all()),
        is_owner=invitation.is_owner,
        actor=actor or SYSTEM,
    )
    invitation.member = member
    invitation.save(update_fields=["member"])
    return member


@transaction.atomic
def withdraw_invitation(invitation: Invitation, *, actor: Actor = SYSTEM) -> None:
    """End an invitation that nobody came by yet; one that is used changes nothing."""
    waiting = Invitation.objects.filter(pk=invitation.pk, member=None, withdrawn_at=None)
    if waiting.update(withdrawn_at=timezone.now()):
        _invitation_changed("member.uninvited", invitation, actor)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _group_created(group: Group, actor: Actor) -> None:
    events.record(
        group.organisation_id,
        actor,
        "group.created",
        subject=group.principal,
        name=group.name,
        is_everyone=group.is_everyone,
    )


def _regrouped(action: str, group: Group, member: Member, actor: Actor) -> None:
    events.record(
        group.organisation_id,
        actor,
        action,
        subject=member.principal,
        group=group.principal,
        name=member.name,
        group_name=group.name,
    )


def _invitation_changed(action: str, invitation: Invitation, actor: Actor) -> None:
    events.record(invitation.organisation_id, actor, action, name=invitation.name, invitation=invitation.id)
