"""Differences between two versions: nothing is lost on the way, and what is very long is still compared in time."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from memories.console.differences import ADDED, REMOVED, SAME, Piece, attributes, parts, words

TEXT = st.text(alphabet="ab \n.é", max_size=60)


@given(TEXT, TEXT)
def test_without_what_was_added_it_is_the_older_text_and_without_what_was_removed_the_newer(old: str, new: str) -> None:
    pieces = words(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != ADDED) == old
    assert "".join(piece.text for piece in pieces if piece.kind != REMOVED) == new


def test_what_was_cut_off_is_told_apart_from_the_word_before_it() -> None:
    pieces = words("Opening hours in summer", "Opening hours")
    assert pieces == (Piece(SAME, "Opening hours"), Piece(REMOVED, " in summer"))


def test_one_word_that_changed_is_all_that_is_marked() -> None:
    pieces = words("Rent is due in May, always.", "Rent is due in June, always.")
    assert pieces == (
        Piece(SAME, "Rent is due in "),
        Piece(REMOVED, "May, "),
        Piece(ADDED, "June, "),
        Piece(SAME, "always."),
    )


def test_equal_texts_are_one_piece_and_nothing_is_none() -> None:
    assert words("As it was.", "As it was.") == (Piece(SAME, "As it was."),)
    assert words("", "") == ()


def test_a_text_of_a_megabyte_is_compared_within_seconds() -> None:
    old = " ".join(f"word{index % 977}" for index in range(120_000))
    started = time.monotonic()
    pieces = words(old, old[::-1])
    assert {piece.kind for piece in pieces} == {REMOVED, ADDED}
    small = words(old, old.replace("word5 ", "other ", 1))
    assert [piece.text.strip() for piece in small if piece.kind == ADDED] == ["other"]
    assert time.monotonic() - started < 5


def test_long_texts_of_many_lines_are_compared_by_lines() -> None:
    lines = [" ".join(f"w{line}x{word}" for word in range(30)) for line in range(200)]
    pieces = words("\n".join(lines), "\n".join(["first", *lines[:-1], "last"]))
    assert [piece.text for piece in pieces if piece.kind == ADDED] == ["first\n", "last"]


def test_parts_are_paired_where_they_stand_and_files_are_named() -> None:
    rent, tea = {"type": "text", "text": "Rent is due."}, {"type": "text", "text": "Tea is green."}
    plan = {"type": "file", "file": {"id": "file_1", "name": "plan.png", "bytes": 1200}}
    other = {"type": "file", "file": {"id": "file_2", "name": "plan.png", "bytes": 1300}}
    found = parts([rent, tea, plan], [rent, {"type": "text", "text": "Tea is black."}, other])
    assert [(one.kind, one.label) for one in found] == [
        (SAME, ""),
        ("changed", ""),
        (REMOVED, "plan.png, 1,200 bytes"),
        (ADDED, "plan.png, 1,300 bytes"),
    ]
    assert [piece.text.strip() for piece in found[1].pieces if piece.kind == ADDED] == ["black."]


def test_a_part_put_in_front_leaves_the_others_the_same() -> None:
    said = [{"type": "text", "text": text} for text in ("One.", "Two.")]
    found = parts(said, [{"type": "text", "text": "Zero."}, *said])
    assert [one.kind for one in found] == [ADDED, SAME, SAME]


def test_attributes_are_added_removed_and_changed_and_a_number_is_not_its_text() -> None:
    found = attributes({"a": 1, "b": [1, 2], "c": True, "d": "1"}, {"b": [2], "c": True, "d": 1, "e": {"x": "ü"}})
    assert [(one.kind, one.name, one.before, one.after) for one in found] == [
        ("removed", "a", "1", ""),
        ("changed", "b", "[1, 2]", "[2]"),
        ("changed", "d", "1", "1"),
        ("added", "e", "", '{"x": "ü"}'),
    ]
