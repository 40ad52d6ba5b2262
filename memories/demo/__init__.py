"""The demo: a furniture maker we invented, told through the same verbs that people and agents use.

Everything is written in the name of whoever would write it, so that history, grants and the restricted branch are
worth looking at. The server's times are real: the demo is as old as its database.
"""

from __future__ import annotations

from django.db import transaction

from members import services as members
from members.models import Group, Member, Organisation
from members.setup import line

from . import customers, house, workshop
from .pen import Cast, Pen

ORGANISATION = "Alder & Finch"
OWNER = "Maren Alder"


@transaction.atomic
def plant(organisation: Organisation, owner: Member) -> list[str]:
    """Fill an organisation with the demo, all of it or nothing; return the lines to print once, the agents' keys."""
    cast = _cast(organisation, owner)
    pen = Pen()
    root = pen.memory(owner, ORGANISATION, None, "Everything the company remembers.")
    pen.grant(owner, root, cast.everyone, "read")
    house.opening(pen, cast, root)
    house.handbook(pen, cast, root)
    things = workshop.write(pen, cast, root)
    customers.write(pen, cast, root, things)
    house.people(pen, cast, root)
    house.to_review(pen, cast, root)
    for person in (cast.ingrid, cast.tomas):
        members.issue_key(person, "Laptop")
    return [
        line("Support agent's key", members.issue_key(cast.support, "Customer inbox").token),
        line("Planner's key", members.issue_key(cast.planner, "Bench plan").token),
    ]


def _cast(organisation: Organisation, owner: Member) -> Cast:
    def person(name: str) -> Member:
        address = f"{name.split()[0].lower()}@alder-finch.example"
        return members.join(organisation, name=name, type=Member.Type.HUMAN, email=address)

    def agent(name: str) -> Member:
        return members.join(organisation, name=name, type=Member.Type.AGENT)

    ingrid, tomas, sofia, bram = map(person, ("Ingrid Vos", "Tomas Finch", "Sofia Reyes", "Bram Okafor"))
    support, planner = map(agent, ("Support agent", "Workshop planner"))
    return Cast(
        maren=owner,
        ingrid=ingrid,
        tomas=tomas,
        sofia=sofia,
        bram=bram,
        support=support,
        planner=planner,
        customer_team=members.create_group(organisation, "Customer team", [sofia, support]),
        workshop_crew=members.create_group(organisation, "Workshop crew", [tomas, bram, planner]),
        everyone=Group.objects.get(organisation=organisation, is_everyone=True),
    )
