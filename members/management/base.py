"""What the commands on members share: one transaction, `--json`, and a refusal as one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction

from members.management import lookups
from members.models import Group, Member
from members.services import Refused
from members.setup import SignIn
from uhp_site.management.base import HeartwoodCommand


@dataclass(frozen=True)
class Answer:
    """What a command says: `data` with --json, else `lines`; `notes` go to standard error either way."""

    data: dict[str, Any]
    lines: list[str]
    notes: tuple[str, ...] = ()


class MembersCommand(HeartwoodCommand):
    """A command that changes members, all of it or nothing.

    Subclasses define `perform`, which takes the options by name, does the work and says what came of it; it may raise
    CommandError or Refused.
    """

    perform: Callable[..., Answer]

    def arguments(self, parser: CommandParser) -> None:
        """Declare `--json`; subclasses add their own."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object, and nothing else.")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Perform in one transaction, then print."""
        try:
            with transaction.atomic():
                answer = self.perform(**options)
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        except IntegrityError:
            raise CommandError("Somebody made the same change at the same moment; run the command again.") from None
        self.stdout.write(json.dumps(answer.data) if options["json"] else "\n".join(answer.lines))
        for note in answer.notes:
            self.stderr.write(note, style_func=str)


class MembershipCommand(MembersCommand):
    """A command on one member and one group of an organisation. Subclasses say what it does, and what came of it."""

    change: Callable[[Group, Member], str]

    def arguments(self, parser: CommandParser) -> None:
        """Declare the group and the member."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("group", metavar="GROUP", help="The group's id.")
        parser.add_argument("member", metavar="MEMBER", help="The member's id.")
        super().arguments(parser)

    def perform(self, *, organisation: str, group: str, member: str, **_options: Any) -> Answer:
        """Look both up and make the change."""
        home = lookups.organisation(organisation)
        which, who = lookups.group(home, group), lookups.member(home, member)
        return Answer({"group": group_data(which), "member": member_data(who)}, [self.change(which, who)])


def member_data(member: Member) -> dict[str, str]:
    """A member as the commands print it."""
    return {"id": member.id, "principal": member.principal, "type": str(member.type), "name": member.name}


def group_data(group: Group) -> dict[str, str]:
    """A group as the commands print it."""
    return {"id": group.id, "principal": group.principal, "name": group.name}


def sign_in_notes(sign_in: SignIn, options: Mapping[str, Any], given: str | None) -> tuple[str, ...]:
    """What must be said of a sign-in beside the answer: a password passed over, or one that JSON has no room for."""
    if sign_in.exists and given is not None:
        return (f"{sign_in.email} already has an account, which keeps its password.",)
    if sign_in.generated and options["json"]:
        return (f"The password of {sign_in.email} is {sign_in.password}",)
    return ()
