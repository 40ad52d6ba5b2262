from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from members import services, setup
from members.events import OPERATOR
from members.management import lookups
from members.management.base import Answer, MembersCommand, member_data, sign_in_notes
from members.setup import line


class Command(MembersCommand):
    help = "Add a person or an agent to an organisation, and print the new member's API key, once."

    def arguments(self, parser: CommandParser) -> None:
        """Declare who is added, where, and how they sign in."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("--name", metavar="N", required=True, help="What the member is called.")
        parser.add_argument("--type", metavar="human|agent", required=True, help="Whether it is a person or an agent.")
        parser.add_argument("--email", metavar="E", help="The address the member signs in with, if they do.")
        parser.add_argument("--password", metavar="P", help="The password to --email (default: one is made up).")
        parser.add_argument(
            "--group",
            metavar="G",
            action="extend",
            nargs="+",
            default=[],
            help="The id of a group to join; repeatable.",
        )
        super().arguments(parser)

    def perform(
        self,
        *,
        organisation: str,
        name: str,
        type: str,
        email: str | None,
        password: str | None,
        group: list[str],
        **options: Any,
    ) -> Answer:
        """Add the member."""
        if password is not None and email is None:
            raise CommandError("--password needs the --email it belongs to.")
        home = lookups.organisation(organisation)
        groups = [lookups.group(home, one) for one in group]
        sign_in = None if email is None else setup.sign_in_for(email, password)
        member = services.join(
            home,
            name=name,
            type=type,
            email=sign_in.email if sign_in else "",
            password=sign_in.password if sign_in else None,
            groups=groups,
            actor=OPERATOR,
        )
        api_key = services.issue_key(member, actor=OPERATOR).token
        return Answer(
            {"member": member_data(member), "api_key": api_key},
            [
                line("Member", f"{member.name} ({member.principal})"),
                *(sign_in.lines if sign_in else ()),
                line("API key", api_key),
            ],
            sign_in_notes(sign_in, options, password) if sign_in else (),
        )
