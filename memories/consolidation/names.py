"""Who and what a sentence names: people, companies, places, titles, handles and e-mail addresses. Rules for English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from memories.consolidation.select import CHATTER
from memories.consolidation.times import DAYS, MONTHS
from memories.consolidation.words import STOP, bag


@dataclass(frozen=True)
class Name:
    """A name as it is written, what it names (a record type), and what of; `sure` when the words around it say so."""

    text: str
    type: str
    sort: str
    sure: bool
    position: int

    @property
    def key(self) -> str:
        """What all evident spellings of the name have in common."""
        return key_of(self.text)


_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HANDLE = re.compile(r"(?<![\w@.])@[A-Za-z_]\w{1,29}(?![\w@]|\.\w)")
_TITLE = re.compile(r"[\"“](?P<title>[A-Z][^\"“”\n]{2,60}?)[.,!]?[\"”]")
_WORD = r"(?:(?:[A-Z]\.){2,}|[A-Z][\w\u2019'-]*(?:&[A-Z]\w*)?|[A-Z]{1,3}&[A-Z])"
_PROPER = re.compile(
    rf"(?<![\w@.&'\u2019-]){_WORD}(?: (?:(?:of the|of|the|de|da|van|von|der|del|la|le|bin|and the|"
    rf"&) )?{_WORD}){{0,4}}"
)
_SUFFIX = re.compile(
    r",? (?:Inc|Ltd|LLC|GmbH|AG|SA|SE|BV|Corp|Corporation|Company|Co|PLC|Plc|Limited|Holdings|Group|Bank|Labs|"
    r"Technologies|Systems|Software|Airlines|University)\.?$"
)
_LEGAL = re.compile(r",? (?:inc|ltd|llc|gmbh|ag|sa|se|bv|corp|corporation|co|plc|limited)\.?$", re.IGNORECASE)
_EMPLOYED = re.compile(
    r"\b(?:work(?:s|ed|ing)? (?:at|for|with)|job (?:at|with)|joined|joining|employed (?:at|by)|hired by|"
    r"offer from|contract with|intern(?:s|ed|ing|ship)? (?:at|with)|invest(?:s|ed)? in|founded|acquired(?: by)?|"
    r"deal with|customer|client|vendor|"
    r"supplier|sponsored by|company(?: called| named)?)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_KIN = (
    r"friends?|sister|brother|mother|father|mom|mum|dad|son|daughter|wife|husband|partner|boyfriend|girlfriend|"
    r"aunt|uncle|"
    r"cousin|niece|nephew|grandma|grandmother|grandpa|grandfather|boss|manager|colleague|coworker|co-worker|teammate|"
    r"neighbou?r|roommate|teacher|coach|mentor|doctor|therapist|buddy|pal|kid|baby"
)
_PERSON_BEFORE = re.compile(
    rf"\b(?:(?:{_KIN})(?: is)?(?: called| named)?,?|(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Aunt|Uncle|Grandma|"
    rf"Grandpa)\.?|"
    r"met|married|told|asked|texted|emailed|phoned|thanked|invited|hired|dating|named after|meeting with|"
    r"lunch with|dinner with)\s+$",
    re.IGNORECASE,
)
_PERSON_AFTER = re.compile(
    rf"^\s+is (?:my|our|his|her|the) (?:\w+ )?(?:{_KIN})\b|"
    r"^\s+(?:said|says|told|tells|asked|asks|thinks|thought|wants|wanted|likes|loves|hates|prefers|agreed|decided|"
    r"promised|called|emailed|wrote|suggested|lives|works|moved|joined|married|is allergic|"
    r"is \d+ years|who)\b|"
    r"^(?:['\u2019]s)\s+(?:birthday|wife|husband|son|daughter|mother|father|mom|dad|sister|brother|house|phone|"
    r"email|job|team|"
    r"favou?rite|dog|cat|kids?|wedding)\b"
)
_PLACE_BEFORE = re.compile(
    r"\b(?:(?:liv(?:e|es|ed|ing)|stay(?:s|ed|ing)?|born|based|grew up|been|was|were|arrived|landed|studied|"
    r"office|house|home|"
    r"apartment|hotel|conference|trip|vacation|holiday|weekend|event|hik(?:e|ed|ing)) (?:in|at|to|near|around)|"
    r"(?:move|moves|moved|moving|go|going|gone|"
    r"went|travel|travels|traveled|travelled|travelling|traveling|trip|trips|fly|flew|flying|drove|drive|visit|"
    r"relocated|back) (?:back )?(?:to|from|through)|from \w+ to|(?:visit|visits|visited|visiting|toured|"
    r"explored|leaving) (?:to )?|in|"
    r"near|from)\s*(?:the\s+)?$",
    re.IGNORECASE,
)
_NO_NAMES = {*DAYS, *MONTHS, *(day[:3] for day in DAYS), *(month[:3] for month in MONTHS), *STOP, *CHATTER} | bag(
    "am pm ok tv usa pc faq id asap fyi btw omg lol diy ps dm pic pics photo image christmas easter thanksgiving "
    "halloween new-year mom mum dad grandma grandpa english french german spanish italian god internet"
)
_OPENERS = bag(
    "since after before although though however meanwhile instead unfortunately luckily lately recently finally "
    "actually basically honestly maybe perhaps another many several most more remember seeing being having "
    "getting going doing taking making working trying looking playing reading watching today tomorrow tonight "
    "yesterday next last first second also note please update bought found had made met moved need saw started "
    "told took used went were can't don't won't didn't isn't doesn't i'm i've i'd i'll we're we've we'll they're "
    "he's she's there's here's that's it's what's who's let's you're you've you'll"
)
MOST = 60
LONGEST_TITLE = 6
AROUND = 60
"""Characters before and after a name that say what it names."""


def names_in(sentence: str) -> Iterator[Name]:
    """The names of a sentence, in order of kind; of a name that begins it, only what is not an ordinary word."""
    taken: list[tuple[int, int]] = []
    for pattern, sort in ((_EMAIL, "email"), (_HANDLE, "handle"), (_TITLE, "title")):
        for match in pattern.finditer(sentence):
            group = "title" if sort == "title" else 0
            taken.append(match.span())
            sure = sort != "title" or " " in match[group]
            if len(match[group].split()) <= LONGEST_TITLE and not (sort == "title" and _ordinary(match[group])):
                yield Name(match[group], "entity", sort, sure, match.start())
    if sentence.isupper():
        return
    for match in _PROPER.finditer(sentence):
        if any(start <= match.start() < end for start, end in taken):
            continue
        if found := _proper(match, sentence):
            yield found


@lru_cache(maxsize=16_384)
def key_of(name: str) -> str:
    """The spelling that variants share: no case, accents, possessive, dots of an acronym, or form of a company."""
    plain = unicodedata.normalize("NFKD", name.replace("\u2019", "'")).casefold()
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    plain = _LEGAL.sub("", re.sub(r"'s?$", "", plain.strip()))
    if re.fullmatch(r"(?:\w\.)+\w?\.?", plain):
        plain = plain.replace(".", "")
    return " ".join(re.sub(r"[^\w@.+&-]+", " ", plain).split()).strip(".")


def _proper(match: re.Match[str], sentence: str) -> Name | None:
    text, start = match[0], match.start()
    opens = not sentence[:start].strip(" \"“'(*[-") or sentence[:start].rstrip()[-1:] in ".!?:"
    words = text.split()
    while words and (_ordinary(words[0]) or (opens and words[0].casefold() in _OPENERS)):
        opens = False
        start += len(words.pop(0)) + 1
    while words and (_ordinary(words[-1]) or words[-1].islower()):
        words.pop()
    text = re.sub(r"['\u2019]s?$", "", " ".join(words))
    if not 1 < len(text) <= MOST or words[0].islower():
        return None
    end = start + len(text)
    before, after = sentence[max(0, start - AROUND) : start], sentence[end : end + AROUND]
    type_, sort, sure = _what(text, before, after)
    if opens and len(words) == 1 and not sure:
        return None
    return Name(text, type_, sort, sure, start)


def _what(text: str, before: str, after: str) -> tuple[str, str, bool]:
    if _SUFFIX.search(text):
        return "company", "company", True
    if _EMPLOYED.search(before):
        return "company", "company", True
    if not text.isupper() and (_PERSON_BEFORE.search(before) or _PERSON_AFTER.search(after)):
        return "person", "person", True
    if _PLACE_BEFORE.search(before) and not text.isupper():
        return "entity", "place", True
    return "entity", "name", False


def _ordinary(word: str) -> bool:
    bare = re.sub(r"['\u2019]s?$", "", word).casefold().replace("\u2019", "'").strip("-.")
    return bare in _NO_NAMES or word.casefold().replace("\u2019", "'") in _OPENERS or len(bare) < 2 or bare.isdigit()
