"""Mail: where it goes out, from one setting, and sending a page of plain text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from smtplib import SMTPException
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string

log = structlog.get_logger(__name__)

CONSOLE = "django.core.mail.backends.console.EmailBackend"
SMTP = "django.core.mail.backends.smtp.EmailBackend"
PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
SECONDS = 10
EXAMPLE = "smtp+tls://user:password@mail.example.com?from=memories@example.com"


@dataclass(frozen=True)
class Outgoing:
    """How mail leaves: Django's backend and what it is told. `configured` is false while it is only printed."""

    backend: str
    sender: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False

    @property
    def configured(self) -> bool:
        """Whether a person can get what is sent."""
        return self.backend != CONSOLE


def outgoing(url: str, backend: str = "") -> Outgoing:
    """Read HEARTWOOD_EMAIL_URL: smtp, smtp+tls (STARTTLS) or smtps. Raises SystemExit with a sentence for another."""
    if not url:
        return Outgoing(backend or CONSOLE, "heartwood@localhost")
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
        host = parts.hostname or ""
        sender = parse_qs(parts.query)["from"][0]
    except (KeyError, ValueError):
        host, port, sender = "", 0, ""
    if not host or not sender:
        raise SystemExit(f"HEARTWOOD_EMAIL_URL must look like {EXAMPLE}.")
    return Outgoing(
        backend=backend or SMTP,
        sender=sender,
        host=host,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )


def reachable() -> bool:
    """Whether the mail server takes mail now; False, and a line in the log, when it does not answer or let us in."""
    connection = get_connection()
    try:
        connection.open()
    except (SMTPException, OSError) as failure:
        log.warning("mail_server_not_reached", reason=type(failure).__name__)
        return False
    finally:
        connection.close()
    return True


def send(
    to: str, subject: str, template: str, context: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> bool:
    """Send plain text made from a template, at once; False, and a line in the log, when the mail server refused it.

    The log never says what the mail said.
    """
    body = render_to_string(template, dict(context))
    # A line break in a name would begin a header of its own.
    message = EmailMessage(
        " ".join(subject.split()), body, settings.DEFAULT_FROM_EMAIL, [to], headers=dict(headers or {})
    )
    try:
        return bool(message.send())
    except (SMTPException, OSError) as failure:
        log.warning("mail_not_sent", reason=type(failure).__name__)
        return False
