"""Who and what statements name, and how names become entities of one memory."""

from __future__ import annotations

import pytest

from benchmarks.shelf import MEMBER, WRITTEN, Shelf
from memories.consolidation.base import Kind
from memories.consolidation.gather import Statement, gather
from memories.consolidation.link import Links, link
from memories.consolidation.names import key_of, names_in
from memories.consolidation.turns import Turn
from memories.content import Draft


def said(*lines: tuple[str, str]) -> list[Statement]:
    turns = [Turn(f"e{n}", speaker, "user", text, WRITTEN, str(n)) for n, (speaker, text) in enumerate(lines)]
    statements = gather(turns, {turn.episode for turn in turns})
    assert len(statements) == len(lines)
    return statements


def created(links: Links) -> dict[str, str]:
    return {one.draft.title: one.draft.type for one in links.proposals if one.draft and one.kind is Kind.CREATE}


def pointing(links: Links, place: int = 0) -> dict[str, list[str]]:
    rels: dict[str, list[str]] = {}
    for reference in links.references[place]:
        rels.setdefault(reference.rel, []).append(reference.record_id)
    return rels


@pytest.mark.parametrize(
    ("sentence", "name", "type_", "sort"),
    [
        ("I met Ann Smith in town.", "Ann Smith", "person", "person"),
        ("My sister Rosa plays the harp.", "Rosa", "person", "person"),
        ("Dr. Lee said so.", "Lee", "person", "person"),
        ("I work at Acme now.", "Acme", "company", "company"),
        ("We pay Globex Ltd monthly.", "Globex Ltd", "company", "company"),
        ("I moved to New York.", "New York", "entity", "place"),
        ("Write to ann@x.example please.", "ann@x.example", "entity", "email"),
        ("Follow @heron_1 there.", "@heron_1", "entity", "handle"),
        ('I read "A Winter Book" again.', "A Winter Book", "entity", "title"),
    ],
)
def test_a_name_is_told_by_the_words_around_it(sentence: str, name: str, type_: str, sort: str) -> None:
    found = {one.text: one for one in names_in(sentence)}
    assert (found[name].type, found[name].sort, found[name].sure) == (type_, sort, True)


@pytest.mark.parametrize(
    "sentence", ["Yesterday I slept.", "In May it rains.", "I SAID NO WAY", "The dog barked.", "Thanks"]
)
def test_ordinary_words_are_no_names(sentence: str) -> None:
    assert [one for one in names_in(sentence) if one.sure] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Caroline", "Caroline's"),
        ("IBM", "I.B.M."),
        ("Acme Corp.", "ACME"),
        ("José", "Jose"),
        ("Ann  Smith", "ann smith"),
    ],
)
def test_evident_variants_share_a_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


def test_different_names_do_not_share_a_key() -> None:
    assert len({key_of(name) for name in ("Ann Smith", "Ann Jones", "Ann", "Anna", "AT&T", "ATT")}) == 6


def test_who_speaks_is_the_subject_and_the_one_other_the_object() -> None:
    links = link(said(("Caroline", "I work at Acme since 2019.")), [])
    assert created(links) == {"Caroline": "person", "Acme": "company"}
    assert pointing(links) == {"subject": ["entity:caroline"], "object": ["entity:acme"]}


def test_several_others_are_what_it_is_about() -> None:
    links = link(said(("Caroline", "I moved from Oslo to Bergen in 2019 with my friend Bob.")), [])
    assert pointing(links)["subject"] == ["entity:caroline"]
    assert set(pointing(links)["about"]) == {"entity:oslo", "entity:bergen", "entity:bob"}


def test_an_entity_that_is_there_is_used_and_not_made_again() -> None:
    shelf = Shelf()
    there = shelf.put(Draft(type="company", title="I.B.M."), MEMBER)
    links = link(said(("Ann", "I work at IBM's lab in Zurich.")), shelf.entities())
    assert "IBM" not in created(links)
    assert there.id in [one.record_id for one in links.references[0]]


def test_two_people_of_one_first_name_are_two_entities_and_the_bare_name_neither() -> None:
    lines = (
        ("", "I met Ann Smith at the harbour on 3 March."),
        ("", "I met Ann Jones at the station on 4 March."),
        ("", "My friend Ann plays the cello on Mondays."),
    )
    links = link(said(*lines), [])
    assert created(links) == {"Ann Smith": "person", "Ann Jones": "person"}
    assert pointing(links, 2) == {}


def test_a_first_name_alone_is_the_one_person_known_by_it() -> None:
    lines = (("", "I met Ann Smith at the harbour on 3 March."), ("", "My friend Ann plays the cello on Mondays."))
    links = link(said(*lines), [])
    assert list(created(links)) == ["Ann Smith"]
    assert links.references[1][0].record_id == "entity:ann smith"


def test_a_full_name_that_becomes_known_is_the_title_from_then_on() -> None:
    shelf = Shelf()
    ann = shelf.put(Draft(type="person", title="Ann", attributes={"entity": {"sort": "person", "aliases": []}}))
    links = link(said(("", "I met Ann Smith at the harbour on 3 March.")), shelf.entities())
    (change,) = links.proposals
    assert (change.kind, change.record_id) == (Kind.SUPERSEDE, ann.id)
    assert change.draft is not None
    assert change.draft.title == "Ann Smith"
    assert (change.draft.attributes or {})["entity"]["aliases"] == ["ann"]


def test_an_entity_that_a_person_wrote_is_not_renamed() -> None:
    shelf = Shelf()
    shelf.put(Draft(type="person", title="Ann"), MEMBER)
    links = link(said(("", "I met Ann Smith at the harbour on 3 March.")), shelf.entities())
    assert created(links) == {"Ann Smith": "person"}


def test_a_speaker_who_speaks_of_a_namesake_is_not_that_namesake() -> None:
    links = link(said(("Ann", "I met Ann Smith at the harbour on 3 March.")), [])
    assert created(links) == {"Ann Smith": "person", "Ann": "person"}
    assert pointing(links) == {"subject": ["entity:ann"], "object": ["entity:ann smith"]}


def test_a_name_of_nothing_known_becomes_an_entity_when_it_is_said_again() -> None:
    once = said(("Ann", "I rewrote the Heron importer in two days."))
    assert list(created(link(once, []))) == ["Ann"]
    twice = said(("Ann", "I rewrote the Heron importer in two days."), ("Ann", "We ship Heron on 3 March."))
    assert set(created(link(twice, []))) == {"Ann", "Heron"}
