"""For whom Alder & Finch makes things, each customer in a memory of its own."""

from __future__ import annotations

from memories.models import Memory
from memories.providers.base import RecordVersion

from .pen import Cast, Pen, Things
from .runs import consolidated


def write(pen: Pen, cast: Cast, root: Memory, things: Things) -> None:
    """The customers, with what they ordered."""
    customers = pen.memory(cast.maren, "Customers", root, "One memory for each customer.")
    pen.grant(cast.maren, customers, cast.customer_team, "read write create")

    lead = pen.write(
        cast.sofia,
        customers,
        "fact",
        "Lead time",
        "Furniture takes eight weeks from the signed drawing.",
        attributes={"weeks": 8},
    )
    pen.revise(
        cast.support,
        lead,
        "Furniture takes ten weeks from the signed drawing: the benches are full.",
        attributes={"weeks": 10},
    )
    pen.revise(
        cast.maren,
        lead,
        "Furniture takes nine weeks from the signed drawing, now that the fourth bench is staffed.",
        attributes={"weeks": 9},
    )
    pen.revise(
        cast.sofia,
        lead,
        "Furniture takes nine weeks from the signed drawing. Fitted work takes twelve, because it is measured twice.",
        attributes={"weeks": 9, "weeks_fitted": 12},
    )
    pen.write(
        cast.sofia,
        customers,
        "procedure",
        "When a customer reports damage",
        "Say sorry once. Ask for two photographs and the delivery date. Offer a visit within five working days; do "
        "not discuss whose fault it is before somebody has seen the piece.",
        attributes={"standing": True},
    )
    library_call = _library(pen, cast, customers, things)
    veneer_question = _architects(pen, cast, customers)
    wobble = _bakery(pen, cast, customers, things)
    consolidated(pen, cast, Memory.objects.get(pk=veneer_question.memory_id))
    asked = pen.write(
        cast.support,
        customers,
        "note",
        "What people ask most",
        "When will it come; can I see the finish on a sample; is it safe for food.",
        *(("derived_from", episode) for episode in (library_call, veneer_question, wobble)),
    )
    pen.revise(
        cast.sofia,
        asked,
        "When will it come; can I see the finish on a sample; is it safe for food. For the second: we post three "
        "samples at no charge.",
    )


def _library(pen: Pen, cast: Cast, customers: Memory, things: Things) -> RecordVersion:
    library = pen.memory(
        cast.sofia, "Harbour Street Library", customers, "The city library: reading room, and perhaps more later."
    )
    company = pen.write(
        cast.sofia,
        library,
        "company",
        "Harbour Street Library",
        "The public library by the old harbour, run by the city.",
        attributes={"since": 2024, "sector": "public"},
    )
    amina = pen.write(
        cast.sofia,
        library,
        "person",
        "Amina Osei",
        "Head librarian. Knows timber: her father built boats.",
        attributes={"email": "amina.osei@harbour-library.example"},
    )
    pen.write(
        cast.sofia,
        library,
        "fact",
        "Amina Osei decides on the furniture",
        "Orders below 50,000 are hers alone; above, the city's committee meets on the first Monday of the month.",
        ("subject", amina),
        ("object", company),
    )
    invoices = pen.write(
        cast.support, library, "fact", "Where invoices go", "Invoices go to the library.", ("about", company)
    )
    pen.revise(cast.sofia, invoices, "Invoices go to the city treasury, with the order number in the subject line.")
    call = pen.write(
        cast.support,
        library,
        "episode",
        "Call about the delivery date",
        [
            ("user", "We reopen in five weeks. Will the tables be there, or should I rent some?"),
            ("assistant", "The workshop has planned them for the week before you reopen. I will ask, and ring you."),
            ("user", "Ring me, please, don't write. I am never at the desk."),
            ("assistant", "I will ring you today before five."),
        ],
        ("about", amina),
    )
    pen.write(
        cast.support,
        library,
        "note",
        "Reach Amina by telephone",
        "She prefers to be rung, best before nine or after four. Mail waits for days.",
        ("about", amina),
        ("derived_from", call),
    )
    shelving = pen.write(
        cast.support,
        library,
        "fact",
        "They want shelving as well",
        "The library also asked for shelving.",
        ("about", company),
    )
    pen.forget(cast.sofia, shelving)
    _tables(pen, cast, library, things)
    return call


def _tables(pen: Pen, cast: Cast, library: Memory, things: Things) -> None:
    tables = pen.memory(cast.sofia, "Reading room tables", library, "The order, the visit and the way in.")
    pen.grant(cast.sofia, tables, cast.workshop_crew, "read write")
    order = pen.write(
        cast.sofia,
        tables,
        "fact",
        "What is ordered",
        "Ten tables, 2400 by 1000 mm, white oak, matt oil.",
        ("about", things.oak),
        ("about", things.oil),
        attributes={"tables": 10},
    )
    pen.revise(cast.sofia, order, "Twelve tables, 2400 by 1000 mm, white oak, matt oil.", attributes={"tables": 12})
    pen.revise(
        cast.tomas,
        order,
        "Twelve tables, 2400 by 1000 mm, quarter-sawn white oak, matt oil on both sides, edges eased to 3 mm as on "
        "the sample.",
    )
    visit = pen.write(
        cast.tomas,
        tables,
        "episode",
        "Measuring on site",
        "The lift takes 2100 mm, so tops go up the stairs. The turn on the first landing leaves 40 mm on each side. "
        "The floor drops 6 mm towards the windows: the feet must be adjustable.",
    )
    window = pen.write(
        cast.planner,
        tables,
        "fact",
        "Delivery window",
        "Two days in the week before the library reopens.",
        ("about", order),
        holds=(27, 29),
    )
    pen.revise(
        cast.planner,
        window,
        "Three days in the week before the library reopens: twelve tops cannot go up the stairs in two.",
        holds=(27, 30),
    )
    pen.write(
        cast.bram,
        tables,
        "procedure",
        "Getting a top up the stairs",
        "Four people, top on edge, good face to the wall with a blanket between. Rest on the landing, turn with the "
        "lower end first. Frames come after, by the lift.",
        ("derived_from", visit),
    )
    pen.write(
        cast.sofia,
        tables,
        "link",
        "Signed drawing",
        "Revision C, signed by Amina Osei.",
        ("part_of", order),
        attributes={"url": "https://files.alder-finch.example/library/tables-c.pdf"},
    )


def _architects(pen: Pen, cast: Cast, customers: Memory) -> RecordVersion:
    architects = pen.memory(
        cast.sofia, "Lindqvist Architects", customers, "An office of nine; they bring us two or three jobs a year."
    )
    office = pen.write(
        cast.sofia,
        architects,
        "company",
        "Lindqvist Architects",
        "Private houses and small public buildings, much of it in timber.",
        attributes={"since": 2019, "sector": "trade"},
    )
    nils = pen.write(
        cast.sofia,
        architects,
        "person",
        "Nils Lindqvist",
        "Founder. Draws every handle himself and will notice.",
        ("about", office),
    )
    pen.write(
        cast.maren,
        architects,
        "fact",
        "Trade terms",
        "Twelve per cent off the list price, thirty days to pay, agreed for one year.",
        ("subject", office),
        holds=(-200, 165),
    )
    drawings = pen.write(cast.sofia, architects, "fact", "How they like drawings", "As PDF.", ("about", office))
    pen.revise(cast.support, drawings, "As DWG with a PDF beside it, one sheet for each piece, in millimetres.")
    return pen.write(
        cast.support,
        architects,
        "episode",
        "Question about sliced veneer",
        [
            ("user", "Could the doors at Mill Lane be veneered instead of solid? The client worries about movement."),
            ("assistant", "They could. Tomas makes them with a solid edge, so that the handle has something to hold."),
            ("user", "Send me a sample with that edge, then."),
            ("assistant", "A sample door is planned on bench 4 this week. Sofia will bring it."),
        ],
        ("about", nils),
    )


def _bakery(pen: Pen, cast: Cast, customers: Memory, things: Things) -> RecordVersion:
    # The support agent opened this one by itself when the first message came in.
    bakery = pen.memory(cast.support, "The Quiet Oven", customers, "A bakery with eight seats and a long counter.")
    company = pen.write(
        cast.support,
        bakery,
        "company",
        "The Quiet Oven",
        "A bakery and café in Tanner's Row.",
        attributes={"since": 2025, "sector": "hospitality"},
    )
    dolores = pen.write(
        cast.support, bakery, "person", "Dolores Marín", "Owner and baker. Up at three, so ring before noon."
    )
    wobble = pen.write(
        cast.support,
        bakery,
        "episode",
        "A bench that wobbles",
        [
            ("user", "The long bench has started to rock. A customer nearly spilled her coffee."),
            ("assistant", "I am sorry. Could you send two photographs, and tell me when it was delivered?"),
            ("user", "In March. It is the foot near the door, you can turn it by hand."),
            ("assistant", "Thank you. Somebody will come within five working days; Sofia will ring you before noon."),
        ],
        ("about", dolores),
        ("about", company),
    )
    pen.write(
        cast.sofia,
        bakery,
        "note",
        "After the wobbling bench",
        "The foot's insert had pulled out: the floor is washed every night and the end grain drinks. Bram glued in a "
        "longer insert and sealed all four feet. No charge.",
        ("derived_from", wobble),
    )
    pen.write(
        cast.support,
        bakery,
        "fact",
        "The counter has to be safe for food",
        "Dough is rested on it. Hardwax oil is fine once it has cured for ten days; tell them not to use it before.",
        ("subject", company),
        ("about", things.oil),
    )
    return wobble
