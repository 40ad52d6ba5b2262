#!/usr/bin/env python
"""The one entry point: `manage.py up` runs everything, the other commands work beside it."""

from __future__ import annotations

import os
import sys

from uhp_site import data


def main() -> None:
    """Run the command named on the command line, on the data directory that its --data option names."""
    data.choose_directory(sys.argv)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "uhp_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # Pressed while the code was still loading: there is nothing to stop, and nothing to explain.
        sys.exit(130)
