"""What an empty database gets: the first organisation, with the demo in it or not."""

from __future__ import annotations

from django.db import transaction

from members import setup
from memories.demo import ORGANISATION, OWNER, plant


@transaction.atomic
def first_organisation(demo: bool) -> list[str]:
    """Create the first organisation and its owner, and return the lines to print once; nothing is left half done."""
    if not demo:
        return _told(setup.found(setup.FIRST_NAME, setup.FIRST_EMAIL, owner_name="Owner").lines)
    founded = setup.found(ORGANISATION, setup.FIRST_EMAIL, owner_name=OWNER)
    return _told(founded.lines + plant(founded.organisation, founded.owner))


def _told(lines: list[str]) -> list[str]:
    return [*lines, "Keep these: they are shown this once."]
