from __future__ import annotations

from argparse import BooleanOptionalAction
from typing import Any

from django.core.management.base import CommandParser

from uhp_site.management.base import HeartwoodCommand
from uhp_site.runtime.supervisor import up


class Command(HeartwoodCommand):
    help = "Run the whole server: database, web, worker and schedule. Stop it with Ctrl-C or SIGTERM."
    needs_database = False

    def arguments(self, parser: CommandParser) -> None:
        """Declare where to listen and whether an empty database gets the demo organisation."""
        parser.add_argument("--host", default="127.0.0.1", help="The address to listen on (default: 127.0.0.1).")
        parser.add_argument("--port", default="8000", help="The port to listen on; 0 takes a free one (default: 8000).")
        parser.add_argument(
            "--demo",
            action=BooleanOptionalAction,
            default=None,
            help="Fill an empty database with a demo organisation (default), or only with an empty one.",
        )

    def handle(self, *_args: Any, host: str, port: str, demo: bool | None, **_options: Any) -> None:
        """Run until told to stop; the exit status is 0 then, and 2 when it could not start."""
        raise SystemExit(up(host, port, demo))
