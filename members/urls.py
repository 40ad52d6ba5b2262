"""The console's pages on members."""

from __future__ import annotations

from django.urls import path

from . import console, invitations

PEOPLE = "<slug:organisation>/people"
GROUPS = "<slug:organisation>/groups"

pages = [
    path("", console.home, name="home"),
    path(PEOPLE, console.people, name="people"),
    path("<slug:organisation>/join/<str:token>", invitations.join, name="join"),
    path(f"{PEOPLE}/add", console.member_add, name="member-add"),
    path(f"{PEOPLE}/invite", invitations.invite, name="invite"),
    path(f"{PEOPLE}/invite/<str:invitation_id>/withdraw", invitations.withdraw, name="invitation-withdraw"),
    path(f"{PEOPLE}/<str:member_id>", console.member, name="member"),
    path(f"{PEOPLE}/<str:member_id>/reactivate", console.member_reactivate, name="member-reactivate"),
    path(f"{PEOPLE}/<str:member_id>/keys/<str:key_id>/revoke", console.key_revoke, name="key-revoke"),
    path(f"{GROUPS}/add", console.group_add, name="group-add"),
    path(f"{GROUPS}/<str:group_id>", console.group, name="group"),
]
