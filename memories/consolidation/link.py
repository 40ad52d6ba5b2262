"""The third step: who and what the statements are about, as entities of the memory and references to them.

One entity per name and its evident variants. A first name alone is the one person known by it; where two are, nobody
knows which, and nothing is linked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memories.consolidation.base import Kept, Kind, Proposal, Reason
from memories.consolidation.gather import Claim, Statement
from memories.consolidation.names import Name, key_of, names_in
from memories.content import Draft, Reference

ENTITIES = ("entity", "person", "company")
MOST_ABOUT = 20
MOST_SOURCES = 20
OFTEN = 2
"""A name about which nothing else is known becomes an entity when so many statements carry it."""


@dataclass
class _Entity:
    id: str  # of a record, or the key of a proposal
    title: str
    type: str
    sort: str
    kept: Kept | None = None
    sources: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Links:
    """What to propose for the entities themselves, and the references of each statement, in its order."""

    proposals: tuple[Proposal, ...]
    references: tuple[tuple[Reference, ...], ...]


def link(
    statements: Sequence[Statement], entities: Iterable[Kept], named: Sequence[Sequence[Name]] | None = None
) -> Links:
    """Find the entities that the statements name among those of the memory, and propose those that are new.

    `named` are the names in each statement, where somebody else read them.
    """
    if named is None:
        named = [_names(statement) for statement in statements]
    book = _Book(entities, set(_apart(statements, named)))
    for name, sources in _ranked(statements, named):
        book.enter(name, sources)
    references = tuple(_references(statement, names, book) for statement, names in zip(statements, named, strict=True))
    used = {reference.record_id for some in references for reference in some}
    return Links(tuple(book.proposals(used)), references)


def _ranked(statements: Sequence[Statement], named: Sequence[Sequence[Name]]) -> Iterator[tuple[Name, Sequence[str]]]:
    """Every name once, as the surest of its mentions has it, with its sources; full names before first names alone."""
    best: dict[str, Name] = {}
    sources: dict[str, list[str]] = defaultdict(list)
    often: dict[str, int] = defaultdict(int)
    for statement, names in zip(statements, named, strict=True):
        for name in names:
            known = best.get(name.key)
            if known is None or _rank(name) > _rank(known):
                best[name.key] = name
            sources[name.key].extend(statement.sources)
            often[name.key] += 1
    for key in sorted(best, key=lambda key: -key.count(" ")):
        if best[key].sure or often[key] >= OFTEN:
            yield best[key], sources[key]


def _rank(name: Name) -> tuple[bool, bool, bool]:
    return name.sure, name.position < 0, name.type != "entity"


class _Book:
    """The entities by every spelling of their names."""

    def __init__(self, entities: Iterable[Kept], apart: Collection[str]) -> None:
        self.entities: list[_Entity] = []
        self.by_key: dict[str, _Entity] = {}
        self.by_first: dict[str, list[_Entity]] = {}
        self.apart = apart
        for kept in entities:
            spoken = kept.draft.title or kept.draft.said.split("\n")[0][:120]
            told = _told(kept.draft.attributes)
            entity = _Entity(kept.id, spoken, kept.draft.type, str(told.get("sort") or kept.draft.type), kept)
            aliases = told.get("aliases")
            self._add(entity, [spoken, *(aliases if isinstance(aliases, list) else [])])

    def find(self, name: Name | str) -> _Entity | None:
        """The one entity that a name can mean, if there is exactly one."""
        key = key_of(name if isinstance(name, str) else name.text)
        exact = self.by_key.get(key)
        if key in self.apart:
            return exact
        candidates = {exact.id: exact} if exact else {}
        candidates |= {entity.id: entity for entity in self.by_first.get(key, ())}
        return next(iter(candidates.values())) if len(candidates) == 1 else None

    def enter(self, name: Name, sources: Sequence[str]) -> None:
        """Note a name: it is known, is the full name of somebody known by the first alone, or is new."""
        if found := self.find(name):
            self._support(found, sources)
            return
        key = name.key
        first = key.split(" ")[0]
        if not key or key in self.by_key or (key in self.by_first and key not in self.apart):
            return
        bare = self.by_key.get(first) if first != key and first not in self.by_first else None
        if bare and first not in self.apart and _may_grow(bare, name):
            bare.title = name.text
            self._support(bare, sources)
            self.by_key[key] = bare
            bare.keys.append(key)
            self.by_first[first] = [bare]
            return
        self._add(_Entity(f"entity:{key}", name.text, name.type, name.sort, None, list(sources)), [name.text])

    def proposals(self, used: Iterable[str]) -> Iterable[Proposal]:
        """What to write of entities: new ones that something refers to, and those whose full name became known."""
        wanted = set(used)
        for entity in self.entities:
            sources = tuple(dict.fromkeys(entity.sources))[:MOST_SOURCES]
            if entity.kept is None:
                if entity.id in wanted:
                    attributes: dict[str, Any] = {"entity": {"sort": entity.sort, "aliases": self._aliases(entity)}}
                    draft = Draft(type=entity.type, title=entity.title, attributes=attributes)
                    yield Proposal(Kind.CREATE, Reason.NAMED, sources, draft, key=entity.id)
            elif entity.title != (entity.kept.draft.title or entity.title):
                told: dict[str, Any] = {**_told(entity.kept.draft.attributes), "aliases": self._aliases(entity)}
                attributes = {**(entity.kept.draft.attributes or {}), "entity": told}
                draft = replace(entity.kept.draft, title=entity.title, attributes=attributes)
                yield Proposal(Kind.SUPERSEDE, Reason.NAMED, sources, draft, record_id=entity.id)

    def _aliases(self, entity: _Entity) -> list[str]:
        own = key_of(entity.title)
        return sorted(key for key in entity.keys if key != own)

    def _add(self, entity: _Entity, spellings: Iterable[object]) -> None:
        self.entities.append(entity)
        for spelling in spellings:
            key = key_of(str(spelling))
            if key and key not in self.by_key:
                self.by_key[key] = entity
                entity.keys.append(key)
            if entity.type == "person" and " " in key:
                self.by_first.setdefault(key.split(" ")[0], []).append(entity)

    @staticmethod
    def _support(entity: _Entity, sources: Sequence[str]) -> None:
        entity.sources.extend(sources)


def _apart(statements: Sequence[Statement], named: Sequence[Sequence[Name]]) -> Iterator[str]:
    """First names of speakers who speak of somebody of the same first name: that is somebody else."""
    for statement, names in zip(statements, named, strict=True):
        key = key_of(statement.speaker)
        if key and any(name.key.startswith(f"{key} ") for name in names):
            yield key


def _may_grow(bare: _Entity, name: Name) -> bool:
    provider = bare.kept is None or bare.kept.writer.kind == "provider"
    return bare.type == "person" and name.type in ("person", "entity") and name.sort in ("person", "name") and provider


def _names(statement: Statement) -> list[Name]:
    found: dict[str, Name] = {}
    if statement.speaker:
        found[key_of(statement.speaker)] = Name(statement.speaker, "person", "person", True, -1)
    for claim in statement.claims:
        for name in _of(claim):
            known = found.get(name.key)
            if known is None or (name.sure and not known.sure):
                found[name.key] = name
    return list(found.values())


def _of(claim: Claim) -> Iterable[Name]:
    return () if claim.text.startswith("[") else names_in(claim.text)


def _references(statement: Statement, names: Sequence[Name], book: _Book) -> tuple[Reference, ...]:
    subject = _subject(statement, names, book)
    others: list[str] = []
    for name in names:
        entity = book.find(name)
        if entity and entity.id != subject and entity.id not in others:
            others.append(entity.id)
    references = [Reference(subject, "subject")] if subject else []
    if len(others) == 1 and subject:
        return (*references, Reference(others[0], "object"))
    return (*references, *(Reference(other, "about") for other in others[:MOST_ABOUT]))


def _subject(statement: Statement, names: Sequence[Name], book: _Book) -> str:
    """Whom the statement is about first: a name that begins it, or else who speaks."""
    first = next((name for name in names if name.position == 0), None)
    entity = book.find(first) if first else None
    if entity is None and statement.speaker:
        entity = book.find(statement.speaker)
    return entity.id if entity else ""


def _told(attributes: Mapping[str, object] | None) -> Mapping[str, object]:
    told = (attributes or {}).get("entity")
    return told if isinstance(told, dict) else {}
