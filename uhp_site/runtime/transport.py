"""Kombu's transport for queues in Postgres, without its habit of renewing triggers while others use them.

Upstream, everybody who declares or consumes a queue drops and creates its notification trigger, which locks the table
against readers and writers and deadlocks when two do it at once. Here a queue that is set up already is left alone.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import pgmq
from kombu.utils.objects import cached_property

# A worker notices that it should stop when it looks up from its queue.
LOOK_UP_SECONDS = 1.0


class Channel(pgmq.Channel):
    """A channel that creates what is missing and touches nothing that is there."""

    @cached_property
    def _known_queues(self) -> set[str]:
        return set()

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        if queue not in self._known_queues and not self._has_queue(queue):  # type: ignore[no-untyped-call]
            super()._new_queue(queue, **kwargs)  # type: ignore[no-untyped-call]
        self._known_queues.add(queue)

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        name = queue_name or self._queue_name(queue)
        if any(known.queue_name == name for known in self.pgmq.list_notify_throttles()):
            transport: Any = self.connection
            transport._register_notify_queue(name)
        else:
            super()._maybe_enable_notify(queue, queue_name)  # type: ignore[no-untyped-call]


class Transport(pgmq.Transport):
    """The transport that `pgmq://` stands for in our processes."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver what waits, or raise socket.timeout after a second at most."""
        shorter = min(timeout or LOOK_UP_SECONDS, LOOK_UP_SECONDS)
        super().drain_events(connection, shorter)  # type: ignore[no-untyped-call]
