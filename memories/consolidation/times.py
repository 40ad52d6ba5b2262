"""The second step: what "yesterday" was, seen from when it was said, and since or until when a sentence holds.

The words stay as they were said; the date that they mean is added behind them. A week begins on Monday. "Last Friday"
is the one before today; "this Friday" the one of this week, "next Friday" that of the next. What is vague ("a few
days ago", "recently") stays vague.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "couple of": 2},
}
NEAR = {"day": 0, "today": 0, "tonight": 0, "yesterday": -1, "last night": -1, "tomorrow": 1}
NEAR |= {"the day before yesterday": -2, "the day after tomorrow": 2}
NEAR |= {f"this {part}": 0 for part in ("morning", "afternoon", "evening")}
NEAR |= {f"yesterday {part}": -1 for part in ("morning", "afternoon", "evening")}
NEAR |= {f"tomorrow {part}": 1 for part in ("morning", "afternoon", "evening", "night")}
STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1, "following": 1}
FARTHEST = 150
"""Years from when it was said, beyond which a number is taken for something else than a date."""

_near = "|".join(re.escape(words) for words in sorted(NEAR, key=len, reverse=True) if words != "day")
_days = "|".join(f"{day}|{day[:3]}" for day in DAYS)
_months = "|".join(f"{month}|{month[:3]}" for month in MONTHS)
_number = rf"\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"
_DATE = re.compile(
    rf"""(?<![\w-])(?:
      (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
    | (?P<day_first>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<month_second>{_months})(?:\.?,?\s+(?P<year_a>\d{{4}}))?
    | (?P<month_first>{_months})\.?\s+(?P<day_second>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)(?:,?\s+(?P<year_b>\d{{4}}))?
    | (?P<month_only>{_months})\s+(?P<year_c>\d{{4}})
    | (?P<near>{_near})
    | (?P<ago_count>{_number})\s+(?P<ago_unit>day|week|weekend|month|year)s?\s+ago
    | in\s+(?P<in_count>{_number})\s+(?P<in_unit>day|week|month|year)s?(?:['\u2019]\s*time)?(?!\s+(?:of|the))
    | (?P<step>last|past|previous|this|next|coming|following)\s+
      (?P<step_unit>weekend|week|month|year|{_days}|{_months})
    | (?:in|since|until|till|by|from|of|during|around|before|after)\s+(?P<year_only>(?:19|20)\d{{2}})
    | (?P<on>on)\s+(?P<on_day>{_days})
    )(?![\w-])""",
    re.IGNORECASE | re.VERBOSE,
)
_SINCE = re.compile(
    r"\b(?:since|from|starting|starts|as of|effective|beginning|with effect from)\s+(?:on\s+|in\s+)?$", re.I
)
_UNTIL = re.compile(
    r"\b(?:until|till|through|valid to|(?:expires?|ends?|runs out|closes?)(?:\s+(?:on|in|at))?)\s+"
    r"(?:the end of\s+)?$",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|have to|need to|must|plan|planning|due|deadline)\b|'ll\b", re.I
)
_PAST = re.compile(r"\b(?:was|were|had|did|went|got|made|took|saw|met|had|came|gave|bought|\w{2,}ed)\b", re.IGNORECASE)


@dataclass(frozen=True)
class When:
    """A date that a sentence names: the days from `start` up to but without `end`. `moving` when it is relative."""

    words: str
    start: date
    end: date
    name: str
    moving: bool
    position: int
    role: str = ""


@dataclass(frozen=True)
class Times:
    """A sentence with its dates written out, and when it holds so far as it says so."""

    text: str
    dates: tuple[When, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None


def read_times(sentence: str, at: datetime) -> Times:
    """Read the dates of a sentence that was said at an instant."""
    dates = tuple(dates_in(sentence, at.date()))
    since = next((one for one in dates if one.role == "since"), None)
    until = next((one for one in dates if one.role == "until" and _midnight(one.end) > at), None)
    happened = next((one for one in dates if not one.role and one.end <= at.date() + timedelta(days=1)), None)
    begins = since or happened
    valid_from = _midnight(begins.start) if begins else None
    valid_to = _midnight(until.end) if until else None
    if valid_from and valid_to and valid_to < valid_from:
        valid_from = None
    return Times(_written_out(sentence, dates), dates, valid_from, valid_to)


def dates_in(sentence: str, today: date) -> Iterator[When]:
    """The dates that a sentence names, in order; none that is no date or lies too far away."""
    for match in _DATE.finditer(sentence):
        try:
            found = _resolve(match, sentence, today)
        except (ValueError, OverflowError):
            continue
        if found is None or abs(found[0].year - today.year) > FARTHEST:
            continue
        start, end, name, moving = found
        words = match[0]
        before = sentence[: match.start()]
        role = "since" if _SINCE.search(before) or re.match(r"(?:since|from)\b", words, re.IGNORECASE) else ""
        if _UNTIL.search(before) or re.match(r"(?:until|till)\b", words, re.IGNORECASE):
            role = "until"
        yield When(words, start, end, name, moving, match.end(), role)


def without_added(text: str, names: Iterable[str]) -> str:
    """The text as it was said, without the dates of these names that `read_times` wrote behind the words."""
    for name in names:
        text = text.replace(f" ({name})", "")
    return text


def _written_out(sentence: str, dates: Sequence[When]) -> str:
    for one in reversed(dates):
        if one.moving and one.name.casefold() not in sentence.casefold():
            sentence = f"{sentence[: one.position]} ({one.name}){sentence[one.position :]}"
    return sentence


Found = tuple[date, date, str, bool]


def _resolve(match: re.Match[str], sentence: str, today: date) -> Found | None:
    for group, resolve in _RESOLVERS.items():
        if match[group]:
            return resolve(match, sentence, today)
    return None


def _iso(match: re.Match[str], _: str, today: date) -> Found:
    return _day(date.fromisoformat(match["iso"]), moving=False)


def _day_month(match: re.Match[str], sentence: str, today: date) -> Found | None:
    number = int(match["day_first"] or match["day_second"])
    word = match["month_second"] or match["month_first"]
    if word.islower() and word in ("may", "mar", "march", "sun"):
        return None
    month = _month_number(word)
    if year := match["year_a"] or match["year_b"]:
        return _day(date(int(year), month, number), moving=False)
    # No year: the nearest such day, ahead when the sentence looks ahead.
    around = [
        date(year, month, number)
        for year in (today.year - 1, today.year, today.year + 1)
        if _exists(year, month, number)
    ]
    if _FUTURE.search(sentence):
        around = [one for one in around if one >= today] or around
    nearest = min(around, key=lambda one: abs((one - today).days))
    return _day(nearest, moving=True)


def _month_year(match: re.Match[str], _: str, today: date) -> Found:
    return _month(int(match["year_c"]), _month_number(match["month_only"]), moving=False)


def _near_day(match: re.Match[str], _: str, today: date) -> Found:
    return _day(today + timedelta(days=NEAR[" ".join(match["near"].lower().split())]))


def _counted(match: re.Match[str], _: str, today: date) -> Found:
    sign, kind = (-1, "ago") if match["ago_count"] else (1, "in")
    words, unit = match[f"{kind}_count"].lower(), match[f"{kind}_unit"].lower()
    count = sign * (int(words) if words.isdigit() else NUMBERS[words])
    if unit == "day":
        return _day(today + timedelta(days=count))
    return _shifted(unit, count, today)


def _stepped(match: re.Match[str], _: str, today: date) -> Found | None:
    step, unit = STEPS[match["step"].lower()], match["step_unit"].lower()
    if unit in ("weekend", "week", "month", "year"):
        return _shifted(unit, step, today)
    if (day := _index(DAYS, unit)) is not None:
        monday = today - timedelta(days=today.weekday())
        if step < 0:
            return _day(today - timedelta(days=(today.weekday() - day - 1) % 7 + 1))
        ahead = match["step"].lower() == "coming"
        return _day(
            today + timedelta(days=(day - today.weekday() - 1) % 7 + 1)
            if ahead
            else monday + timedelta(days=7 * step + day)
        )
    month = _month_number(unit)
    if step < 0:
        return _month(today.year - (month >= today.month), month)
    if step == 0:
        return _month(today.year, month)
    return _month(today.year + (month <= today.month), month)


def _year(match: re.Match[str], _: str, today: date) -> Found:
    year = int(match["year_only"])
    return date(year, 1, 1), date(year + 1, 1, 1), str(year), False


def _on_day(match: re.Match[str], sentence: str, today: date) -> Found | None:
    # "On Friday" is the next one or the last one; the verb says which, and where it does not, nobody knows.
    day = _index(DAYS, match["on_day"].lower())
    if day is None:
        return None
    if _FUTURE.search(sentence):
        return _day(today + timedelta(days=(day - today.weekday() - 1) % 7 + 1))
    if _PAST.search(sentence):
        return _day(today - timedelta(days=(today.weekday() - day - 1) % 7 + 1))
    return None


_RESOLVERS: dict[str, Callable[[re.Match[str], str, date], Found | None]] = {
    "iso": _iso,
    "day_first": _day_month,
    "month_first": _day_month,
    "month_only": _month_year,
    "near": _near_day,
    "ago_count": _counted,
    "in_count": _counted,
    "step": _stepped,
    "year_only": _year,
    "on": _on_day,
}


def _shifted(unit: str, count: int, today: date) -> Found:
    if unit == "year":
        return date(today.year + count, 1, 1), date(today.year + count + 1, 1, 1), str(today.year + count), True
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return _month(months // 12, months % 12 + 1)
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=count)
    if unit == "weekend":
        saturday = monday + timedelta(days=5)
        return saturday, saturday + timedelta(days=2), f"weekend of {_named(saturday)}", True
    return monday, monday + timedelta(days=7), f"week of {_named(monday)}", True


def _day(day: date, *, moving: bool = True) -> Found:
    return day, day + timedelta(days=1), _named(day), moving


def _month(year: int, month: int, *, moving: bool = True) -> Found:
    end = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), end, f"{MONTHS[month - 1].title()} {year}", moving


def _named(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1].title()} {day.year}"


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _index(names: Sequence[str], word: str) -> int | None:
    return next((number for number, name in enumerate(names) if word in (name, name[:3])), None)


def _month_number(word: str) -> int:
    return (_index(MONTHS, word.lower()) or 0) + 1


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
