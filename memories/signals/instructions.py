"""Text that is shaped like an instruction to an assistant: imperatives, false authority, orders to keep quiet.

A phrase that is quoted where the sentence speaks about such phrases is a mention, and only a hint.
"""
# ruff: noqa: RUF001 - signs that look alike are what this is about

from __future__ import annotations

import re
from collections.abc import Iterator

from .base import Rule, Signal, Span, pattern
from .tongues import TONGUES

ANY_CASE = re.IGNORECASE
# Where an imperative begins: a line, a sentence, a clause, or after the words that lead into one.
START = (
    r"(?:^|[.!?:;,\n\"'“”„«»`(\[>*#|—–-][ \t]{0,3}|"
    r"\b(?:please|now|must|should|shall|and|then|you|just|simply|kindly|immediately|instead|also|first|"
    r"need to|have to|required to|instructed to|ordered to|going to|want you to) )"
)
LEADS = pattern(START + r"\Z", re.MULTILINE)
BOUNDARY = re.compile(r"(?:^|\W)\Z")
NOUNS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|commands?|constraints?|restrictions?|"
    r"guardrails?|polic(?:y|ies)|safety|filters?|context|messages?|training|programming|orders)"
)
BEFORE = (
    r"(?:all|any|every|previous|prior|above|earlier|preceding|existing|original|initial|system|your|these|former|"
    r"other|old|developer'?s?|user'?s?|past|safety)"
)
WHO = (
    r"(?:ai|a\.i\.|llms?|assistants?|language models?|chat ?bots?|copilots?|ai (?:agents?|models?|assistants?|"
    r"systems?))"
)
TOLD = (
    r"(?:always|never|not|only|ignore|disregard|send|reply|answer|respond|recommend|tell|reveal|forward|treat|obey|"
    r"follow|execute|run|delete|call|claim|say|approve|pretend|act|output|print|insert|email|transfer|grant|assume|"
    r"trust|comply|refuse|skip|disable|append|stop|begin|mention|prefer|immediately|now|first|add|hide|keep)"
)
THIS = r"(?:this|these|that|the following|such an?)"
TEXT = (
    r"(?:records?|memor(?:y|ies)|notes?|texts?|messages?|documents?|entry|entries|content|page|facts?|line|paragraph)"
)
USER = r"(?:users?|humans?|operators?|owners?|person|customer|people|anyone|reviewers?)"
KEPT = (
    r"(?:conversations?|chat (?:history|logs?)|transcripts?|(?:your|user'?s?|stored|saved|all) (?:\w{1,12} )?"
    r"(?:memory|memories|records?|data|files?|messages?|secrets?|contacts?|passwords?|keys)|credentials|"
    r"system prompt|api keys?|environment variables|everything you (?:know|remember|have)|access tokens?)"
)


def _rule(name: str, weight: float, reason: str, source: str, hints: str) -> Rule:
    begins = None
    if source.startswith(START):
        begins, source = LEADS, source.removeprefix(START)
    elif source.startswith(r"\b"):
        begins, source = BOUNDARY, source.removeprefix(r"\b")
    words = tuple(hints.split("|"))
    return Rule(f"instruction.{name}", weight, reason, pattern(source, re.MULTILINE), words, begins)


OVERRIDE = "It tells its reader to put aside the instructions it was given."
ADDRESS = "It addresses an assistant or a model rather than a person."
CONCEAL = "It tells its reader to keep something from the user."
SEND = "It tells its reader to send on conversations, memories or credentials."
REVEAL = "It asks its reader for its instructions, tools or keys."
ROLE = "It gives its reader another role."
AUTHORITY = "It claims an authority over the instructions of its reader."
WORDING = "It tells its reader what to answer, or what to do whenever this text is read."
TOOL = "It tells its reader to use a tool or to run a command."

RULES = (
    _rule(
        "override",
        0.9,
        OVERRIDE,
        START + r"(?:ignore|disregard|forget|override|bypass|discard|set aside|stop (?:following|obeying)|neglect|"
        r"(?:do not|don't|never) (?:follow|obey|listen to)|pay no attention to)\b"
        r"(?:\W{1,3}\w{1,15}){0,3}?\W{1,3}" + BEFORE + r"\b(?:\W{1,3}\w{1,15}){0,4}?\W{1,3}" + NOUNS + r"\b",
        "ignore|disregard|forget|override|bypass|discard|set aside|stop|neglect|follow|obey|listen to|attention",
    ),
    _rule(
        "override",
        0.9,
        OVERRIDE,
        START + r"(?:ignore|disregard|forget)\b[ ,]{1,2}(?:\w{1,12} ){0,2}?(?:everything|anything|all|whatever|what)\b"
        r"[^.\n]{0,25}?\b(?:told|said|above|before|learned|earlier|so far|previously|instructed|know)\b",
        "ignore|disregard|forget",
    ),
    _rule(
        "override",
        0.8,
        OVERRIDE,
        r"\b(?:previous|prior|earlier|above|existing|original|old) (?:\w{1,12} ){0,2}?"
        + NOUNS
        + r" (?:\w{1,12} ){0,2}?(?:no longer apply|do not apply|are (?:void|cancelled|canceled|obsolete|revoked|"
        r"superseded|suspended|replaced|null)|don't apply|have been (?:revoked|replaced|cancelled|updated by this))",
        "appl|void|cancel|obsolete|revoked|superseded|suspended|replaced|null|updated",
    ),
    _rule(
        "address",
        0.7,
        ADDRESS,
        r"\b(?:notes?|messages?|attention|instructions?|reminder|important|warning|memo|directives?|orders?|hint|"
        r"guidance)\b[^.\n:]{0,15}?\b(?:to|for)\b (?:\w{1,10} ){0,2}?" + WHO + r"\b[^.\n:]{0,30}?[:,;—–-]",
        " to | for ",
    ),
    _rule(
        "address",
        0.7,
        ADDRESS,
        r"\b(?:dear|hey|hello|hi|attention|listen|ok|okay)[, ]{1,2}(?:"
        + WHO
        + r"|claude|chatgpt|gpt|gemini|model|agent)\b ?[,:!.—–-]",
        "dear|hey|hello|hi|attention|listen|ok",
    ),
    _rule(
        "address",
        0.6,
        ADDRESS,
        r"^[ \t>*#]{0,4}(?:" + WHO + r"|claude|chatgpt|gpt|agent)[,:!] (?:\w{1,12} ){0,2}?"
        r"(?:you|your|please|ignore|" + TOLD[3:-1] + r")\b",
        "ai|llm|assistant|model|bot|copilot|claude|gpt|agent",
    ),
    _rule(
        "address",
        0.8,
        ADDRESS,
        r"\b" + WHO + r" (?:\w{1,10} ){0,2}?(?:reads?|reading|process(?:es|ing)?|retriev(?:es?|ing)|sees?|"
        r"seeing|load(?:s|ing)?|recall(?:s|ing)?|summari[sz](?:es?|ing)|parsing|parses?|opens?|encounters?)\b"
        r"[^.\n]{0,60}?\b(?:must|should|shall|will|required|has to|have to|need to|needs to|please)\b",
        "must|should|shall|will|required|ha|need|please",
    ),
    _rule(
        "address",
        0.6,
        ADDRESS,
        r"\b" + WHO + r" (?:must|should|shall|(?:is|are) (?:required |instructed |ordered |hereby |now )?to|has to|"
        r"have to|will|needs? to) (?:\w{1,12} )?" + TOLD + r"\b",
        "must|should|shall| is | are |ha|will|need",
    ),
    _rule(
        "trigger",
        0.8,
        WORDING,
        r"\b(?:when|whenever|if|once|after|before|upon|while|every time)(?: ever)? (?:(?:you|your|the assistant|the "
        r"model|the agent|an? (?:ai|assistant|agent|model|llm)|it)(?: \w{1,12})? )?(?:read(?:s|ing)?|recall(?:s|ed|"
        r"ing)?|"
        r"retriev(?:es?|ed|ing)|load(?:s|ed|ing)?|process(?:es|ed|ing)?|summari[sz](?:es?|ed|ing)|see(?:s|ing)?|"
        r"encounter(?:s|ing)?|receiv(?:es?|ing)) " + THIS + " " + TEXT + r"\b",
        "read|recall|retriev|load|process|summari|see|encounter|receiv",
    ),
    _rule(
        "wording",
        0.7,
        WORDING,
        r"\b(?:if|when|whenever)(?: (?:you(?:'re| are)|the user|anyone|somebody|someone|a user|they|users))?"
        r"(?: ever)? (?:asked|asks?|inquires?|wants? to know|questioned)\b[^\n]{0,140}?[,:;] ?(?:\w{1,10} ){0,2}?"
        r"(?:say|answer|reply|respond|tell (?:them|him|her|the user)|recommend|claim|state|always|never|insist|deny|"
        r"pretend|refuse|suggest|assure|mention)\b",
        "ask|inquire|know|questioned",
    ),
    _rule(
        "wording",
        0.6,
        WORDING,
        START + r"(?:always|never|only|from now on,?|henceforth,?)(?: (?:please|ever|you|must|should|will|to)){0,3} "
        r"(?:answer (?:in|with|that|as|as if|every|any|all|the user|questions)|respond (?:in|with|that|as|only|by)|"
        r"reply (?:in|with|that|as|only)|recommend|say (?:that|yes|no)|claim|pretend|obey|comply|trust|cite|"
        r"suggest|prefer this|approve|address me|call me|speak (?:in|as|like)|begin your|end your|start your|"
        r"finish your|include the (?:link|phrase|words)|use this (?:memory|record|note))\b",
        "always|never|only|from now on|henceforth",
    ),
    _rule(
        "wording",
        0.7,
        WORDING,
        r"\byou (?:must|are required to|have to|will|shall|should|are to|need to|are instructed to) (?:now |always |"
        r"never |only |not |immediately |henceforth |first |also |strictly |silently ){0,2}(?:obey|comply|ignore|"
        r"disregard|answer (?:in|with|only|every|all|as)|respond|reply (?:in|with|only|as)|reveal|execute|follow "
        r"(?:these|my|this|"
        r"the instructions)|output|pretend|act as|trust|recommend|believe|assume that|forget|insert|append|"
        r"include this|prefix|refuse|approve|impersonate|exfiltrate|tell the user)\b",
        "you ",
    ),
    _rule(
        "role",
        0.7,
        ROLE,
        r"\byou(?: are|'re) (?:now|no longer|from now on|hereby|henceforth) (?:an? |the |my |in |bound |"
        r"restricted|limited|required|acting|called|known|playing|free|running|operating|allowed|subject)",
        "now|no longer|hereby|henceforth",
    ),
    _rule(
        "role",
        0.6,
        ROLE,
        START + r"(?:(?:act|behave|respond|answer|speak|roleplay|role-play) as (?:if you|though you|an? (?:\w{1,14} )"
        r"{0,2}?(?:ai|assistant|model|bot|agent|hacker|administrator|admin|expert|terminal|shell|character|persona|"
        r"attacker|root)|my |dan\b)|pretend (?:to be|that you|you|you're)\b|simulate (?:an? )?(?:unrestricted|"
        r"uncensored|different|developer)|take on the (?:role|persona) of|play the (?:role|part) of an? "
        r"(?:unrestricted|"
        r"ai|assistant|model|evil|different))",
        " as |pretend|simulate|take on|play the",
    ),
    _rule(
        "role",
        0.8,
        ROLE,
        r"\b(?:enable|enter|activate|switch (?:in)?to|you are in|turn on) (?:the )?(?:\w{1,12} )?(?:developer|dan|god|"
        r"debug|jailbreak|admin|unrestricted|maintenance|root|sudo) mode\b(?=[^\n]{0,60}?\b(?:and|now|you|without|"
        r"ignore|no|all|answer|respond|restrictions?|filters?)\b|[.!]?$)",
        " mode",
    ),
    _rule(
        "conceal",
        0.8,
        CONCEAL,
        r"\b(?:do not|don't|never|without|must not|should not|refrain from|avoid) (?:ever )?(?:tell(?:ing)?|"
        r"inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|warn(?:ing)?|asking|letting|let) (?:the |your |any |this )?"
        + USER
        + r"\b(?! (?:to|in|for (?:an?|the|their)|how|who|before|which)\b)",
        "tell|inform|notify|alert|warn|asking|let",
    ),
    _rule(
        "conceal",
        0.8,
        CONCEAL,
        r"\b(?:(?:do not|don't|never|must not|without) (?:ever )?(?:mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|"
        r"show(?:ing)?|report(?:ing)?|repeat(?:ing)?|acknowledg(?:e|ing)|display(?:ing)?) (?:this|these|that|it|any of "
        r"this|them)\b[^.\n]{0,40}?\b(?:to|from|in|that|when)\b (?:the |your |any )?(?:"
        + USER
        + r"|answer|reply|response|chat|you)|(?:keep|hide) (?:this|it|these|that)(?: \w{1,14}){0,2} "
        r"(?:secret |hidden )?from (?:the |your )?" + USER + r")\b",
        "mention|reveal|disclos|show|report|repeat|acknowledg|display|keep|hide",
    ),
    _rule(
        "send",
        0.9,
        SEND,
        r"\b(?:send|post|forward|e-?mail|upload|transmit|exfiltrate|leak|submit|copy|bcc|cc|deliver|pass|report|paste|"
        r"include|append|encode|attach)\b[^.\n]{0,40}?\b"
        + KEPT
        + r"\b[^\n]{0,50}?\b(?:to|in|into|as|at|via|through|by|with)\b[^\n]{0,25}?(?:https?:|www\.|@|"
        r"\b(?:webhook|url|endpoint|link|server|address|attacker|"
        r"query (?:string|parameter)|image|external|following|me)\b)",
        "send|post|forward|mail|upload|transmit|exfiltrate|leak|submit|copy|cc|deliver|pass|report|paste|include|append|encode|attach",
    ),
    _rule(
        "reveal",
        0.8,
        REVEAL,
        START + r"(?:reveal|print|output|repeat|show|display|disclose|leak|dump|list|write out|tell|give|return|quote)"
        r"(?: (?:me|us|out|back|verbatim|the|all|of|full|complete|exact|entire|word for word)){0,4} (?:your "
        r"(?:\w{1,12} )"
        r"{0,2}?(?:prompts?|instructions?|rules|keys?|secrets?|credentials?|configuration|tools|guidelines|memory|"
        r"memories)|(?:\w{1,12} )?(?:system|initial|hidden) (?:prompt|instructions|message))\b",
        "prompt|instructions|rules|key|secret|credential|configuration|tools|guidelines|memor|message",
    ),
    _rule(
        "authority",
        0.8,
        AUTHORITY,
        r"\b" + THIS + r" (?:\w{1,12} ){0,2}?(?:instructions?|messages?|rules?|notes?|memor(?:y|ies)|records?|prompt|"
        r"directives?|text|entry) (?:\w{1,12} )?(?:overrides?|supersedes?|takes? (?:\w{1,10} )?precedence|has "
        r"(?:\w{1,10} ){0,2}?"
        r"priority|replaces? (?:all|any|your|the system|every)|outranks?|(?:is|are|was|has been|comes?) (?:\w{1,12} )?"
        r"(?:authoritative|binding|approved by (?:the )?(?:administrator|admin|system|security|developers?)|from "
        r"(?:the )?"
        r"(?:system|developers?|administrators?|openai|anthropic)))\b(?:[^.\n]{0,60}?(?:" + NOUNS + r"|else|other)\b)?",
        "override|supersede|precedence|priority|replace|outrank|authoritative|binding|approved|from",
    ),
    _rule(
        "authority",
        0.7,
        AUTHORITY,
        r"(?:^|[\n\[(*#>=.] ?)[ \t*#=\[(]{0,6}(?:new|updated|revised|urgent|critical|important|secret|hidden|system|"
        r"admin(?:istrator)?|"
        r"developer|root|priority|mandatory|security)(?: (?:\w{1,12} )?)(?:instructions?|override|directives?|prompt|"
        r"command)\b[^:\n]{0,20}?[:\]]",
        "instruction|override|directive|prompt|command",
    ),
    _rule(
        "authority",
        0.7,
        AUTHORITY,
        r"\b(?:as|on behalf of|speaking for) (?:the |your )?(?:system|developers?|creators?|administrator|admin|openai|"
        r"anthropic|operator)s?,? (?:\w{1,12} )?i (?:\w{1,12} )?(?:authori[sz]e|order|command|instruct|permit|allow|"
        r"require|"
        r"grant|direct)\b|\byou (?:have|are) (?:been )?(?:\w{1,10} )?(?:authori[sz]ed|granted (?:full|admin|root)(?: "
        r"\w{1,12}){0,2}|permitted) "
        r"(?:to|by|access|permission)\b(?=[^.\n]{0,60}?\b(?:ignore|bypass|disclose|reveal|share|skip|access|delete|"
        r"execute)\b)",
        "authori|order|command|instruct|permit|allow|require|grant|direct",
    ),
    _rule(
        "tool",
        0.7,
        TOOL,
        START + r"(?:call|invoke|trigger|use|execute|run) (?:the |your |this )?[`'\"]?[\w.:-]{1,40}[`'\"]? "
        r"(?:tool|function|action|plugin|connector)\b(?:[^.\n]{0,50}?\b(?:with|and|"
        r"to (?:send|delete|forward|email|transfer|post|remove|fetch|"
        r"download|upload|approve|write|grant)|immediately|now|before (?:answering|you)|on behalf)\b)",
        "tool|function|action|plugin|connector",
    ),
    _rule(
        "tool",
        0.7,
        TOOL,
        START + r"(?:run|execute|eval(?:uate)?|paste)\b[^.\n]{0,40}?\b(?:without (?:asking|confirmation|review|"
        r"telling|approval)|on the user'?s (?:machine|computer|behalf)|silently|in the background)\b",
        "without|user|silently|background",
    ),
)

# The languages other than English; one rule each for putting aside instructions and for what to say or to hide.
ABROAD = tuple(
    _rule(name, weight, reason, source, "|".join(hints))
    for tongue in TONGUES
    for name, weight, reason, source, hints in (
        ("override", 0.9, OVERRIDE, tongue.override, tongue.override_hints),
        ("wording", 0.7, WORDING, tongue.orders, tongue.order_hints),
    )
)

MENTION = re.compile(
    r"\b(?:e\.?g\.?|for example|examples?|such as|called|phrases?|attacks?|attackers?|injections?|jailbreaks?|wrote|"
    r"writes|"
    r"strings?|contain(?:s|ing|ed)?|pattern|detect(?:s|ed|ion)?|filters?|blocked|test(?:s|ed)?|payloads?|quot(?:e|es|"
    r"ed)|"
    r"titled|article|paper|chapter|documentation|typical|classic|known|slide|talk|classif\w{1,6}|looks? like|"
    r"sentence|wording|Angriff\w{0,4}|Beispiel\w{0,2}|exemple|ejemplo|attaque|ataque)\b",
    ANY_CASE,
)
QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“”", "«": "»", "‘": "’", "「": "」", "»": "«"}
# How far around a phrase its sentence is looked at, in characters.
AROUND = 160


def look(text: str, lowered: str) -> Iterator[Signal]:
    """Instruction-shaped phrases of a text, of which the lower-case form is given, too."""
    for rule in (*RULES, *ABROAD):
        for match in rule.find(lowered):
            weight = 0.3 if mentioned(text, match.start(), match.end()) else rule.weight
            yield Signal(rule.name, weight, rule.reason, (Span(match.start(), match.end()),))


def mentioned(text: str, start: int, end: int) -> bool:
    """Whether what stands there is quoted, in a sentence that speaks about such phrases."""
    left, right = text[max(0, start - AROUND) : start + 2], text[max(start, end - 1) : end + AROUND]
    line = left.rpartition("\n")[2]
    opened = max((line.rfind(mark) for mark in QUOTES), default=-1)
    if opened < 0 or not any(mark in right.partition("\n")[0] for mark in QUOTES[line[opened]]):
        return False
    outside = line[:opened] + " " + right.partition("\n")[0]
    return MENTION.search(outside) is not None
