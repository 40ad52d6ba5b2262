"""How Alder & Finch makes things: timber, finishes, machines."""

from __future__ import annotations

from memories.models import Memory
from memories.providers.base import RecordVersion

from .pen import Cast, Pen, Things


def write(pen: Pen, cast: Cast, root: Memory) -> Things:
    """The workshop; returns what other branches refer to."""
    workshop = pen.memory(cast.maren, "Workshop", root, "How we make things, and what we make them from.")
    pen.grant(cast.maren, workshop, cast.workshop_crew, "read write create")
    pen.grant(cast.maren, workshop, cast.tomas, "read write create delete")

    week = pen.write(
        cast.planner,
        workshop,
        "note",
        "This week on the benches",
        "Bench 1: library tables, tops 1 to 4. Bench 2: library tables, frames. Bench 3: bakery bench. Bench 4: free.",
    )
    pen.revise(
        cast.planner,
        week,
        "Bench 1: library tables, tops 1 to 4. Bench 2: library tables, frames. Bench 3: bakery bench. Bench 4: "
        "sample doors for Lindqvist.",
    )
    pen.revise(
        cast.tomas,
        week,
        "Bench 1: library tables, tops 1 to 4. Bench 2: closed until Wednesday, the vice is being repaired. Bench 3: "
        "bakery bench. Bench 4: sample doors for Lindqvist.",
    )
    pen.revise(
        cast.planner,
        week,
        "Bench 1: library tables, tops 1 to 4. Bench 2: closed until Wednesday, then library frames. Bench 3: bakery "
        "bench, then library frames. Bench 4: sample doors for Lindqvist.",
    )
    capacity = pen.write(
        cast.planner,
        workshop,
        "fact",
        "Capacity",
        "Three benches are staffed: 110 bench hours a week.",
        attributes={"hours": 110},
    )
    pen.revise(
        cast.planner,
        capacity,
        "Four benches are staffed: 145 bench hours a week, of which 15 are kept free for repairs.",
        attributes={"hours": 145},
    )
    pen.write(
        cast.tomas,
        workshop,
        "procedure",
        "Handing a piece over to finishing",
        "Sand to 180, raise the grain once, mark hidden glue spots in chalk, and put the job sheet on the piece, not "
        "in a pocket. Whoever takes it over signs for it.",
        attributes={"standing": True},
    )
    oil = _finishing(pen, cast, workshop)
    oak = _timber(pen, cast, workshop)
    _machines(pen, cast, workshop)
    return Things(oak=oak, oil=oil)


def _finishing(pen: Pen, cast: Cast, workshop: Memory) -> RecordVersion:
    finishing = pen.memory(cast.tomas, "Finishing", workshop, "Oils, lacquers and what we learned from them.")
    oil = pen.write(
        cast.tomas,
        finishing,
        "entity",
        "Hardwax oil, matt",
        "Our usual finish on tops: two thin coats, safe for food once cured, and it can be repaired in place.",
        attributes={"coats": 2, "sheen": "matt"},
    )
    oiling = pen.write(
        cast.tomas,
        finishing,
        "procedure",
        "Oiling a white oak top",
        "Sand to 180. Two coats with a pad, a day between them. Wipe off after ten minutes.",
        ("about", oil),
    )
    pen.revise(
        cast.bram,
        oiling,
        "Sand to 180. Two coats with a pad, a day between them. Wipe off after ten minutes, underside as well: the "
        "first library top cupped because its underside was bare.",
    )
    pen.revise(
        cast.tomas,
        oiling,
        "Sand to 180, not finer, or the oil does not take. Both sides on the same day. Two thin coats with a pad, a "
        "day between them, wiped off after ten minutes.",
    )
    pen.write(
        cast.bram,
        finishing,
        "fact",
        "Drying time in the cold months",
        "Below 16 degrees hardwax oil needs two days between coats, not one.",
        ("about", oil),
        holds=(-20, 140),
    )
    pen.write(
        cast.tomas,
        finishing,
        "fact",
        "Lacquer on chair frames",
        "Chair frames get two coats of matt lacquer. Since the new oil came in, they are oiled like everything else.",
        holds=(-900, -60),
    )
    rumour = pen.write(
        cast.bram, finishing, "note", "White vinegar takes out tannin stains", "Somebody said so; try it on a scrap."
    )
    pen.forget(cast.bram, rumour)
    return oil


def _timber(pen: Pen, cast: Cast, workshop: Memory) -> RecordVersion:
    timber = pen.memory(cast.tomas, "Timber stock", workshop, "What is in the racks, and where it came from.")
    oak = pen.write(
        cast.tomas,
        timber,
        "entity",
        "White oak, quarter-sawn",
        "27 and 40 mm, kiln-dried, for tops and frames.",
        attributes={"thickness_mm": [27, 40]},
    )
    mill = pen.write(
        cast.tomas,
        timber,
        "company",
        "Vale Sawmill",
        "A family mill an hour up the valley. They saw to order and deliver on Thursdays.",
        attributes={"delivers": "Thursday"},
    )
    pen.write(
        cast.tomas,
        timber,
        "fact",
        "Vale Sawmill supplies our white oak",
        "All quarter-sawn oak has come from Vale since we stopped buying at auction.",
        ("subject", mill),
        ("object", oak),
        holds=(-1200, None),
    )
    delivery = pen.write(
        cast.bram,
        timber,
        "episode",
        "Thursday's delivery",
        "Vale brought 1.8 cubic metres of 40 mm oak. Four boards measured 13 per cent moisture; the driver took them "
        "back and will bring others next week.",
        ("about", mill),
    )
    stock = pen.write(
        cast.planner,
        timber,
        "fact",
        "White oak in the racks",
        "3.1 cubic metres, of which 1.2 are reserved for the library.",
        ("about", oak),
        attributes={"cubic_metres": 3.1},
    )
    pen.revise(
        cast.planner,
        stock,
        "4.9 cubic metres, of which 1.2 are reserved for the library.",
        attributes={"cubic_metres": 4.9},
    )
    pen.revise(
        cast.bram,
        stock,
        "4.6 cubic metres after four wet boards went back; 1.2 are reserved for the library.",
        attributes={"cubic_metres": 4.6},
    )
    pen.revise(
        cast.planner,
        stock,
        "4.6 cubic metres; 1.5 are reserved for the library, which now takes twelve tables.",
        attributes={"cubic_metres": 4.6},
    )
    pen.write(
        cast.tomas,
        timber,
        "procedure",
        "Checking a delivery",
        "Measure every tenth board at both ends. Above 10 per cent it goes back on the lorry. Write what came and "
        "what went back here, the same day.",
        ("derived_from", delivery),
    )
    return oak


def _machines(pen: Pen, cast: Cast, workshop: Memory) -> None:
    machines = pen.memory(cast.tomas, "Machines", workshop, "What each machine needs, and when.")
    saw = pen.write(
        cast.tomas,
        machines,
        "entity",
        "Panel saw",
        "The big saw by the door, three-phase, with a scoring blade.",
        attributes={"bought": 2016},
    )
    pen.write(
        cast.tomas,
        machines,
        "procedure",
        "Changing the blade of the panel saw",
        "Isolate and lock. Loosen clockwise: it is a left-hand thread. Clean the flange, fit the blade, spin it by "
        "hand, and only then unlock.",
        ("about", saw),
    )
    pen.write(
        cast.planner,
        machines,
        "fact",
        "Next service of the panel saw",
        "The fitter comes for half a day; nothing that needs the saw is planned on that day.",
        ("about", saw),
        holds=(24, 25),
    )
