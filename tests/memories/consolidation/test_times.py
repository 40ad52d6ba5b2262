"""What relative dates mean, and since or until when a sentence holds."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.consolidation.times import dates_in, read_times, without_added

WEDNESDAY = datetime(2023, 5, 10, 13, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "start", "days"),
    [
        ("yesterday", "2023-05-09", 1),
        ("tomorrow morning", "2023-05-11", 1),
        ("the day before yesterday", "2023-05-08", 1),
        ("last Friday", "2023-05-05", 1),
        ("last Wednesday", "2023-05-03", 1),
        ("this Friday", "2023-05-12", 1),
        ("next Friday", "2023-05-19", 1),
        ("last week", "2023-05-01", 7),
        ("next week", "2023-05-15", 7),
        ("last weekend", "2023-05-06", 2),
        ("last month", "2023-04-01", 30),
        ("next month", "2023-06-01", 30),
        ("last year", "2022-01-01", 365),
        ("two weeks ago", "2023-04-24", 7),
        ("10 days ago", "2023-04-30", 1),
        ("three years ago", "2020-01-01", 366),
        ("in two months", "2023-07-01", 31),
        ("in 3 days", "2023-05-13", 1),
        ("last June", "2022-06-01", 30),
        ("next February", "2024-02-01", 29),
        ("7 May 2021", "2021-05-07", 1),
        ("May 7th, 2021", "2021-05-07", 1),
        ("March 2022", "2022-03-01", 31),
        ("2023-02-28", "2023-02-28", 1),
        ("since 2019", "2019-01-01", 365),
    ],
)
def test_a_date_is_seen_from_the_day_it_was_said(words: str, start: str, days: int) -> None:
    (found,) = dates_in(f"It is about {words}, I think.", WEDNESDAY.date())
    assert found.start == date.fromisoformat(start)
    assert found.end - found.start == timedelta(days=days)


@pytest.mark.parametrize(
    "sentence",
    [
        "I may go, and March on.",
        "a few days ago",
        "recently",
        "It was on 31 February.",
        "2023-13-45",
        "It costs 2019 euros.",
        "Version 1.2.2023-rc1",
        "9999999 years ago",
    ],
)
def test_what_is_vague_or_no_date_stays_as_it_is(sentence: str) -> None:
    times = read_times(sentence, WEDNESDAY)
    assert (times.text, times.dates, times.valid_from, times.valid_to) == (sentence, (), None, None)


def test_the_words_stay_and_the_date_stands_behind_them() -> None:
    times = read_times("I saw Ann yesterday and Bob last week.", WEDNESDAY)
    assert times.text == "I saw Ann yesterday (9 May 2023) and Bob last week (week of 1 May 2023)."


def test_a_date_that_is_written_out_already_is_not_written_twice() -> None:
    assert read_times("On 7 May 2021 it rained.", WEDNESDAY).text == "On 7 May 2021 it rained."


@pytest.mark.parametrize(
    ("sentence", "day"),
    [("I'll do it on Friday.", 12), ("We met on Friday.", 5), ("I will pay on Wednesday.", 17)],
)
def test_a_bare_day_lies_where_the_verb_looks(sentence: str, day: int) -> None:
    (found,) = dates_in(sentence, WEDNESDAY.date())
    assert found.start == date(2023, 5, day)


def test_a_bare_day_without_a_verb_is_not_guessed() -> None:
    assert list(dates_in("Friday, or on Monday", WEDNESDAY.date())) == []


def test_a_sentence_says_since_when_it_holds() -> None:
    assert read_times("I have lived in Porto since March 2021.", WEDNESDAY).valid_from == datetime(
        2021, 3, 1, tzinfo=UTC
    )


def test_until_a_day_means_to_its_end() -> None:
    assert read_times("The code is valid until next Friday.", WEDNESDAY).valid_to == datetime(2023, 5, 20, tzinfo=UTC)
    assert read_times("It expires on 3 June 2023.", WEDNESDAY).valid_to == datetime(2023, 6, 4, tzinfo=UTC)


def test_a_past_that_ended_is_still_true() -> None:
    assert read_times("I lived in Rome until 2019.", WEDNESDAY).valid_to is None


def test_what_happened_holds_from_its_day() -> None:
    assert read_times("I sold the car last Friday.", WEDNESDAY).valid_from == datetime(2023, 5, 5, tzinfo=UTC)


@given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_time_has_times_that_fit_a_record(text: str, at: datetime) -> None:
    times = read_times(text, at)
    assert without_added(times.text, [one.name for one in times.dates]) == without_added(
        text, [one.name for one in times.dates]
    )
    assert not (times.valid_from and times.valid_to) or times.valid_from <= times.valid_to
    assert all(one.start < one.end for one in times.dates)


@given(
    st.sampled_from(["yesterday", "last Monday", "next Sunday", "two weeks ago", "last month", "in 3 years", "5 May"]),
    st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_the_past_lies_behind_and_the_future_ahead(words: str, at: datetime) -> None:
    (found,) = dates_in(words, at.date())
    if words.startswith(("yesterday", "last", "two")):
        assert found.end <= at.date() or found.start.month != at.month or words == "two weeks ago"
        assert found.start < at.date()
    elif words != "5 May":
        assert found.end > at.date()
