from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memories.management.progress import bars
from memories.models import Memory
from memories.services.archive import Broken
from memories.services.exports import export
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = "Write a memory with everything below it (records, versions, files, grants, holds) to a new directory."

    def arguments(self, parser: CommandParser) -> None:
        """Declare what is exported and to where."""
        parser.add_argument("memory", metavar="ID", help="The id of the memory.")
        parser.add_argument("directory", metavar="DIR", type=Path, help="A directory that is new or empty.")
        parser.add_argument("--quiet", action="store_true", help="Show no progress.")

    def handle(self, *_args: Any, memory: str, directory: Path, quiet: bool, **_options: Any) -> None:
        """Export."""
        root = Memory.objects.filter(pk=memory).first()
        if root is None:
            raise CommandError(f"There is no memory with the id {memory!r}.")
        try:
            with bars({}, quiet=quiet, out=self.stderr) as progress:
                counts = export(root, directory, progress)
        except Broken as failure:
            raise CommandError(str(failure)) from None
        what = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        self.stdout.write(f"Exported {root.name} to {directory}: {what}.")
