"""The form of the recall explorer: what its address says, as a question with filters, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from members.shell import ConsoleRequest
from memories.filters import OPERATIONS, All, Filter, read_filter
from memories.providers.base import Question, View
from memories.recall import profiles
from memories.recall.pipeline import Ask
from uhp_site.http.errors import MemoryInvalid
from uhp_site.http.fields import Fields, parse_instant

from .instants import asked

LONGEST = 2_000
LIMITS = (5, 10, 20, 50)
LIMIT = 10
# How many conditions the form has: one more than is used, and at least so many.
LEAST_ROWS, MOST_ROWS = 2, 10
DEPTHS = (("", "everything below"), ("0", "only here"), ("1", "one level below"), ("2", "two levels below"))
SAID = {
    "eq": "is",
    "in": "is one of",
    "contains": "contains",
    "gt": "is more than",
    "gte": "is at least",
    "lt": "is less than",
    "lte": "is at most",
}
CALLED = {
    profiles.DEFAULT: "default",
    "words": "words alone",
    "meaning": "meaning alone",
    "rank_fusion": "fusion of ranks",
}


@dataclass(frozen=True)
class Condition:
    """One row of the form: what is typed there, and what is wrong with it."""

    path: str = ""
    op: str = "eq"
    value: str = ""
    error: str = ""


@dataclass(frozen=True)
class Span:
    """Two instants of the form, as they are typed, between which something lies; either may be open."""

    since: str = ""
    until: str = ""
    error: str = ""


@dataclass(frozen=True)
class Form:
    """Everything that can be asked. `given` says that there is something to answer, and nothing wrong with it."""

    query: str = ""
    text: str = ""
    type: str = ""
    conditions: Sequence[Condition] = ()
    written: Span = field(default_factory=Span)
    holds: Span = field(default_factory=Span)
    as_of: str = ""
    as_of_error: str = ""
    include: str = "active"
    depth: str = ""
    limit: int = LIMIT
    profile: str = profiles.DEFAULT
    against: str = ""
    as_: str = ""
    view: View = field(default_factory=View)
    errors: Sequence[str] = ()

    @property
    def given(self) -> bool:
        """Whether there is something to answer."""
        return not self.errors and bool(self.query or self.text or self.view.filters or self.view.types)

    @property
    def narrowed(self) -> bool:
        """Whether anything but the question is said."""
        plain = (self.type, *(one.path for one in self.conditions), self.as_of, self.depth, self.text, self.against)
        spans = (self.written, self.holds)
        return any(plain) or any(one.since or one.until for one in spans) or self.settled

    @property
    def settled(self) -> bool:
        """Whether a setting is not what it is when nothing is said."""
        return (self.include, self.limit, self.profile) != ("active", LIMIT, profiles.DEFAULT)

    @property
    def filters_only(self) -> bool:
        """Whether there is no question, and the newest that fit are listed."""
        return not self.query and not self.text

    def ask(self, profile: str) -> Ask:
        """The question, to be ranked by a profile."""
        depth = int(self.depth) if self.depth else None
        view = self.view
        if self.filters_only and view.filters is None:
            view = View(view.as_of, view.include_all, view.types, All(()))
        return Ask(Question(self.query, self.text, view, self.limit), depth, profile=profiles.PROFILES[profile])


def read(request: ConsoleRequest) -> Form:
    """What the address asks; whatever cannot be read is said beside it, and nothing is then asked."""
    data = request.GET
    conditions = [_condition(*row) for row in _rows(request)]
    written, holds = (
        _span(data.get(f"{name}_from", ""), data.get(f"{name}_until", "")) for name in ("written", "holds")
    )
    as_of = asked(request, "as_of")
    kind = data.get("type", "").strip()[:80]
    query, text = (_words(request, name) for name in ("q", "text"))
    errors = [*(one.error for one in conditions), written[0].error, holds[0].error, as_of.error]
    filters: list[Filter] = [one for row in _rows(request) if (one := _filter(*row)[0])]
    filters += [*_written(*written[1]), *_holds(*holds[1])]
    view = View(
        as_of=as_of.at,
        include_all=data.get("include") == "all",
        types=(kind,) if kind else (),
        filters=All(tuple(filters)) if filters else None,
    )
    return Form(
        query=query[0],
        text=text[0],
        type=kind,
        conditions=conditions + [Condition()] * max(1, LEAST_ROWS - len(conditions)),
        written=written[0],
        holds=holds[0],
        as_of=as_of.value,
        as_of_error=as_of.error,
        include="all" if view.include_all else "active",
        depth=_one_of(data.get("depth", ""), [value for value, _ in DEPTHS]),
        limit=int(_one_of(data.get("limit", ""), [*map(str, LIMITS)]) or LIMIT),
        profile=_one_of(data.get("profile", ""), list(profiles.PROFILES)) or profiles.DEFAULT,
        against=_one_of(data.get("against", ""), list(profiles.PROFILES)),
        as_=data.get("as", "").strip()[:80],
        view=view,
        errors=[*filter(None, errors), *query[1], *text[1]],
    )


def called(profile: str) -> str:
    """What people call a profile."""
    part = profile.removeprefix(profiles.WITHOUT)
    return f"default without {part}" if part != profile else CALLED.get(profile, profile)


def choices() -> list[tuple[str, str]]:
    """The profiles there are, with what people call them."""
    return [(name, called(name)) for name in profiles.PROFILES]


def value_of(op: str, text: str) -> Any:
    """The value that was typed: what is JSON is read as such, all else is words; `in` takes several with commas."""
    if op == "in":
        return [_value(one.strip()) for one in text.split(",") if one.strip()]
    return _value(text.strip())


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _words(request: ConsoleRequest, name: str) -> tuple[str, list[str]]:
    given = request.GET.get(name, "").strip()
    try:
        return Fields({name: given}).text(name, longest=LONGEST) or "", []
    except MemoryInvalid as refusal:
        return given[:LONGEST].replace("\0", ""), [refusal.message]


def _rows(request: ConsoleRequest) -> list[tuple[str, str, str]]:
    rows = zip(*(request.GET.getlist(name) for name in ("path", "op", "value")), strict=False)
    return [(path.strip(), op, value) for path, op, value in rows if path.strip()][:MOST_ROWS]


def _condition(path: str, op: str, value: str) -> Condition:
    return Condition(path[:LONGEST], op if op in OPERATIONS else "eq", value[:LONGEST], _filter(path, op, value)[1])


def _filter(path: str, op: str, value: str) -> tuple[Filter | None, str]:
    try:
        written = {"field": f"attributes.{path}", "op": op, "value": value_of(op, value)}
        return read_filter(written), ""
    except MemoryInvalid as refusal:
        why = refusal.message.partition(": ")[2] or refusal.message
        return None, f"{why[:1].upper()}{why[1:]}"


def _span(since: str, until: str) -> tuple[Span, tuple[datetime | None, datetime | None]]:
    since, until = since.strip()[:40], until.strip()[:40]
    try:
        ends = _instant(since), _instant(until)
    except ValueError:
        return Span(since, until, "This is not a date and a time."), (None, None)
    if ends[0] and ends[1] and ends[0] > ends[1]:
        return Span(since, until, "This ends before it begins."), (None, None)
    return Span(since, until), ends


def _instant(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = parse_instant(text) or parse_datetime(text)
        aware = timezone.make_aware(moment) if moment and timezone.is_naive(moment) else moment
    except OverflowError:
        aware = None
    if aware is None:
        raise ValueError
    return aware


def _written(since: datetime | None, until: datetime | None) -> list[Filter]:
    ends = (("gte", since), ("lte", until))
    return [read_filter({"field": "time.written_at", "op": op, "value": end.isoformat()}) for op, end in ends if end]


def _holds(since: datetime | None, until: datetime | None) -> list[Filter]:
    # What is open at an end holds on that side for ever.
    ends = (("time.valid_to", "gte", since), ("time.valid_from", "lte", until))
    return [
        read_filter({"or": [{"field": name, "value": None}, {"field": name, "op": op, "value": end.isoformat()}]})
        for name, op, end in ends
        if end
    ]


def _one_of(given: str, options: Sequence[str]) -> str:
    return given if given in options else ""
