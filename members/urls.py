"""The console's pages on members."""

from __future__ import annotations

from django.urls import path

from . import console, invitations, notification_pages, webhook_pages

PEOPLE = "<slug:organisation>/people"
GROUPS = "<slug:organisation>/groups"
NOTIFICATIONS = "<slug:organisation>/notifications"
WEBHOOKS = f"{NOTIFICATIONS}/webhooks"
WEBHOOK = f"{WEBHOOKS}/<str:webhook_id>"

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
    path(NOTIFICATIONS, notification_pages.notifications, name="notifications"),
    path(f"{NOTIFICATIONS}/stop/<str:digest_token>", notification_pages.stop, name="digest-stop"),
    path(WEBHOOKS, webhook_pages.hooks, name="webhooks"),
    path(f"{NOTIFICATIONS}/own", webhook_pages.own, name="webhooks-own"),
    path(WEBHOOK, webhook_pages.hook, name="webhook"),
    path(f"{WEBHOOK}/test", webhook_pages.test, name="webhook-test"),
    path(f"{WEBHOOK}/rotate", webhook_pages.rotate, name="webhook-rotate"),
    path(f"{WEBHOOK}/pause", webhook_pages.pause, name="webhook-pause"),
    path(f"{WEBHOOK}/remove", webhook_pages.remove, name="webhook-remove"),
    path(f"{WEBHOOK}/deliveries/<str:delivery_id>", webhook_pages.delivery, name="webhook-delivery"),
    path(f"{WEBHOOK}/deliveries/<str:delivery_id>/again", webhook_pages.redeliver, name="webhook-redeliver"),
]
