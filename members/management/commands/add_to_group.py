from __future__ import annotations

from members import services
from members.events import OPERATOR
from members.management.base import MembershipCommand
from members.models import Group, Member


class Command(MembershipCommand):
    help = "Put a member into a group; from the next request on, the group's grants count for it."

    def change(self, group: Group, member: Member) -> str:
        """Put the member in."""
        services.add_to_group(group, member, actor=OPERATOR)
        return f"{member.name} is in {group.name}."
