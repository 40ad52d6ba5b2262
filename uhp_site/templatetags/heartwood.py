"""Tags and filters of the console's templates: icons, form fields, times, counts, principals and privileges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms, template
from django.forms.boundfield import BoundField
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from uhp_site.http import assets

register = template.Library()

# Drawn on a 16 by 16 grid with a 1.5 stroke; components.css gives `.icon` its size and stroke.
ICONS = {
    "access": '<circle cx="5.2" cy="10.8" r="2.7"/><path d="M7.2 8.8 13.2 2.8M10.4 5.6l2 2M12 4l1.6 1.6"/>',
    "agent": '<rect x="3" y="5.5" width="10" height="7.5" rx="2"/><path d="M8 2.5v3M6 9v.6M10 9v.6"/>',
    "arrow-right": '<path d="M3 8h10M9 4l4 4-4 4"/>',
    "book": '<path d="M8 4.2C6.6 3.2 4.8 3 2.5 3v9.2c2.3 0 4.1.2 5.5 1.2 1.4-1 3.2-1.2 5.5-1.2V3'
    'C11.2 3 9.4 3.2 8 4.2Zm0 0v9.2"/>',
    "change": '<path d="M2.5 5h4.2c2 0 1.6 6 4.8 6h2M11.5 9l2 2-2 2M9.5 5h4M11.5 3l2 2-2 2"/>',
    "check": '<path d="m3 8.5 3.2 3.2L13 4.8"/>',
    "chevron-down": '<path d="m4 6 4 4 4-4"/>',
    "chevron-right": '<path d="m6 4 4 4-4 4"/>',
    "clock": '<circle cx="8" cy="8" r="5.5"/><path d="M8 4.8V8l2.2 1.6"/>',
    "close": '<path d="m4 4 8 8M12 4l-8 8"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/>'
    '<path d="M10.5 3.8c0-.7-.6-1.3-1.3-1.3H3.8c-.7 0-1.3.6-1.3 1.3v5.4c0 .7.6 1.3 1.3 1.3"/>',
    "cut": '<circle cx="4.5" cy="4.5" r="1.8"/><circle cx="4.5" cy="11.5" r="1.8"/>'
    '<path d="M6 5.6 13.5 12M6 10.4 13.5 4"/>',
    "download": '<path d="M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13h10"/>',
    "entry": '<path d="M8.5 2.5H12c.6 0 1 .4 1 1v9c0 .6-.4 1-1 1H8.5M2.5 8h7M7 5.5 9.5 8 7 10.5"/>',
    "error": '<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.5M8 10.8v.1"/>',
    "eye": '<path d="M1.8 8C3.2 5.2 5.3 3.8 8 3.8S12.8 5.2 14.2 8c-1.4 2.8-3.5 4.2-6.2 4.2S3.2 10.8 1.8 8Z"/>'
    '<circle cx="8" cy="8" r="1.9"/>',
    "filter": '<path d="M2.5 4h11M4.5 8h7M6.5 12h3"/>',
    "group": '<circle cx="6" cy="5.8" r="2.3"/><path d="M2 13c.3-2.4 1.8-3.7 4-3.7s3.7 1.3 4 3.7'
    'M10.3 3.7a2.3 2.3 0 0 1 0 4.2M11.5 9.6c1.4.5 2.3 1.6 2.5 3.4"/>',
    "history": '<path d="M2.8 6.5A5.5 5.5 0 1 1 2.5 8M2.5 3.5v3h3M8 5v3l2 1.5"/>',
    "home": '<path d="M2.5 7.5 8 2.8l5.5 4.7M4 6.5v6.7h8V6.5"/>',
    "info": '<circle cx="8" cy="8" r="5.5"/><path d="M8 7.5V11M8 5.2v.1"/>',
    "key": '<circle cx="5.2" cy="8" r="2.7"/><path d="M7.9 8h5.6M11 8v2.3M13.5 8v1.7"/>',
    "link": '<path d="M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.8.8'
    'M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.8-.8"/>',
    "lock": '<rect x="3.5" y="7" width="9" height="6.5" rx="1.5"/><path d="M5.5 7V5.2a2.5 2.5 0 0 1 5 0V7"/>',
    "memory": '<circle cx="8" cy="8" r="5.7"/><path d="M8 5.2a2.8 2.8 0 1 1-2.7 2"/><path d="M8 8v.1"/>',
    "menu": '<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/>',
    "moon": '<path d="M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6Z"/>',
    "more": '<path d="M3.5 8v.1M8 8v.1M12.5 8v.1"/>',
    "move": '<path d="M2.5 4.5h4M2.5 4.5v7h9M9 9l2.5 2.5L9 14"/>',
    "person": '<circle cx="8" cy="5.5" r="2.7"/><path d="M3 13.5c.4-2.7 2.2-4.2 5-4.2s4.6 1.5 5 4.2"/>',
    "plus": '<path d="M8 3v10M3 8h10"/>',
    "record": '<path d="M4 2.5h5.5L12.5 5.5v8H4ZM9.5 2.5v3h3M6 8.5h4M6 11h2.5"/>',
    "search": '<circle cx="7" cy="7" r="4.2"/><path d="m10.2 10.2 3.3 3.3"/>',
    "settings": '<path d="M2.5 5h6M12.5 5h1M2.5 11h1M7.5 11h6"/><circle cx="10.5" cy="5" r="1.8"/>'
    '<circle cx="5.5" cy="11" r="1.8"/>',
    "sign-out": '<path d="M7.5 2.5H4c-.6 0-1 .4-1 1v9c0 .6.4 1 1 1h3.5M6.5 8h7M11 5.5 13.5 8 11 10.5"/>',
    "standing": '<path d="M4.5 2.5h7v11L8 10.8l-3.5 2.7Z"/>',
    "sun": '<circle cx="8" cy="8" r="2.7"/><path d="M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4'
    'M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1"/>',
    "trash": '<path d="M3 4.5h10M6.5 4.5v-2h3v2M4.3 4.5l.7 9h6l.7-9M6.8 7v4M9.2 7v4"/>',
    "warning": '<path d="M8 2.5 14 13H2ZM8 6.5v3M8 11.2v.1"/>',
}

ICONS["people"] = ICONS["group"]

KIND_ICONS = {
    "person": "person",
    "human": "person",
    "agent": "agent",
    "group": "group",
    "provider": "memory",
    "unknown": "info",
}
KIND_WORDS = {
    "person": "Person",
    "human": "Person",
    "agent": "Agent",
    "group": "Group",
    "provider": "Provider",
    "unknown": "Unknown",
}

PRIVILEGES = {
    "read": "Find and read the records here, with their history.",
    "write": "Add, revise and forget records here; rename and describe this memory.",
    "create": "Add memories below this one.",
    "delete": "Erase records, move or delete this memory, close the branch, and decide who has access.",
}


@dataclass(frozen=True)
class PrivilegeMark:
    """One of the four privilege words, what it permits, and whether it is held."""

    word: str
    hint: str
    held: bool


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Inline SVG of the named icon: decorative, or an image with a name when `label` is given."""
    drawing = mark_safe(ICONS[name])  # noqa: S308  # a literal of this module, never input
    if label:
        return format_html(
            '<svg class="icon" viewBox="0 0 16 16" role="img" aria-label="{}">{}</svg>',
            label,
            drawing,
        )
    return format_html('<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">{}</svg>', drawing)


@register.simple_tag
def asset(name: str) -> str:
    """The address of the style sheet, the script or the mark."""
    return assets.url(name)


@register.simple_tag
def mark() -> SafeString:
    """The product's mark: growth rings around a solid core."""
    return mark_safe(
        '<svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><circle class="mark-bark" cx="8" cy="8" r="7.25"/>'
        '<circle class="mark-ring" cx="8" cy="8" r="4.9"/><circle class="mark-core" cx="8" cy="8" r="2.4"/></svg>'
    )


@register.simple_tag
def when(value: datetime | None, style: str = "relative") -> SafeString:
    """A `<time>` element: relative by default with the moment in its title, `style="absolute"` the other way round."""
    if not value:
        return mark_safe('<span class="muted">never</span>')
    moment = timezone.localtime(value) if timezone.is_aware(value) else value
    exact = f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".strip()
    near = _relative(moment, timezone.now() if timezone.is_aware(value) else datetime.now())
    shown, title = (exact, near) if style == "absolute" else (near, exact)
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(timespec="seconds"), title, shown)


def _relative(moment: datetime, now: datetime) -> str:
    past = now - moment
    if past < timedelta(0):
        return f"{moment.day} {moment:%b %Y}" if -past > timedelta(minutes=1) else "just now"
    seconds = int(past.total_seconds())
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    if seconds < 86400:
        return f"{seconds // 3600} h ago"
    if past < timedelta(days=7):
        days = seconds // 86400
        return "yesterday" if days == 1 else f"{days} days ago"
    return f"{moment.day} {moment:%b}" if moment.year == now.year else f"{moment.day} {moment:%b %Y}"


@register.filter
def count(number: int | None, noun: str) -> str:
    """`3|count:"record"` is "3 records"; give both forms for the irregular, `"memory,memories"`."""
    one, _, many = noun.partition(",")
    amount = number or 0
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


@register.filter
def digits(number: int | None) -> str:
    """A whole number with thousands separators."""
    return f"{number or 0:,}"


@register.filter
def breakable(text: str) -> SafeString:
    """Escaped text in which an address may break before its @ and nowhere better."""
    return mark_safe(escape(text).replace("@", "<wbr>@"))  # noqa: S308  # escaped in the same expression


@register.filter
def kind_icon(kind: str) -> str:
    """The icon's name for a kind of principal."""
    return KIND_ICONS.get(kind, "info")


@register.filter
def kind_word(kind: str) -> str:
    """The word people read for a kind of principal; an unknown kind is shown as it is."""
    return KIND_WORDS.get(kind, kind)


@register.filter
def privilege_hint(word: str) -> str:
    """What a privilege permits, in one sentence; empty for any other word."""
    return PRIVILEGES.get(str(word), "")


@register.simple_tag
def privilege_words() -> list[tuple[str, str]]:
    """The four privilege words with what each permits, in the protocol's order."""
    return list(PRIVILEGES.items())


@register.inclusion_tag("components/privileges.html")
def privileges(held: Iterable[str] | None, compact: bool = False) -> dict[str, Any]:
    """The four privilege words, held ones marked; `compact` leaves out those not held."""
    words = set(held or ())
    marks = [PrivilegeMark(word, hint, word in words) for word, hint in PRIVILEGES.items()]
    return {"marks": marks, "compact": compact, "none": not any(mark.held for mark in marks)}


@register.inclusion_tag("components/principal.html")
def principal(name: str, kind: str, detail: str = "", url: str = "") -> dict[str, Any]:
    """A person, agent or group by name, told apart by icon and by word."""
    return {"name": name, "kind": kind, "detail": detail, "url": url}


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, hint: str = "", label: str = "", hint_below: bool = False) -> dict[str, Any]:
    """A form field with its label, hint and errors tied together for assistive technology."""
    widget = bound.field.widget
    group = isinstance(widget, forms.CheckboxSelectMultiple | forms.RadioSelect)
    single = isinstance(widget, forms.CheckboxInput)
    base = bound.auto_id or bound.html_name
    hint_text = hint or bound.help_text
    described = [
        part for part in (f"{base}_hint" if hint_text else "", f"{base}_error" if bound.errors else "") if part
    ]
    # A placeholder that repeats the label, as the account forms' do, is noise, and gone as soon as one types.
    attributes: dict[str, Any] = {"placeholder": False}
    if described:
        attributes["aria-describedby"] = " ".join(described)
    if bound.errors:
        attributes["aria-invalid"] = "true"
    return {
        "bound": bound,
        "base": base,
        "label": label or bound.label,
        "hint": hint_text,
        "hint_below": hint_below,
        "described": " ".join(described),
        "is_group": group,
        "is_single": single,
        "is_hidden": widget.is_hidden,
        "control": "" if group else bound.as_widget(attrs=attributes),
    }
