"""Memories that nobody can administer, handing over, invitations, and keys that end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.utils import timezone

from members import services as members
from members.models import Credential, Event, Group, Invitation, Member, Organisation, User
from members.services import Refused
from memories.access import Privilege
from memories.models import Memory
from memories.services import ownership, tree
from tests import factories
from tests.conftest import Api
from tests.factories import at
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryNotFound

pytestmark = pytest.mark.django_db


@pytest.fixture
def leaver(organisation: Organisation) -> Member:
    """Somebody who made things and is about to go."""
    return factories.member(organisation, "Lea")


def orphans(owner: Member) -> list[Memory]:
    return list(ownership.nobody_left(factories.caller(owner), 50).memories)


def test_what_nobody_active_can_administer_is_reported_once_per_branch(
    alice: Member, carol: Member, leaver: Member
) -> None:
    root = factories.memory(leaver)
    child = factories.memory(leaver, root)
    closed = factories.memory(leaver, child, restricted=True)
    factories.memory(leaver, closed)
    factories.grant(leaver, root, carol, "read", "write", "create")
    assert orphans(alice) == []
    members.deactivate(leaver)
    assert orphans(alice) == [root, closed]
    kept = factories.memory(carol, child)
    assert orphans(alice) == [root, closed]
    assert at(carol, kept).privileges == Privilege.ALL
    members.reactivate(leaver)
    assert orphans(alice) == []


def test_a_group_without_anybody_active_administers_nothing(
    organisation: Organisation, alice: Member, leaver: Member
) -> None:
    memory = factories.memory(leaver)
    group = factories.group(organisation, leaver)
    factories.grant(leaver, memory, group, "delete")
    members.deactivate(leaver)
    assert orphans(alice) == [memory]
    members.add_to_group(group, alice)
    assert orphans(alice) == []


def test_the_report_is_paged(alice: Member, leaver: Member) -> None:
    made = [factories.memory(leaver) for _ in range(3)]
    members.deactivate(leaver)
    caller = factories.caller(alice)
    first = ownership.nobody_left(caller, 2)
    second = ownership.nobody_left(caller, 2, first.next)
    assert [*first.memories, *second.memories] == made
    assert second.next is None


def test_an_owner_takes_over_what_nobody_can_administer(alice: Member, carol: Member, leaver: Member) -> None:
    memory = factories.memory(leaver)
    factories.grant(leaver, memory, carol, "read")
    members.deactivate(leaver)
    grant = ownership.take(factories.caller(alice), memory.id)
    assert (grant.principal, grant.held) == (alice.principal, Privilege.DELETE)
    assert at(alice, memory).privileges == Privilege.DELETE
    told = Event.objects.filter(memory_id=memory.id, action="memory.taken_over").get()
    assert (told.actor, told.subject) == (alice.principal, alice.principal)
    assert orphans(alice) == []


def test_taking_over_keeps_what_the_owner_was_granted(alice: Member, leaver: Member) -> None:
    memory = factories.memory(leaver)
    factories.grant(leaver, memory, alice, "read")
    members.deactivate(leaver)
    assert ownership.take(factories.caller(alice), memory.id).held == Privilege.READ | Privilege.DELETE


def test_nothing_else_can_be_taken(alice: Member, bob: Member, leaver: Member, mallory: Member) -> None:
    administered, theirs = factories.memory(bob), factories.memory(mallory)
    members.deactivate(mallory)
    for memory_id in (administered.id, theirs.id, "hmem_" + "0" * 32, "x"):
        with pytest.raises(MemoryNotFound):
            ownership.take(factories.caller(alice), memory_id)


def test_only_an_owner_sees_and_takes(bob: Member, carol: Member, leaver: Member) -> None:
    memory = factories.memory(leaver)
    factories.grant(leaver, memory, carol, "read")
    members.deactivate(leaver)
    with pytest.raises(MemoryForbidden):
        ownership.nobody_left(factories.caller(carol), 50)
    with pytest.raises(MemoryForbidden):
        ownership.take(factories.caller(carol), memory.id)
    with pytest.raises(MemoryForbidden):
        ownership.hand_over(factories.caller(carol), leaver, carol)


def test_handing_over_makes_somebody_else_the_creator(alice: Member, carol: Member, leaver: Member) -> None:
    memory, other = factories.memory(leaver), factories.memory(alice)
    assert ownership.hand_over(factories.caller(alice), leaver, carol) == 1
    assert at(carol, memory).privileges == Privilege.ALL
    with pytest.raises(MemoryNotFound):
        at(leaver, memory)
    assert at(alice, other).privileges == Privilege.ALL
    assert ownership.hand_over(factories.caller(alice), leaver, carol) == 0
    assert Event.objects.filter(action="memory.handed_over").count() == 1


def test_one_hands_over_to_somebody_else_who_is_active_and_at_home(
    alice: Member, carol: Member, leaver: Member, mallory: Member
) -> None:
    factories.memory(leaver)
    members.deactivate(carol)
    carol.refresh_from_db()
    for to in (leaver, carol):
        with pytest.raises(MemoryInvalid):
            ownership.hand_over(factories.caller(alice), leaver, to)
    for pair in ((leaver, mallory), (mallory, leaver)):
        with pytest.raises(MemoryNotFound):
            ownership.hand_over(factories.caller(alice), *pair)


def test_a_deleted_memory_is_not_handed_over_or_reported(alice: Member, carol: Member, leaver: Member) -> None:
    memory = factories.memory(leaver)
    tree.delete(at(leaver, memory))
    assert ownership.hand_over(factories.caller(alice), leaver, carol) == 0
    members.deactivate(leaver)
    assert orphans(alice) == []


def test_a_key_is_refused_from_its_end_on(api: Api, carol: Member) -> None:
    issued = members.issue_key(carol, expires_at=timezone.now() + timedelta(hours=1))
    headers = {"Authorization": f"Bearer {issued.token}"}
    assert api.call("GET", "/v1/memories", headers=headers).status == 200
    Credential.objects.filter(pk=issued.credential.pk).update(expires_at=timezone.now())
    ended = api.call("GET", "/v1/memories", headers=headers)
    made_up = api.call("GET", "/v1/memories", headers={"Authorization": "Bearer hw_made_up"})
    assert (ended.status, ended.raw) == (401, made_up.raw)


def test_a_person_joins_by_a_link_once(organisation: Organisation, team: Group) -> None:
    invited = members.invite(organisation, name="Ann", email="Ann@Example.com", groups=[team])
    assert invited.token.encode() not in bytes(invited.invitation.digest)
    ann = members.accept_invitation(invited.token, password="correct horse 1")
    assert (ann.name, ann.type, ann.organisation, ann.is_owner) == ("Ann", "human", organisation, False)
    assert list(ann.groups.all()) == [team]
    assert authenticate(None, email="ann@example.com", password="correct horse 1") == ann.user
    with pytest.raises(Refused):
        members.accept_invitation(invited.token, password="correct horse 1")


def test_a_link_without_an_address_asks_for_one(organisation: Organisation) -> None:
    invited = members.invite(organisation, name="Ann")
    with pytest.raises(Refused) as refused:
        members.accept_invitation(invited.token, password="correct horse 1")
    assert refused.value.field == "email"
    assert members.accept_invitation(invited.token, email="ann@example.com", password="correct horse 1").user


def test_a_link_for_one_address_is_no_use_to_another(organisation: Organisation) -> None:
    invited = members.invite(organisation, name="Ann", email="ann@example.com")
    other = User.objects.create_user("ben@example.com", "correct horse 1")
    with pytest.raises(Refused):
        members.accept_invitation(invited.token, user=other)
    with pytest.raises(Refused):
        members.accept_invitation(invited.token, email="ben@example.com", password="x")
    assert not Member.objects.filter(name="Ann").exists()


def test_whoever_has_an_account_signs_in_to_accept(organisation: Organisation) -> None:
    user = User.objects.create_user("ann@example.com", "correct horse 1")
    invited = members.invite(organisation, name="Ann", email="ann@example.com")
    with pytest.raises(Refused):
        members.accept_invitation(invited.token, password="stolen horse 2")
    assert members.accept_invitation(invited.token, user=user).user == user
    assert authenticate(None, email="ann@example.com", password="stolen horse 2") is None


def test_a_link_that_is_unknown_used_withdrawn_or_old_is_refused_alike(organisation: Organisation) -> None:
    used, withdrawn, old = (members.invite(organisation, name=name) for name in ("A", "B", "C"))
    members.accept_invitation(used.token, email="a@example.com", password="correct horse 1")
    members.withdraw_invitation(withdrawn.invitation)
    Invitation.objects.filter(pk=old.invitation.pk).update(expires_at=timezone.now())
    said = set()
    for token in (used.token, withdrawn.token, old.token, "made-up", ""):
        with pytest.raises(Refused) as refused:
            members.open_invitation(token)
        said.add(str(refused.value))
    assert len(said) == 1


def test_an_invitation_is_to_groups_of_its_organisation(organisation: Organisation, mallory: Member) -> None:
    everyone = organisation.groups.get(is_everyone=True)
    for group in (factories.group(mallory.organisation), everyone):
        with pytest.raises(Refused):
            members.invite(organisation, name="Ann", groups=[group])
    with pytest.raises(Refused):
        members.invite(organisation, name="Ann", email="no address")
