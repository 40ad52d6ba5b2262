"""What an agent reads: answers of the protocol as words in a fence, refusals as sentences it can act on.

Everything that somebody wrote, names and descriptions of memories included, stands inside the fence, with who wrote it,
where and when; its lines are quoted, so that none can pass for the line that says who wrote the next one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memories import fence

from .addresses import Answered

Json = Mapping[str, Any]

# One sentence for both: to an agent, what it may not reach and what is not there read alike.
UNREACHED = "There is no such memory within your reach, or you may not do this there."
HINTS = {
    "memory_not_found": "Call memory_list to see what you hold and what you may do where.",
    "memories_not_attached": "There is nothing to call until then.",
    "memory_record_not_found": "Use the memory_id that was shown with the record; find it again with memory_recall.",
    "memory_busy": "Try again in a moment.",
    "memory_unavailable": "Try again later, or go on without it.",
    "memory_unsupported": "Do without it: no other argument will make it work here.",
    "heartwood_version_conflict": "Read it again with memory_get, and decide anew.",
}


def told(answer: Json) -> str:
    """An answer in words."""
    entries: list[str] = []
    notes: list[str] = []
    if "results" in answer:
        notes.append(_counted(len(answer["results"]), "result"))
        entries += [_record(hit["record"], _found(hit)) for hit in answer["results"]]
    elif "nodes" in answer:
        notes.append(_counted(len(answer["nodes"]), "record"))
        entries += [_record(node["record"], _placed(node)) for node in answer["nodes"]]
        entries += map(_edge, answer["edges"])
    elif isinstance(answer.get("data"), list):
        notes.append(_counted(len(answer["data"]), "entry", "entries"))
        entries += map(_entry, answer["data"])
    elif answer.get("object") == "memory.record":
        entries.append(_record(answer))
    else:
        entries.append(_entry(answer))
    if answer.get("parent"):
        entries.append(_memory(answer["parent"], "parent memory"))
    entries += [_memory(child, "child memory") for child in answer.get("children") or ()]
    return "\n".join([*notes, fence.fenced(entries), *_after(answer)])


def refusal(answered: Answered) -> tuple[str, dict[str, Any]]:
    """What an agent is told of a refusal: a sentence, and the error with what it must not tell apart made alike."""
    error = dict(answered.body["error"])
    if error["code"] in {"memory_not_found", "memory_forbidden"}:
        error |= {
            "type": "invalid_request_error",
            "code": "memory_not_found",
            "message": UNREACHED,
            "param": None,
            "detail": None,
        }
    argument = f" (argument: {error['param']})" if error["param"] else ""
    hint = HINTS.get(error["code"], "")
    return f"{error['message']}{argument} {hint}".strip(), {"error": error}


def _after(answer: Json) -> list[str]:
    notes = []
    if answer.get("next"):
        notes.append(f"There is more: ask again with cursor {answer['next']}")
    if answer.get("truncated"):
        notes.append("There is more than is shown: ask lower in the tree, or around one record.")
    if answer.get("degraded"):
        notes.append(f"Not all of this was done: {', '.join(map(str, answer['degraded']))}.")
    if answer.get("abstain"):
        notes.append("Nothing of this is judged to answer the question.")
    return notes


def _counted(number: int, one: str, more: str = "") -> str:
    return f"{number or 'No'} {one if number == 1 else more or one + 's'}."


def _entry(value: Any) -> str:
    if isinstance(value, Mapping) and value.get("object") == "memory.record":
        return _record(value)
    if isinstance(value, Mapping) and value.get("object") == "memory":
        return _memory(value, "memory")
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        return _entry(value["result"])
    return fence.entry(json.dumps(value, ensure_ascii=False, indent=1), "", "data", "")


def _found(hit: Json) -> str:
    score = "" if hit.get("score") is None else f", score {hit['score']:.2f}"
    return f" ({_named(hit['memory'].get('name'))}){score}"


def _placed(node: Json) -> str:
    return f" ({_named(node['memory'].get('name'))})"


def _record(record: Json, where: str = "") -> str:
    writer = record["written_by"]
    kind = f"{record['type']} in {record['memory_id']}{where}"
    about = f"{record['time']['written_at']}, version {record['version']}, {record['status']}"
    lines = [_part(part) for part in record["content"]]
    if record["attributes"]:
        lines.append(f"attributes: {json.dumps(record['attributes'], ensure_ascii=False)}")
    held = {name: value for name, value in record["time"].items() if name.startswith("valid_") and value}
    if held:
        lines.append(", ".join(f"{name} {value}" for name, value in held.items()))
    lines += map(_reference, record["references"])
    if record.get("follows"):
        lines.append(f"follows a source outside the memory: {json.dumps(record['follows'], ensure_ascii=False)}")
    return fence.entry("\n".join(lines), record["id"], kind, f"{writer['kind']}:{writer['id']}", record["title"], about)


def _part(part: Json) -> str:
    if part.get("type") == "text":
        return str(part["text"]) if not part.get("role") else f"{part['role']}: {part['text']}"
    return json.dumps(part, ensure_ascii=False)


def _reference(reference: Json) -> str:
    if not reference["available"]:
        return f"points at {reference['record_id']}, which you may not read or which is not there"
    return f"points at {reference['record_id']} in {reference['memory_id']}: {reference.get('rel') or 'related'}"


def _edge(edge: Json) -> str:
    head, tail = edge["from"], edge["to"]
    if not edge["available"]:
        return f"[pointer] {head['record_id']} -> {tail['record_id']}, which you may not read or which is not there"
    return f"[pointer] {head['record_id']} -> {tail['record_id']}: {_named(edge.get('rel') or 'related')}"


def _memory(memory: Json, kind: str) -> str:
    records, children = memory["records"]["count"], memory["children"]["count"]
    held = ", ".join(memory["privileges"])
    about = f"{'unknown' if records is None else records} records, {children} below, you may: {held}"
    default = ", your default memory" if memory.get("default") else ""
    return fence.entry(memory["description"], memory["id"], kind, "", memory["name"], about + default)


def _named(value: Any) -> str:
    return json.dumps(str(value or ""), ensure_ascii=False)
