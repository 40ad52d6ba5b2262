"""Brings an organisation as large as the console has to bear into the product's own tables, in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from random import Random

from django.db import connection, transaction
from tqdm import tqdm

from members import services as members
from members import setup
from members.callers import Caller, caller_for
from members.ids import mint
from members.models import Event, Member
from memories.access import Privilege
from memories.embedders.hashing import HashingEmbedder
from memories.models import Embedding, Job, Memory, Reach, Record, ReviewItem, Run, Version
from memories.providers import active, indexes, words
from memories.services import grants, tree
from memories.services.sight import look
from uhp_site.http.pagination import make_cursor, make_time_cursor

STARTED = datetime(2026, 1, 5, tzinfo=UTC)
TOGETHER = 1_000
PASSWORD = "only for as long as this runs, 1"  # noqa: S105 - of a database that is thrown away
VOCABULARY = 4_000
# So many of the memories on one level hold something to review.
REVIEWED_PLACES = 100
WRITERS = 12
SIGNALS: Sequence[tuple[str, float, str]] = (
    ("instruction.role_tag", 0.9, "It has a tag as assistants read them."),
    ("personal.email", 0.4, "It holds an address."),
    ("context.near_duplicate", 0.5, "A record says the same."),
)


@dataclass(frozen=True)
class Size:
    """How many records one memory holds, memories lie below one, items wait, and versions one record has."""

    records: int
    children: int
    items: int
    versions: int

    @property
    def others(self) -> int:
        """How many events, and how many jobs and runs, of each; and members."""
        return max(10, self.items // 20)


@dataclass
class World:
    """One organisation: who looks at it, and what of it is looked at, by name."""

    caller: Caller
    email: str
    names: dict[str, str] = field(default_factory=dict)


class Loader:
    """Fills one organisation; the same seed writes the same."""

    def __init__(self, name: str, size: Size, random: Random) -> None:
        self.size, self.random = size, random
        self.words = [
            "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(3, 9))) for _ in range(VOCABULARY)
        ]
        founded = setup.found(name, f"{name.lower()}@example.com", PASSWORD, owner_name="Olive")
        self.organisation, self.owner = founded.organisation, founded.owner
        self.caller = caller_for(founded.owner)
        self.agents = [members.join(self.organisation, name=f"Agent {n}", type="agent") for n in range(WRITERS)]
        people = [members.join(self.organisation, name=f"Person {n}", type="human") for n in range(size.others)]
        self.team = members.create_group(self.organisation, "Team", [*people[: len(people) // 2], *self.agents])
        self.people = people
        self.moment = STARTED

    def load(self) -> World:
        """Everything; the tables are analysed by whoever has loaded all."""
        world = World(self.caller, f"{self.organisation.name.lower()}@example.com", {"org": self.organisation.slug})
        root = tree.create(self.caller, parent_id=None, name="Company")
        archive, wide = (tree.create(self.caller, parent_id=root.id, name=name) for name in ("Archive", "Projects"))
        place = look(self.caller, root.id)
        grants.give(place, self.team.principal, Privilege.READ | Privilege.WRITE | Privilege.CREATE)
        for person in self.people[:5]:
            grants.give(look(self.caller, wide.id), person.principal, Privilege.READ)
        with transaction.atomic(), connection.cursor() as cursor:
            # What is loaded is consistent; checking every reference would take most of the time.
            cursor.execute("SET LOCAL session_replication_role = replica")
            children = self.spread(root, wide)
            self.write(archive, self.size.records)
            revised = self.revise(archive)
            items = self.review(children[:REVIEWED_PLACES])
            self.happened(archive, children)
        run = Run.objects.filter(memory_id=archive.id).order_by("-created_at", "-id").values_list("id", flat=True)[0]
        record = Record.objects.filter(memory_id=archive.id, head=1).order_by("id").values_list("id", flat=True)[0]
        world.names |= {
            **{"root": root.id, "archive": archive.id, "projects": wide.id, "child": children[-1].id},
            **{"record": record, "revised": revised, "item": items[len(items) // 2], "run": run},
            **{"member": self.people[0].id, "agent": self.agents[0].id, "writer": self.agents[1].principal},
            **{"reviewed": children[0].id, "group": self.team.id, "word": self.words[7], "rare": self.words[-1]},
        }
        return world

    def spread(self, root: Memory, above: Memory) -> list[Memory]:
        """Memories below one, with what the product would write about where they are."""
        made = [
            Memory(
                organisation=self.organisation, parent=above, name=f"Project {number:05}", provider="native",
                creator=self.owner.principal, description=" ".join(self.random.choices(self.words, k=5)),
            )
            for number in range(self.size.children)
        ]  # fmt: skip
        Memory.objects.bulk_create(made, batch_size=TOGETHER)
        Reach.objects.bulk_create(
            (
                Reach(organisation=self.organisation, ancestor=over, descendant=one, distance=distance, open=True)
                for one in made
                for distance, over in enumerate((one, above, root))
            ),
            batch_size=TOGETHER,
        )
        return made

    def write(self, memory: Memory, count: int) -> list[Version]:
        """Records of one version each, a second apart, with words and vectors."""
        written: list[Version] = []
        made = (self.version(memory, mint("hrec_"), 1) for _ in range(count))
        with tqdm(total=count, desc="records", unit=" records", mininterval=1.0, disable=count < TOGETHER) as bar:
            while some := list(islice(made, TOGETHER)):
                Record.objects.bulk_create(
                    Record(id=one.record_id, organisation=self.organisation, memory=memory, type=one.type)
                    for one in some
                )
                self.keep(some)
                written += some
                bar.update(len(some))
        return written

    def revise(self, memory: Memory) -> str:
        """One record with many versions."""
        record = Record.objects.create(
            organisation=self.organisation, memory=memory, type="fact", head=self.size.versions
        )
        versions = [self.version(memory, record.id, number) for number in range(1, self.size.versions + 1)]
        for earlier, later in pairwise(versions):
            earlier.status, earlier.invalidated_at = Version.Status.SUPERSEDED, later.written_at
        self.keep(versions)
        return record.id

    def keep(self, versions: Sequence[Version]) -> None:
        """Store versions with their vectors."""
        Version.objects.bulk_create(versions)
        vectors = HashingEmbedder().embed([f"{one.title}\n{one.content[0]['text']}" for one in versions])
        Embedding.objects.bulk_create(
            Embedding(
                organisation=self.organisation, memory_id=one.memory_id, version=one, model=HashingEmbedder.name,
                vector=vector.tolist(), current=one.invalidated_at is None,
            )
            for one, vector in zip(versions, vectors, strict=True)
        )  # fmt: skip

    def version(self, memory: Memory, record_id: str, number: int) -> Version:
        """A version of about 300 characters."""
        chosen = self.random.choices(self.words, k=48)
        title, said = " ".join(chosen[:6]).capitalize(), " ".join(chosen[6:]).capitalize() + "."
        writer: Member = self.random.choice([self.owner, *self.agents])
        self.moment += timedelta(seconds=1)
        return Version(
            organisation=self.organisation, memory=memory, record_id=record_id, number=number, type="fact",
            title=title, content=[{"type": "text", "text": said}], attributes={"topic": chosen[0]},
            written_at=self.moment, writer_kind="member", writer_id=writer.id, writer_type=writer.type,
            words=words.vector(f"{title}\n{said}", "english"),
        )  # fmt: skip

    def review(self, places: Sequence[Memory]) -> list[str]:
        """Items that wait, spread over some memories, and half as many decided ones; the ids of those that wait."""
        waiting: list[ReviewItem] = []
        each = -(-self.size.items // len(places))
        for place in places:
            for version in self.write(place, min(each, self.size.items - len(waiting))):
                waiting.append(self.item(place, version))
        decided = [self.item(one.memory, None) for one in waiting[::2]]
        now = datetime.now(UTC)
        for number, one in enumerate(decided):
            one.state = ReviewItem.State.KEPT if number % 3 else ReviewItem.State.DECLINED
            one.reviewer, one.decided_at = self.owner.principal, now - timedelta(minutes=7 * number)
            one.created_at = one.decided_at - timedelta(hours=5)
        ReviewItem.objects.bulk_create([*waiting, *decided], batch_size=TOGETHER)
        return [one.id for one in waiting]

    def item(self, place: Memory, version: Version | None) -> ReviewItem:
        """One thing to look at, as the gate would note it."""
        found = [one for one in SIGNALS if self.random.random() < 0.15]
        return ReviewItem(
            organisation=self.organisation, memory=place, kind=ReviewItem.Kind.NEW, key=mint("key_"),
            record_id=version.record_id if version else "", version=1, type="fact", writer_type="agent",
            writer=self.random.choice(self.agents).principal,
            signals=[{"name": name, "weight": weight, "reason": why} for name, weight, why in found],
            weight=max((weight for _, weight, _ in found), default=0.0),
            created_at=version.written_at if version else STARTED,
        )  # fmt: skip

    def happened(self, archive: Memory, children: Sequence[Memory]) -> None:
        """What the audit log, the jobs and the runs of some months come to."""
        ids = [archive.id, *(one.id for one in children)]
        actors = [one.principal for one in (self.owner, *self.people)]
        Event.objects.bulk_create(
            (
                Event(
                    organisation=self.organisation, at=STARTED + timedelta(minutes=number), action="grant.given",
                    actor=self.random.choice(actors), via="console", memory_id=self.random.choice(ids),
                    subject=self.random.choice(actors), detail={"privileges": ["read"]},
                )
                for number in range(self.size.items * 4)
            ),
            batch_size=TOGETHER,
        )  # fmt: skip
        Job.objects.bulk_create(
            Job(
                organisation=self.organisation, kind="consolidation", memory_id=self.random.choice(ids), state=state,
                actor=self.random.choice(actors), error="It did not go on." if state == "failed" else "",
            )
            for number in range(self.size.others * 10)
            for state in ("completed" if number % 40 else "failed",)
        )  # fmt: skip
        Run.objects.bulk_create(
            Run(organisation=self.organisation, memory=memory, state="completed", engine="native.rules", episodes=5)
            for _ in range(self.size.others)
            for memory in (archive, self.random.choice(children))
        )


def finish() -> None:
    """What runs in the background after a large import: vector indexes, and what the planner knows."""
    active.pin_all()
    for corner in indexes.crowded():
        indexes.build(corner)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def cursors(world: World) -> dict[str, str]:
    """Where lists are entered deep inside, as the pages' own links would."""
    archive = Version.objects.filter(memory_id=world.names["archive"]).current()
    records = archive.order_by("written_at", "record_id").values_list("written_at", "record_id")
    waiting = ReviewItem.objects.filter(organisation_id=world.caller.organisation_id, state=ReviewItem.State.OPEN)
    items = waiting.order_by("created_at", "id").values_list("created_at", "id")
    children = Memory.objects.filter(parent_id=world.names["projects"]).by_name()
    record, item, child = records[len(records) // 2], items[len(items) // 2], children[len(children) // 2]
    return {
        "records": make_time_cursor(record) or "",
        "items": make_cursor(item[0].isoformat(), item[1]),
        "level": make_cursor(0, child.name.lower(), child.id),
    }
