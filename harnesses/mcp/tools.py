"""The tools an agent holds (Memories §4.18): what each is called, takes and asks, and when it is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

from .addresses import Asked
from .schemas import (
    ADDRESSED,
    DRAFT,
    EXPECTED,
    FILTERS,
    KEY,
    MEMORY,
    PAGE,
    VIEW,
    whole,
)

Arguments = Mapping[str, Any]
Capabilities = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    """One tool. `ask` makes the request of the protocol that it is; `served` says whether a provider does it."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    ask: Callable[[Arguments], Asked]
    writes: bool = False
    destroys: bool = False
    served: Callable[[Capabilities], bool] = lambda _: True

    def flaw(self, arguments: Arguments) -> tuple[str, str] | None:
        """What is wrong with the arguments: which of them, and a sentence; None when nothing is."""
        problems = sorted(VALIDATORS[self.name].iter_errors(arguments), key=lambda one: (len(one.path), one.message))
        if not problems:
            return None
        problem = problems[0]
        where = ".".join(map(str, problem.path))
        if problem.validator == "additionalProperties" and not where:
            extra = ", ".join(sorted(set(arguments) - set(self.schema["properties"])))
            known = ", ".join(self.schema["properties"])
            return extra, f"{self.name} has no such argument. It takes: {known}."
        if problem.validator == "required" and not where:
            missing = ", ".join(name for name in self.schema["required"] if name not in arguments)
            return missing, f"{self.name} needs this argument."
        if problem.validator == "anyOf" and not where:
            return "", str(self.schema["x-one-of"])
        expected = problem.schema.get("description", "") if isinstance(problem.schema, Mapping) else ""
        return where, f"This does not fit what the argument takes. {expected}".strip()


def _given(arguments: Arguments, *names: str) -> dict[str, Any]:
    return {name: arguments[name] for name in names if name in arguments}


def _query(arguments: Arguments, *names: str) -> dict[str, str]:
    return {name: str(value) for name, value in _given(arguments, *names).items()}


def _inside(arguments: Arguments, *steps: str) -> tuple[str, ...]:
    return ("memories", arguments["memory_id"], *steps)


def _record(arguments: Arguments, *steps: str) -> tuple[str, ...]:
    return _inside(arguments, "records", arguments["record_id"], *steps)


def _list(arguments: Arguments) -> Asked:
    if "memory_id" not in arguments:
        return Asked("GET", ("memories",), {"granted": "true", **_query(arguments, "limit", "cursor")})
    wanted = _query(arguments, "type", "include", "as_of", "limit", "cursor")
    return Asked("GET", _inside(arguments, "records"), {"limit": "20", **wanted})


def _recall(arguments: Arguments) -> Asked:
    names = ("query", "text", "filters", "types", "include", "as_of", "depth", "limit")
    return Asked("POST", _inside(arguments, "recall"), body=_given(arguments, *names))


def _graph(arguments: Arguments) -> Asked:
    return Asked("POST", _inside(arguments, "graph"), body=_given(arguments, "around", "hops", "types", "limit"))


def _get(arguments: Arguments) -> Asked:
    if arguments.get("history"):
        return Asked("GET", _record(arguments, "history"))
    return Asked("GET", _record(arguments), _query(arguments, "as_of"))


def _remember(arguments: Arguments) -> Asked:
    body = _given(arguments, "type", "title", "content", "attributes", "references", "time")
    return Asked("POST", _inside(arguments, "records"), body=body, key=arguments.get("idempotency_key"))


def _revise(arguments: Arguments) -> Asked:
    body = _given(arguments, "title", "content", "references", "time", "expected_version")
    body["attributes"] = {**arguments.get("attributes", {}), "revision_reason": arguments["reason"]}
    return Asked("PATCH", _record(arguments), body=body, key=arguments.get("idempotency_key"))


def _forget(arguments: Arguments) -> Asked:
    body = _given(arguments, "expected_version")
    return Asked("DELETE", _record(arguments), body=body, key=arguments.get("idempotency_key"))


def _run_query(arguments: Arguments) -> Asked:
    if "name" not in arguments:
        return Asked("GET", _inside(arguments, "queries"))
    return Asked("POST", _inside(arguments, "queries", arguments["name"]), body=_given(arguments, "params"))


def _operate(arguments: Arguments) -> Asked:
    steps = _record(arguments, "operations", arguments["operation"])
    return Asked("POST", steps, body=arguments.get("input", {}), key=arguments.get("idempotency_key"))


def _free_query(arguments: Arguments) -> Asked:
    body = _given(arguments, "statement", "language", "params")
    return Asked("POST", _inside(arguments, "query"), body=body, key=arguments.get("idempotency_key"))


def _free(capabilities: Capabilities) -> Any:
    return (capabilities.get("queries") or {}).get("free")


TOOLS = (
    Tool(
        "memory_list",
        "List memories and records",
        "Without memory_id: the memories you were granted, where you start. With memory_id: the records kept in that "
        "memory in the order they were written, with its parent and its children, so that you can look around what a "
        "recall found, go up or go down.",
        whole({"memory_id": MEMORY, **VIEW, **PAGE}),
        _list,
    ),
    Tool(
        "memory_recall",
        "Recall",
        "Search a memory and everything below it that you may read; never above it. Ask high in the tree first: each "
        "result says which memory it is in. Then go there: ask again inside it, or list it with memory_list, and look "
        "around. Give query for a question by meaning, text for exact words, filters for fields; at least one. When "
        "abstain is true nothing found answers the question: try other words, or the parent.",
        whole(
            {
                "memory_id": MEMORY,
                "query": {"type": "string", "description": "The question, in plain words; found by meaning."},
                "text": {"type": "string", "description": "Words that have to be there: names, numbers, codes."},
                "filters": FILTERS,
                "types": {"type": "array", "items": {"type": "string"}, "description": "Only records of these types."},
                "include": VIEW["include"],
                "as_of": VIEW["as_of"],
                "depth": {"type": "integer", "minimum": 0, "description": "Levels below; 0 is this memory alone."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Most results; 8 if left."},
            },
            "memory_id",
            one_of=("query", "text", "filters"),
        ),
        _recall,
    ),
    Tool(
        "memory_graph",
        "Follow the pointers between records",
        "How records point at one another: what a fact is about, what was concluded from what. Give around for the "
        "surroundings of one record, else all of the memory and what is below it. A pointer that you may not follow "
        "is shown as not available.",
        whole(
            {
                "memory_id": MEMORY,
                "around": {"type": "string", "minLength": 1, "description": "The id of the record to begin at."},
                "hops": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 3,
                    "description": "Pointers to follow; 1 if left.",
                },
                "types": {"type": "array", "items": {"type": "string"}, "description": "Show records of these types."},
                "limit": {"type": "integer", "minimum": 1, "description": "Most records shown."},
            },
            "memory_id",
        ),
        _graph,
        served=lambda capabilities: (capabilities.get("graph") or {}).get("entities", "none") != "none",
    ),
    Tool(
        "memory_get",
        "Read one record",
        "One record whole, as it is now or as it was at an instant (as_of), or with history every version of it: who "
        "wrote it, when and why it changed. Use the memory_id that was shown with the record.",
        whole(
            {
                **ADDRESSED,
                "as_of": VIEW["as_of"],
                "history": {"type": "boolean", "description": "All versions, oldest first, instead of the newest."},
            },
            "memory_id",
            "record_id",
        ),
        _get,
    ),
    Tool(
        "memory_remember",
        "Remember",
        "Write a record. Look for it first with memory_recall: what is there already is revised, not written twice. "
        "One record says one thing, complete enough to be understood by somebody who was not here. Without memory_id "
        "it goes to your default memory.",
        whole(
            {
                "memory_id": {**MEMORY, "description": "Where it is kept; your default memory if left out."},
                "type": {
                    "type": "string",
                    "minLength": 1,
                    "description": "fact, note, procedure, entity, link, or another; fact if left.",
                },
                **DRAFT,
                "idempotency_key": KEY,
            },
            one_of=("content", "title"),
        ),
        _remember,
        writes=True,
    ),
    Tool(
        "memory_revise",
        "Revise a record",
        "Correct a record or bring it up to date. Only what you name changes; content and references are replaced, "
        "attributes are merged. The version before stays in its history. Say why.",
        whole(
            {
                **ADDRESSED,
                "reason": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Why it changes."},
                **DRAFT,
                "expected_version": EXPECTED,
                "idempotency_key": KEY,
            },
            "memory_id",
            "record_id",
            "reason",
            one_of=("title", "content", "attributes", "references", "time"),
        ),
        _revise,
        writes=True,
    ),
    Tool(
        "memory_forget",
        "Forget a record",
        "Close a record that is no longer true or wanted: recall does not find it any more. Its history stays.",
        whole({**ADDRESSED, "expected_version": EXPECTED, "idempotency_key": KEY}, "memory_id", "record_id"),
        _forget,
        writes=True,
        destroys=True,
    ),
    Tool(
        "memory_run_query",
        "Run a named query",
        "Run a query that was defined for this memory. Without name: which queries it has, and their parameters.",
        whole(
            {
                "memory_id": MEMORY,
                "name": {"type": "string", "minLength": 1, "description": "Which query."},
                "params": {"type": "object", "description": "Its parameters, by name."},
            },
            "memory_id",
        ),
        _run_query,
        served=lambda capabilities: bool((capabilities.get("queries") or {}).get("named")),
    ),
    Tool(
        "memory_operate",
        "Use an operation of a record's type",
        "Use what the type of a record offers, such as completing a task. Some operations write a new version.",
        whole(
            {
                **ADDRESSED,
                "operation": {"type": "string", "minLength": 1, "description": "The name of the operation."},
                "input": {"type": "object", "description": "What it takes."},
                "idempotency_key": KEY,
            },
            "memory_id",
            "record_id",
            "operation",
        ),
        _operate,
        served=lambda capabilities: bool(capabilities.get("types")),
    ),
    Tool(
        "memory_query",
        "Ask in a query language",
        "Ask this one memory in a language its provider knows.",
        whole(
            {
                "memory_id": MEMORY,
                "statement": {"type": ["string", "object"], "description": "What is asked."},
                "language": {"type": "string", "description": "In which language."},
                "params": {"type": "object", "description": "Values for its placeholders, by name."},
            },
            "memory_id",
            "statement",
        ),
        _free_query,
        served=lambda capabilities: bool(_free(capabilities)),
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
VALIDATORS = {
    tool.name: Draft202012Validator({key: value for key, value in tool.schema.items() if key != "x-one-of"})
    for tool in TOOLS
}
