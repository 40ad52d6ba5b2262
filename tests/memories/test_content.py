"""What a record may say: every malformed field is refused by its name, and nothing that is accepted cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.content import (
    CORE_TYPES,
    MAX_PARTS,
    MAX_REFERENCES,
    MAX_TITLE,
    Changes,
    Draft,
    FileFacts,
    complete,
    read_changes,
    read_draft,
)
from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported, UHPError
from uhp_site.http.text import json_flaw

T = TypeVar("T")

NUL, HALF = "a\0b", "a\ud800b"
PART = {"type": "text", "text": "words"}
TO = {"record_id": "hrec_1"}


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


MALFORMED = [
    ({}, "content"),
    ({"content": []}, "content"),
    ({"content": None}, "content"),
    ({"content": 5}, "content"),
    ({"content": {"type": "text"}}, "content"),
    ({"content": ""}, "content"),
    ({"content": " \n\t"}, "content"),
    ({"content": NUL}, "content"),
    ({"content": HALF}, "content"),
    ({"content": [PART] * (MAX_PARTS + 1)}, "content"),
    ({"content": ["words"]}, "content.0"),
    ({"content": [PART, None]}, "content.1"),
    ({"content": [{}]}, "content.0.type"),
    ({"content": [{"type": "image"}]}, "content.0.type"),
    ({"content": [{"type": "x."}]}, "content.0.type"),
    ({"content": [{"type": ["text"], "text": "words"}]}, "content.0.type"),
    ({"content": [PART, {"type": "text"}]}, "content.1.text"),
    ({"content": [PART, {"type": "text", "text": " "}]}, "content.1.text"),
    ({"content": [PART, {"type": "text", "text": 7}]}, "content.1.text"),
    ({"content": [PART, {"type": "text", "text": NUL}]}, "content.1.text"),
    ({"content": [{**PART, "role": "narrator"}]}, "content.0.role"),
    ({"content": [{**PART, "role": ["user"]}]}, "content.0.role"),
    ({"content": [{"type": "file", "file": {}}]}, "content.0.file.id"),
    ({"content": [{"type": "file"}]}, "content.0.file.id"),
    ({"content": [{"type": "file", "file": {"id": 3}}]}, "content.0.file.id"),
    ({"content": [{"type": "x.card", "card": {"name": NUL}}]}, "content.0.card.name"),
    ({"content": [{"type": "x.card", "role": "narrator"}]}, "content.0.role"),
    ({"content": "w", "type": None}, "type"),
    ({"content": "w", "type": 1}, "type"),
    ({"content": "w", "type": ""}, "type"),
    ({"content": "w", "type": "Fact"}, "type"),
    ({"content": "w", "type": "two words"}, "type"),
    ({"content": "w", "type": "fact."}, "type"),
    ({"content": "w", "type": "a" * 81}, "type"),
    ({"content": "w", "type": HALF}, "type"),
    ({"content": "w", "title": 1}, "title"),
    ({"content": "w", "title": None}, "title"),
    ({"content": "w", "title": "t" * (MAX_TITLE + 1)}, "title"),
    ({"content": "w", "title": "two\nlines"}, "title"),
    ({"content": "w", "title": "two\u2028lines"}, "title"),
    ({"content": "w", "title": NUL}, "title"),
    ({"content": "w", "attributes": None}, "attributes"),
    ({"content": "w", "attributes": []}, "attributes"),
    ({"content": "w", "attributes": {"a": {"b": [1, HALF]}}}, "attributes.a.b.1"),
    ({"content": "w", "attributes": {"a": {NUL: 1}}}, "attributes.a"),
    ({"content": "w", "attributes": {"a": float("inf")}}, "attributes.a"),
    ({"content": "w", "attributes": {"a": nested(60)}}, "attributes.a"),
    ({"content": "w", "references": None}, "references"),
    ({"content": "w", "references": {}}, "references"),
    ({"content": "w", "references": [TO] * (MAX_REFERENCES + 1)}, "references"),
    ({"content": "w", "references": ["hrec_1"]}, "references.0"),
    ({"content": "w", "references": [TO, {}]}, "references.1.record_id"),
    ({"content": "w", "references": [{"record_id": " "}]}, "references.0.record_id"),
    ({"content": "w", "references": [{"record_id": NUL}]}, "references.0.record_id"),
    ({"content": "w", "references": [{**TO, "rel": 1}]}, "references.0.rel"),
    ({"content": "w", "references": [{**TO, "memory_id": 1}]}, "references.0.memory_id"),
    ({"content": "w", "references": [{**TO, "rel": "subject"}] * 2}, "references"),
    ({"content": "w", "references": [{**TO, "rel": "object"}] * 2}, "references"),
    ({"content": "w", "time": []}, "time"),
    ({"content": "w", "time": {"valid_from": 1767225600}}, "time.valid_from"),
    ({"content": "w", "time": {"valid_from": "yesterday"}}, "time.valid_from"),
    ({"content": "w", "time": {"valid_from": "2026-01-01T00:00:00"}}, "time.valid_from"),
    ({"content": "w", "time": {"valid_to": "2026-02-30T00:00:00Z"}}, "time.valid_to"),
    ({"content": "w", "time": {"valid_to": "0001-01-01T00:00:00+23:59"}}, "time.valid_to"),
    (
        {"content": "w", "time": {"valid_from": "2026-01-02T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}},
        "time.valid_to",
    ),
]


@pytest.mark.parametrize(("body", "param"), MALFORMED, ids=lambda value: ascii(value)[:60])
def test_a_malformed_field_is_refused_by_its_name(body: dict[str, Any], param: str) -> None:
    with pytest.raises(MemoryInvalid) as refused:
        read_draft(body)
    assert refused.value.param == param


class Shelf:
    """A shelf with one picture on it, in a memory that keeps some media."""

    def __init__(self, *media: str) -> None:
        self.media = media or ("*/*",)

    def find(self, file_ids: Collection[str]) -> Mapping[str, FileFacts]:
        return {one: FileFacts("dot.png", "image/png", 24) for one in file_ids if one == "file_1"}


def test_a_file_part_is_completed_and_nothing_said_about_it_is_kept() -> None:
    file = {"id": "file_1", "name": "x", "media_type": "text/html", "bytes": 0, "version": 9}
    draft = read_draft({"content": [PART, {"type": "file", "file": file, "text": "a dot"}]})
    assert complete(draft, Shelf()).content == (
        PART,
        {
            "type": "file",
            "file": {"id": "file_1", "name": "dot.png", "media_type": "image/png", "bytes": 24},
            "text": "a dot",
            "text_source": "stated",
        },
    )


def test_a_file_that_may_not_be_named_is_refused_before_one_that_is_not_kept() -> None:
    parts = [{"type": "file", "file": {"id": one}} for one in ("file_1", "file_2")]
    with pytest.raises(MemoryInvalid) as unknown:
        complete(read_draft({"content": parts}), Shelf("text/*"))
    assert unknown.value.param == "content.1.file.id"
    with pytest.raises(MemoryUnsupported) as unsupported:
        complete(read_draft({"content": parts[:1]}), Shelf("text/*"))
    assert unsupported.value.param == "content.0.file"


def test_a_projection_chooses_the_words() -> None:
    draft = read_draft({"title": "Title", "content": "Content", "attributes": {"a": "A", "b": {"c": [1, "C", True]}}})
    assert draft.text == "Title\nContent\nA"
    assert replace(draft, projection=("attributes.b.c", "title")).text == "1\nC\nTitle"
    assert replace(draft, projection=("attributes.a.b", "attributes.x")).text == ""


def test_a_string_is_one_text_part_of_a_fact() -> None:
    assert read_draft({"content": "Words. "}) == Draft(
        type="fact", content=({"type": "text", "text": "Words. "},), attributes={}
    )


def test_a_title_stands_for_content_and_so_do_links_and_unknown_types() -> None:
    assert read_draft({"title": " Just this "}).title == "Just this"
    assert read_draft({"type": "link"}).content == ()
    assert read_draft({"type": "crm.deal"}).content == ()


@pytest.mark.parametrize("kind", [*CORE_TYPES, "crm.deal", "a", "x_1.y_2"])
def test_known_and_unknown_types_are_kept(kind: str) -> None:
    assert read_draft({"type": kind, "content": "w"}).type == kind


def test_a_part_of_ones_own_kind_is_kept_whole() -> None:
    part = {"type": "x.card", "front": {"q": [1, 2.5, None, True]}, "role": "tool"}
    assert read_draft({"content": [part]}).content == (part,)


def test_a_text_part_keeps_its_words_and_role_and_nothing_else() -> None:
    read = read_draft({"content": [{**PART, "role": "user", "text_source": "derived", "extra": 1}]})
    assert read.content == ({"type": "text", "text": "words", "role": "user"},)


def test_what_the_server_stamps_is_ignored() -> None:
    stamped = {"written_by": {"id": 1}, "version": "x", "status": 5, "trust": None, "id": [], "memory_id": 0}
    time = {"written_at": "never", "invalidated_at": 3}
    assert read_draft({"content": "w", "time": time, **stamped}) == read_draft({"content": "w"})


def test_a_reference_that_could_not_be_seen_is_no_new_one() -> None:
    sent = [{"record_id": "hrec_1", "available": False}, {"record_id": "hrec_2"}]
    assert [one.record_id for one in read_draft({"content": "w", "references": sent}).references] == ["hrec_2"]


def test_a_time_is_kept_as_the_instant_it_names() -> None:
    one, other = (
        read_draft({"content": "w", "time": {"valid_from": text}}).valid_from
        for text in ("2026-03-01T09:30:00Z", "2026-03-01T11:00:00+01:30")
    )
    assert one is not None
    assert one == other


def test_a_revision_changes_something() -> None:
    with pytest.raises(MemoryInvalid):
        read_changes({"type": "note"})


def test_a_revision_merges_attributes_and_times_and_replaces_the_rest() -> None:
    draft = read_draft(
        {
            "content": "old",
            "title": "kept",
            "attributes": {"a": 1, "b": 2},
            "time": {"valid_from": "2026-01-01T00:00:00Z"},
        }
    )
    revised = read_changes(
        {"content": "new", "attributes": {"b": 3}, "time": {"valid_to": "2026-01-02T00:00:00Z"}}
    ).apply(draft)
    assert (revised.title, revised.content) == ("kept", ({"type": "text", "text": "new"},))
    assert revised.attributes == {"a": 1, "b": 3}
    assert revised.valid_from == draft.valid_from
    assert revised.valid_to is not None


def test_a_revision_leaves_something_to_say() -> None:
    with pytest.raises(MemoryInvalid):
        read_changes({"title": ""}).apply(read_draft({"title": "only this"}))


# Any character at all, halves of surrogate pairs included, as JSON's escapes can spell them.
texts = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.integers(-(10**30), 10**30) | st.floats()
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "file", "x.note", "image"]) | values},
    optional={"text": texts | values, "role": st.sampled_from(["user", "nobody"]) | values, "file": values},
)
references = st.fixed_dictionaries({}, optional={"record_id": texts | values, "rel": texts, "memory_id": values})
times = st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-01-01"]) | values
bodies = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["fact", "link", "crm.deal", "No"]) | values,
        "title": texts | values,
        "content": texts | st.lists(parts, max_size=3) | values,
        "attributes": st.dictionaries(texts, values, max_size=3) | values,
        "references": st.lists(references, max_size=3) | values,
        "time": st.fixed_dictionaries({}, optional={"valid_from": times, "valid_to": times}) | values,
    },
)


@settings(max_examples=60)
@given(bodies)
def test_any_json_is_a_draft_that_can_be_kept_or_is_refused(body: dict[str, Any]) -> None:
    draft = outcome(read_draft, body)
    if isinstance(draft, Draft):
        kept = [draft.type, draft.title, list(draft.content), dict(draft.attributes or {}), draft.text]
        assert json_flaw(kept) is None
        assert json_flaw([[one.record_id, one.rel, one.memory_id] for one in draft.references]) is None
        assert len(draft.title.splitlines()) <= 1
        json.dumps(kept, allow_nan=False).encode()


@settings(max_examples=60)
@given(bodies)
def test_any_json_is_a_revision_or_is_refused(body: dict[str, Any]) -> None:
    assert outcome(read_changes, body) != Changes()


def outcome(read: Callable[[dict[str, Any]], T], body: dict[str, Any]) -> T | None:
    """What a body is read as, or None when it is refused; a refusal is one that UTF-8 can carry."""
    try:
        return read(body)
    except UHPError as error:
        refused = error
    assert refused.status == 422
    json.dumps(refused.body(), ensure_ascii=False).encode()
    return None
