from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from members import services
from members.events import OPERATOR
from members.management import lookups
from members.management.base import Answer, MembersCommand, group_data, member_data


class Command(MembersCommand):
    help = "Put a member into a group; from the next request on, the group's grants count for it."

    def arguments(self, parser: CommandParser) -> None:
        """Declare the group and the member."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("group", metavar="GROUP", help="The group's id.")
        parser.add_argument("member", metavar="MEMBER", help="The member's id.")
        super().arguments(parser)

    def perform(self, *, organisation: str, group: str, member: str, **_options: Any) -> Answer:
        """Put the member in."""
        home = lookups.organisation(organisation)
        into, who = lookups.group(home, group), lookups.member(home, member)
        services.add_to_group(into, who, actor=OPERATOR)
        return Answer({"group": group_data(into), "member": member_data(who)}, [f"{who.name} is in {into.name}."])
