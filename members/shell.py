"""The frame of every console page: who is signed in, in which organisation, as which member."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from uhp_site.http import pages
from uhp_site.http.errors import MemoryForbidden, UHPError

from .authentication import origin_of
from .callers import Caller, caller_for
from .models import Member, Organisation

P = ParamSpec("P")
LAST_ORGANISATION = "organisation"
# How much waits for somebody behind an entry of the navigation; the app that knows puts it here. At most one more
# than is shown is counted.
WAITING: dict[str, Callable[[Caller, int], int]] = {}
MOST_WAITING = 99


class ConsoleRequest(pages.HtmxRequest):
    """A request of a signed-in person who is a member of the organisation in the address."""

    caller: Caller
    organisation: Organisation


ConsoleView = Callable[Concatenate[ConsoleRequest, P], HttpResponseBase]


@dataclass(frozen=True)
class Link:
    """A place to go: an organisation to switch to, or an entry of the navigation, looked for by `also` too."""

    name: str
    url: str
    current: bool = False
    icon: str = ""
    count: int = 0
    also: str = ""

    @property
    def label(self) -> str:
        """What the link says."""
        return self.name

    @property
    def counted(self) -> str:
        """How much waits there, counted so far as it matters."""
        return f"{MOST_WAITING}+" if self.count > MOST_WAITING else str(self.count)


def member_page(view: ConsoleView[P]) -> Callable[..., HttpResponseBase]:
    """Let in members of the organisation whose slug is in the address; to anyone else there is no such page."""

    @login_required
    @functools.wraps(view)
    def wrapped(request: HttpRequest, organisation: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        member = (
            Member.objects.active()
            .select_related("organisation", "user")
            .filter(organisation__slug=organisation, user_id=request.user.pk or 0)
            .first()
        )
        # No text in the database holds a NUL, so a name with one is nobody's.
        if member is None or any("\0" in str(name) for name in kwargs.values()):
            return pages.not_found(request)
        entered = enter(request, member)
        try:
            return view(entered, *args, **kwargs)
        except MemoryForbidden as refusal:
            return pages.forbidden(request, refusal.message)
        except UHPError as refusal:
            return pages.not_found(request) if refusal.status == 404 else pages.bad_request(request)

    return wrapped


def enter(request: HttpRequest, member: Member) -> ConsoleRequest:
    """Put the member into the request, and remember the organisation for the next visit."""
    assert isinstance(request, HttpRequest)
    entered: Any = request
    entered.caller = caller_for(member, origin_of(request, "console"))
    entered.organisation = member.organisation
    if request.session.get(LAST_ORGANISATION) != member.organisation.slug:
        request.session[LAST_ORGANISATION] = member.organisation.slug
    result: ConsoleRequest = entered
    return result


def shell(request: ConsoleRequest, current: str = "") -> dict[str, Any]:
    """What the frame shows: the organisation, those to switch to, and the navigation."""
    organisation = request.organisation
    slug = organisation.slug
    tree_url = reverse("console:tree", args=[slug])
    to_review = waiting(request, "review")
    audit = Link("Audit log", reverse("console:audit", args=[slug]), current == "audit", "history")
    return {
        "org": organisation,
        "organisations": organisations_of(request, organisation),
        "tree_url": tree_url,
        "search_url": reverse("console:search", args=[slug]),
        "notifications_url": reverse("console:notifications", args=[slug]),
        "nav": [
            Link("Home", reverse("console:overview", args=[slug]), current == "home", "home"),
            Link("Review", reverse("console:inbox", args=[slug]), current == "review", "eye", to_review),
            Link("Memories", tree_url, current == "memories", "memory"),
            Link(
                "Members", reverse("console:people", args=[slug]), current == "people", "people", also="people groups"
            ),
            Link("Agents", reverse("console:agents", args=[slug]), current == "agents", "agent"),
            Link("Jobs", reverse("console:jobs", args=[slug]), current == "jobs", "clock"),
            *([audit] if request.caller.member.is_owner else []),
        ],
    }


def waiting(request: ConsoleRequest, name: str) -> int:
    """How much waits for the person behind an entry of the navigation."""
    counted = WAITING.get(name)
    return counted(request.caller, MOST_WAITING + 1) if counted else 0


def organisations_of(request: HttpRequest, current: Organisation | None = None) -> list[Link]:
    """The organisations in which the signed-in person may act."""
    members = Member.objects.active().filter(user_id=request.user.pk or 0).select_related("organisation")
    return [
        Link(
            member.organisation.name,
            reverse("console:tree", args=[member.organisation.slug]),
            current is not None and member.organisation_id == current.id,
        )
        for member in members.order_by("organisation__name")
    ]
