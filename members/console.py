"""Console pages on organisations, members, their keys, and groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from uhp_site.http import pages, pagination
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound
from uhp_site.http.fields import Fields

from . import services
from .forms import AddMemberForm, GroupForm, KeyForm, MembershipForm
from .models import Credential, Group, Member
from .shell import LAST_ORGANISATION, ConsoleRequest, member_page, organisations_of, shell

PAGE = 50
# Two forms share a page and both ask for a name: a label must lead to the field of its own form.
MEMBER_IDS, GROUP_IDS = "new_member_%s", "new_group_%s"


@dataclass
class MemberRow:
    """A member as the list shows it."""

    name: str
    type: str
    email: str
    active: bool
    url: str
    keys: int = 0
    groups: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class GroupRow:
    """A group as the list shows it."""

    name: str
    builtin: bool
    count: int
    url: str


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Lead to the organisation last worked in, the only one, or the choice."""
    organisations = organisations_of(request)
    last = request.session.get(LAST_ORGANISATION)
    for organisation in organisations:
        if len(organisations) == 1 or organisation.url == (reverse("console:tree", args=[last]) if last else ""):
            return redirect(organisation.url)
    return pages.answer(request, "members/organisations.html", {"organisations": organisations})


@member_page
@require_GET
def people(request: ConsoleRequest) -> HttpResponse:
    """The members and groups of the organisation."""
    return people_page(request)


def people_page(
    request: ConsoleRequest,
    invite_form: AddMemberForm | None = None,
    group_form: GroupForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of members, with the forms as they stand."""
    slug, owner = request.organisation.slug, request.caller.member.is_owner
    rows, next_url = member_rows(request)
    context = {
        **shell(request, "people"),
        "members": rows,
        "members_total": Member.objects.of(request.organisation.id).count(),
        "next_url": next_url,
        "groups": group_rows(request),
        "invite_form": (invite_form or AddMemberForm(auto_id=MEMBER_IDS)) if owner else None,
        "invite_url": reverse("console:member-add", args=[slug]),
        "group_form": (group_form or GroupForm(auto_id=GROUP_IDS)) if owner else None,
        "group_url": reverse("console:group-add", args=[slug]),
        "agents_url": reverse("console:agents", args=[slug]),
        "link_url": reverse("console:invite", args=[slug]) if owner else None,
    }
    return pages.answer(request, "members/people.html", context, fragment="members", status=status)


def member_rows(request: ConsoleRequest) -> tuple[list[MemberRow], str | None]:
    """One page of members by name, in three queries."""
    slug = request.organisation.slug
    after = pagination.read_cursor(Fields(request.GET.dict()), (str, str))
    members = Member.objects.of(request.organisation.id).select_related("user").by_name()
    if after:
        name, member_id = after
        members = members.filter(Q(sort_name__gt=name) | Q(sort_name=name, id__gt=member_id))
    found = list(members[: PAGE + 1])
    page, cursor = pagination.cut(found, PAGE, lambda member: (member.sort_name, member.id))
    live = Credential.objects.live().filter(member__in=page).order_by().values("member_id")
    keys = dict(live.annotate(total=Count("pk")).values_list("member_id", "total"))
    rows = {
        member.id: MemberRow(
            name=member.name,
            type=member.type,
            email=member.user.email if member.user else "",
            active=member.is_active,
            url=reverse("console:member", args=[slug, member.id]),
            keys=keys.get(member.id, 0),
        )
        for member in page
    }
    pairs = Group.objects.filter(memberships__member__in=list(rows)).values_list("memberships__member", "name")
    for member_id, group_name in pairs.order_by("name"):
        if member_id in rows:
            rows[member_id].groups.append(group_name)
    next_url = f"{reverse('console:people', args=[slug])}?cursor={cursor}" if cursor else None
    return list(rows.values()), next_url


def group_rows(request: ConsoleRequest) -> list[GroupRow]:
    """The groups with their sizes; `everyone` holds all active members."""
    slug = request.organisation.slug
    groups = Group.objects.filter(organisation=request.organisation).annotate(size=Count("memberships"))
    everyone = Member.objects.of(request.organisation.id).active().count()
    return [
        GroupRow(
            group.name,
            group.is_everyone,
            everyone if group.is_everyone else group.size,
            reverse("console:group", args=[slug, group.id]),
        )
        for group in groups.order_by("-is_everyone", "name")
    ]


@member_page
@require_POST
def member_add(request: ConsoleRequest) -> HttpResponse:
    """Add a person or an agent."""
    require_owner(request)
    form = AddMemberForm(request.POST, auto_id=MEMBER_IDS)
    if form.is_valid():
        data = form.cleaned_data
        try:
            member = services.join(
                request.organisation,
                name=data["name"],
                type=data["type"],
                email=data["email"],
                password=data["password"] or None,
                actor=request.caller.actor,
            )
        except services.Refused as refusal:
            form.add_error(refusal.field or None, str(refusal))
        else:
            everyone = "It belongs to the group everyone, as every member does."
            messages.success(request, f"{member.name} was added. {everyone}")
            return redirect("console:member", request.organisation.slug, member.id)
    return people_page(request, invite_form=form, status=422)


@member_page
@require_http_methods(["GET", "POST"])
def member(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """One member with their keys; a POST makes a key, which this answer alone shows."""
    shown = the_member(request, member_id)
    may = may_manage(request, shown)
    form, new_key = KeyForm(request.POST or None), None
    if request.method == "POST":
        if not may:
            raise MemoryForbidden("Only an owner, or the member themselves, may make a key.")
        if form.is_valid():
            data = form.cleaned_data
            issued = services.issue_key(shown, data["name"], expires_at=form.expires_at(), actor=request.caller.actor)
            new_key, form = issued.token, KeyForm()
    return pages.answer(
        request,
        "members/member.html",
        {
            **member_context(request, shown, may),
            "key_form": form if may and shown.is_active else None,
            "new_key": new_key,
        },
        status=422 if form.errors else 200,
    )


def member_context(request: ConsoleRequest, shown: Member, may: bool) -> dict[str, Any]:
    """What the page of one member shows."""
    slug, owner = request.organisation.slug, request.caller.member.is_owner
    keys = Credential.objects.live().filter(member=shown).order_by("-created_at") if may else []
    switch = "console:member-deactivate" if shown.is_active else "console:member-reactivate"
    other = shown.id != request.caller.member.id
    return {
        **shell(request, "people"),
        "people_url": reverse("console:people", args=[slug]),
        "member": {
            "name": shown.name,
            "type": shown.type,
            "email": shown.user.email if shown.user else "",
            "active": shown.is_active,
            "groups": list(shown.groups.order_by("name").values_list("name", flat=True)),
            "principal": shown.principal,
            "created_at": shown.created_at,
        },
        "keys": [
            {
                "prefix": key.prefix,
                "name": key.name,
                "created_at": key.created_at,
                "last_used_at": key.last_used_at,
                "expires_at": key.expires_at,
                "revoke_url": reverse("console:key-revoke", args=[slug, shown.id, key.id]),
            }
            for key in keys
        ],
        "key_url": reverse("console:member", args=[slug, shown.id]),
        "may_see_keys": may,
        "switch_url": reverse(switch, args=[slug, shown.id]) if owner and other and shown.retired_at is None else None,
        "reach_url": reverse("console:reach-member", args=[slug, shown.id]),
        "view_as_url": reverse("console:as", args=[slug, shown.id]) if other else None,
        "hand_over_url": reverse("console:hand-over", args=[slug, shown.id]) if owner else None,
    }


@member_page
@require_POST
def key_revoke(request: ConsoleRequest, member_id: str, key_id: str) -> HttpResponse:
    """End a key."""
    shown = the_member(request, member_id)
    if not may_manage(request, shown):
        raise MemoryForbidden("Only an owner, or the member themselves, may revoke a key.")
    key = Credential.objects.filter(member=shown, pk=key_id).first()
    if key is None:
        raise MemoryNotFound()
    services.revoke_key(key, actor=request.caller.actor)
    messages.success(request, f"The key {key.name} was revoked. It is refused from now on.")
    return redirect("console:member", request.organisation.slug, shown.id)


@member_page
@require_POST
def member_reactivate(request: ConsoleRequest, member_id: str) -> HttpResponse:
    """Let a member act again."""
    require_owner(request)
    shown = the_member(request, member_id)
    try:
        services.reactivate(shown, actor=request.caller.actor)
    except services.Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"{shown.name} is active again, with the access they still hold.")
    return redirect("console:member", request.organisation.slug, shown.id)


@member_page
@require_POST
def group_add(request: ConsoleRequest) -> HttpResponse:
    """Create a group."""
    require_owner(request)
    form = GroupForm(request.POST, auto_id=GROUP_IDS)
    if form.is_valid():
        try:
            group = services.create_group(request.organisation, form.cleaned_data["name"], actor=request.caller.actor)
        except services.Refused as refusal:
            form.add_error("name", str(refusal))
        else:
            messages.success(request, f"The group {group.name} was created.")
            return redirect("console:group", request.organisation.slug, group.id)
    return people_page(request, group_form=form, status=422)


@member_page
@require_http_methods(["GET", "POST"])
def group(request: ConsoleRequest, group_id: str) -> HttpResponse:
    """One group and who is in it; a POST adds a member."""
    shown = the_group(request, group_id)
    owner = request.caller.member.is_owner
    form = MembershipForm(request.POST or None, organisation_id=request.organisation.id)
    if request.method == "POST":
        require_owner(request)
        if form.is_valid():
            added = form.cleaned_data["member"]
            services.add_to_group(shown, added, actor=request.caller.actor)
            messages.success(request, f"{added.name} was added to {shown.name}, and holds what the group holds.")
            return redirect("console:group", request.organisation.slug, shown.id)
    slug = request.organisation.slug
    everyone = Member.objects.of(request.organisation.id).active()
    members = everyone if shown.is_everyone else Member.objects.filter(memberships__group=shown)
    context = {
        **shell(request, "people"),
        "people_url": reverse("console:people", args=[slug]),
        "reach_url": reverse("console:reach-group", args=[slug, shown.id]),
        "group": shown,
        "members_total": members.count(),
        "members": [
            {
                "name": member.name,
                "type": member.type,
                "active": member.is_active,
                "url": reverse("console:member", args=[slug, member.id]),
                "remove_url": reverse("console:group-remove", args=[slug, shown.id, member.id])
                if owner and not shown.is_everyone
                else None,
            }
            for member in members.by_name()[:500]
        ],
        "member_form": form if owner and not shown.is_everyone else None,
    }
    return pages.answer(request, "members/group.html", context, status=422 if form.errors else 200)


def the_member(request: ConsoleRequest, member_id: str) -> Member:
    """A member of this organisation; any other id is unknown."""
    found = Member.objects.of(request.organisation.id).select_related("user").filter(pk=member_id).first()
    if found is None:
        raise MemoryNotFound()
    return found


def the_group(request: ConsoleRequest, group_id: str) -> Group:
    """A group of this organisation; any other id is unknown."""
    found = Group.objects.filter(organisation=request.organisation, pk=group_id).first()
    if found is None:
        raise MemoryNotFound()
    return found


def may_manage(request: ConsoleRequest, shown: Member) -> bool:
    """Whether the person may handle this member's keys: an owner may, and everyone their own."""
    return request.caller.member.is_owner or request.caller.member.id == shown.id


def require_owner(request: ConsoleRequest) -> None:
    """Raise MemoryForbidden for whoever does not own the organisation."""
    if not request.caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may do this.")
