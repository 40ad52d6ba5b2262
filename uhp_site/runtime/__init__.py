"""What `manage.py up` runs: the embedded database, the queue, and the processes that serve."""

from __future__ import annotations
