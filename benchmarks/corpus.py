"""Conversations with questions about them: the shape every benchmark reads, and a generator of invented ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP, ADVERSARIAL = 1, 2, 3, 4, 5

CATEGORIES = {
    SINGLE_HOP: "single-hop",
    MULTI_HOP: "multi-hop",
    TEMPORAL: "temporal",
    OPEN_DOMAIN: "open-domain",
    ADVERSARIAL: "adversarial",
}
"""Kinds of question by number. The adversarial ones have no answer: their evidence is the turn they twist."""


@dataclass(frozen=True)
class Turn:
    """One thing somebody said. `id` is unique in its conversation; `session` counts from 1."""

    id: str
    session: int
    speaker: str
    text: str
    said_at: datetime

    @property
    def content(self) -> str:
        """The turn as one line, with who said it."""
        return f"{self.speaker}: {self.text}"


@dataclass(frozen=True)
class Question:
    """A question about one conversation. `evidence` holds the ids of the turns it is answered from."""

    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Conversation:
    """Turns in the order they were said, and what is asked about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    def beginning(self, turns: int) -> Conversation:
        """Return the first so many turns, with the questions that have evidence and all of it among them."""
        kept = self.turns[:turns]
        known = {turn.id for turn in kept}
        answerable = (
            question for question in self.questions if question.evidence and known.issuperset(question.evidence)
        )
        return Conversation(self.name, kept, tuple(answerable))


def generate(*, conversations: int = 1, sessions: int = 4, turns: int = 15, seed: int = 7) -> list[Conversation]:
    """Invent conversations of two people each; the same arguments always give the same text.

    Every session carries up to four facts, hidden between small talk. There are at most 10 conversations, and as
    many facts as there are subjects in `FACTS` for each person.
    """
    random = Random(seed)
    names = random.sample(NAMES, len(NAMES))
    pairs = list(zip(names[::2], names[1::2], strict=True))
    return [
        _conversation(random, pair, number, sessions, turns) for number, pair in enumerate(pairs[:conversations], 1)
    ]


NAMES = (
    *("Adaeze", "Bertil", "Corin", "Delphine", "Eskil", "Farida", "Goran", "Hanneke", "Ivo", "Jolana"),
    *("Kofi", "Linnea", "Matthis", "Nadira", "Orla", "Pavlin", "Quirin", "Rosalba", "Soren", "Tamsin"),
)

# What a person says, what is asked about it (the speaker is {name}), and the values it is said with.
FACTS = (
    (
        "I finally adopted a dog from the shelter, I call it {value}.",
        "What is the name of {name}'s dog?",
        ("Pepper", "Bruno", "Waffle", "Comet"),
    ),
    (
        "I started taking {value} lessons on Wednesdays.",
        "Which instrument does {name} learn?",
        ("cello", "trombone", "harp", "accordion"),
    ),
    (
        "We spent the long weekend hiking near {value}.",
        "Where did {name} go hiking?",
        ("Lake Ohrid", "the Brocken", "Cinque Terre", "Triglav"),
    ),
    (
        "My doctor says I must stay away from {value}, it is an allergy.",
        "What is {name} allergic to?",
        ("hazelnuts", "shellfish", "sesame", "celery"),
    ),
    (
        "I signed the papers yesterday: I start as a {value} next month.",
        "What is {name}'s new job?",
        ("bridge inspector", "pastry chef", "school librarian", "tram driver"),
    ),
    (
        "My sister had twins, so I spent all evening knitting {value}.",
        "What did {name} knit for the twins?",
        ("mittens", "two blankets", "striped hats", "bootees"),
    ),
    (
        "For the anniversary I cooked {value} from my grandmother's notebook.",
        "What did {name} cook for the anniversary?",
        ("goulash", "paella", "mushroom pie", "dumplings"),
    ),
    (
        "I sold the car and bought a {value} instead.",
        "What did {name} buy after selling the car?",
        ("cargo bike", "motor scooter", "folding bicycle", "canoe"),
    ),
    (
        "I painted the kitchen {value} and it took three coats.",
        "What colour did {name} paint the kitchen?",
        ("sage green", "mustard yellow", "brick red", "pale blue"),
    ),
    (
        "The choir is rehearsing {value} for the spring concert.",
        "What is {name}'s choir rehearsing?",
        ("a requiem", "sea shanties", "madrigals", "gospel songs"),
    ),
)

SMALL_TALK = (
    "How was your week? Mine went by in a blur.",
    "The weather has been strange again, sun and hail within an hour.",
    "I could not agree more, that is exactly how I see it.",
    "Did you sleep well? You sounded tired last time.",
    "That sounds lovely, tell me more when we meet.",
    "Sorry for the late answer, the train stood still for ages.",
    "I am making tea, give me a moment.",
    "Honestly, I needed that laugh today.",
    "Let us talk again soon, I have to run now.",
    "My neighbour is drilling again, can you hear it?",
    "You always know how to cheer me up.",
    "I have been meaning to ask how the family is.",
)


@dataclass(frozen=True)
class _Fact:
    speaker: str
    subject: int
    turn: str


def _conversation(random: Random, pair: tuple[str, str], number: int, sessions: int, turns: int) -> Conversation:
    waiting = [(speaker, subject) for speaker in pair for subject in range(len(FACTS))]
    random.shuffle(waiting)
    started = datetime(2025, 1, 6, 18, 30, tzinfo=UTC) + timedelta(days=number)
    said: list[Turn] = []
    facts: list[_Fact] = []
    for session in range(1, sessions + 1):
        planted = sorted(random.sample(range(turns), min(4, turns, len(waiting))))
        for position in range(turns):
            turn_id = f"D{session}:{position + 1}"
            if position in planted:
                speaker, subject = waiting.pop()
                statement, _, values = FACTS[subject]
                text = statement.format(value=random.choice(values))
                facts.append(_Fact(speaker, subject, turn_id))
            else:
                speaker, text = pair[position % 2], random.choice(SMALL_TALK)
            said.append(Turn(turn_id, session, speaker, text, started))
        started += timedelta(days=random.randint(3, 20), minutes=random.randint(0, 90))
    return Conversation(f"{pair[0]} and {pair[1]}", tuple(said), tuple(_questions(facts, pair)))


def _questions(facts: list[_Fact], pair: tuple[str, str]) -> list[Question]:
    questions: list[Question] = []
    by_subject: dict[int, list[_Fact]] = {}
    for fact in facts:
        by_subject.setdefault(fact.subject, []).append(fact)
        asked = FACTS[fact.subject][1].format(name=fact.speaker)
        questions.append(Question(asked, SINGLE_HOP, (fact.turn,)))
        questions.append(Question(f"On which day was this said: {asked.lower()}", TEMPORAL, (fact.turn,)))
    for subject, told in by_subject.items():
        asked = FACTS[subject][1]
        if len(told) == 2:
            both = asked.format(name=f"{pair[0]}, and {pair[1]}")
            questions.append(Question(both, MULTI_HOP, tuple(fact.turn for fact in told)))
        else:
            other = pair[1] if told[0].speaker == pair[0] else pair[0]
            questions.append(Question(asked.format(name=other), ADVERSARIAL, (told[0].turn,)))
    return questions
