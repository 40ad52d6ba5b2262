"""How an answer to a recall came about, for whoever asks with `x_explain`; nothing the reader may not know is in it."""

from __future__ import annotations

from typing import Any

from memories.recall.pipeline import Explanation, Hit


def explanation(one: Explanation) -> dict[str, Any]:
    """The question as it was understood, and why the answer abstains or does not."""
    evidence = one.evidence
    return {
        "profile": one.profile,
        "names": list(one.names),
        "meant": one.meant,
        "words": list(one.words),
        "candidates": one.candidates,
        "abstain": {
            "decision": evidence.abstain,
            "reason": evidence.reason,
            "probability": evidence.probability,
            "threshold": evidence.threshold,
            "figures": {name: round(value, 4) for name, value in (evidence.figures or {}).items()},
        },
    }


def hit(one: Hit) -> dict[str, Any]:
    """What each signal said of a result, and what fields and neighbours added."""
    if one.ranked is None:
        return {}
    return {
        "signals": {
            signal: {"raw": round(leg.raw, 6), "normalised": round(leg.normalised, 6), "rank": leg.rank}
            for signal, leg in one.ranked.legs.items()
        },
        "blended": round(one.ranked.blended, 6),
        "about": round(one.ranked.about, 6),
        "neighbours": round(one.ranked.lent, 6),
    }
