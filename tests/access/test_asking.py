"""Who can reach this and why, what can somebody reach, why and why not: the answers are the rule's own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from members import services as members
from members.models import Group, Member, Organisation
from memories.access import Cause, Privilege
from memories.models import Grant, LastUse, Memory
from memories.services import asking, grants, tree
from memories.services.sight import Place
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryNotFound

pytestmark = pytest.mark.django_db

READ, WRITE, DELETE = Privilege.READ, Privilege.WRITE, Privilege.DELETE


def whys(place: Place, who: Member, privilege: Privilege) -> asking.Because:
    return asking.why(place, who.principal, privilege)


def test_everyone_who_reaches_a_memory_is_listed_once_with_every_reason(
    alice: Member, bob: Member, carol: Member, agent: Member, team: Group, shared: Memory
) -> None:
    child = factories.memory(bob, shared, name="Child")
    factories.grant(alice, child, bob, "read")
    answer = asking.who(at(alice, child), 50)
    shown = {one.person.name: one for one in answer.people}
    assert [one.person.name for one in answer.people] == ["Agent", "Alice", "Bob", "Carol"]
    assert answer.total == 4
    reasons = {(one.via, one.privileges, one.memory.name, one.group_name) for one in shown["Bob"].reasons}
    assert reasons == {
        ("creator", Privilege.ALL, "Child", ""),
        ("direct", READ, "Child", ""),
        ("group", READ | WRITE | Privilege.CREATE, "Shared", "Team"),
    }
    assert [one.via for one in shown["Alice"].reasons] == ["creator"]
    assert shown["Carol"].privileges == READ
    assert not any(one.hidden for one in answer.people)
    assert [step.name for step in answer.where.steps] == ["Child", "Shared"]
    assert (answer.where.goes_on, answer.where.cutoff) == (False, "")


def test_a_closed_branch_names_its_cutoff(alice: Member, carol: Member, shared: Memory) -> None:
    closed = factories.memory(alice, shared, restricted=True)
    below = factories.memory(alice, closed)
    answer = asking.who(at(alice, below), 50)
    assert [one.person.name for one in answer.people] == ["Alice"]
    assert answer.where.cutoff == closed.id
    assert len(answer.where.steps) == 3


def test_sources_that_the_asker_does_not_see_are_said_to_exist_and_not_named(
    alice: Member, bob: Member, carol: Member, team: Group
) -> None:
    top = factories.memory(alice, name="Secret top")
    factories.grant(alice, top, team, "read")
    child = factories.memory(alice, top)
    factories.grant(alice, child, carol, "delete")
    answer = asking.who(at(carol, child), 50)
    shown = {one.person.name: one for one in answer.people}
    assert (shown["Bob"].privileges, shown["Bob"].reasons, shown["Bob"].hidden) == (READ, (), True)
    assert answer.where.goes_on
    assert "Secret top" not in repr(answer)
    assert top.id not in repr(answer)


def test_a_cutoff_that_the_asker_does_not_see_is_not_named(alice: Member, carol: Member) -> None:
    closed = factories.memory(alice, factories.memory(alice), restricted=True)
    child = factories.memory(alice, closed)
    factories.grant(alice, child, carol, "delete")
    where = asking.who(at(carol, child), 50).where
    assert (where.cutoff, where.cutoff_hidden, where.goes_on) == ("", True, True)


def test_asking_who_needs_delete(carol: Member, bob: Member, shared: Memory) -> None:
    for who in (carol, bob):
        with pytest.raises(MemoryForbidden):
            asking.who(at(who, shared), 50)
        with pytest.raises(MemoryForbidden):
            asking.why(at(who, shared), carol.principal, READ)


def test_the_listing_is_paged_by_name_and_complete(
    api: Api, alice: Member, organisation: Organisation, shared: Memory
) -> None:
    everyone = organisation.groups.get(is_everyone=True)
    factories.grant(alice, shared, everyone, "read")
    for name in ("ünal", "Änne", "anna", "ANNA", "Zoë"):
        factories.member(organisation, name)
    path, cursor, seen = f"/v1/x-access/who?memory={shared.id}&limit=2", "", []
    while True:
        page = api.get(path + cursor, alice)
        seen += [one["principal"] for one in page["data"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert len(seen) == len(set(seen)) == page["total"] == Member.objects.of(organisation.id).count()


def test_asking_costs_the_same_queries_however_many_there_are(
    api: Api, alice: Member, organisation: Organisation, shared: Memory
) -> None:
    paths = [
        f"/v1/x-access/who?memory={shared.id}",
        f"/v1/x-access/what?principal={alice.principal}",
        f"/v1/x-access/why?memory={shared.id}&principal={alice.principal}&privilege=read",
    ]
    paths += [f"{path}&at={timezone.now().isoformat().replace('+00:00', 'Z')}" for path in paths]

    def costs() -> list[int]:
        found = []
        for path in paths:
            with CaptureQueriesContext(connection) as queries:
                api.get(path, alice)
            found.append(len(queries))
        return found

    api.get("/v1/memories", alice)
    few = costs()
    for _ in range(10):
        member = factories.member(organisation)
        factories.grant(alice, shared, member, "read")
        factories.group(organisation, member)
        factories.memory(alice, factories.memory(alice))
        factories.memory(alice, shared)
    assert costs() == few
    assert max(few) <= 14


def test_what_somebody_reaches_marks_where_it_changes(
    alice: Member, bob: Member, carol: Member, shared: Memory
) -> None:
    same = factories.memory(alice, shared, name="Same")
    more = factories.memory(alice, same, name="More")
    factories.grant(alice, more, carol, "write")
    hidden = factories.memory(alice, shared, name="Closed", restricted=True)
    inside = factories.memory(alice, hidden, name="Inside")
    factories.grant(alice, inside, carol, "read")
    caller = factories.caller(alice)
    answer = asking.what(caller, carol.principal, 50)
    assert [(one.name, one.depth, one.privileges, one.changes) for one in answer.memories] == [
        ("Shared", 0, READ, True),
        ("Same", 1, READ, False),
        ("Inside", 2, READ, True),
        ("More", 2, READ | WRITE, True),
    ]
    changed = asking.what(caller, carol.principal, 50, changes=True)
    assert [one.name for one in changed.memories] == ["Shared", "Inside", "More"]


def test_what_a_group_reaches_is_what_it_was_given(alice: Member, team: Group, shared: Memory) -> None:
    factories.memory(alice, shared, restricted=True)
    answer = asking.what(factories.caller(alice), team.principal, 50)
    assert [one.id for one in answer.memories] == [shared.id]
    assert (answer.person.type, answer.person.name) == ("group", "Team")


def test_what_others_hold_is_told_only_where_the_asker_may_look_at_grants(
    alice: Member, bob: Member, carol: Member, shared: Memory
) -> None:
    own = factories.memory(bob, name="Bob's own")
    factories.grant(bob, own, carol, "read")
    below = factories.memory(bob, shared, name="Bob's below")
    told = asking.what(factories.caller(bob), carol.principal, 50).memories
    # Shared is seen by bob, who may not look at its grants, so it is not told; nor is it named as a parent.
    assert [(one.name, one.parent_id, one.changes) for one in told] == [
        ("Bob's own", None, True),
        ("Bob's below", None, True),
    ]
    assert asking.what(factories.caller(carol), bob.principal, 50).memories == ()
    mine = asking.what(factories.caller(carol), carol.principal, 50).memories
    assert {one.id for one in mine} == {shared.id, own.id, below.id}


def test_an_owner_of_the_organisation_is_told_no_more_than_others(organisation: Organisation, bob: Member) -> None:
    owner = factories.member(organisation, is_owner=True)
    factories.memory(bob)
    assert asking.what(factories.caller(owner), bob.principal, 50).memories == ()


def test_somebody_deactivated_reaches_nothing(alice: Member, carol: Member, shared: Memory) -> None:
    members.deactivate(carol)
    answer = asking.what(factories.caller(alice), carol.principal, 50)
    assert (answer.memories, answer.person.hindered) == ((), Cause.DEACTIVATED)
    assert "Carol" not in {one.person.name for one in asking.who(at(alice, shared), 50).people}


@pytest.mark.parametrize("principal", ["member:", "member:nobody", "group:x", "x.robot:1", "", "\0", "member:\0"])
def test_a_principal_that_is_nobody_is_not_found(alice: Member, shared: Memory, principal: str) -> None:
    with pytest.raises(MemoryNotFound):
        asking.what(factories.caller(alice), principal, 50)
    with pytest.raises(MemoryNotFound):
        asking.why(at(alice, shared), principal, READ)
    for when in (None, timezone.now()):
        with pytest.raises(MemoryNotFound):
            asking.why(at(alice, shared), principal, READ, when)


def test_a_member_of_another_organisation_is_nobody(alice: Member, mallory: Member, shared: Memory) -> None:
    for when in (None, timezone.now()):
        with pytest.raises(MemoryNotFound):
            asking.why(at(alice, shared), mallory.principal, READ, when)


def test_a_yes_names_everything_that_gives_it(alice: Member, bob: Member, team: Group, shared: Memory) -> None:
    factories.key(bob)
    factories.grant(alice, shared, bob, "read")
    answer = whys(at(alice, shared), bob, READ)
    assert (answer.yes, answer.cause) == (True, None)
    assert {(one.via, one.group_name) for one in answer.reasons} == {("direct", ""), ("group", "Team")}


def test_a_no_without_any_grant(alice: Member, stranger: Member, shared: Memory) -> None:
    factories.key(stranger)
    answer = whys(at(alice, shared), stranger, READ)
    assert (answer.yes, answer.cause) == (False, Cause.NOT_IN_GROUP)
    answer = whys(at(alice, shared), stranger, DELETE)
    assert (answer.yes, answer.cause, answer.reasons) == (False, Cause.NO_GRANT, ())


def test_a_no_because_a_branch_is_closed(alice: Member, carol: Member, shared: Memory) -> None:
    closed = factories.memory(alice, shared, name="Closed", restricted=True)
    below = factories.memory(alice, factories.memory(alice, closed, restricted=True))
    answer = whys(at(alice, below), carol, READ)
    assert (answer.yes, answer.cause) == (False, Cause.CUT_OFF)
    assert [step.name for step in answer.cutoffs][-1] == "Closed"
    assert [one.memory.id for one in answer.reasons] == [shared.id]


def test_a_no_of_somebody_outside_the_group(alice: Member, bob: Member, team: Group, shared: Memory) -> None:
    factories.key(bob)
    members.remove_from_group(team, bob)
    answer = whys(at(alice, shared), bob, WRITE)
    assert (answer.yes, answer.cause) == (False, Cause.NOT_IN_GROUP)
    assert [one.group_name for one in answer.reasons] == ["Team"]
    members.add_to_group(team, bob)
    assert whys(at(alice, shared), bob, WRITE).yes


def test_a_no_of_somebody_who_cannot_act(alice: Member, agent: Member, shared: Memory) -> None:
    answer = whys(at(alice, shared), agent, READ)
    assert (answer.yes, answer.cause) == (False, Cause.NO_KEY)
    issued = members.issue_key(agent)
    assert whys(at(alice, shared), agent, READ).yes
    members.deactivate(agent)
    assert whys(at(alice, shared), agent, READ).cause is Cause.DEACTIVATED
    members.reactivate(agent)
    members.revoke_key(issued.credential)
    assert whys(at(alice, shared), agent, READ).cause is Cause.NO_KEY


def test_somebody_who_signs_in_needs_no_key(organisation: Organisation, alice: Member, shared: Memory) -> None:
    ann = factories.member(organisation, "Ann", email="ann@example.com")
    factories.grant(alice, shared, ann)
    assert whys(at(alice, shared), ann, READ).yes


def test_a_group_that_is_no_more_is_no_reason(alice: Member, stranger: Member, shared: Memory) -> None:
    grants.give(at(alice, shared), "group:grp_" + "0" * 32, DELETE)
    factories.key(stranger)
    assert whys(at(alice, shared), stranger, DELETE).cause is Cause.NO_GRANT


def test_the_past_is_asked_with_the_same_questions(
    api: Api, alice: Member, bob: Member, team: Group, shared: Memory
) -> None:
    factories.key(bob)
    child = factories.memory(alice, shared, name="Then")
    moment = timezone.now()
    tree.change(at(alice, child), restricted=True, name="Now")
    members.remove_from_group(team, bob)
    place = at(alice, child)
    assert whys(place, bob, READ).cause is Cause.NO_GRANT
    then = asking.why(place, bob.principal, READ, moment)
    assert (then.yes, [one.group_name for one in then.reasons]) == (True, ["Team"])
    assert {one.person.name for one in asking.who(place, 50, at=moment).people} == {"Agent", "Alice", "Bob", "Carol"}
    assert {one.person.name for one in asking.who(place, 50).people} == {"Alice"}
    caller = factories.caller(alice)
    assert [one.name for one in asking.what(caller, bob.principal, 50, at=moment).memories] == ["Shared", "Then"]
    assert asking.what(caller, bob.principal, 50).memories == ()


def test_before_it_was_made_nobody_reached_a_memory(alice: Member, bob: Member, shared: Memory) -> None:
    moment = timezone.now()
    later = factories.memory(alice, shared)
    assert asking.who(at(alice, later), 50, at=moment).people == ()
    assert asking.why(at(alice, later), bob.principal, READ, moment).cause is Cause.NO_GRANT


def test_a_key_that_had_ended_then_did_not_count(alice: Member, agent: Member, shared: Memory) -> None:
    members.issue_key(agent, expires_at=timezone.now() + timedelta(hours=1))
    place, soon, late = at(alice, shared), timezone.now(), timezone.now() + timedelta(hours=2)
    assert asking.why(place, agent.principal, READ, soon).yes
    assert asking.why(place, agent.principal, READ, late).cause is Cause.NO_KEY


def test_the_last_use_is_shown_where_it_was_noted(api: Api, alice: Member, agent: Member, shared: Memory) -> None:
    child = factories.memory(alice, shared)
    LastUse.objects.note(alice.organisation_id, agent.id, shared.id)
    LastUse.objects.note(alice.organisation_id, agent.id, shared.id, wrote=True)
    LastUse.objects.note(alice.organisation_id, agent.id, shared.id)
    shown = {one["memory_id"]: one for one in api.get(f"/v1/x-access/what?principal={agent.principal}", alice)["data"]}
    assert shown[shared.id]["last_read_at"] is not None
    assert shown[shared.id]["last_written_at"] is not None
    assert (shown[child.id]["last_read_at"], shown[child.id]["last_written_at"]) == (None, None)


def test_use_of_a_deleted_memory_is_not_noted(alice: Member, shared: Memory) -> None:
    tree.delete(at(alice, shared))
    LastUse.objects.note(alice.organisation_id, alice.id, shared.id)
    assert not LastUse.objects.exists()


def test_the_answers_on_the_wire(api: Api, alice: Member, carol: Member, shared: Memory) -> None:
    asked = f"memory={shared.id}&principal={carol.principal}&privilege=read"
    factories.key(carol)
    grant = Grant.objects.get(principal=carol.principal)
    assert api.get(f"/v1/x-access/why?{asked}", alice) == {
        "object": "x.access.verdict",
        "memory_id": shared.id,
        "principal": carol.principal,
        "name": "Carol",
        "type": "human",
        "hindered": None,
        "privilege": "read",
        "allowed": True,
        "cause": None,
        "sources": [
            {
                "via": "direct",
                "principal": carol.principal,
                "privileges": ["read"],
                "memory_id": shared.id,
                "memory_name": "Shared",
                "grant_id": grant.id,
            }
        ],
        "cutoffs": [],
        "hidden": False,
    }
    who = api.get(f"/v1/x-access/who?memory={shared.id}", alice)
    assert (who["path"], who["path_begins_higher"], who["cutoff"]) == (
        [{"id": shared.id, "name": "Shared", "restricted": False}],
        False,
        None,
    )


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("", "memory"),
        ("memory={memory}", "principal"),
        ("memory={memory}&principal={principal}", "privilege"),
        ("memory={memory}&principal={principal}&privilege=own", "privilege"),
        ("memory={memory}&principal={principal}&privilege=read&at=yesterday", "at"),
        ("memory={memory}&principal={principal}&privilege=read&at=2999-01-01T00:00:00Z", "at"),
    ],
)
def test_a_question_that_is_not_one_is_refused_by_its_field(
    api: Api, alice: Member, shared: Memory, query: str, param: str
) -> None:
    asked = query.format(memory=shared.id, principal=alice.principal)
    answer = api.call("GET", f"/v1/x-access/why?{asked}", as_=alice)
    assert (answer.status, answer.error["param"]) == (422, param)
