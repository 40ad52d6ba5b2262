"""Structured logs on standard error: one JSON object per line, or readable lines on a terminal.

No line holds a header, a cookie, a body or a query string: nothing here adds them, and query strings are cut off.
"""

from __future__ import annotations

import logging
import logging.config
import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

PROBES = ("GET /healthz", "GET /readyz", "HEAD /healthz", "HEAD /readyz")


def without_query(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Cut the query string off the request line: what people search for is theirs."""
    request = event.get("request")
    if isinstance(request, str):
        event["request"] = request.partition("?")[0]
    return event


def without_probes(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Drop the line of every probe that found nothing wrong; they come every few seconds."""
    if event.get("event") == "request_finished" and event.get("request") in PROBES and event.get("code") in {200, 503}:
        raise structlog.DropEvent
    return event


def configure(options: Mapping[str, Any]) -> None:
    """Send structlog and the standard library's logging to standard error, from `options["level"]` upwards.

    $HEARTWOOD_LOG_FORMAT chooses `json` or `console`; unset, it is `console` when standard error is a terminal.
    """
    level = str(options.get("level", "INFO")).upper()
    if level not in logging.getLevelNamesMapping():
        raise SystemExit(f"HEARTWOOD_LOG_LEVEL must be a level such as INFO or DEBUG, not {level!r}.")
    wanted = os.environ.get("HEARTWOOD_LOG_FORMAT", "").strip().lower()
    if wanted not in {"", "json", "console"}:
        raise SystemExit(f"HEARTWOOD_LOG_FORMAT must be json or console, not {wanted!r}.")
    console = wanted == "console" or (not wanted and sys.stderr.isatty())

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_query,
    ]
    endings: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if console:
        endings.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    else:
        endings += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]

    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "structured": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": shared,
                    "processors": endings,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                # Each of these repeats what the request line and the supervisor already say.
                "django.request": {"level": "CRITICAL"},
                "django.server": {"level": "WARNING"},
                "celery.beat": {"level": "WARNING"},
                "celery.worker.strategy": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                "httpx": {"level": "WARNING"},
                "psycopg.pool": {"level": "ERROR"},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            without_probes,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def configure_from_environment(*_: object, **__: MutableMapping[str, Any]) -> None:
    """Configure logs in a process that starts before Django does, such as the web server's master."""
    configure({"level": os.environ.get("HEARTWOOD_LOG_LEVEL", "INFO")})
