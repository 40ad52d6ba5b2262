"""Telling a worker that there is something to do, from beside the request: a message waits for the disk, too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog
from celery import current_app
from django.db import connection

log = structlog.get_logger(__name__)


class Waker:
    """Sends the message of a task soon after somebody asked for it, one for all who ask within a moment.

    A process that ends meanwhile sends none: what is to be done lies in rows, and a schedule looks for them.
    """

    def __init__(self, task: str, *, pause: float, unless: Callable[[], bool] = lambda: False) -> None:
        """`pause` is the least time between two messages of this process, in seconds; none is sent where `unless` says
        that somebody is at it, who will look once more.
        """
        self._task = task
        self._pause = pause
        self._unless = unless
        self._asked = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Ask for the task; never waits, never fails."""
        self._asked.set()
        # A forked process has the thread of its parent by name only.
        if self._thread is None or not self._thread.is_alive():
            with self._starting:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._send, name=f"wake {self._task}", daemon=True)
                    self._thread.start()

    def _send(self) -> None:
        while self._asked.wait():
            self._asked.clear()
            try:
                if not self._unless():
                    current_app.send_task(self._task)
            except Exception:
                log.warning("message_not_sent", task=self._task, exc_info=True)
            finally:
                connection.close()
            time.sleep(self._pause)
