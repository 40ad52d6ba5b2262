"""Finding candidates by words, with Postgres' own text search, inside a given set of memories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.postgres.search import SearchVectorField
from django.db import connection
from django.db.models import Expression, Func, Value

from members.models import Organisation
from memories.content import words_of as said_in
from memories.models import Version

from . import folding, frequencies, inside, lexis, search, spoken, typos
from .base import View

# ruff: noqa: S608 - statements are put together from constants; every value is a parameter.

# The longest text whose words are indexed, in characters.
MAX_WORDS = lexis.MAX_WORDS
# How many lexemes one question asks for at most, and how many versions are looked through for a phrase.
MOST_TERMS = 1_000
LOOKED_THROUGH = 2_000
# How much a word counts that stands for one misspelt.
MISSPELT = 0.8

RANK = f"ts_rank('{{{','.join(str(weight) for weight in lexis.WEIGHTS)}}}', v.words, asked.lexemes)"


@dataclass(frozen=True)
class Terms:
    """What a question asks for, any of it: lexemes, and beginnings of lexemes; and phrases that must occur."""

    lexemes: tuple[str, ...]
    beginnings: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    @property
    def any_of(self) -> str:
        """As Postgres writes it: all of them at once would find nothing for most questions."""
        return self.joined(" | ")

    def joined(self, operator: str) -> str:
        """The terms with an operator between them, as Postgres writes a tsquery."""
        written = [*map(lexis.quoted, self.lexemes), *(f"{lexis.quoted(one)}:*" for one in self.beginnings)]
        return operator.join(written[:MOST_TERMS])


class WordVector(Func):
    """What a text is found by, made by Postgres in the statement that writes it."""

    output_field = SearchVectorField()

    def as_sql(self, *args: Any, **kwargs: Any) -> Any:
        """The statement fragment; the parts are joined by the operator for concatenation."""
        return super().as_sql(*args, **{**kwargs, "template": "(%(expressions)s)", "arg_joiner": " || "})


class _Stemmed(Func):
    function = "to_tsvector"
    output_field = SearchVectorField()
    template = "%(function)s(%(expressions)s)"


class _Config(Func):
    template = "(%(expressions)s)::regconfig"


class _Lesser(Func):
    function = "setweight"
    output_field = SearchVectorField()


class _Literal(Func):
    template = "(%(expressions)s)::tsvector"
    output_field = SearchVectorField()


def vector(text: str, language: str) -> Expression:
    """The value of `Version.words` for a text, in an organisation of this language."""
    taken = lexis.indexed(text, language)
    parts: list[Expression] = [_stemmed(language, taken.plain)]
    parts += [_stemmed(config, words) for config, words in _existing(taken.stemmed).items()]
    if taken.second:
        parts.append(_Lesser(_stemmed(language, taken.second), Value(lexis.FORM)))
    if taken.exact:
        parts.append(_Literal(Value(taken.literal)))
    return WordVector(*parts)


def languages(organisation_ids: Collection[str]) -> Mapping[str, str]:
    """The language of each organisation, in which what is written now is indexed."""
    return dict(Organisation.objects.filter(pk__in=organisation_ids).values_list("id", "language"))


def by_words(
    words: str, memory_ids: Sequence[str], view: View, limit: int, *, phrases: bool = False
) -> dict[int, float]:
    """The versions that share the most telling words, as version key to rank.

    With `phrases`, what is quoted must occur as it stands. A word that nothing readable has stands for those that do
    and differ from it in a letter or two.
    """
    asked_in = _spoken_in(memory_ids)
    terms = asked_for(words, asked_in, phrases=phrases)
    if terms.phrases:
        return _with_phrases(terms, asked_in, memory_ids, view, limit)
    if not terms.any_of:
        return {}
    found = _ranked(terms, memory_ids, view, limit)
    for other in typos.corrected(words, asked_in[0], terms.lexemes, list(found), memory_ids, view):
        share = MISSPELT * len(other) / max(1, len(terms.lexemes))
        for key, score in _ranked(Terms(tuple(other)), memory_ids, view, limit).items():
            found[key] = found.get(key, 0.0) + share * score
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0]))[:limit])


def words_of(words: str, versions: Collection[int], *, phrases: bool = False) -> dict[int, float]:
    """The rank by words of versions that another signal found; those that share none are absent."""
    terms = asked_for(words, spoken.where(next(iter(versions), None)), phrases=phrases)
    scores = {}
    if terms.any_of:
        scores = search.scores(
            f"""
            WITH asked AS (SELECT %(asked)s::tsquery AS lexemes)
            SELECT v.id, {RANK} FROM memories_version v, asked
            WHERE v.id = ANY(%(versions)s::bigint[]) AND v.words @@ asked.lexemes
            """,
            {"asked": terms.any_of, "versions": list(versions)},
        )
    return _holding(terms.phrases, scores) if terms.phrases else scores


def asked_for(words: str, asked_in: Sequence[str], *, phrases: bool = False) -> Terms:
    """What a question asks for, in each of these languages; two while an organisation changes from one to another."""
    lexemes: dict[str, None] = {}
    beginnings: dict[str, None] = {}
    for language in asked_in:
        taken = lexis.asked(words, language)
        plain = _lexemes(taken)
        lexemes |= dict.fromkeys([*plain, *taken.exact])
        beginnings |= dict.fromkeys([*taken.beginnings, *lexis.parts_beginning(plain, language)])
    return Terms(tuple(lexemes), tuple(beginnings), tuple(folding.phrases(words)) if phrases else ())


def _stemmed(config: str, words: str) -> Expression:
    return _Stemmed(_Config(Value(config)), Value(words))


_configurations: set[str] = set()


def configurations() -> set[str]:
    """The text search configurations that the database has, by name; asked once for each process."""
    if not _configurations:
        with connection.cursor() as cursor:
            cursor.execute("SELECT cfgname FROM pg_ts_config WHERE pg_ts_config_is_visible(oid)")
            _configurations.update(str(name) for (name,) in cursor.fetchall())
    return _configurations


def _existing(stemmed: Mapping[str, str]) -> Mapping[str, str]:
    # An older database lacks some: their words are kept as they are.
    if not stemmed:
        return {}
    found: dict[str, str] = {}
    for config, words in stemmed.items():
        there = config if config in configurations() else "simple"
        found[there] = f"{found[there]} {words}" if there in found else words
    return found


def _lexemes(taken: lexis.Text) -> list[str]:
    """The words of a question as Postgres stems them."""
    texts = [(taken.language, taken.plain), (taken.language, taken.second), *_existing(taken.stemmed).items()]
    pairs = [(config, text) for config, text in texts if text]
    statement = "SELECT lexeme FROM unnest(to_tsvector(%s::regconfig, %s))"
    with connection.cursor() as cursor:
        if not pairs:
            return []
        cursor.execute(" UNION ALL ".join([statement] * len(pairs)), [one for pair in pairs for one in pair])
        return [str(lexeme) for (lexeme,) in cursor.fetchall()]


def _ranked(terms: Terms, memory_ids: Sequence[str], view: View, limit: int, must: str = "") -> dict[int, float]:
    conditions, parameters = search.conditions(view)
    within, memories = inside.fitting(memory_ids, "v.memory_id")
    if must:
        conditions += " AND v.words @@ %(must)s::tsquery"
    else:
        terms = replace(terms, lexemes=tuple(frequencies.telling(memory_ids, terms.lexemes)))
    # Where little may be read, its own words are compared: the index would bring what everybody has written.
    looked_up = "" if inside.is_wide(memory_ids) else "IS TRUE"
    return search.scores(
        f"""
        WITH asked AS (SELECT %(asked)s::tsquery AS lexemes)
        SELECT v.id, {RANK} AS score
        FROM asked, LATERAL (
            SELECT v.id, v.words FROM memories_version v
            WHERE {within} AND (v.words @@ asked.lexemes) {looked_up} {conditions} LIMIT %(most)s
        ) v
        ORDER BY score DESC, v.id LIMIT %(limit)s
        """,
        {
            "asked": terms.any_of,
            "must": must,
            "limit": limit,
            "most": frequencies.MOST_RANKED,
            **memories,
            **parameters,
        },
    )


def _with_phrases(
    terms: Terms, asked_in: Sequence[str], memory_ids: Sequence[str], view: View, limit: int
) -> dict[int, float]:
    """Those in which every phrase occurs, looked up by the words of the phrases and then read."""
    every = [_every(phrase, asked_in[0]) for phrase in terms.phrases] if len(asked_in) == 1 else []
    must = " & ".join(filter(None, every))
    found = _ranked(terms, memory_ids, view, LOOKED_THROUGH, must) if terms.any_of else _newest(memory_ids, view)
    held = _holding(terms.phrases, found)
    if len(found) == LOOKED_THROUGH and len(held) < limit and isinstance(memory_ids, inside.Branches):
        memory_ids.note(f"text:capped_at_{LOOKED_THROUGH}_records")
    return dict(list(held.items())[:limit])


def _every(phrase: str, language: str) -> str:
    """What a record surely has that says a phrase, as Postgres writes a tsquery; nothing when its words are too common.

    Other forms of its words are left out: a record has them or not.
    """
    taken = lexis.asked(phrase, language)
    whole = [lexeme for lexeme, label in taken.exact.items() if label != lexis.FORM]
    return Terms((*_lexemes(replace(taken, second="")), *whole), taken.beginnings).joined(" & ")


def _newest(memory_ids: Sequence[str], view: View) -> dict[int, float]:
    # A phrase of words that the index does not keep, as in "to be or not to be".
    conditions, parameters = search.conditions(view)
    within, memories = inside.fitting(memory_ids, "v.memory_id")
    return search.scores(
        f"""
        SELECT v.id, {lexis.WEIGHTS[0]} FROM memories_version v WHERE {within} {conditions}
        ORDER BY v.id DESC LIMIT %(limit)s
        """,
        {"limit": LOOKED_THROUGH, **memories, **parameters},
    )


def _holding(phrases: Sequence[str], found: Mapping[int, float]) -> dict[int, float]:
    """Those of these versions in which every phrase occurs, in the order given."""
    kept: set[int] = set()
    wanted = [folding.compared(phrase) for phrase in phrases]
    rows = Version.objects.filter(pk__in=list(found)).values_list("id", "title", "content", "attributes")
    for key, title, content, attributes in rows.iterator(chunk_size=200):
        parts = [said_in("", (part,), {}) for part in content]
        values = [said_in("", (), {name: value}) for name, value in (attributes or {}).items()]
        said = [folding.compared(piece) for piece in (title, *parts, *values)]
        if all(any(folding.occurs(phrase, one) for one in said) for phrase in wanted):
            kept.add(int(key))
    return {key: score for key, score in found.items() if key in kept}


def _spoken_in(memory_ids: Sequence[str]) -> spoken.Languages:
    """The languages to ask in; the memories of one question are of one organisation."""
    if isinstance(memory_ids, inside.Branches):
        return memory_ids.languages
    return spoken.inside(memory_ids[0]) if memory_ids else spoken.UNKNOWN


def lexemes_asked(words: str, memory_ids: Sequence[str]) -> tuple[str, ...]:
    """The words that a question asks for in these memories, as the index keeps them."""
    return asked_for(words, _spoken_in(memory_ids)).lexemes
