"""Saying that one does not know: by what was found, whatever model compared it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memories.providers.base import Candidate
from memories.recall.abstain import CALIBRATED, decide, figures

[MODEL] = CALIBRATED
WORDS = ("heron", "lake", "boat")


def candidate(key: int, likeness: float, *matched: str) -> Candidate:
    return Candidate(key, {"meaning": likeness, "context": likeness}, frozenset(matched))


some = st.lists(
    st.builds(
        lambda own, near, matched: ({"meaning": own, "context": near}, matched),
        st.floats(-1, 1),
        st.floats(-1, 1),
        st.frozensets(st.sampled_from(WORDS)),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: [Candidate(key, *row) for key, row in enumerate(rows)])


@given(some, st.sampled_from([MODEL, "another"]))
def test_a_decision_is_always_made_and_says_why(found: list[Candidate], model: str) -> None:
    evidence = decide(found, WORDS, model)
    assert evidence.abstain == bool(evidence.reason)
    if evidence.probability is not None and evidence.threshold is not None:
        assert 0 <= evidence.probability <= 1
        assert evidence.abstain == (evidence.probability < evidence.threshold)


@given(some)
def test_the_figures_are_about_what_was_found(found: list[Candidate]) -> None:
    seen = figures(found, WORDS)
    assert seen["best"] - seen["above"] <= seen["best"]
    assert seen["typical"] <= seen["likeness"] + 1e-9
    assert 0 <= seen["unknown"] <= 1
    assert seen["spread"] >= 0


def test_nothing_found_is_not_known_whatever_was_asked() -> None:
    assert decide([], WORDS, MODEL).reason == "nothing_found"
    assert decide([], (), "", asked=False).abstain


def test_words_by_themselves_are_found_or_not() -> None:
    assert not decide([candidate(0, 0.0)], (), "", asked=False).abstain


def test_a_likely_answer_is_given_and_an_unlikely_one_is_not() -> None:
    likely = [candidate(0, 0.8, *WORDS), *(candidate(key, 0.1) for key in range(1, 40))]
    unlikely = [candidate(key, 0.12) for key in range(40)]
    assert not decide(likely, WORDS, MODEL).abstain
    assert decide(unlikely, WORDS, MODEL).reason == "weak_evidence"


def test_more_evidence_never_turns_an_answer_down() -> None:
    probabilities = []
    for likeness in (0.1, 0.3, 0.5, 0.7, 0.9):
        found = [candidate(0, likeness, *WORDS), *(candidate(key, 0.1) for key in range(1, 40))]
        probabilities.append(decide(found, WORDS, MODEL).probability or 0.0)
    assert probabilities == sorted(probabilities)


def test_without_figures_for_a_model_only_a_question_of_unknown_words_is_declined() -> None:
    assert decide([candidate(0, 0.9)], WORDS, "another").reason == "no_word_known"
    assert not decide([candidate(0, 0.0, "lake")], WORDS, "another").abstain
    assert not decide([candidate(0, 0.0)], (), "another").abstain


def test_somebody_nothing_is_known_of_is_no_one_to_answer_about() -> None:
    assert decide([candidate(0, 0.9, *WORDS)], WORDS, MODEL, ["bob"]).reason == "unknown_name"
