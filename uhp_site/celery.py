"""The Celery application: one worker with two threads and one schedule, both started by `up`.

Messages only say what to look at; the rows they point to hold the work. So results are not kept, and a message is
acknowledged after its task ran: a worker that dies in the middle leaves it to the next one.
"""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import structlog
from celery import Celery, signals
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from celery.worker import state
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu.transport import TRANSPORT_ALIASES

from uhp_site.runtime import broker
from uhp_site.runtime.broker import DEFAULT_QUEUE, HEARTBEAT_QUEUE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "uhp_site.settings")

HEARTBEAT_SECONDS = 5
# More heartbeats than this waiting means that nobody takes them; the old ones say nothing and are thrown away.
MOST_HEARTBEATS = 12
CONCURRENCY = 2

# Celery warns a worker that root runs of pickled messages; this one takes JSON only.
warnings.filterwarnings("ignore", category=SecurityWarning)
# A task that loses its broker runs on, and its message comes back later; both are meant to be harmless.
warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)

TRANSPORT_ALIASES["pgmq"] = "uhp_site.runtime.transport:Transport"

logger = structlog.stdlib.get_logger(__name__)

app = Celery("heartwood")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    task_store_errors_even_if_ignored=False,
    task_default_queue=DEFAULT_QUEUE,
    task_routes={"uhp_site.heartbeat": {"queue": HEARTBEAT_QUEUE}},
    task_publish_retry_policy={"max_retries": 3, "interval_start": 0, "interval_step": 0.2, "interval_max": 1},
    worker_concurrency=CONCURRENCY,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_send_task_events=False,
    # Remote control would leave a queue of its own behind for every worker that was killed.
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    beat_schedule={
        "heartbeat": {
            "task": "uhp_site.heartbeat",
            "schedule": float(HEARTBEAT_SECONDS),
            "options": {"expires": 3 * HEARTBEAT_SECONDS},
        },
        "sweep-jobs": {"task": "memories.sweep_jobs", "schedule": 30.0, "options": {"expires": 30}},
        "sweep-runs": {"task": "memories.sweep_runs", "schedule": 30.0, "options": {"expires": 30}},
        "sweep-files": {"task": "memories.sweep_files", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-reviews": {"task": "memories.sweep_reviews", "schedule": 300.0, "options": {"expires": 300}},
        "compare-items": {"task": "memories.compare_items", "schedule": 15.0, "options": {"expires": 15}},
        "make-vectors": {"task": "memories.make_vectors", "schedule": 60.0, "options": {"expires": 60}},
        "tend-indexes": {"task": "memories.tend_indexes", "schedule": 60.0, "options": {"expires": 60}},
        "review-indexes": {"task": "memories.review_indexes", "schedule": 6 * 3600.0, "options": {"expires": 3600}},
        "purge-answers": {"task": "members.purge_answers", "schedule": 3600.0, "options": {"expires": 3600}},
        "sweep-digests": {"task": "memories.sweep_digests", "schedule": 60.0, "options": {"expires": 60}},
        "send-webhooks": {"task": "members.send_webhooks", "schedule": 15.0, "options": {"expires": 15}},
        "purge-deliveries": {"task": "members.purge_deliveries", "schedule": 3600.0, "options": {"expires": 3600}},
    },
    enable_utc=True,
)
app.autodiscover_tasks()
# Log lines of a task carry the id of the request that caused it.
app.steps["worker"].add(DjangoStructLogInitStep)


@signals.setup_logging.connect
def keep_django_logging(**_: Any) -> None:
    """Leave logging as the settings configured it; having a receiver is what tells Celery so."""


@signals.beat_init.connect
def send_what_does_not_wait(**_: Any) -> None:
    """Send a heartbeat as soon as the schedule runs, and have vectors made: readiness and the demo's first question do
    not wait for the next round.
    """
    app.send_task("uhp_site.heartbeat", expires=3 * HEARTBEAT_SECONDS)
    app.send_task("memories.make_vectors", expires=60)
    signals.before_task_publish.connect(discard_stale_heartbeats, sender="uhp_site.heartbeat")


def discard_stale_heartbeats(**_: Any) -> None:
    """Keep the queue of heartbeats short while no worker takes them."""
    with app.pool.acquire(block=True) as acquired:
        connection: Any = acquired
        channel = connection.default_channel
        if channel.queue_declare(HEARTBEAT_QUEUE, passive=True).message_count > MOST_HEARTBEATS:
            channel.queue_purge(HEARTBEAT_QUEUE)


@signals.worker_init.connect
def take_back_messages(**_: Any) -> None:
    """Make the messages that a killed worker had taken visible again, where this is the only worker there can be."""
    broker.release()


@signals.worker_ready.connect
def stamp_while_busy(**_: Any) -> None:
    """Stamp the heartbeat from beside the tasks while long ones occupy every thread: busy is not dead."""
    stopped = threading.Event()
    signals.worker_shutting_down.connect(lambda **_: stopped.set(), weak=False)

    def watch() -> None:
        from django.db import Error, connection

        from uhp_site.models import Heartbeat

        while not stopped.wait(HEARTBEAT_SECONDS):
            if len(state.active_requests) < CONCURRENCY:
                continue
            try:
                Heartbeat.stamp()
            except Error:
                logger.warning("heartbeat_failed")
            finally:
                connection.close()

    threading.Thread(target=watch, name="heartbeat", daemon=True).start()
