"""The inbox: everything this person may decide, many at once with a preview, and what was decided lately."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from members.shell import ConsoleRequest, member_page, shell
from memories.services import judging_many, reviewing, triage, undoing
from memories.services.judging import MAX_NOTE
from memories.services.judging_many import Verdict
from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryInvalid, VersionConflict
from uhp_site.http.fields import Fields

from .inbox_rows import ORDERS, Row, asked, choices, decided, rows
from .nodes import address
from .questions import counted
from .tallies_chart import numbers

PAGE = 25
MOST = 100
ID_LENGTH = 60
ACTS = {
    "keep": ("Keep", "will be kept", "kept"),
    "decline": ("Decline", "will be declined", "declined"),
    "dismiss": ("Dismiss", "will be dismissed", "dismissed"),
}


@member_page
@require_GET
def inbox(request: ConsoleRequest) -> HttpResponse:
    """What waits for this person, page by page, narrowed down by what the address says."""
    seen, url = asked(request), address(request, "inbox")
    after = pagination.read_cursor(Fields(request.GET.dict()), (str, str))
    among = reviewing.desk(request.caller)
    try:
        page = reviewing.inbox(request.caller, seen.filters, order=seen.order, limit=PAGE, after=after, among=among)
    except ValueError:
        raise MemoryInvalid("The cursor is not one that this server gave.", param="cursor") from None
    following = pagination.make_cursor(*page.next) if page.next else None
    context = {
        **shell(request, "review"),
        "items": rows(request, page.items, seen.query),
        "total": page.total,
        "filters": choices(request, seen, among),
        "orders": [(value, label, value == seen.order) for value, label in ORDERS.items()],
        "filtered": bool(seen.values.keys() - {"order"}),
        "inbox_url": url,
        "many_url": address(request, "inbox-many"),
        "next_url": f"{url}?{urlencode({**seen.values, 'cursor': following})}" if following else None,
        "first_url": f"{url}{seen.query}" if after else None,
        # Asked for by the whole page alone.
        "decided": partial(decided, request),
        "numbers": partial(numbers, request, among),
    }
    return pages.answer(request, "memories/inbox.html", context, fragment="inbox")


@member_page
@require_http_methods(["GET", "POST"])
def many(request: ConsoleRequest) -> HttpResponse:
    """Decide about several items: first what will be done, and what may not be, and why."""
    data = request.POST if request.method == "POST" else request.GET
    action, url = data.get("action", "keep"), address(request, "inbox")
    if action not in ACTS:
        raise MemoryInvalid("Many items are kept, declined or dismissed.", param="action")
    ids = [one for one in dict.fromkeys(data.getlist("item")) if 0 < len(one) <= ID_LENGTH][:MOST]
    if request.method == "POST":
        return _done(request, action)
    if not ids:
        messages.info(request, "Choose at least one item first.")
        return redirect(url)
    verdicts = judging_many.preview(request.caller, ids, action)
    label, will, _ = ACTS[action]
    context = {
        **shell(request, "review"),
        **_fates(request, verdicts),
        "chosen": [f"{one.item_id}:{one.fingerprint}" for one in verdicts if one.may],
        "action": action,
        "label": label,
        "will": will,
        "reason_length": MAX_NOTE,
        "action_url": request.path,
        "inbox_url": url,
    }
    return pages.answer(request, "memories/inbox_many.html", context)


def _done(request: ConsoleRequest, action: str) -> HttpResponse:
    pairs = [one.partition(":") for one in request.POST.getlist("chosen")[:MOST]]
    chosen = {item_id: fingerprint for item_id, _, fingerprint in pairs if 0 < len(item_id) <= ID_LENGTH}
    reason = Fields(request.POST.dict()).text("reason", longest=MAX_NOTE) or ""
    verdicts = judging_many.bulk(request.caller, chosen, action, reason)
    done = sum(one.may for one in verdicts)
    label, _, was = ACTS[action]
    url = address(request, "inbox")
    if done:
        messages.success(request, f"{counted(done, 'item was', 'items were')} {was}.")
    if done == len(verdicts):
        return redirect(url)
    # What could not be done stays on the page, with its reason.
    context = {
        **shell(request, "review"),
        **_fates(request, [one for one in verdicts if not one.may]),
        "label": label,
        "left": True,
        "inbox_url": url,
    }
    return pages.answer(request, "memories/inbox_many.html", context, status=409)


def _fates(request: ConsoleRequest, verdicts: list[Verdict]) -> dict[str, Any]:
    items = triage.items_of(request.caller, [one.item_id for one in verdicts])
    known: dict[str, Row] = {one.id: one for one in rows(request, items)}

    def shown(one: Verdict) -> dict[str, str]:
        row = known.get(one.item_id)
        return {"title": row.title if row else "", "url": row.url if row else "", "why": one.why}

    return {
        "going": [shown(one) for one in verdicts if one.may],
        "staying": [shown(one) for one in verdicts if not one.may],
    }


@member_page
@require_POST
def undo(request: ConsoleRequest, item_id: str) -> HttpResponse:
    """Take one of the last decisions back; the item is open again."""
    try:
        undoing.undo(request.caller, item_id)
    except VersionConflict:
        messages.error(request, "This cannot be taken back any more: what it was about was changed since.")
        return redirect(address(request, "inbox"))
    messages.success(request, "The decision was taken back.")
    return redirect(address(request, "inbox-item", item_id) + asked(request).query)
