"""The first step: which sentences of a turn are statements worth keeping, and of what kind. Rules for English.

Kept are preferences, decisions, commitments, corrections, and facts that somebody could ask for later. Dropped are
greetings, questions, thinking aloud, acknowledgements, thanks and praise. A sentence in another language is judged by
what every language shares: its length, numbers and names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from memories.consolidation.turns import Turn
from memories.consolidation.words import LONGEST_SENTENCE, bag, content_words, sentences


class Sort(StrEnum):
    """What kind of statement it is."""

    PREFERENCE = "preference"
    DECISION = "decision"
    COMMITMENT = "commitment"
    CORRECTION = "correction"
    FACT = "fact"


@dataclass(frozen=True)
class Selected:
    """What is kept of one turn, its sentences in order."""

    turn: Turn
    sentences: tuple[str, ...]
    sort: Sort

    @property
    def text(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences)


ENOUGH = 3.2
"""The weight from which a sentence is a fact. Set on half of a benchmark's conversations; the other half agreed."""

BESIDE = 1.8
"""The weight from which a sentence is kept beside one that is worth keeping: it belongs to what was said."""

ANSWERING, ASKED = 1.6, 0.5
"""What a sentence weighs more when it answers a question, and again for up to two words of it that carry something."""

# Words of conversation: they say how one feels about what was said, and nothing that one could ask for later.
CHATTER = bag(
    "absolutely agree agreed alright amazing appreciate awesome beautiful best better bet blessed bye can't cheer "
    "cheers congrats congratulation congratulations cool cute dear definitely deserve dude enjoy excellent "
    "excited exactly fab fantastic feel feeling fine forward fun glad good goodness gorgeous gosh grateful great "
    "guess guy guys haha happy hear hello hey hi hmm hope hopefully imagine impress impressive incredible indeed "
    "inspire inspiration inspiring interest interesting kind kinda lol look looking looks lovely luck lucky man "
    "meaningful moment must neat nice okay ok perfect please pleasure powerful pretty proud really reckon right "
    "same seem share sharing sorry sound sounds special stuff super sure sweet talk tell thank thankful thanks "
    "that's there's thrill thrilled together totally true truly wait welcome what's while wish wonder wonderful "
    "words worth yay yea yeah yep you're it's i'm let's don't keep journey support important mean lot care "
    "everyone everything something anything someone life"
)
_CHATTER = frozenset(stem for word in CHATTER for stem in content_words(word)) | CHATTER

_QUESTION_WORD = re.compile(
    r"^(?:(?:so|and|but|oh|wow|hey|well|by the way|btw)[, ]+)*(?:what|who|whom|whose|when|where|why|how|which|"
    r"do|does|"
    r"did|is|are|was|were|have|has|had|can|could|would|will|should|shall|may|any|anything)\b[^.!]*\?",
    re.IGNORECASE,
)
_THINKING = re.compile(
    r"^(?:hmm+|uh+|um+|let me (?:think|see|check)|let's see|i wonder|wondering|not sure|i(?:'m| am) not sure|"
    r"i don't know|no idea|thinking (?:about it|out loud)|maybe i (?:should|could)|wait)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:actually|correction|i meant|i mean(?:t)? to say|to be precise|that(?:'s| is| was) (?:wrong|not right|"
    r"incorrect)|no longer|not any ?more|any ?more\b|instead of|changed (?:my|our|the|his|her|their)|"
    r"(?:is|are|was|has been|have been|got) (?:moved|postponed|rescheduled|renamed|replaced) (?:to|by|with|until)|"
    r"turns out|used to|scratch that|sorry, (?:it|i|that|not)|rather than)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:(?:i|we|they|he|she|team)(?:'ve| have| has)? (?:finally |just )?(?:decided|chose|chosen|agreed|settled on|"
    r"opted|picked|went with|approved|rejected|signed|accepted|turned down)|decision (?:is|was)|let's go with|"
    r"we(?:'re| are) going with|(?:it was|it is|it's) (?:decided|agreed))\b",
    re.IGNORECASE,
)
_COMMITMENT = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| shall| promise| have to| need to| must)|(?:i|we)(?:'m|'re| am| are) "
    r"(?:going to|gonna|planning|about to|supposed to|due to|signed up|taking over|off to)|(?:i|we) plan|"
    r"due (?:on|by)|deadline|remind me|"
    r"(?:gonna|going to) |appointment|promised)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:(?:i|we|he|she|they)(?:'m|'re| am| are|'ve| have| do| don't| do not| can't| cannot| really| always|"
    r" never| "
    r"usually| also| absolutely| much| just)* (?:like|love|hate|prefer|enjoy|adore|dislike|can't stand|want|wanted|"
    r"dream|into|fond of|allergic|interested in|keen on|fan of|big on|passionate about|crave|avoid)s?|"
    r"my (?:\w+ ){0,2}(?:favou?rite|preference|passion|dream|hobby|goal)|favou?rite)\b",
    re.IGNORECASE,
)
# "My sister is a nurse", "The code of the door is 4711": however short, it tells how something is.
_TELLING = re.compile(
    r"^(?:(?:so|and|also|well|oh|yes|yeah|actually|sorry)[, ]+)*(?:(?i:my|our|the|his|her|their)\s+"
    r"[\w'\u2019 -]{2,40}?|"
    r"(?!(?:It|That|This|There|These|Those|They|He|She|You|We|What|"
    r"Who)\b)[A-Z][\w.-]+(?: [A-Z][\w.-]+)*(?:['\u2019]s [\w -]{2,40}?)?)\s+"
    r"(?:is|are|was|were|has|have|lives?|works?|costs?|starts?|ends?|opens?|closes?|expires?|equals?|=)\b"
)
_OWN = re.compile(r"\b(?:i|we|my|our|mine|ours|i'[a-z]+|we'[a-z]+|me|us)\b", re.IGNORECASE)
_OTHER = re.compile(r"\b(?:you|your|yours|you'[a-z]+|ya)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|"
    r"once|twice|first|second|third|half)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|until|week|weekend|month|year|years|monday|"
    r"tuesday|wednesday|"
    r"thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october|november|"
    r"december|recently|weekly|daily|every)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<=[a-z,;:'\u2019\"“] )[\"“]?(?:[A-Z][\w.&'\u2019-]+)|\b[A-Z]{2,}\b|[\w.+-]+@[\w-]+\.\w+|(?<!\w)@\w{2,}|"
    r"[\"“][A-Z]"
)
_SHOWN = re.compile(r"^\[(?P<what>.+)\]$", re.DOTALL)


def select(turn: Turn, asked: str = "") -> Selected | None:
    """What of a turn is worth keeping; `asked` is the question that it answers, if it answers one."""
    judged: list[tuple[str, float, Sort]] = []
    lent = lends(asked)
    for sentence in sentences(turn.text):
        if found := judge(sentence, turn.role, lent):
            judged.append((sentence, *found))
            lent = 0.0
    if not any(weight >= ENOUGH for _, weight, _ in judged):
        return None
    strongest = min((sort for _, weight, sort in judged if weight >= ENOUGH), key=list(Sort).index)
    return Selected(turn, tuple(sentence for sentence, _, _ in judged), strongest)


def judge(sentence: str, role: str = "user", lent: float = 0.0) -> tuple[float, Sort] | None:
    """How much a sentence weighs and of what kind it is, or None when it is nothing to keep.

    `lent` is what it weighs more because of the question that it answers.
    """
    if len(sentence) > LONGEST_SENTENCE:
        return None
    if _SHOWN.match(sentence):
        return ENOUGH, Sort.FACT
    if sentence.endswith("?") or _QUESTION_WORD.match(sentence) or _THINKING.match(sentence):
        return None
    sort = _sort(sentence)
    if role == "assistant" and sort not in (Sort.DECISION, Sort.COMMITMENT):
        return None
    weight = weigh(sentence)
    if weight:
        weight += lent + 0.5 * (sort is not Sort.FACT)
    return (weight, sort) if weight >= BESIDE else None


def lends(question: str) -> float:
    """What a question adds to the weight of its answer: "Carol" alone says little, who signs the release a lot."""
    carrying = {word for word in content_words(question) if word not in _CHATTER}
    return ANSWERING + ASKED * min(len(carrying), 2) if carrying else 0.0


def weigh(sentence: str) -> float:
    """How much a sentence says that one could ask for later: words that carry something, numbers, names, dates."""
    carrying = {word for word in content_words(sentence) if word not in _CHATTER}
    if not carrying:
        return 0.0
    weight = 0.6 * min(len(carrying), 6)
    weight += 1.0 * bool(_NUMBER.search(sentence)) + 1.0 * bool(_TIME.search(sentence))
    weight += 1.0 * bool(_NAME.search(sentence))
    own, other = bool(_OWN.search(sentence)), bool(_OTHER.search(sentence))
    weight += 1.0 * own + 1.0 * (len(carrying) > 1 and _TELLING.match(sentence) is not None)
    if other:
        weight -= 0.5 if own else 1.5
    return weight


def _sort(sentence: str) -> Sort:
    for pattern, sort in (
        (_CORRECTION, Sort.CORRECTION),
        (_DECISION, Sort.DECISION),
        (_PREFERENCE, Sort.PREFERENCE),
        (_COMMITMENT, Sort.COMMITMENT),
    ):
        if pattern.search(sentence):
            return sort
    return Sort.FACT


def question_of(text: str) -> str:
    """The question that a turn ends with, or nothing."""
    last = [one for one in sentences(text) if not _SHOWN.match(one)][-1:]
    return last[0] if last and last[0].endswith("?") else ""
