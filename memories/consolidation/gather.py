"""Between selecting and comparing: what one speaker said in a few turns about one thing becomes one statement.

A short answer is given the question it answers. Nothing is blended that could later be corrected on its own: decisions,
commitments and corrections begin a statement of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from memories.consolidation.select import Selected, Sort, question_of, select
from memories.consolidation.times import When, read_times
from memories.consolidation.turns import Turn
from memories.consolidation.words import content_words

LONGEST = 420
"""Characters of a statement, beyond which a further turn begins another."""

MOST_TURNS = 3
LONGEST_QUESTION = 160
SHORT = 6
"""So many words that carry something need no question to be understood."""

_LEANING = re.compile(
    r"^(?:\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|definitely|because|'?cause|it|they|that|those|these|this|he|"
    r"she|and|"
    r"also|but|so|mostly|usually|just|thanks?|totally|absolutely|for)\b)",
    re.IGNORECASE,
)
_APART = frozenset({Sort.DECISION, Sort.CORRECTION, Sort.COMMITMENT})


@dataclass(frozen=True)
class Claim:
    """One sentence that somebody said, its dates written out."""

    text: str
    turn: Turn
    dates: tuple[When, ...] = ()


@dataclass(frozen=True)
class Statement:
    """What a record will say: the claims of one speaker, with the question before the first where it needs one."""

    claims: tuple[Claim, ...]
    sort: Sort
    questions: tuple[tuple[int, Turn, str], ...] = ()
    resting: tuple[str, ...] = ()
    """The episodes that it rests on, where that is not told by its words."""

    @property
    def turn(self) -> Turn:
        """The newest turn that it was said in."""
        return self.claims[-1].turn

    @property
    def speaker(self) -> str:
        """Who said it, or nothing where nobody is named."""
        return self.turn.speaker

    @property
    def sources(self) -> tuple[str, ...]:
        """The episodes whose words are in it, in the order of the words."""
        if self.resting:
            return self.resting
        asked = {position: turn.episode for position, turn, _ in self.questions}
        ids = (id for position, claim in enumerate(self.claims) for id in (asked.get(position), claim.turn.episode))
        return tuple(dict.fromkeys(id for id in ids if id))

    @property
    def text(self) -> str:
        """The statement as one text that can be read on its own."""
        asked = {position: (turn, words) for position, turn, words in self.questions}
        pieces: list[str] = []
        for position, claim in enumerate(self.claims):
            if position in asked:
                turn, words = asked[position]
                pieces.append(f"{turn.speaker} asked: {words}" if turn.speaker else f"Asked: {words}")
            if position == 0 or position in asked:
                pieces.append(f"{name}: {claim.text}" if (name := _name(claim.turn)) else claim.text)
            else:
                pieces.append(claim.text)
        return " ".join(pieces)


def gather(turns: Sequence[Turn], wanted: Collection[str]) -> list[Statement]:
    """The statements of the turns of the wanted episodes; the other turns are read for what was asked before."""
    statements: list[Statement] = []
    last: tuple[int, Statement] | None = None
    for position, turn in enumerate(turns):
        if turn.episode not in wanted:
            continue
        asked = _asked(turns, position)
        question = question_of(asked.text) if asked else ""
        selected = select(turn, question)
        if selected is None:
            continue
        first, *more = _statements(selected, asked, question)
        if last and (joined := _joined(last[1], first, turns[last[0] + 1 : position])):
            statements[-1:] = [joined, *more]
        else:
            statements.extend((first, *more))
        last = position, statements[-1]
    return statements


def _statements(selected: Selected, asked: Turn | None, question: str) -> Sequence[Statement]:
    """What is kept of one turn, as one statement, or as several when it is long."""
    needs = bool(question) and (
        len(set(content_words(selected.text))) <= SHORT or _LEANING.match(selected.sentences[0]) is not None
    )
    questions = ((0, asked, question),) if asked and needs and len(question) <= LONGEST_QUESTION else ()
    groups: list[list[Claim]] = [[]]
    length = 0
    for claim in dict.fromkeys(_claims(selected)):
        length += len(claim.text) + 1
        if groups[-1] and length > LONGEST:
            groups.append([])
            length = len(claim.text)
        groups[-1].append(claim)
    first, *more = groups
    return [
        Statement(tuple(first), selected.sort, questions),
        *(Statement(tuple(group), selected.sort) for group in more),
    ]


def _claims(selected: Selected) -> Iterator[Claim]:
    for sentence in selected.sentences:
        times = read_times(sentence, selected.turn.at)
        yield Claim(times.text, selected.turn, times.dates)


def _asked(turns: Sequence[Turn], position: int) -> Turn | None:
    before = turns[position - 1] if position else None
    if before is None or _who(before) == _who(turns[position]) or before.session != turns[position].session:
        return None
    return before


def _joined(first: Statement, second: Statement, between: Sequence[Turn]) -> Statement | None:
    """Both as one, when the same speaker goes on about the same thing with at most one turn in between."""
    turn = second.claims[0].turn
    if _who(first.turn) != _who(turn) or first.turn.session != turn.session or len(between) > 1:
        return None
    if first.turn.at.date() != turn.at.date() or second.sort in _APART or first.sort is Sort.CORRECTION:
        return None
    if len({claim.turn.episode for claim in (*first.claims, *second.claims)}) > MOST_TURNS:
        return None
    shared = set(content_words(first.text)) & set(content_words(second.text)) - set(content_words(turn.speaker))
    if not shared and not second.questions and not _LEANING.match(second.claims[0].text):
        return None
    shift = len(first.claims)
    questions = tuple((position + shift, *rest) for position, *rest in second.questions)
    joined = Statement((*first.claims, *second.claims), first.sort, (*first.questions, *questions))  # type: ignore[arg-type]
    return joined if len(joined.text) <= LONGEST else None


def _who(turn: Turn) -> tuple[str, str]:
    return (turn.speaker, "") if turn.speaker else ("", turn.role)


def _name(turn: Turn) -> str:
    return turn.speaker or ("Assistant" if turn.role == "assistant" else "")
