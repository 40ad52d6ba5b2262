from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from members import services
from members.events import OPERATOR
from members.management import lookups
from members.management.base import Answer, MembersCommand, group_data
from members.setup import line


class Command(MembersCommand):
    help = "Create a group in an organisation, with its first members."

    def arguments(self, parser: CommandParser) -> None:
        """Declare where, what it is called, and who is in it."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("name", metavar="NAME", help="What the group is called.")
        parser.add_argument(
            "--member", metavar="ID", action="extend", nargs="+", default=[], help="The id of a member; repeatable."
        )
        super().arguments(parser)

    def perform(self, *, organisation: str, name: str, member: list[str], **_options: Any) -> Answer:
        """Create the group."""
        home = lookups.organisation(organisation)
        group = services.create_group(home, name, [lookups.member(home, one) for one in member], actor=OPERATOR)
        return Answer({"group": group_data(group)}, [line("Group", f"{group.name} ({group.principal})")])
