"""How gunicorn serves the application; `gunicorn --config python:uhp_site.gunicorn` works without `up` too."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

from gunicorn.glogging import Logger

from uhp_site import logs

logs.configure_from_environment()


class StructuredLogger(Logger):  # type: ignore[misc]
    """Gunicorn's messages through the same formatter as everybody else's."""

    def setup(self, cfg: Any) -> None:
        """Hand the messages on to the root logger instead of writing them."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def when_ready(_server: Any) -> None:
    """Set the loaded application aside before the workers are forked: see `_settle`."""
    _settle()


def post_worker_init(_worker: Any) -> None:
    """Load the embedder of this worker in the background, so that the first recall need not wait for it.

    A worker that is stopped meanwhile waits for the thread: native code aborts when its process ends around it.
    """
    threading.Thread(target=_warm, name="warm-embedder", daemon=False).start()


def _warm() -> None:
    from memories import embedders

    embedders.warm()
    _settle()


def _settle() -> None:
    # What is loaded stays: the collector would go through a million objects of it every few hundred requests, which
    # takes longer than most pages do.
    gc.collect()
    gc.freeze()


wsgi_app = "uhp_site.wsgi:application"
# The master loads the code once, and its workers share it; threads, connections and models are each worker's own.
preload_app = True
worker_class = "gthread"
workers = min(2, os.cpu_count() or 1)
threads = 8
# A worker whose main loop stands still this long is replaced; a slow request does not count.
timeout = 60
graceful_timeout = 15
keepalive = 5
# Workers prove that they live by touching a file, which must not wait for a disk.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - gunicorn makes a private file there
control_socket_disable = True
logger_class = StructuredLogger
loglevel = os.environ.get("HEARTWOOD_LOG_LEVEL", "info").lower()
