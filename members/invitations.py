"""Inviting people by a link, and joining by one."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from uhp_site import mail
from uhp_site.http import pages
from uhp_site.http.errors import MemoryNotFound

from . import services
from .authentication import origin_of
from .console import require_owner
from .events import Actor
from .forms import InviteForm, JoinForm
from .models import Invitation, User
from .shell import ConsoleRequest, member_page, shell

BACKEND = "django.contrib.auth.backends.ModelBackend"
LISTED = 100


@member_page
@require_http_methods(["GET", "POST"])
def invite(request: ConsoleRequest) -> HttpResponse:
    """The invitations that are open; a POST makes one, whose link this answer alone shows."""
    require_owner(request)
    organisation = request.organisation
    mails = settings.MAIL.configured
    form, link, invited, sent = (
        InviteForm(request.POST or None, organisation_id=organisation.id, mails=mails),
        None,
        None,
        "",
    )
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            made = services.invite(
                organisation,
                name=data["name"],
                email=data["email"],
                groups=list(data["groups"]),
                is_owner=data["is_owner"],
                actor=request.caller.actor,
            )
        except services.Refused as refusal:
            form.add_error(refusal.field or None, str(refusal))
        else:
            link = request.build_absolute_uri(reverse("console:join", args=[organisation.slug, made.token]))
            invited, form = made.invitation, InviteForm(organisation_id=organisation.id, mails=mails)
            if data.get("by_mail"):
                sent = "sent" if mailed(request, invited, link) else "failed"
    slug = organisation.slug
    waiting = Invitation.objects.filter(organisation=organisation, member=None, withdrawn_at=None)
    context = {
        **shell(request, "people"),
        "people_url": reverse("console:people", args=[slug]),
        "form": form,
        "link": link,
        "invited": invited,
        "sent": sent,
        "mails": mails,
        "invitations": [
            {
                "name": one.name,
                "email": one.email,
                "is_owner": one.is_owner,
                "created_at": one.created_at,
                "expires_at": one.expires_at,
                "withdraw_url": reverse("console:invitation-withdraw", args=[slug, one.id]),
            }
            for one in waiting.filter(expires_at__gt=timezone.now()).order_by("-created_at")[:LISTED]
        ],
    }
    return pages.answer(request, "members/invite.html", context, status=422 if form.errors else 200)


def mailed(request: ConsoleRequest, invitation: Invitation, link: str) -> bool:
    """Send the link of an invitation to the address it is for; False when the mail server did not take it."""
    organisation = request.organisation
    context = {
        "name": invitation.name,
        "inviter": request.caller.member.name,
        "organisation": organisation.name,
        "expires_at": invitation.expires_at,
        "link": link,
    }
    return mail.send(invitation.email, f"Join {organisation.name}", "mail/invitation.txt", context)


@member_page
@require_POST
def withdraw(request: ConsoleRequest, invitation_id: str) -> HttpResponse:
    """End an invitation that nobody came by."""
    require_owner(request)
    found = Invitation.objects.filter(organisation=request.organisation, pk=invitation_id).first()
    if found is None:
        raise MemoryNotFound()
    services.withdraw_invitation(found, actor=request.caller.actor)
    messages.success(request, f"The invitation of {found.name} was withdrawn.")
    return redirect("console:invite", request.organisation.slug)


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, organisation: str, token: str) -> HttpResponse:
    """Join an organisation by a link: with the account that is signed in, or with a new one."""
    try:
        invitation = services.open_invitation(token)
        if invitation.organisation.slug != organisation:
            raise services.Refused("This invitation is not valid any more. Ask for a new one.")
    except services.Refused as refusal:
        return pages.answer(request, "members/join.html", {"refused": str(refusal)}, status=404)
    user = request.user if isinstance(request.user, User) else None
    form = JoinForm(
        request.POST if request.method == "POST" and not user else None, initial={"email": invitation.email}
    )
    error = ""
    if request.method == "POST" and (user or form.is_valid()):
        new = {} if user else form.cleaned_data
        try:
            member = services.accept_invitation(
                token,
                user=user,
                email=new.get("email", ""),
                password=new.get("password"),
                actor=Actor(origin=origin_of(request, "console")),
            )
        except services.Refused as refusal:
            if refusal.field in form.fields and not user:
                form.add_error(refusal.field, str(refusal))
            error = str(refusal)
        else:
            if user is None:
                login(request, member.user, backend=BACKEND)
            messages.success(request, f"Welcome to {invitation.organisation.name}.")
            return redirect("console:tree", invitation.organisation.slug)
    context = {
        "invitation": invitation,
        "form": None if user else form,
        "email": user.email if user else "",
        "error": error if user or not form.errors else "",
        "sign_in_url": f"{reverse('account_login')}?{urlencode({'next': request.path})}",
    }
    return pages.answer(request, "members/join.html", context, status=422 if error or form.errors else 200)
