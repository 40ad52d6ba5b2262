"""The page on which each person says when they get mail, and the one that a link in the mail leads to."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from uhp_site.http import pages

from . import digests
from .authentication import origin_of
from .events import Actor
from .notification_models import DigestChoice
from .services import Refused
from .shell import ConsoleRequest, member_page, shell

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
OUTCOMES = {
    "sending": "was taken up, but the server stopped before it was sent. It is not sent again",
    "sent": "was sent",
    "empty": "was not sent: there was nothing to say",
    "failed": "was not sent: the mail server did not take it",
}


class DigestForm(forms.Form):
    """When a digest comes."""

    frequency = forms.ChoiceField(
        label="A digest comes", choices=DigestChoice.Frequency.choices, widget=forms.RadioSelect
    )
    weekday = forms.TypedChoiceField(
        label="Day", coerce=int, choices=list(enumerate(WEEKDAYS)), help_text="When it comes once a week."
    )
    hour = forms.TypedChoiceField(label="Hour", coerce=int, choices=[(hour, f"{hour:02}:00") for hour in range(24)])
    time_zone = forms.ChoiceField(label="Time zone")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, name.replace("_", " ")) for name in digests.zones()]


@member_page
@require_http_methods(["GET", "POST"])
def notifications(request: ConsoleRequest) -> HttpResponse:
    """When this person gets a digest by mail."""
    choice = digests.choice_of(request.caller.member)
    kept = {name: getattr(choice, name) for name in ("frequency", "weekday", "hour", "time_zone")}
    form = DigestForm(request.POST if request.method == "POST" else None, initial=kept)
    if request.method == "POST" and form.is_valid():
        try:
            chosen = digests.choose(request.caller, **form.cleaned_data, origin=origin(request))
        except Refused as refusal:
            form.add_error(refusal.field or None, str(refusal))
        else:
            messages.success(request, f"Saved. {said(chosen)}")
            return redirect("console:notifications", request.organisation.slug)
    user = request.caller.member.user
    context = {
        **shell(request),
        **tabs(request, "digest"),
        "form": form,
        "email": user.email if user else "",
        "mails": settings.MAIL.configured,
        "now": said(choice),
        "on": choice.frequency != DigestChoice.Frequency.OFF,
        "slot_at": choice.slot_at,
        "outcome": OUTCOMES.get(choice.outcome, ""),
    }
    return pages.answer(request, "members/notifications.html", context, status=422 if form.errors else 200)


@csrf_exempt
@never_cache
@require_http_methods(["GET", "POST"])
def stop(request: HttpRequest, organisation: str, digest_token: str) -> HttpResponse:
    """End the digests of whoever got the mail with this link, signed in or not; a look alone ends nothing.

    The link is what allows it: a mail program sends the POST by itself, without a cookie or a form (RFC 8058).
    """
    member = digests.member_behind(organisation, digest_token)
    if member is None:
        return pages.not_found(request)
    stopped = request.method == "POST"
    if stopped:
        digests.stop(member, Actor(member.principal, origin_of(request, "console")))
    context = {
        "organisation": member.organisation.name,
        "off": stopped or digests.choice_of(member).frequency == DigestChoice.Frequency.OFF,
        "choice_url": reverse("console:notifications", args=[organisation]),
    }
    return pages.answer(request, "members/digest_stop.html", context)


def origin(request: HttpRequest) -> str:
    """Where the console is, as this person reaches it: what links in mails and messages begin with."""
    return request.build_absolute_uri("/").rstrip("/")


def tabs(request: ConsoleRequest, current: str) -> dict[str, Any]:
    """The pages on what goes out by itself; webhooks of the organisation are the owners'."""
    slug = request.organisation.slug
    named = [("Digest by email", "notifications", "digest"), ("Your webhooks", "webhooks-own", "own")]
    if request.caller.member.is_owner:
        named.append(("Webhooks of the organisation", "webhooks", "webhooks"))
    return {
        "tabs": [
            {"label": label, "url": reverse(f"console:{name}", args=[slug]), "current": tab == current, "count": None}
            for label, name, tab in named
        ]
    }


def said(choice: DigestChoice) -> str:
    """When a digest comes, in one sentence."""
    at = f"at {choice.hour:02}:00 ({choice.time_zone.replace('_', ' ')})"
    if choice.frequency == DigestChoice.Frequency.DAILY:
        return f"A digest comes every day {at}."
    if choice.frequency == DigestChoice.Frequency.WEEKLY:
        return f"A digest comes every {WEEKDAYS[choice.weekday]} {at}."
    return "No digest comes."
