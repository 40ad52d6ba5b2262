"""What a memory asks of a review: off, flag or hold, rules for particular cases, and when something is accepted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from members.shell import ConsoleRequest, member_page
from memories.access import Privilege
from memories.models import ReviewItem
from memories.services import policies, types
from memories.services.policies import MOST_DAYS, Setting
from memories.services.sight import Place, look
from memories.signals.policy import MAX_RULES, Mode
from uhp_site.http import pages
from uhp_site.http.errors import MemoryInvalid, VersionConflict

from .inbox_rows import SIGNAL_KINDS, SIGNAL_NAMES
from .memory import memory_context, writer_choices
from .nodes import address
from .principals import named
from .questions import CHANGED
from .records import number

PARENT = "parent"
WRITERS = {"": "whoever writes", "agent": "an agent", "provider": "a provider", "human": "a person"}
STANDING = {"": "standing or not", "yes": "standing", "no": "not standing"}
THEN = {"hold": "hold it", "flag": "show it in the inbox", "off": "let it be"}
MEANS = {
    Mode.OFF: "What is written here is live at once, and nobody is asked to look at it.",
    Mode.FLAG: "What agents and providers write is live at once, and is also in the inbox of who reviews here.",
    Mode.HOLD: "What is written here is readable by nobody but its writer and the reviewers until a person keeps it.",
}


@member_page
@require_http_methods(["GET", "POST"])
def policy(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Show what holds and where it comes from; change one thing at a time."""
    place = look(request.caller, memory_id)
    shown, error, status = policies.shown(place), "", 200
    if request.method == "POST":
        place.require(Privilege.DELETE)
        try:
            if request.POST.get("shown") != fingerprint(shown):
                raise VersionConflict(CHANGED)
            said = act(place, shown, request.POST)
        except VersionConflict as refusal:
            error, status = refusal.message, 409
        except MemoryInvalid as refusal:
            error, status = refusal.message, 422
        else:
            messages.success(request, said)
            return redirect(request.path)
    context = {
        **memory_context(request, place, "settings"),
        **settings(request, place, shown),
        "error": error,
        "raw": request.POST.get("rules") or json.dumps(shown["rules"].value, ensure_ascii=False, indent=2),
        "raw_open": bool(error and request.POST.get("act") == "raw"),
    }
    return pages.answer(request, "memories/review_policy.html", context, status=status)


def settings(request: ConsoleRequest, place: Place, shown: Mapping[str, Setting]) -> dict[str, Any]:
    """What the page says of each setting, and what its forms offer."""
    mode, days, rules = shown["mode"], shown["accept_after_days"], shown["rules"]
    waiting = ReviewItem.objects.filter(memory=place.memory, state=ReviewItem.State.OPEN)
    signals = [("", "any text"), *SIGNAL_KINDS.items(), *((one, SIGNAL_NAMES[one]) for one in SIGNAL_NAMES)]
    return {
        "mode": mode.value,
        "mode_own": mode.own,
        "mode_from": origin(request, mode),
        "means": MEANS[Mode(mode.value)],
        "modes": [(one.value, one.value.capitalize(), MEANS[one]) for one in Mode],
        "days": days.value or 0,
        "days_own": days.own,
        "days_from": origin(request, days),
        "most_days": MOST_DAYS,
        "rules": [spoken(request, rule) for rule in rules.value],
        "rules_own": rules.own,
        "rules_from": origin(request, rules),
        "rules_full": len(rules.value) >= MAX_RULES,
        "writers": [*WRITERS.items(), *writer_choices(request, "")],
        "types": [one.type for one in types.listed(request.organisation.id)],
        "standings": STANDING.items(),
        "signals": signals,
        "thens": THEN.items(),
        "waiting": waiting.count() if Privilege.READ in place.privileges else None,
        "held": waiting.filter(held__isnull=False).count() if Privilege.READ in place.privileges else None,
        "inbox_url": f"{address(request, 'inbox')}?memory={place.memory.id}",
        "changes": Privilege.DELETE in place.privileges,
        "fingerprint": fingerprint(shown),
        "policy_url": request.path,
    }


def origin(request: ConsoleRequest, setting: Setting) -> dict[str, Any]:
    """Where a setting comes from, as far as this person may know."""
    source = setting.source
    if setting.own:
        return {"own": True}
    if source is not None:
        return {"name": source.name, "url": address(request, "review-policy", source.id)}
    return {"hidden": True} if setting.hidden else {"default": True}


def spoken(request: ConsoleRequest, rule: Mapping[str, Any]) -> str:
    """A rule as a sentence."""
    when = rule.get("when") or {}
    writers = _listed(when.get("writer"))
    names = named(request.organisation.id, [one for one in writers if one not in WRITERS])
    by = _either(WRITERS[one] if one in WRITERS else names[one].name for one in writers) or "whoever"
    what = f"a {_either(_listed(when.get('type')))} record" if when.get("type") else "something"
    said = [f"When {by} writes {what}"]
    if "standing" in when:
        said.append(f"that is {'standing' if when['standing'] else 'not standing'}")
    if "confidence_below" in when:
        said.append(f"with a confidence below {when['confidence_below']}")
    if when.get("signals"):
        signals = _either(SIGNAL_KINDS.get(one) or SIGNAL_NAMES.get(one) or one for one in _listed(when["signals"]))
        weight = f" (weight {when['weight']} or more)" if "weight" in when else ""
        said.append(f"with the signal {signals}{weight}")
    return f"{' '.join(said)}: {THEN[rule['then']]}."


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _either(words: Any) -> str:
    return " or ".join(words)


def act(place: Place, shown: Mapping[str, Setting], data: QueryDict) -> str:
    """Do what a form asks; the sentence that says so. Raises MemoryInvalid."""
    wanted, _, rest = data.get("act", "").partition(":")
    rules = list(shown["rules"].value)
    index = number(rest)
    if wanted == "mode":
        mode, days = data.get("mode", PARENT), data.get("days", "").strip()
        accepts = None if data.get("accepts", PARENT) == PARENT else number(days or "0")
        if data.get("accepts", PARENT) != PARENT and accepts is None:
            raise MemoryInvalid(f"This is a number of days up to {MOST_DAYS}; 0 is never.", param="days")
        policies.change(place, mode=None if mode == PARENT else mode, accept_after_days=accepts)
        return "Saved. It holds for what is written from now on."
    if wanted == "raw":
        policies.change(place, rules=_parsed(data.get("rules", "")))
        return "The rules were saved."
    if wanted == "parent":
        policies.change(place, rules=None)
        return "The rules are as the memory above has them."
    if wanted == "add":
        policies.change(place, rules=[*rules, new_rule(data)])
        return "The rule was added."
    if index is None or index >= len(rules):
        raise MemoryInvalid("There is no such rule any more.", param="rules")
    if wanted == "up" and index:
        rules[index - 1], rules[index] = rules[index], rules[index - 1]
    elif wanted == "remove":
        del rules[index]
    else:
        raise MemoryInvalid("Choose what to do.", param="act")
    policies.change(place, rules=rules)
    return "The rule was removed." if wanted == "remove" else "The rule comes earlier now."


def new_rule(data: QueryDict) -> dict[str, Any]:
    """The rule that the small form describes."""
    when: dict[str, Any] = {name: data[name] for name in ("writer", "type", "signals") if data.get(name)}
    if data.get("standing") in ("yes", "no"):
        when["standing"] = data["standing"] == "yes"
    return {"when": when, "then": data.get("then", "")}


def fingerprint(shown: Mapping[str, Setting]) -> str:
    """What a person was shown, so that nothing else is changed."""
    values: Sequence[Any] = [(name, one.value, one.own) for name, one in sorted(shown.items())]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:32]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text or "[]")
    except (ValueError, RecursionError):
        raise MemoryInvalid("Rules are a JSON list.", param="rules") from None
