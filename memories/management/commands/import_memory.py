from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from members.management import lookups
from memories.management.progress import bars
from memories.models import Memory
from memories.services.archive import Broken, Reader
from memories.services.imports import Wish, bring_in
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = "Read what export_memory wrote into an organisation, all of it or nothing: new ids, and otherwise as it was."

    def arguments(self, parser: CommandParser) -> None:
        """Declare what is imported, where to, and what becomes of those who are not there."""
        parser.add_argument("directory", metavar="DIR", type=Path, help="The directory of the export.")
        parser.add_argument("--org", metavar="ORG", required=True, help="The organisation's slug or id.")
        parser.add_argument("--parent", metavar="ID", help="The memory to put it under (default: at the top).")
        parser.add_argument(
            "--creator",
            metavar="MEMBER",
            help="The id of the member who takes the place of creators that are not here.",
        )
        parser.add_argument(
            "--create-missing",
            action="store_true",
            help="Make groups that are not here, and members too, deactivated (default: leave their grants out).",
        )
        parser.add_argument("--quiet", action="store_true", help="Show no progress.")

    def handle(
        self,
        *_args: Any,
        directory: Path,
        org: str,
        parent: str | None,
        creator: str | None,
        create_missing: bool,
        quiet: bool,
        **_options: Any,
    ) -> None:
        """Import."""
        home = lookups.organisation(org)
        above = Memory.objects.of(home.id).filter(pk=parent).first() if parent else None
        if parent and above is None:
            raise CommandError(f"{home.name} has no memory with the id {parent!r}.")
        wish = Wish(
            organisation=home,
            parent=above,
            creator=lookups.member(home, creator).principal if creator else "",
            create_missing=create_missing,
        )
        try:
            with bars(Reader(directory).counts, quiet=quiet, out=self.stderr) as progress:
                done = bring_in(directory, wish, progress)
        except Broken as failure:
            raise CommandError(str(failure)) from None
        what = ", ".join(f"{count} {kind}" for kind, count in done.counts.items() if count)
        self.stdout.write(f"Imported {what} as {done.root}.")
        if done.created:
            self.stderr.write(f"Made, because nobody here has the name: {', '.join(done.created)}.", style_func=str)
        if done.missing:
            self.stderr.write(f"Not here, so their grants were left out: {', '.join(done.missing)}.", style_func=str)
        for note in done.notes:
            self.stderr.write(note, style_func=str)
