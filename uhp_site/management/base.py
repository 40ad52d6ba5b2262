"""What our commands share: the data directory option, and one sentence instead of a traceback."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connection
from psycopg import errors

from uhp_site import data


class HeartwoodCommand(BaseCommand):
    """A command that works on the database of a data directory, beside the running server.

    `arguments(parser)` declares the options, `handle` does the work and raises CommandError with one sentence when
    something is wrong: it is printed as it is, and the exit status is 1.
    """

    requires_system_checks: list[str] = []
    needs_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--data`; manage.py has read it by now, so that it is known before the settings are."""
        add_data_option(parser)
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """Declare the command's own options."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; what is wrong with the database becomes a sentence."""
        try:
            if self.needs_database:
                self._connect()
            return super().execute(*args, **options)
        except ProgrammingError as error:
            if isinstance(error.__cause__, errors.UndefinedTable | errors.UndefinedColumn | errors.UndefinedFunction):
                self._refuse("The database is not up to date; start the server with `manage.py up`, which migrates it.")
            raise
        except OperationalError:
            self._refuse("The connection to the database was lost.")
        except CommandError as error:
            if not getattr(self, "_called_from_command_line", False):
                raise
            print(error, file=sys.stderr)
            sys.exit(error.returncode)

    def _connect(self) -> None:
        if data.uses_embedded_database() and data.embedded_connection() is None:
            self._refuse(f"There is no database in {data.directory()}; start the server with `manage.py up` first.")
        try:
            connection.ensure_connection()
        except OperationalError:
            if data.uses_embedded_database():
                self._refuse(
                    f"The database in {data.directory()} does not answer; start the server with `manage.py up` first."
                )
            self._refuse("The database that DATABASE_URL names does not answer, or refuses the name or password.")

    def _refuse(self, sentence: str) -> None:
        if not getattr(self, "_called_from_command_line", False):
            raise CommandError(sentence, returncode=2)
        data.fail(sentence)


def add_data_option(parser: ArgumentParser) -> None:
    """Declare `--data DIR` for the help text; its value is taken from the command line before settings are read."""
    parser.add_argument(
        "--data", metavar="DIR", help="The data directory (default: $HEARTWOOD_DATA, else ./.heartwood)."
    )
