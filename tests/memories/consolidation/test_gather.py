"""How turns of one exchange become one statement that can be read alone."""

from __future__ import annotations

from datetime import timedelta

from benchmarks.shelf import WRITTEN
from memories.consolidation.gather import LONGEST, MOST_TURNS, Statement, gather
from memories.consolidation.turns import Turn


def turns(*lines: tuple[str, str], session: str = "1") -> list[Turn]:
    return [Turn(f"e{n}", who, "user", text, WRITTEN, session) for n, (who, text) in enumerate(lines)]


def statements(*lines: tuple[str, str]) -> list[Statement]:
    said = turns(*lines)
    return gather(said, {turn.episode for turn in said})


def test_a_short_answer_carries_its_question_and_cites_both() -> None:
    (one,) = statements(("Ann", "How long have you been married?"), ("Bob", "5 years already!"))
    assert one.text == "Ann asked: How long have you been married? Bob: 5 years already!"
    assert one.sources == ("e0", "e1")


def test_an_answer_that_says_it_all_needs_no_question() -> None:
    (one,) = statements(
        ("Ann", "What is new?"),
        ("Bob", "Last Friday my sister Rosa opened a bakery near the old harbour in Porto with two ovens."),
    )
    assert one.text.startswith("Bob: Last Friday (27 December 2024) my sister Rosa")
    assert one.sources == ("e1",)


def test_a_question_that_was_read_before_is_still_its_context() -> None:
    said = turns(("Ann", "Where did you two meet?"), ("Bob", "At the skating rink in Ghent."))
    (one,) = gather(said, {"e1"})
    assert one.text.startswith("Ann asked: Where did you two meet? Bob: At the skating rink")


def test_what_was_read_before_is_no_statement_again() -> None:
    said = turns(("Bob", "I was born in Ghent in 1980."), ("Ann", "Okay."))
    assert gather(said, {"e1"}) == []


def test_one_speaker_going_on_about_one_thing_is_one_statement() -> None:
    (one,) = statements(
        ("Ann", "I adopted a greyhound from the shelter in Porto."),
        ("Bob", "Wow, lovely!"),
        ("Ann", "The greyhound is four and sleeps on my sofa."),
    )
    assert one.sources == ("e0", "e2")
    assert one.text.startswith("Ann: I adopted a greyhound")
    assert one.text.endswith("sleeps on my sofa.")


def test_two_speakers_are_never_one_statement() -> None:
    found = statements(("Ann", "I adopted a greyhound in Porto."), ("Bob", "I adopted a greyhound in Porto, too."))
    assert [one.sources for one in found] == [("e0",), ("e1",)]


def test_another_thing_is_another_statement() -> None:
    found = statements(("Ann", "I adopted a greyhound in Porto."), ("Ann", "Our invoice came to 1,250 euros."))
    assert len(found) == 2


def test_what_could_be_corrected_alone_begins_its_own_statement() -> None:
    found = statements(
        ("Ann", "Our office in Lyon has 40 desks."), ("Ann", "We decided to close the office in Lyon in May 2026.")
    )
    assert len(found) == 2


def test_two_sessions_or_days_are_never_one_statement() -> None:
    first, second = turns(("Ann", "I adopted a greyhound in Porto."), ("Ann", "The greyhound is four years old."))
    for later in (
        Turn("e1", "Ann", "user", second.text, WRITTEN, "2"),
        Turn("e1", "Ann", "user", second.text, WRITTEN + timedelta(days=1), "1"),
    ):
        assert len(gather([first, later], {"e0", "e1"})) == 2


def test_a_statement_stays_short() -> None:
    found = statements(*(("Ann", f"My greyhound ate sausage number {n} of the {n + 3} sausages.") for n in range(40)))
    assert all(len(one.text) <= LONGEST and len(one.sources) <= MOST_TURNS for one in found)
    assert [source for one in found for source in one.sources] == [f"e{n}" for n in range(40)]


def test_who_is_not_named_is_not_invented() -> None:
    (one,) = gather([Turn("e", "", "user", "I was born in Ghent in 1980.", WRITTEN)], {"e"})
    assert one.text == "I was born in Ghent in 1980."
    (promise,) = gather([Turn("e", "", "assistant", "I'll send the report to Dana by Friday.", WRITTEN)], {"e"})
    assert promise.text.startswith("Assistant: ")
