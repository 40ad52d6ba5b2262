from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from members.callers import caller_for
from members.events import COMMAND
from members.management import lookups
from memories.management.progress import bars
from memories.models import Memory
from memories.services import bulk
from memories.services.sight import look
from uhp_site.http.errors import UHPError
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = (
        "Remember every line of a JSON Lines file, each what one would send to remember a record. "
        "Run it again after it was stopped, and it goes on where it was."
    )

    def arguments(self, parser: CommandParser) -> None:
        """Declare what is imported, where to, and in whose name."""
        parser.add_argument("memory", metavar="MEMORY", help="The id of the memory.")
        parser.add_argument("file", metavar="FILE.jsonl", type=Path, help="One JSON object on each line.")
        parser.add_argument(
            "--as", dest="writer", metavar="MEMBER", required=True, help="The id of the member who writes them."
        )
        parser.add_argument("--again", action="store_true", help="Import the file once more from its first line.")
        parser.add_argument("--quiet", action="store_true", help="Show no progress.")

    def handle(
        self, *_args: Any, memory: str, file: Path, writer: str, again: bool, quiet: bool, **_options: Any
    ) -> None:
        """Import; the exit status is 1 when a line was refused."""
        found = Memory.objects.filter(pk=memory).select_related("organisation").first()
        if found is None:
            raise CommandError(f"There is no memory with the id {memory!r}.")
        caller = caller_for(lookups.member(found.organisation, writer), COMMAND)
        if not caller.member.is_active:
            raise CommandError(f"{caller.member.name} is deactivated.")
        try:
            place = look(caller, found.id)
            if again:
                bulk.again(place, file)
            with bars({"lines": self._count(file)}, quiet=quiet, out=self.stderr) as progress:
                state = bulk.remember_lines(place, file, self._refused, lambda count: progress("lines", count))
        except (UHPError, bulk.Stopped) as failure:
            raise CommandError(str(failure)) from None
        self.stdout.write(f"Wrote {state.written} records of {state.lines} lines into {found.name}.")
        if state.refused:
            raise CommandError(f"{state.refused} lines were refused.")

    def _refused(self, number: int, why: str) -> None:
        self.stderr.write(f"Line {number}: {why}", style_func=str)

    def _count(self, file: Path) -> int:
        try:
            with file.open("rb") as lines:
                return sum(1 for _ in iter(lambda: lines.readline(65_536), b""))
        except OSError as failure:
            raise CommandError(f"{file} cannot be read: {failure.strerror}.") from None
