from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from members import setup
from members.events import OPERATOR
from members.management.base import Answer, MembersCommand, member_data, sign_in_notes
from members.setup import line


class Command(MembersCommand):
    help = "Create an organisation with an owner, and print how the owner signs in and the owner's API key, once."

    def arguments(self, parser: CommandParser) -> None:
        """Declare the name, and who owns it."""
        parser.add_argument("name", metavar="NAME", help="What the organisation is called.")
        parser.add_argument("--owner-email", metavar="E", required=True, help="The address the owner signs in with.")
        parser.add_argument("--owner-password", metavar="P", help="The owner's password (default: one is made up).")
        super().arguments(parser)

    def perform(self, *, name: str, owner_email: str, owner_password: str | None, **options: Any) -> Answer:
        """Found the organisation."""
        founded = setup.found(name, owner_email, owner_password, actor=OPERATOR)
        organisation, owner = founded.organisation, founded.owner
        return Answer(
            {
                "organisation": {"id": organisation.id, "name": organisation.name, "slug": organisation.slug},
                "member": {key: value for key, value in member_data(owner).items() if key != "name"},
                "api_key": founded.api_key,
            },
            [
                line("Organisation", f"{organisation.name} ({organisation.slug}, {organisation.id})"),
                line("Owner", f"{owner.name} ({owner.principal})"),
                *founded.sign_in.lines,
                line("API key", founded.api_key),
            ],
            sign_in_notes(founded.sign_in, options, owner_password),
        )
