"""Look-alikes of what frames a conversation: role tags, the ends of fences, calls of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .base import Rule, Signal, Span, pattern, windows

MANY = re.MULTILINE
TAG = "It has a tag that marks who speaks in a conversation with a model."
TURN = "It has lines that look like turns of a conversation."
CALL = "It has what looks like a call of a tool, or its result."
FENCE = "It has what looks like the end of quoted text, so that what follows would seem to come from somebody else."

RULES = (
    Rule(
        "instruction.role_tag",
        0.9,
        TAG,
        pattern(
            r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|eot_id|start_header_id|end_header_id|"
            r"begin_of_text|channel|message|return|call)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</?s>\[INST",
            MANY,
        ),
        ("<|", "inst]", "<<", "_of_turn"),
    ),
    Rule(
        "instruction.role_tag",
        0.7,
        TAG,
        pattern(
            r"</?(?:system|assistant|human|system[_-]prompt|system[_-]message|system[_-]reminder|instructions?|"
            r"developer|admin|important_instructions|override)>|\[(?:system|assistant|developer|"
            r"admin)\](?:\(#\w{1,40}\))?"
            r"(?=[ \t]{0,3}[:\w])",
            MANY,
        ),
        (
            "<system",
            "</system",
            "<assistant",
            "</assistant",
            "human>",
            "instruction",
            "developer",
            "admin",
            "override>",
            "[system",
            "[assistant",
        ),
    ),
    Rule(
        "instruction.fence",
        0.8,
        FENCE,
        pattern(
            r"</(?:memory|memories|untrusted|untrusted[_-]content|context|document|documents|record|records|data|"
            r"tool_result|search_results?|user_input|quote|content)>(?=\s{0,3}\S)|"
            r"(?:^|\n)[ \t]{0,3}[-=#*\[<]{2,8} ?(?:end|begin|start) (?:of )?(?:the )?(?:system|memory|memories|"
            r"context|untrusted|user|"
            r"document|quoted?|data|record|assistant|retrieved|new)\b[^\n]{0,40}?[-=#*\]>]{2,8}",
            MANY,
        ),
        ("</", "end", "begin", "start"),
    ),
    Rule(
        "instruction.call",
        0.8,
        CALL,
        pattern(
            r"</?(?:\w{1,12}:)?(?:tool_call|tool_calls|tool_use|tool_result|function_call|function_calls|"
            r"function_results|invoke|"
            r"tool_response|function)(?: name=|>|=)|<\|?(?:tool_call|python_tag|tool_calls_begin)\|?>|"
            r"\{\s{0,4}\"(?:name|tool|function|recipient_name|tool_name|"
            r"action)\"\s{0,3}:\s{0,3}\"[\w.:-]{1,60}\"\s{0,3},\s{0,4}"
            r"\"(?:arguments|parameters|args|tool_input|input|action_input)\"\s{0,3}:|"
            r"^[ \t]{0,3}(?:Action|Action Input|Observation|Thought):[ \t]\S",
            MANY,
        ),
        (
            "tool",
            "function",
            "invoke",
            '"name"',
            "python_tag",
            '"action"',
            "recipient_name",
            "action:",
            "observation:",
            "thought:",
            "action input:",
        ),
    ),
    Rule(
        "instruction.fence",
        0.7,
        FENCE,
        pattern(
            r"^[ \t]{0,3}(?:```|~~~)[ \t]{0,2}(?:system|assistant|tool_code|tool_call|tool_outputs?|prompt)\b", MANY
        ),
        ("```", "~~~"),
    ),
)
# One line `System: …` may be about an operating system; an answer after it, or what is said there, decides.
SYSTEM = pattern(
    r"^[ \t>*#]{0,4}(?:system|developer)(?: (?:message|prompt))?\*{0,2}[ \t]?:[ \t*]{0,4}(?:\w{1,12} ){0,3}?(?:you|"
    r"your|ignore|"
    r"always|never|all|from now|new instructions?|the assistant|assistant|override|disregard|respond|answer|reply)\b",
    MANY,
)
ROLES = pattern(r"^[ \t>*#]{0,4}(human|assistant|ai|system|user)\*{0,2}[ \t]?:[ \t*]{0,4}\S", MANY)
SPEAKERS = {"human", "assistant", "system"}


def look(text: str, lowered: str) -> Iterator[Signal]:
    """Tags, turns, fences and calls of a text, of which the lower-case form is given, too."""
    for rule in RULES:
        for match in rule.find(lowered):
            weight = 0.3 if _in_code(text, match) else rule.weight
            yield Signal(rule.name, weight, rule.reason, (Span(match.start(), match.end()),))
    for start, end in windows(lowered, ("system", "developer")):
        for match in SYSTEM.finditer(lowered, start, end):
            yield Signal("instruction.turn", 0.7, TURN, (Span(match.start(), match.end()),))
    if "assistant" in lowered or "human" in lowered:
        turns = list(ROLES.finditer(lowered))
        said = {turn[1] for turn in turns}
        if len(said) > 1 and said & SPEAKERS:
            spans = tuple(Span(turn.start(), turn.end()) for turn in turns)
            yield Signal("instruction.turn", 0.6, TURN, spans)


def _in_code(text: str, match: re.Match[str]) -> bool:
    # `<system>` between single backticks is written about, not written.
    before, after = text[max(0, match.start() - 80) : match.start()], text[match.end() : match.end() + 80]
    line = before.rpartition("\n")[2]
    return line.count("`") % 2 == 1 and "`" in after.partition("\n")[0] and "```" not in line
