from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from members import services
from members.events import OPERATOR
from members.management import lookups
from members.management.base import Answer, MembersCommand, group_data, member_data


class Command(MembersCommand):
    help = "Take a member out of a group; from the next request on, the group's grants no longer count for it."

    def arguments(self, parser: CommandParser) -> None:
        """Declare the group and the member."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("group", metavar="GROUP", help="The group's id.")
        parser.add_argument("member", metavar="MEMBER", help="The member's id.")
        super().arguments(parser)

    def perform(self, *, organisation: str, group: str, member: str, **_options: Any) -> Answer:
        """Take the member out."""
        home = lookups.organisation(organisation)
        out_of, who = lookups.group(home, group), lookups.member(home, member)
        services.remove_from_group(out_of, who, actor=OPERATOR)
        return Answer(
            {"group": group_data(out_of), "member": member_data(who)}, [f"{who.name} is not in {out_of.name}."]
        )
