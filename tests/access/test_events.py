"""Every verb that changes who may do what, or what there is, says so in the transaction that does it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from types import ModuleType

import pytest
from django.db import transaction
from django.utils import timezone

from members import services as members
from members.callers import Caller, caller_for
from members.events import Actor, Origin
from members.models import Credential, Event, Group, Member, Organisation
from memories.access import Privilege
from memories.models import Grant, Memory
from memories.services import grants, ownership, tree
from memories.services.sight import Place, look
from tests import factories

pytestmark = pytest.mark.django_db

ACTOR = Actor("member:somebody", Origin("console", "192.0.2.1"))


class Scene:
    """What the verbs are done to."""

    def __init__(self, organisation: Organisation, alice: Member, bob: Member, team: Group, shared: Memory) -> None:
        self.organisation, self.alice, self.bob, self.team, self.shared = organisation, alice, bob, team, shared

    @property
    def caller(self) -> Caller:
        return Caller(self.alice, caller_for(self.alice).principals, ACTOR.origin)

    @property
    def place(self) -> Place:
        return look(self.caller, self.shared.id)

    def orphan(self) -> Memory:
        leaver = factories.member(self.organisation)
        memory = factories.memory(leaver)
        members.deactivate(leaver)
        return memory


@pytest.fixture
def scene(organisation: Organisation, alice: Member, bob: Member, team: Group, shared: Memory) -> Scene:
    return Scene(organisation, alice, bob, team, shared)


def took_over(scene: Scene) -> None:
    ownership.take(scene.caller, scene.orphan().id)


def some_grant(scene: Scene) -> str:
    return Grant.objects.filter(memory=scene.shared).earliest("id").id


def reactivated(scene: Scene) -> None:
    members.deactivate(scene.bob, actor=ACTOR)
    members.reactivate(scene.bob, actor=ACTOR)


def withdrawn(scene: Scene) -> None:
    members.withdraw_invitation(members.invite(scene.organisation, name="Ann").invitation, actor=ACTOR)


def accepted(scene: Scene) -> None:
    invited = members.invite(scene.organisation, name="Ann", email="ann@example.com")
    members.accept_invitation(invited.token, password="correct horse 1", actor=ACTOR)


Verb = Callable[[Scene], object]
VERBS: dict[str, tuple[Verb, list[str]]] = {
    "tree.create": (lambda s: tree.create(s.caller, name="New", parent_id=s.shared.id), ["memory.created"]),
    "tree.change name": (lambda s: tree.change(s.place, name="Other"), ["memory.renamed"]),
    "tree.change description": (lambda s: tree.change(s.place, description="Other"), ["memory.renamed"]),
    "tree.change restricted": (lambda s: tree.change(s.place, restricted=True), ["memory.restricted"]),
    "tree.change parent": (
        lambda s: tree.change(s.place, parent_id=factories.memory(s.alice).id),
        ["memory.created", "memory.moved"],
    ),
    "tree.delete": (lambda s: tree.delete(s.place), ["memory.deleted"]),
    "grants.give": (lambda s: grants.give(s.place, s.bob.principal, Privilege.READ), ["grant.given"]),
    "grants.take_back": (lambda s: grants.take_back(s.place, some_grant(s)), ["grant.taken_back"]),
    "ownership.take": (
        took_over,
        ["member.joined", "memory.created", "member.deactivated", "memory.taken_over", "grant.given"],
    ),
    "ownership.hand_over": (lambda s: ownership.hand_over(s.caller, s.alice, s.bob), ["memory.handed_over"]),
    "members.join": (
        lambda s: members.join(s.organisation, name="Ann", type="human", groups=[s.team], actor=ACTOR),
        ["member.joined", "group.joined"],
    ),
    "members.create_group": (
        lambda s: members.create_group(s.organisation, "New", [s.bob], actor=ACTOR),
        ["group.created", "group.joined"],
    ),
    "members.add_to_group": (lambda s: members.add_to_group(s.team, s.alice, actor=ACTOR), ["group.joined"]),
    "members.remove_from_group": (lambda s: members.remove_from_group(s.team, s.bob, actor=ACTOR), ["group.left"]),
    "members.issue_key": (lambda s: members.issue_key(s.bob, actor=ACTOR), ["key.issued"]),
    "members.revoke_key": (
        lambda s: members.revoke_key(members.issue_key(s.bob).credential, actor=ACTOR),
        ["key.issued", "key.revoked"],
    ),
    "members.deactivate": (lambda s: members.deactivate(s.bob, actor=ACTOR), ["member.deactivated"]),
    "members.retire": (lambda s: members.retire(s.bob, actor=ACTOR), ["member.deactivated"]),
    "members.reactivate": (reactivated, ["member.deactivated", "member.reactivated"]),
    "members.invite": (lambda s: members.invite(s.organisation, name="Ann", actor=ACTOR), ["member.invited"]),
    "members.withdraw_invitation": (withdrawn, ["member.invited", "member.uninvited"]),
    "members.accept_invitation": (accepted, ["member.invited", "member.joined"]),
}

# They found an organisation, which has no events before; or answer a question; or are steps inside a verb.
ELSEWHERE = {"members.found_organisation"}
NO_VERBS = {
    "tree": {
        "cancel_queued", "chosen_provider", "describe", "fell", "happened", "move", "movable_to", "require_depth",
        "require_idle", "require_root", "seen_parent_id",
    },
    "grants": {"on", "put", "read_principal", "read_privileges", "unknown"},
    "ownership": {"acting_principals", "nobody_left", "unadministered"},
    "members": {"account", "named", "open_invitation"},
}  # fmt: skip


def verbs_of(module: ModuleType, name: str) -> set[str]:
    functions = inspect.getmembers(module, inspect.isfunction)
    own = {one for one, function in functions if function.__module__ == module.__name__ and not one.startswith("_")}
    return {f"{name}.{one}" for one in own - NO_VERBS[name]}


def test_every_verb_is_tried_here() -> None:
    modules = {"tree": tree, "grants": grants, "ownership": ownership, "members": members}
    verbs = {verb for name, module in modules.items() for verb in verbs_of(module, name)}
    assert verbs == {verb.partition(" ")[0] for verb in VERBS} | ELSEWHERE


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_appends_what_it_did_and_who_did_it(scene: Scene, name: str) -> None:
    verb, expected = VERBS[name]
    before = set(Event.objects.values_list("id", flat=True))
    verb(scene)
    appended = list(Event.objects.exclude(id__in=before).order_by("id"))
    assert [event.action for event in appended] == expected
    last = appended[-1]
    assert last.organisation_id == scene.organisation.id
    assert (last.via, last.address) == ("console", "192.0.2.1")
    assert last.actor in {ACTOR.principal, scene.alice.principal}
    if last.action.startswith(("memory.", "grant.")) and last.action != "memory.handed_over":
        assert last.memory_id.startswith("hmem_")


@pytest.mark.parametrize("name", VERBS)
def test_what_is_undone_leaves_no_event(scene: Scene, name: str) -> None:
    before = Event.objects.count()
    with transaction.atomic():
        VERBS[name][0](scene)
        transaction.set_rollback(True)
    assert Event.objects.count() == before


def test_an_organisation_begins_with_two_events(db: None) -> None:
    organisation = members.found_organisation("Acme", actor=ACTOR)
    events = list(Event.objects.of(organisation.id).order_by("id").values_list("action", flat=True))
    assert events == ["organisation.founded", "group.created"]


def test_what_changes_nothing_says_nothing(scene: Scene) -> None:
    members.deactivate(members.join(scene.organisation, name="Gone", type="human"))
    gone = Member.objects.get(name="Gone")
    key = members.issue_key(scene.bob).credential
    members.revoke_key(key)
    before = Event.objects.count()
    members.add_to_group(scene.team, scene.bob)
    members.remove_from_group(scene.team, scene.alice)
    members.deactivate(gone)
    members.reactivate(scene.bob)
    members.revoke_key(key)
    tree.change(scene.place, name=scene.shared.name, restricted=False)
    assert Event.objects.count() == before


def test_a_grant_says_what_was_there_before(scene: Scene) -> None:
    given = grants.give(scene.place, scene.bob.principal, Privilege.READ)
    grants.give(scene.place, scene.bob.principal, Privilege.READ | Privilege.WRITE)
    first, second = Event.objects.filter(action="grant.given", subject=scene.bob.principal).order_by("id")
    assert (first.detail["before"], second.detail["before"]) == ([], ["read"])
    assert second.detail["privileges"] == ["read", "write"]
    assert second.detail["grant"] == given.id


def test_what_a_memory_says_of_itself_stays_out_of_the_events(scene: Scene) -> None:
    tree.change(scene.place, description="Only for those who see it.")
    assert not Event.objects.filter(detail__icontains="Only for those").exists()


def test_a_key_ends_when_it_says(scene: Scene) -> None:
    soon = timezone.now() + timedelta(hours=1)
    issued = members.issue_key(scene.bob, expires_at=soon)
    assert Credential.objects.live().filter(pk=issued.credential.pk).exists()
    with pytest.raises(members.Refused):
        members.issue_key(scene.bob, expires_at=timezone.now() - timedelta(seconds=1))
