"""A receiver of webhooks on this machine, which only the setting for development lets be asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from tests.members.receiver import Receiver, receiving


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A receiver, and the setting with which it can be asked."""
    settings.WEBHOOKS_INSIDE = True
    with receiving() as found:
        yield found
