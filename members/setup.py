"""An organisation from nothing: its owner, a way to sign in and a key, with what has to be shown once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from django.db import transaction

from uhp_site.http.text import flaw

from . import services
from .events import SYSTEM, Actor
from .models import Member, Organisation, User
from .services import Refused

FIRST_NAME = "My organisation"
FIRST_EMAIL = "owner@heartwood.example"
EMAIL_LENGTH = 254
# No letter or digit that is easily read as another; sixteen of them are 78 bits.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
LABEL_WIDTH = 22


@dataclass(frozen=True)
class SignIn:
    """How a person will sign in. An account that exists keeps its password, so none is set then."""

    email: str
    exists: bool = False
    password: str | None = field(default=None, repr=False)
    generated: bool = False

    @property
    def lines(self) -> list[str]:
        """What the person has to be told."""
        told = [line("Sign in", self.email)]
        if self.generated:
            told.append(line("Password", f"{self.password}"))
        return told


@dataclass(frozen=True)
class Founded:
    """A new organisation, its owner, and the owner's key, which exists only here."""

    organisation: Organisation
    owner: Member
    sign_in: SignIn
    api_key: str = field(repr=False)

    @property
    def lines(self) -> list[str]:
        """What whoever founded it has to be told, once."""
        return [
            line("Organisation", self.organisation.name),
            *self.sign_in.lines,
            line("Owner's API key", self.api_key),
        ]


@transaction.atomic
def found(name: str, email: str, password: str | None = None, owner_name: str = "", actor: Actor = SYSTEM) -> Founded:
    """Create an organisation with an owner who can sign in and has a key. Raises Refused."""
    sign_in = sign_in_for(email, password)
    organisation = services.found_organisation(name, actor=actor)
    owner = services.join(
        organisation,
        name=owner_name or name_from(sign_in.email),
        type=Member.Type.HUMAN,
        email=sign_in.email,
        password=sign_in.password,
        is_owner=True,
        actor=actor,
    )
    return Founded(organisation, owner, sign_in, services.issue_key(owner, actor=actor).token)


def sign_in_for(email: str, password: str | None = None) -> SignIn:
    """How the person with this address will sign in: a new account gets the password given, or one made up here.

    Raises Refused for an address or a password that cannot be kept.
    """
    email = email.strip().lower()
    if not email or len(email) > EMAIL_LENGTH or flaw(email):
        raise Refused(f"An email address has 1 to {EMAIL_LENGTH} characters.", "email")
    if password is not None and (not password or flaw(password)):
        raise Refused("A password cannot be empty or hold what is not text.", "password")
    if User.objects.filter(email__iexact=email).exists():
        return SignIn(email, exists=True)
    return SignIn(email, password=password or new_password(), generated=password is None)


def new_password() -> str:
    """A random password that can be read out and typed: four groups of four."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(4))


def name_from(email: str) -> str:
    """A name for a person of whom only the address is known."""
    words = email.partition("@")[0].replace(".", " ").replace("_", " ").replace("-", " ").split()
    return " ".join(word.capitalize() for word in words)[: services.NAME_LENGTH] or "Owner"


def line(label: str, value: str) -> str:
    """One line of what a person is told at the terminal, the values under each other."""
    return f"{label:<{LABEL_WIDTH}}{value}"
