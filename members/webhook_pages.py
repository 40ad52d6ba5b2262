"""The pages on webhooks: which there are, what each was sent and answered, and what can be done.

Those of the organisation are its owners', and each person has their own; one page serves both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from uhp_site.http import outbound, pages, pagination
from uhp_site.http.fields import Fields

from . import delivering, webhooks
from .notification_models import Delivery, Webhook
from .notification_pages import origin, tabs
from .outbox import KINDS, TEST
from .services import NAME_LENGTH, Refused
from .shell import ConsoleRequest, member_page, shell

PAGE = 50
State = Delivery.State
STATES = {
    State.WAITING: ("waiting", "neutral"),
    State.DELIVERED: ("delivered", "accent"),
    State.FAILED: ("failed", "danger"),
}
BECAUSE = {
    "person": ("Paused", "Nothing is sent, and nothing new is noted, until it is resumed."),
    "failing": (
        "Paused, because it failed for days",
        f"Nothing arrived for {delivering.FAILING.days} days. Find out why, then resume it: what waits is sent first.",
    ),
    "gone": ("Paused, because it answered that it is gone", "Resume it if that was a mistake, or delete it."),
}


class WebhookForm(forms.Form):
    """Where a webhook leads, and what it is told."""

    name = forms.CharField(max_length=NAME_LENGTH)
    url = forms.CharField(
        label="Address",
        max_length=outbound.LONGEST_URL,
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false", "autocomplete": "off"}),
    )
    kinds = forms.MultipleChoiceField(
        label="What it is told",
        choices=[(kind, label) for kind, (label, _) in KINDS.items()],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        inside = settings.WEBHOOKS_INSIDE
        hint = "An http or https address." if inside else "An https address of the public internet."
        self.fields["url"].help_text = hint


@dataclass(frozen=True)
class Row:
    """A delivery in the log."""

    id: str
    url: str
    kind: str
    label: str
    state: str
    tone: str
    status: int | None
    milliseconds: int | None
    problem: str
    attempts: int
    created_at: datetime
    next_at: datetime | None


@member_page
@require_http_methods(["GET", "POST"])
def hooks(request: ConsoleRequest) -> HttpResponse:
    """The webhooks of the organisation; a POST sets one up, whose secret its answer alone shows."""
    found = webhooks.listed(request.caller)
    slug = request.organisation.slug
    people = [(one.name, address(slug, "member", one.id), count) for one, count in webhooks.counted(request.caller)]
    return several(request, found, {"own": False, "people": people})


@member_page
@require_http_methods(["GET", "POST"])
def own(request: ConsoleRequest) -> HttpResponse:
    """A person's own webhooks; a POST sets one up, whose secret its answer alone shows."""
    return several(request, webhooks.own(request.caller), {"own": True, "most": webhooks.MOST_OWN})


def several(request: ConsoleRequest, found: Sequence[Webhook], more: dict[str, Any]) -> HttpResponse:
    """The webhooks of the organisation or a person with the form for a new one."""
    mine: bool = more["own"]
    form = WebhookForm(request.POST if request.method == "POST" else None, initial={"kinds": list(KINDS)})
    if request.method == "POST" and form.is_valid():
        try:
            made = webhooks.add(request.caller, **form.cleaned_data, origin=origin(request), for_oneself=mine)
        except Refused as refusal:
            form.add_error(refusal.field or None, str(refusal))
        else:
            return shown(request, made.webhook, secret=made.secret)
    context = {
        **shell(request),
        **tabs(request, "own" if mine else "webhooks"),
        **more,
        "hooks": [summary(request, one) for one in found],
        "form": form,
    }
    return pages.answer(request, "members/webhooks.html", context, status=422 if form.errors else 200)


@member_page
@require_http_methods(["GET", "POST"])
def hook(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """One webhook with what it was sent; a POST changes it."""
    found = webhooks.find(request.caller, webhook_id)
    if request.method != "POST":
        return shown(request, found)
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            changed, secret = webhooks.change(request.caller, webhook_id, **form.cleaned_data, origin=origin(request))
        except Refused as refusal:
            form.add_error(refusal.field or None, str(refusal))
        else:
            if secret:
                return shown(request, changed, secret=secret)
            messages.success(request, "Saved.")
            return back(request, webhook_id)
    return shown(request, found, form=form)


def shown(
    request: ConsoleRequest, found: Webhook, *, secret: str = "", form: WebhookForm | None = None
) -> HttpResponse:
    """The page of a webhook: its secret is in the one answer that made it."""
    slug = request.organisation.slug
    fields = Fields(request.GET.dict())
    state = fields.choice("state", ("", *State.values), "")
    after = pagination.read_cursor(fields, (str,))
    rows, following = page_of(request, found, state, after[0] if after else "")
    here = address(slug, "webhook", found.id)
    kept = {"state": state} if state else {}
    query = f"?{urlencode(kept)}" if kept else ""
    initial = {"name": found.name, "url": found.url, "kinds": found.kinds}
    paused = BECAUSE.get(found.paused_because, ("", "")) if found.paused_at else ("", "")
    context = {
        **shell(request),
        **summary(request, found),
        **root(slug, found),
        "secret": secret,
        "paused_title": paused[0],
        "paused_text": paused[1],
        "rows": rows,
        "filters": [
            {"label": label, "url": f"{here}?state={value}" if value else here, "current": value == state}
            for value, label in (("", "All"), *((one.value, one.label) for one in State))
        ],
        "state": state,
        # Soon due, so that it is worth to look again.
        "watch_url": f"{here}{query}" if not after and any(moving(row) for row in rows) else "",
        "next_url": f"{here}?{urlencode({**kept, 'cursor': following})}" if following else None,
        "first_url": f"{here}{query}" if after else None,
        "form": form or WebhookForm(initial=initial, auto_id="id_webhook_%s"),
        "here_url": here,
        "kept_days": delivering.KEPT_FOR.days,
        "former_until": found.former_until,
        **{f"{act}_url": address(slug, f"webhook-{act}", found.id) for act in ("test", "rotate", "pause", "remove")},
    }
    fragment = None if secret or request.method == "POST" else "deliveries"
    status = 422 if form and form.errors else 200
    return pages.answer(request, "members/webhook.html", context, fragment=fragment, status=status)


@member_page
@require_http_methods(["GET"])
def delivery(request: ConsoleRequest, webhook_id: str, delivery_id: str) -> HttpResponse:
    """One message: what was sent, and what came back at each attempt."""
    found = webhooks.find_delivery(request.caller, webhook_id, delivery_id)
    slug = request.organisation.slug
    context = {
        **shell(request),
        "hook": {"name": found.webhook.name, "url": address(slug, "webhook", webhook_id)},
        "row": row(slug, found),
        "tries": [{**one, "at": parse_datetime(one["at"])} for one in reversed(found.tries)],
        "body": json.dumps(json.loads(found.body), indent=2, ensure_ascii=False),
        "excerpt": found.excerpt,
        "again_url": address(slug, "webhook-redeliver", webhook_id, found.id)
        if found.state != State.WAITING and not found.webhook.paused_at
        else "",
    }
    return pages.answer(request, "members/delivery.html", context)


@member_page
@require_POST
def redeliver(request: ConsoleRequest, webhook_id: str, delivery_id: str) -> HttpResponse:
    """Send a message once more."""
    again = partial(webhooks.redeliver, request.caller, webhook_id, delivery_id)
    return sent(request, webhook_id, again, "It is sent once more, with the id it had.")


@member_page
@require_POST
def test(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """Send a message that says nothing."""
    once = partial(webhooks.try_out, request.caller, webhook_id)
    return sent(request, webhook_id, once, "A test is on its way; the log shows what comes of it.")


@member_page
@require_POST
def rotate(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """Make a new secret, which this answer alone shows."""
    made = webhooks.rotate(request.caller, webhook_id)
    return shown(request, made.webhook, secret=made.secret)


@member_page
@require_POST
def pause(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """Pause a webhook, or resume it, as the button said."""
    if request.POST.get("to") == "resume":
        webhooks.resume(request.caller, webhook_id)
        messages.success(request, "It is resumed. What waited is sent first.")
    else:
        webhooks.pause(request.caller, webhook_id)
        messages.success(request, "It is paused. Nothing is sent until it is resumed.")
    return back(request, webhook_id)


@member_page
@require_http_methods(["GET", "POST"])
def remove(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """Ask whether to remove a webhook, then do it."""
    found = webhooks.find(request.caller, webhook_id)
    slug, error = request.organisation.slug, ""
    print_now = webhooks.fingerprint(found)
    if request.method == "POST":
        if request.POST.get("expected") == print_now:
            webhooks.remove(request.caller, webhook_id)
            messages.success(request, f"The webhook {found.name} was deleted.")
            url = root(slug, found)["root_url"]
            return HttpResponseClientRedirect(url) if request.htmx else redirect(url)
        error = "Something changed since this was shown. Look again, then decide."
    waiting = webhooks.waiting(found)
    context = {
        **shell(request),
        "name": found.name,
        "scope": f"{waiting:,} {'message waits' if waiting == 1 else 'messages wait'} and will not be sent."
        if waiting
        else "",
        "expected": print_now,
        "error": error,
        "action_url": request.path,
        "cancel_url": address(slug, "webhook", found.id),
        **root(slug, found),
    }
    return pages.answer(
        request, "members/webhook_remove.html", context, fragment="confirm", status=422 if error else 200
    )


def sent(request: ConsoleRequest, webhook_id: str, send: Callable[[], object], said: str) -> HttpResponse:
    """Have a message sent, and say so or why not, on the page of the webhook."""
    try:
        send()
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, said)
    return back(request, webhook_id)


def back(request: ConsoleRequest, webhook_id: str) -> HttpResponse:
    """To the page of a webhook."""
    return redirect("console:webhook", request.organisation.slug, webhook_id)


def root(slug: str, found: Webhook) -> dict[str, str]:
    """The page that lists a webhook."""
    if found.member_id:
        return {"root_url": address(slug, "webhooks-own"), "root_name": "Your webhooks"}
    return {"root_url": address(slug, "webhooks"), "root_name": "Webhooks of the organisation"}


def address(slug: str, name: str, *args: str) -> str:
    """The address of a page of the organisation."""
    return reverse(f"console:{name}", args=[slug, *args])


def summary(request: ConsoleRequest, found: Webhook) -> dict[str, Any]:
    """A webhook in a list."""
    state, tone = ("active", "accent") if not found.paused_at else ("paused", "caution")
    if not found.paused_at and found.failing_since:
        state, tone = "failing", "danger"
    return {
        "name": found.name,
        "target": found.url,
        "kinds": [KINDS[kind][0] for kind in found.kinds if kind in KINDS],
        "state_word": state,
        "tone": tone,
        "paused": bool(found.paused_at),
        "failing_since": found.failing_since,
        "page_url": address(request.organisation.slug, "webhook", found.id),
        "created_at": found.created_at,
    }


def page_of(request: ConsoleRequest, found: Webhook, state: str, before: str) -> tuple[Sequence[Row], str | None]:
    """One page of the log, newest first, and where the next one begins."""
    rows = webhooks.deliveries(found, PAGE + 1, state, before)
    page, cursor = pagination.cut(rows, PAGE, lambda one: (one.id,))
    return [row(request.organisation.slug, one) for one in page], cursor


def row(slug: str, one: Delivery) -> Row:
    """A delivery as the log shows it."""
    state, tone = STATES[State(one.state)]
    last: dict[str, Any] = one.tries[-1] if one.tries else {}
    if one.state == State.WAITING and one.tries:
        state, tone = "retrying", "caution"
    return Row(
        id=one.id,
        url=address(slug, "webhook-delivery", one.webhook_id, one.id),
        kind=one.kind,
        label="A test" if one.kind == TEST else KINDS.get(one.kind, (one.kind, ""))[0],
        state=state,
        tone=tone,
        status=one.status,
        milliseconds=last.get("ms"),
        problem=str(last.get("problem", "")),
        attempts=one.attempts,
        created_at=one.created_at,
        next_at=one.next_at if one.state == State.WAITING else None,
    )


def moving(one: Row) -> bool:
    """Whether something becomes of it soon."""
    return one.next_at is not None and one.attempts <= 1
