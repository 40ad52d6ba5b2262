"""What a long consolidation reads, and the process that does it: invented turns in any number, and a worker alone."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.corpus import NAMES, SMALL_TALK
from benchmarks.stage import Wrong, peak_mib

TOGETHER = 1_000
TELLING = 4
"""One turn of so many says something that is worth keeping; the others are small talk."""

SURNAMES = (
    *("Abara", "Brandt", "Castel", "Dahl", "Eriksen", "Fontaine", "Guzman", "Halloran", "Ivanov", "Jansen"),
    *("Kimura", "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Quiroga", "Rossi", "Schmid", "Takeda"),
)
DID = (
    *("ordered", "sold", "painted", "repaired", "planted", "borrowed", "bought", "shipped", "inspected", "designed"),
    *("found", "lost", "counted", "built", "packed", "signed", "drew", "measured", "cleaned", "returned"),
)
THINGS = (
    *("pallets", "chairs", "maps", "engines", "lamps", "letters", "tents", "pumps", "kettles", "bicycles"),
    *("carpets", "ladders", "barrels", "violins", "windows", "clocks", "ropes", "boats", "books", "tiles"),
    *("ovens", "mirrors", "gates", "benches", "radios", "helmets", "sails", "candles", "wheels", "cameras"),
)
PLACES = (
    *("Lyon", "Turku", "Porto", "Gdansk", "Bergen", "Leeds", "Cork", "Graz", "Split", "Malaga"),
    *("Bruges", "Ghent", "Kaunas", "Tartu", "Pecs", "Brno", "Basel", "Verona", "Patras", "Varna"),
)


@dataclass
class Standing:
    """Stands in for an embedder while episodes are loaded: a run reads their words and never their vectors."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same vector for every text."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        rows[:, 0] = 1
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the same vector for every text."""
        first: NDArray[np.float32] = self.embed([text])[0]
        return first


def turns(count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Invent so many turns: who speaks, and the text. What is worth keeping is said once, about 400 people."""
    random = Random(seed)
    for number in range(count):
        speaker = NAMES[number % 2]
        if number % TELLING:
            yield speaker, random.choice(SMALL_TALK)
            continue
        who = f"{random.choice(NAMES[2:])} {random.choice(SURNAMES)}"
        what = f"{random.choice(DID)} {random.randint(2, 900)} {random.choice(THINGS)}"
        yield speaker, f"{who} {what} in {random.choice(PLACES)}."


def load(memory_id: str, count: int) -> None:
    """Write so many episodes into a memory, in bulk and past the API, as if somebody had said them one by one."""
    from members.ids import mint
    from memories import embedders
    from memories.content import Draft
    from memories.providers.base import RecordVersion, Writer
    from memories.providers.native import NativeProvider

    real = embedders.get()
    provider = NativeProvider(lambda: Standing(real.name, real.dimensions))
    began = datetime.now(UTC) - timedelta(seconds=count + 60)
    waiting: list[RecordVersion] = []
    for number, (speaker, text) in enumerate(tqdm(turns(count), desc="load", total=count, disable=None), 1):
        draft = Draft("episode", content=({"type": "text", "text": text},), attributes={"speaker": speaker})
        at = began + timedelta(seconds=number)
        writer = Writer("member", mint("mem_"), type="agent")
        waiting.append(RecordVersion(mint("hrec_"), memory_id, 1, "active", draft, at, None, writer, None))
        if len(waiting) == TOGETHER or number == count:
            provider.restore(waiting)
            waiting = []


def worked(run_id: str, episodes: int) -> dict[str, Any]:
    """Have a process of its own take the turns until a run is over, and return its figures. Raises Wrong."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures: dict[str, Any] = pool.apply(work_alone, (run_id,))
        pool.close()
        pool.join()
    if (figures["state"], figures["episodes"]) != ("completed", episodes):
        raise Wrong(f"The run is {figures['state']} after {figures['episodes']} of {episodes} episodes.")
    return figures


def work_alone(run_id: str) -> dict[str, Any]:
    """Take turns in this process, which does nothing else, until none is left; memory is the peak of it, in MiB."""
    import django

    django.setup()
    from memories import embedders
    from memories.models import Run
    from memories.services import fairness
    from memories.tasks import KINDS

    embedders.warm()
    before, began, used = peak_mib(), time.perf_counter(), time.process_time()
    while fairness.take_turn(KINDS):
        pass
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    run = Run.objects.get(pk=run_id)
    counts = ("state", "episodes", "created", "superseded", "supported", "conflicts")
    return {
        **{name: getattr(run, name) for name in counts},
        "seconds": seconds,
        "per_second": run.episodes / seconds,
        "per_processor_second": run.episodes / processor,
        "peak_before_mib": before,
        "peak_mib": peak_mib(),
    }
