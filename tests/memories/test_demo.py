from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from members import authentication
from members.callers import caller_for
from members.models import Credential, Group, Member, Organisation, User
from memories.access import Privilege
from memories.content import CORE_TYPES
from memories.models import Conflict, Memory, Reach, Record, Run, Version
from memories.providers import registry
from memories.reader import Reader
from memories.services import listing, records
from memories.services.sight import look
from uhp_site.first_start import first_organisation

OPEN = {
    "Alder & Finch",
    "Company handbook",
    "Safety",
    "Customers",
    "Harbour Street Library",
    "Reading room tables",
    "Lindqvist Architects",
    "The Quiet Oven",
    "Workshop",
    "Finishing",
    "Timber stock",
    "Machines",
    "Post",
}
CLOSED = {"People", "Salaries", "Reviews"}
ALL = OPEN | CLOSED | {"Onboarding"}


@pytest.fixture(scope="class")
def printed(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[str]]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield first_organisation(demo=True)
        transaction.set_rollback(True)


def named(name: str) -> Member:
    return Member.objects.get(name=name)


def memory(name: str) -> Memory:
    return Memory.objects.get(name=name)


def readable(by: str) -> set[str]:
    principals = caller_for(named(by)).principals
    return set(Memory.objects.held_by(principals, Privilege.READ).values_list("name", flat=True))


def words(by: str, on: str) -> list[str]:
    return look(caller_for(named(by)), memory(on).id).privileges.words


def entry_points(by: str) -> list[str]:
    return [one.name for one in listing.memories(caller_for(named(by)), listing.Which(), 50).memories]


def value(printed: list[str], label: str) -> str:
    return next(line.removeprefix(label).strip() for line in printed if line.startswith(label))


@pytest.mark.usefixtures("printed")
class TestDemo:
    """Each looks at the same demo, and changes nothing in it."""

    def test_the_owner_signs_in_with_what_is_printed(self, printed: list[str]) -> None:
        user = User.objects.get(email=value(printed, "Sign in"))
        owner = authentication.find(value(printed, "Owner's API key")).member

        assert user.check_password(value(printed, "Password"))
        assert owner.user == user
        assert owner.is_owner
        assert owner.organisation.name == value(printed, "Organisation") == "Alder & Finch"

    def test_the_agents_keys_are_printed_and_nobody_elses(self, printed: list[str]) -> None:
        support = authentication.find(value(printed, "Support agent's key")).member
        planner = authentication.find(value(printed, "Planner's key")).member

        assert (support.name, planner.name) == ("Support agent", "Workshop planner")
        assert support.type == planner.type == "agent"
        assert sum("hw_" in line for line in printed) == 3
        assert set(Credential.objects.values_list("member__name", flat=True)) > {"Ingrid Vos", "Tomas Finch"}

    def test_the_tree_has_one_root_and_goes_three_levels_below_it(self) -> None:
        assert set(Memory.objects.values_list("name", flat=True)) == ALL
        assert [one.name for one in Memory.objects.filter(parent=None)] == ["Alder & Finch"]
        assert max(Reach.objects.values_list("distance", flat=True)) == 3
        assert [one.name for one in Memory.objects.filter(restricted=True)] == ["People"]

    def test_five_people_and_two_agents_work_there_in_two_groups(self) -> None:
        assert Counter(Member.objects.values_list("type", flat=True)) == {"human": 5, "agent": 2}
        groups = {
            group.name: {one.name for one in group.members.all()} for group in Group.objects.filter(is_everyone=False)
        }
        assert groups == {
            "Customer team": {"Sofia Reyes", "Support agent"},
            "Workshop crew": {"Tomas Finch", "Bram Okafor", "Workshop planner"},
        }

    @pytest.mark.parametrize(
        ("member", "reads"),
        [
            ("Maren Alder", ALL),
            ("Ingrid Vos", ALL),
            ("Tomas Finch", OPEN | {"Onboarding", "Reviews"}),
            ("Sofia Reyes", OPEN | {"Onboarding"}),
            ("Bram Okafor", OPEN | {"Onboarding"}),
            ("Support agent", OPEN | {"Onboarding"}),
            ("Workshop planner", OPEN | {"Onboarding"}),
        ],
    )
    def test_each_member_reads_what_the_demo_gives_it(self, member: str, reads: set[str]) -> None:
        assert readable(member) == reads

    def test_a_grant_below_the_cutoff_is_an_entry_point_of_those_who_do_not_see_the_branch(self) -> None:
        assert entry_points("Ingrid Vos") == ["Alder & Finch"]
        assert entry_points("Tomas Finch") == ["Alder & Finch", "Onboarding", "Reviews"]
        assert entry_points("Support agent") == ["Alder & Finch", "Onboarding"]

    def test_grants_differ_from_level_to_level(self) -> None:
        assert words("Bram Okafor", "Alder & Finch") == ["read"]
        assert words("Bram Okafor", "Finishing") == ["read", "write", "create"]
        assert words("Tomas Finch", "Workshop") == ["read", "write", "create", "delete"]
        assert words("Workshop planner", "Reading room tables") == ["read", "write"]
        assert words("Workshop planner", "Customers") == ["read"]
        assert words("Support agent", "The Quiet Oven") == ["read", "write", "create", "delete"]
        assert words("Support agent", "Lindqvist Architects") == ["read", "write", "create"]
        assert words("Ingrid Vos", "Workshop") == ["read"]

    def test_there_are_tens_of_records_of_every_core_type(self) -> None:
        assert 50 <= Record.objects.count() <= 75
        assert set(Record.objects.values_list("type", flat=True)) == set(CORE_TYPES)
        assert set(Version.objects.values_list("memory__name", flat=True)) == ALL

    def test_history_was_written_by_people_and_agents_in_turn(self) -> None:
        caller = caller_for(named("Maren Alder"))
        found = Version.objects.get(title="Lead time", status="active")
        history = records.history(look(caller, found.memory_id), found.record_id)

        assert [version.number for version in history] == [1, 2, 3, 4]
        writers = [Member.objects.get(pk=version.writer.id).name for version in history]
        assert writers == ["Sofia Reyes", "Support agent", "Maren Alder", "Sofia Reyes"]
        assert history[-1].draft.attributes == {"weeks": 9, "weeks_fitted": 12}
        assert Version.objects.filter(writer_type="agent").count() >= 15
        assert Version.objects.filter(number=1, status="superseded").count() >= 12
        assert Version.objects.filter(status="forgotten").count() == 3

    def test_every_reference_leads_somewhere_its_writer_may_read(self) -> None:
        seen = 0
        for version in Version.objects.filter(writer_kind="member").exclude(references=[]):
            caller = caller_for(Member.objects.get(pk=version.writer_id))
            shown = records.get(look(caller, version.memory_id), version.record_id)
            resolved = Reader(caller).resolve(shown)
            assert all(one.available for one in resolved), version.title
            seen += len(resolved)
        assert seen >= 25
        relations = {entry["rel"] for version in Version.objects.all() for entry in version.references}
        assert relations == {"subject", "object", "about", "derived_from", "part_of"}

    def test_times_of_writing_are_the_servers_and_validity_lies_around_today(self) -> None:
        now = timezone.now()
        assert all((now - version.written_at).total_seconds() < 60 for version in Version.objects.all())
        assert Version.objects.filter(valid_from__gt=now).count() >= 3
        assert Version.objects.filter(valid_to__lt=now, status="active").count() == 1
        assert Version.objects.filter(valid_from__lt=now, valid_to__gt=now, status="active").count() >= 2

    def test_standing_records_stand_where_agents_work(self) -> None:
        standing = Version.objects.filter(attributes__standing=True, status="active").values_list(
            "memory__name", flat=True
        )
        assert {"Alder & Finch", "Company handbook", "Customers", "Workshop"} <= set(standing)

    def test_two_conversations_were_consolidated_and_left_something_to_review(self) -> None:
        first, second = Run.objects.order_by("created_at")
        assert (first.state, second.state, first.episodes) == ("completed", "completed", 2)
        assert first.created >= 4
        assert (second.superseded, second.supported, second.conflicts) == (1, 1, 1)
        conflict = Conflict.objects.get()
        assert conflict.state == "open"
        assert Version.objects.get(record_id=conflict.this_id).content[0]["text"].endswith("14,000 euros.")


@pytest.mark.django_db
def test_without_the_demo_there_is_an_owner_and_nothing_else() -> None:
    printed = first_organisation(demo=False)

    owner = authentication.find(value(printed, "Owner's API key")).member
    assert owner.is_owner
    assert owner.user is not None
    assert owner.user.check_password(value(printed, "Password"))
    assert Member.objects.count() == 1
    assert not Memory.objects.exists()


@pytest.mark.django_db
def test_a_demo_that_fails_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("There is no room left.")

    # The people and the first memory are made by then; no record can be.
    monkeypatch.setattr(registry.get("native"), "remember", full)
    with pytest.raises(OSError, match="no room"):
        first_organisation(demo=True)
    assert not Organisation.objects.exists()
    assert not User.objects.exists()
    assert not Memory.objects.exists()
