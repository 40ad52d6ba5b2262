from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from members import events
from members.management import lookups
from memories.services import types
from uhp_site.http.errors import UHPError
from uhp_site.management.base import HeartwoodCommand


class Command(HeartwoodCommand):
    help = "Register an extension type of record for an organisation, or replace its definition, from a JSON file."

    def arguments(self, parser: CommandParser) -> None:
        """Declare whose type it is and where it is described."""
        parser.add_argument("organisation", metavar="ORG", help="The organisation's slug or id.")
        parser.add_argument("file", metavar="FILE.json", type=Path, help="The definition: type, schema, operations.")

    def handle(self, *_args: Any, organisation: str, file: Path, **_options: Any) -> None:
        """Register the type."""
        home = lookups.organisation(organisation)
        try:
            definition = json.loads(file.read_text(encoding="utf-8"))
        except OSError as failure:
            raise CommandError(f"{file} cannot be read: {failure.strerror}.") from None
        except (ValueError, RecursionError):
            raise CommandError(f"{file} is not JSON.") from None
        if not isinstance(definition, dict):
            raise CommandError(f"{file} does not hold a JSON object.")
        try:
            registered, created = types.register(home.id, definition, events.OPERATOR)
        except UHPError as refusal:
            raise CommandError(f"{refusal.param}: {refusal.message}" if refusal.param else refusal.message) from None
        names = ", ".join(one.name for one in registered.operations) or "none"
        self.stdout.write(f"{'Registered' if created else 'Replaced'} {registered.type}; operations: {names}.")
