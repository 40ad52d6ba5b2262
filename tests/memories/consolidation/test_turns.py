"""Reading episodes as turns: who speaks, when, and what is nobody's words."""

from __future__ import annotations

from datetime import UTC, datetime

from benchmarks.shelf import MEMBER, WRITTEN, episode
from memories.consolidation.base import Kept
from memories.consolidation.turns import moment, turns_of
from memories.content import Draft
from memories.fence import fenced, unfenced


def kept(*parts: dict[str, object], **attributes: object) -> Kept:
    return Kept("ep", 1, Draft(type="episode", content=parts, attributes=attributes), WRITTEN, MEMBER)


def spoken(one: Kept) -> list[tuple[str, str, str]]:
    return [(turn.speaker, turn.role, turn.text) for turn in turns_of([one], unfenced)]


def test_the_speaker_of_the_attributes_says_every_part_of_one_role() -> None:
    one = kept({"type": "text", "text": "I row."}, {"type": "text", "text": "A lot."}, speaker="Ann")
    assert spoken(one) == [("Ann", "user", "I row."), ("Ann", "user", "A lot.")]


def test_the_speaker_of_an_exchange_is_the_person_and_not_the_assistant() -> None:
    one = kept(
        {"type": "text", "text": "I row.", "role": "user"},
        {"type": "text", "text": "Good.", "role": "assistant"},
        speaker="Ann",
    )
    assert spoken(one) == [("Ann", "user", "I row."), ("", "assistant", "Good.")]


def test_what_systems_and_tools_say_is_nobodys_statement() -> None:
    one = kept(
        {"type": "text", "text": "You are helpful.", "role": "system"},
        {"type": "text", "text": "42 rows", "role": "tool"},
    )
    assert spoken(one) == []


def test_a_transcript_is_as_many_turns_as_it_has_names() -> None:
    one = kept({"type": "text", "text": "Ann: I row.\nAnd swim.\nBob Ray: I do not."})
    assert spoken(one) == [("Ann", "user", "I row.\nAnd swim."), ("Bob Ray", "user", "I do not.")]


def test_a_word_that_announces_something_is_no_name() -> None:
    one = kept({"type": "text", "text": "Note: I row."}, speaker="Ann")
    assert spoken(one) == [("Ann", "user", "Note: I row.")]


def test_what_was_recalled_is_not_said_again() -> None:
    quoted = fenced(["Ann lives in Lisbon."])
    one = kept({"type": "text", "text": f"Before.\n{quoted}\nAfter."})
    assert "Lisbon" not in str(spoken(one))
    assert "Before." in str(spoken(one))
    assert "After." in str(spoken(one))


def test_quoted_lines_and_code_are_left_out() -> None:
    one = kept({"type": "text", "text": "> I lived in Rome.\nI live in Bonn.\n```\ncity = 'Oslo'\n```"})
    assert spoken(one) == [("", "user", "I live in Bonn.")]


def test_a_file_says_what_it_shows() -> None:
    one = kept({"type": "file", "file": {"id": "f"}, "text": "a red barn"})
    assert spoken(one) == [("", "user", "[a red barn]")]


def test_an_episode_was_said_when_it_says_so_or_else_when_it_was_written() -> None:
    then = datetime(2023, 5, 8, tzinfo=UTC)
    assert moment(episode("e", "x", then)) == then
    imported = Kept("e", 1, Draft(type="episode", valid_from=then), WRITTEN, MEMBER)
    assert moment(imported) == then
