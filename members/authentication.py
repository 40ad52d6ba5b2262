"""Bearer token to caller, for DRF (contract core §1.3)."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from uhp_site.http.errors import InvalidCredential, MissingCredential

from . import credentials
from .callers import Caller, caller_for
from .events import Origin
from .models import Credential

# Written at most this often, so that reading does not turn every request into a write.
LAST_USED_STEP = timedelta(minutes=1)


class BearerAuthentication(BaseAuthentication):
    """Accept a key that is known and live, and whose member is active. All other tokens look the same."""

    def authenticate(self, request: Request) -> tuple[Caller, Credential]:
        header = request.headers.get("Authorization", "")
        if not header:
            raise MissingCredential()
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise InvalidCredential()
        credential = find(token.strip())
        return caller_for(credential.member, origin_of(request, "api")), credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def origin_of(request: Request | HttpRequest, via: str) -> Origin:
    """Where a request comes from, for the audit."""
    return Origin(via, request.META.get("REMOTE_ADDR") or None)


def find(token: str) -> Credential:
    """The live credential behind a token, its use noted; raises InvalidCredential."""
    credential = (
        Credential.objects.live()
        .select_related("member__organisation")
        .filter(digest=credentials.digest(token), member__deactivated_at=None)
        .first()
    )
    if credential is None:
        raise InvalidCredential()
    now = timezone.now()
    if credential.last_used_at is None or now - credential.last_used_at > LAST_USED_STEP:
        Credential.objects.filter(pk=credential.pk).update(last_used_at=now)
    return credential
