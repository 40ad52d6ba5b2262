"""What a record may say: type, title, parts, attributes, references and times, as written by a client. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from uhp_site.http.errors import MemoryInvalid, MemoryUnsupported
from uhp_site.http.fields import Fields
from uhp_site.http.text import json_flaw

from .media import matches

CORE_TYPES = {
    "episode": "Something that happened, kept as it was said; append-only.",
    "fact": "A statement that holds.",
    "note": "Free text worth keeping.",
    "procedure": "How something is done.",
    "link": "A pointer to something elsewhere.",
    "entity": "Someone or something that other records are about.",
    "person": "A person that other records are about.",
    "company": "A company that other records are about.",
}
MAY_BE_EMPTY = frozenset({"link"})
TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")
ROLES = ("user", "assistant", "system", "tool")
ONCE = ("subject", "object")
MAX_PARTS = 200
MAX_REFERENCES = 200
MAX_TITLE = 300
MAX_TYPE = 80
# Which words stand for a record when it is searched, unless its type says otherwise.
EVERYTHING = ("title", "content", "attributes")


@dataclass(frozen=True)
class Reference:
    """A pointer to another record; `memory_id` empty means the memory the holder is in."""

    record_id: str
    rel: str = "related"
    memory_id: str = ""


@dataclass(frozen=True)
class Draft:
    """What a client asks to remember, checked; the server adds who and when."""

    type: str = "fact"
    title: str = ""
    content: tuple[Mapping[str, Any], ...] = ()
    attributes: Mapping[str, Any] | None = None
    references: tuple[Reference, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    projection: tuple[str, ...] = EVERYTHING

    @property
    def text(self) -> str:
        """The words of the draft, as recall searches them; those of a file's name are taken apart."""
        named = replace(self, content=tuple(map(_with_name_apart, self.content)))
        return words_of(named.title, named.content, named.attributes or {}, named.projection)

    @property
    def said(self) -> str:
        """The words of the draft, as a person reads them."""
        return words_of(self.title, self.content, self.attributes or {})

    @property
    def file_ids(self) -> list[str]:
        """The files that the parts name, in order, each once."""
        return list(dict.fromkeys(part["file"]["id"] for part in self.content if part["type"] == "file"))


@dataclass(frozen=True)
class FileFacts:
    """What the server knows of an uploaded file, whatever a client says about it."""

    name: str
    media_type: str
    size: int


class FileShelf(Protocol):
    """Where the facts about uploaded files come from, for one writer into one memory."""

    @property
    def media(self) -> Collection[str]:
        """The media types that the memory keeps, as globs."""
        ...

    def find(self, file_ids: Collection[str]) -> Mapping[str, FileFacts]:
        """Those of the files that the writer may name; an unknown one and another's are absent alike."""
        ...


@dataclass(frozen=True)
class Changes:
    """What a revision changes; None leaves a field as it was, attributes are merged (Memories §4.6)."""

    title: str | None = None
    content: tuple[Mapping[str, Any], ...] | None = None
    attributes: Mapping[str, Any] | None = None
    references: tuple[Reference, ...] | None = None
    time: Mapping[str, datetime | None] | None = None

    def apply(self, draft: Draft) -> Draft:
        """The draft as the revision leaves it. Raises MemoryInvalid when nothing would be left to say."""
        times = {"valid_from": draft.valid_from, "valid_to": draft.valid_to, **(self.time or {})}
        revised = replace(
            draft,
            title=draft.title if self.title is None else self.title,
            content=draft.content if self.content is None else self.content,
            attributes={**(draft.attributes or {}), **(self.attributes or {})},
            references=draft.references if self.references is None else self.references,
            valid_from=times["valid_from"],
            valid_to=times["valid_to"],
        )
        return whole(revised)


def read_draft(data: Mapping[str, Any]) -> Draft:
    """Check the body of a remember. Raises MemoryInvalid or MemoryUnsupported, naming the field."""
    fields = Fields(data)
    kind = fields.text("type", longest=MAX_TYPE) if fields.has("type") else "fact"
    if kind is None or not TYPE.fullmatch(kind):
        raise fields.refuse("type", "A type is lower-case words joined by dots.")
    time = read_time(fields)
    return whole(
        Draft(
            type=kind,
            title=fields.text("title", longest=MAX_TITLE, one_line=True) or "",
            content=read_content(fields) if fields.has("content") else (),
            attributes=read_attributes(fields) if fields.has("attributes") else {},
            references=read_references(fields) if fields.has("references") else (),
            valid_from=time.get("valid_from"),
            valid_to=time.get("valid_to"),
        )
    )


def read_changes(data: Mapping[str, Any]) -> Changes:
    """Check the body of a revise, which changes at least one field. Raises MemoryInvalid or MemoryUnsupported."""
    fields = Fields(data)
    if not any(fields.has(name) for name in ("title", "content", "attributes", "references", "time")):
        raise MemoryInvalid("A revision changes at least one of title, content, attributes, references and time.")
    return Changes(
        title=fields.text("title", longest=MAX_TITLE, one_line=True),
        content=read_content(fields) if fields.has("content") else None,
        attributes=read_attributes(fields) if fields.has("attributes") else None,
        references=read_references(fields) if fields.has("references") else None,
        time=read_time(fields),
    )


def whole(draft: Draft) -> Draft:
    """Check what only the whole can say: something is said, and it does not end before it begins."""
    may_be_empty = draft.title or draft.type in MAY_BE_EMPTY or draft.type not in CORE_TYPES
    if not draft.content and not may_be_empty:
        raise MemoryInvalid("A record without content needs a title.", param="content")
    if draft.valid_from and draft.valid_to and draft.valid_to < draft.valid_from:
        raise MemoryInvalid("The end of validity is before its beginning.", param="time.valid_to")
    return draft


def read_content(fields: Fields) -> tuple[Mapping[str, Any], ...]:
    """The parts of a record in order; a string is one text part (Memories §2.5)."""
    value = fields.data["content"]
    if isinstance(value, str):
        value = [{"type": "text", "text": value}]
        return (read_part(Fields(value[0], fields.at("content"))),)
    if not isinstance(value, list) or len(value) > MAX_PARTS:
        raise fields.refuse("content", f"Content is a string or a list of at most {MAX_PARTS} parts.")
    return tuple(read_part(_object(fields, f"content.{index}", part)) for index, part in enumerate(value))


def read_part(fields: Fields) -> Mapping[str, Any]:
    """One part: text, or a part of an `x.` kind, which is carried unchanged."""
    kind = fields.data.get("type")
    if isinstance(kind, str) and kind.startswith("x.") and len(kind) > 2:
        _keepable(fields)
        _role(fields)
        return dict(fields.data)
    if kind == "file":
        return _file_part(fields)
    if kind != "text":
        raise fields.refuse("type", "A part is text, file, or of a kind that begins with x.")
    text = fields.data.get("text")
    if not isinstance(text, str) or not text.strip():
        raise _text_refusal(fields, "A text part needs words.")
    if problem := json_flaw(text):
        raise _text_refusal(fields, problem[1])
    part: dict[str, Any] = {"type": "text", "text": text}
    if role := _role(fields):
        part["role"] = role
    return part


def _text_refusal(fields: Fields, message: str) -> MemoryInvalid:
    # Content given as a bare string has no part to point at.
    return MemoryInvalid(message, param=fields.path if fields.path == "content" else fields.at("text"))


def _file_part(fields: Fields) -> Mapping[str, Any]:
    file = fields.data.get("file")
    if not isinstance(file, dict) or not isinstance(file.get("id"), str) or not file["id"]:
        raise fields.refuse("file.id", "A file part names the id of an uploaded file.")
    part: dict[str, Any] = {"type": "file", "file": {"id": file["id"]}}
    text = fields.data.get("text")
    if text is not None and not isinstance(text, str):
        raise fields.refuse("text", "The words that stand for a file are a string.")
    if text and (problem := json_flaw(text)):
        raise fields.refuse("text", problem[1])
    if fields.data.get("text_source") not in (None, "stated", "derived"):
        raise fields.refuse("text_source", "The words of a file are stated or derived.")
    if text and text.strip():
        # Whoever writes a record states what is in it; only a provider derives.
        part |= {"text": text, "text_source": "stated"}
    if role := _role(fields):
        part["role"] = role
    return part


def complete(draft: Draft, shelf: FileShelf) -> Draft:
    """The draft with name, media type and size of its files filled in from the store (Memories §2.5).

    Raises MemoryInvalid for a file that the writer may not name and MemoryUnsupported for one that is not kept; the
    second only for files that may be named, so that it tells nothing about the others.
    """
    wanted = draft.file_ids
    if not wanted:
        return draft
    found = shelf.find(wanted)
    for index, part in _files(draft):
        if part["file"]["id"] not in found:
            raise MemoryInvalid("There is no such file.", param=f"content.{index}.file.id")
    for index, part in _files(draft):
        if not matches(found[part["file"]["id"]].media_type, tuple(shelf.media)):
            raise MemoryUnsupported(
                "This memory's provider does not keep files of this type.", param=f"content.{index}.file"
            )
    return replace(
        draft, content=tuple(_completed(part, found) if part["type"] == "file" else part for part in draft.content)
    )


def _files(draft: Draft) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return ((index, part) for index, part in enumerate(draft.content) if part["type"] == "file")


def _completed(part: Mapping[str, Any], found: Mapping[str, FileFacts]) -> Mapping[str, Any]:
    file_id = part["file"]["id"]
    facts = found[file_id]
    return {
        **part,
        "file": {"id": file_id, "name": facts.name, "media_type": facts.media_type, "bytes": facts.size},
    }


def _role(fields: Fields) -> str | None:
    role = fields.data.get("role")
    if role is None:
        return None
    if role not in ROLES:
        raise fields.refuse("role", f"A role is one of: {', '.join(ROLES)}.")
    return str(role)


def _keepable(fields: Fields) -> None:
    if found := json_flaw(dict(fields.data)):
        path, message = found
        raise MemoryInvalid(message, param=fields.at(path) if path else fields.path)


def read_attributes(fields: Fields) -> Mapping[str, Any]:
    """Any JSON object that can be kept."""
    value = fields.data["attributes"]
    inner = _object(fields, "attributes", value)
    _keepable(inner)
    return dict(inner.data)


def read_references(fields: Fields) -> tuple[Reference, ...]:
    """Pointers to other records. One the reader could not see (`available: false`) is no new pointer (§4.7)."""
    value = fields.data["references"]
    if not isinstance(value, list) or len(value) > MAX_REFERENCES:
        raise fields.refuse("references", f"References are a list of at most {MAX_REFERENCES}.")
    references = []
    for index, entry in enumerate(value):
        inner = _object(fields, f"references.{index}", entry)
        if inner.data.get("available") is False:
            continue
        references.append(
            Reference(
                record_id=inner.text("record_id", longest=200, required=True) or "",
                rel=inner.text("rel", longest=80) or "related",
                memory_id=inner.text("memory_id", longest=200) or "",
            )
        )
    check_once(references)
    return tuple(references)


def check_once(references: list[Reference]) -> None:
    """A record has at most one subject and one object (Memories §2.6). Raises MemoryInvalid."""
    for rel in ONCE:
        if sum(reference.rel == rel for reference in references) > 1:
            raise MemoryInvalid(f"A record has at most one {rel}.", param="references")


def read_time(fields: Fields) -> dict[str, datetime | None]:
    """When the record holds; `written_at` and `invalidated_at` are the server's and ignored."""
    value = fields.data.get("time")
    if value is None:
        return {}
    inner = _object(fields, "time", value)
    return {name: inner.instant(name) for name in ("valid_from", "valid_to") if inner.has(name)}


def words_of(
    title: str,
    content: tuple[Mapping[str, Any], ...],
    attributes: Mapping[str, Any],
    projection: Collection[str] = EVERYTHING,
) -> str:
    """The searchable words of a record: its title, the text of its parts, and strings among its attributes.

    A file that nobody described is found by its name. `projection` chooses: `title`, `content`, `attributes` for all
    strings at the top, or `attributes.<dotted path>` for one value, whatever its kind.
    """
    pieces: list[str] = []
    for source in projection:
        if source == "title":
            pieces.append(title)
        elif source == "content":
            pieces.extend(_words_of_part(part) for part in content)
        elif source == "attributes":
            pieces.extend(value for value in attributes.values() if isinstance(value, str))
        else:
            pieces.extend(_leaves(_inner(attributes, source.split(".")[1:])))
    return "\n".join(piece for piece in pieces if piece)


def _words_of_part(part: Mapping[str, Any]) -> str:
    text, file = part.get("text"), part.get("file")
    if isinstance(text, str):
        return text
    return str(file.get("name", "")) if part.get("type") == "file" and isinstance(file, Mapping) else ""


def _with_name_apart(part: Mapping[str, Any]) -> Mapping[str, Any]:
    # Postgres takes `heron.png` for the name of a host, and nobody asks for that.
    if part["type"] != "file" or "name" not in part["file"]:
        return part
    return {**part, "file": {**part["file"], "name": re.sub(r"[\W_]+", " ", part["file"]["name"])}}


def _inner(value: Any, path: list[str]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _object(fields: Fields, name: str, value: Any) -> Fields:
    if not isinstance(value, dict):
        raise fields.refuse(name, "This must be an object.")
    return Fields(value, fields.at(name))
