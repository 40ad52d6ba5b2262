from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from members.management import lookups
from members.models import Organisation
from memories.embedders.base import EmbedderUnavailable
from memories.management.progress import bars
from memories.services import reembed
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = (
        "Make the vectors of the model that the settings name, in the background, and ask by it once all are there; "
        "recall answers by the old ones meanwhile. --status says how far it is, --prune removes old vectors."
    )

    def arguments(self, parser: CommandParser) -> None:
        """Declare whose vectors, of which model, and what to do."""
        parser.add_argument("--organisation", metavar="ORG", help="Only this organisation, by slug or id.")
        parser.add_argument("--model", default="", help="A model by the name stored with its vectors.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--status", action="store_true", help="Say which models there are vectors of; change nothing."
        )
        what.add_argument("--prune", action="store_true", help="Remove the vectors that nobody is asked by any more.")
        parser.add_argument("--quiet", action="store_true", help="Show no progress.")

    def handle(self, *_args: Any, organisation: str | None, **options: Any) -> None:
        """Do it for each organisation."""
        homes = [lookups.organisation(organisation)] if organisation else list(Organisation.objects.order_by("name"))
        try:
            for home in homes:
                if options["prune"]:
                    self._prune(home, quiet=options["quiet"])
                else:
                    if not options["status"]:
                        with transaction.atomic():
                            reembed.begin(home.id, options["model"])
                    self._say(home)
        except (EmbedderUnavailable, ImproperlyConfigured) as failure:
            raise CommandError(str(failure)) from None

    def _say(self, home: Organisation) -> None:
        state = reembed.state(home.id)
        counted = ", ".join(f"{name} ({count})" for name, count in sorted(state.vectors.items())) or "none"
        self.stdout.write(f"{home.name}: asked by {state.asked_by}; vectors: {counted}; awaited: {state.awaited}")
        if job := state.job:
            far = f"{job.done} of {job.total}" if job.total is not None else "not begun"
            error = f" {job.error}" if job.error else ""
            self.stdout.write(f"  {job.payload['model']}: {job.state}, {far} ({job.id}).{error}")

    def _prune(self, home: Organisation, *, quiet: bool) -> None:
        with bars({}, quiet=quiet, out=self.stderr) as progress:
            removed = reembed.prune(home.id, lambda count: progress("vectors", count))
        self.stdout.write(f"{home.name}: removed {removed} vectors.")
