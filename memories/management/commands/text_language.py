from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from members import events
from members.management import lookups
from memories.models import Job
from memories.providers import words
from memories.services import language
from uhp_site.http.errors import UHPError
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = (
        "Say in which language an organisation's words are indexed, or change it: what is there is indexed anew in "
        "the background, and questions are answered meanwhile."
    )

    def arguments(self, parser: CommandParser) -> None:
        """Declare whose language it is, and which."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument(
            "language",
            metavar="LANGUAGE",
            nargs="?",
            help="A text search configuration of the database, such as german; its present one indexes anew.",
        )

    def handle(self, *_args: Any, organisation: str, **options: Any) -> None:
        """Change it, or say what it is."""
        home = lookups.organisation(organisation)
        wanted = options["language"]
        if wanted is None:
            self.stdout.write(f"{home.name}: {home.language}")
            job = Job.objects.of(home.id).filter(kind=language.KIND).unfinished().first()
            if job is not None:
                self.stdout.write(f"Indexing words: {job.done} of {'?' if job.total is None else job.total}.")
            return
        try:
            job = language.change(home.id, wanted, events.OPERATOR)
        except UHPError as refusal:
            known = ", ".join(sorted(words.configurations()))
            hint = f" It knows: {known}." if refusal.param == "language" else ""
            raise CommandError(f"{refusal.message}{hint}") from None
        self.stdout.write(f"{home.name}: {wanted}. A worker indexes its words anew ({job.id}).")
