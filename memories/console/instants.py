"""The instant that a page is asked about: now, or one in the past."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from members.shell import ConsoleRequest
from uhp_site.http.fields import parse_instant


@dataclass(frozen=True)
class Asked:
    """What was asked: `at` is None for now; `value` is what the form shows; `error` what is wrong with it."""

    at: datetime | None = None
    value: str = ""
    error: str = ""


def asked(request: ConsoleRequest, name: str = "at") -> Asked:
    """The instant in the address: what a form sends, in the server's time zone, or an instant with an offset."""
    text = request.GET.get(name, "").strip()[:40]
    if not text:
        return Asked()
    try:
        moment = parse_instant(text) or parse_datetime(text)
        if moment is None:
            return Asked(value=text, error="This is not a date and a time.")
        at = timezone.make_aware(moment) if timezone.is_naive(moment) else moment
        value = timezone.localtime(at).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError):
        return Asked(value=text, error="There is no such date.")
    if at > timezone.now():
        return Asked(value=value, error="This lies in the future, which nobody knows.")
    return Asked(at, value)
