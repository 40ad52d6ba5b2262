from __future__ import annotations

from members import services
from members.events import OPERATOR
from members.management.base import MembershipCommand
from members.models import Group, Member


class Command(MembershipCommand):
    help = "Take a member out of a group; from the next request on, the group's grants no longer count for it."

    def change(self, group: Group, member: Member) -> str:
        """Take the member out."""
        services.remove_from_group(group, member, actor=OPERATOR)
        return f"{member.name} is not in {group.name}."
