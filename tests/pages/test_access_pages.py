"""The pages on access, without a browser: what they say, what they ask before a change, what they keep back."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.http import urlencode

from members import services as members
from members.models import Credential, Event, Group, Invitation, Member, User
from memories.access import Privilege
from memories.console.audit_export import harmless
from memories.models import Grant, Memory
from memories.services import records
from memories.services.sight import look
from tests import factories
from tests.pages.people import PASSWORD, client_of, tree_of

pytestmark = pytest.mark.django_db


def page(reader: Member, path: str, status: int = 200, **query: str) -> str:
    """The text of a page, its tags left out."""
    response = client_of(reader).get(path, query or None)
    assert response.status_code == status, response.content
    return words(response.content.decode())


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def at(memory: Memory, tab: str = "") -> str:
    return f"/console/{memory.organisation.slug}/memories/{memory.id}/{tab}".rstrip("/")


def at_member(member: Member, tab: str = "") -> str:
    return f"/console/{member.organisation.slug}/people/{member.id}/{tab}".rstrip("/")


def expected(html: bytes) -> str:
    found = re.search(rb'name="expected" value="(\w+)"', html)
    assert found
    return found[1].decode()


def confirm(who: Member, path: str, **answers: Any) -> Any:
    """Look at a question, and answer that it shall be done."""
    client = client_of(who)
    shown = client.get(path, {key: value for key, value in answers.items() if key in {"privileges", "to"}})
    return client.post(path, {"expected": expected(shown.content), **answers})


# Who, why and what.


def test_everyone_who_can_reach_is_shown_with_every_source(alice: Member, shared: Memory, team: Group) -> None:
    below = factories.memory(alice, shared, "Below")
    text = page(alice, at(below, "who"))
    for said in (
        "Alice",
        "Bob",
        "Agent",
        "Carol",
        "Team Shared read write create",
        "as its creator here",
        "has no key",
    ):
        assert said in text
    assert "Sam" not in text


def test_who_can_be_narrowed_by_name_and_type(alice: Member, shared: Memory) -> None:
    assert "Bob" not in page(alice, at(shared, "who"), q="car", type="human")
    text = page(alice, at(shared, "who"), type="agent")
    assert "Agent" in text
    assert "Carol" not in text
    assert "Nobody like that" in page(alice, at(shared, "who"), q="nobody")


def test_sources_out_of_sight_are_said_to_exist_and_not_named(alice: Member, carol: Member, team: Group) -> None:
    top = factories.memory(alice, name="Secret top")
    factories.grant(alice, top, team, "read")
    child = factories.memory(alice, top, "Child")
    factories.grant(alice, child, carol, "delete")
    for tab in ("who", f"why?principal={team.principal}&privilege=read"):
        text = page(carol, at(child, tab))
        assert "out of your sight" in text
        assert "Secret top" not in text


def test_the_past_is_shown_as_the_past(alice: Member, carol: Member, shared: Memory) -> None:
    factories.key(carol)
    then = timezone.now().isoformat()
    confirm(alice, at(shared, f"access/{Grant.objects.get(principal=carol.principal).id}/take-back"))
    assert "Carol" not in page(alice, at(shared, "who"))
    text = page(alice, at(shared, "who"), at=then)
    assert "Carol" in text
    assert "You are looking at the past" in text
    question = f"{at(shared, 'why')}?principal={carol.principal}&privilege=read"
    assert "Yes: Carol could read here" in page(alice, f"{question}&{urlencode({'at': then})}")
    assert "No: Carol cannot read here" in page(alice, question)
    assert "could" not in page(alice, at_member(carol, "reach"))


@pytest.mark.parametrize("instant", ["9000-01-01T00:00", "yesterday", "2026-02-31T00:00"])
def test_an_instant_that_cannot_be_asked_about_is_said_to_be_wrong(instant: str, alice: Member, shared: Memory) -> None:
    for path in (at(shared, "who"), at(shared, "why"), at_member(alice, "reach")):
        assert "aria-invalid" in client_of(alice).get(path, {"at": instant}).content.decode()


@pytest.mark.parametrize(
    ("who", "privilege", "said"),
    [
        ("alice", "delete", "this alone"),
        ("bob", "delete", "Nothing that is given here"),
        ("stranger", "write", "groups that"),
        ("carol", "read", "the branch is closed at Closed"),
    ],
)
def test_a_verdict_names_the_one_cause(
    who: str, privilege: str, said: str, alice: Member, shared: Memory, team: Group, request: pytest.FixtureRequest
) -> None:
    asked: Member = request.getfixturevalue(who)
    memory = shared
    if who == "carol":
        memory = factories.memory(alice, shared, "Closed", restricted=True)
    if who == "stranger":
        factories.grant(alice, shared, factories.group(alice.organisation, name="Writers"), "write")
    assert said in page(alice, at(memory, "why"), principal=asked.principal, privilege=privilege)


def test_what_somebody_reaches_is_a_tree_with_its_use(alice: Member, bob: Member, shared: Memory) -> None:
    below = factories.memory(alice, shared, "Below")
    factories.memory(alice, below, "Deepest")
    factories.grant(alice, below, bob, "delete")
    text = page(alice, at_member(bob, "reach"))
    assert "Shared" in text
    assert "Below" in text
    assert "Deepest" not in text
    assert "never used" in text
    assert "Deepest" in page(alice, at_member(bob, "reach"), show="all")
    members.deactivate(bob)
    assert "Deactivated: reaches nothing" in page(alice, at_member(bob, "reach"))


def test_what_others_reach_is_shown_only_where_one_looks_after_it(bob: Member, carol: Member, shared: Memory) -> None:
    assert "Shared" not in page(carol, at_member(bob, "reach"))
    assert "Shared" in page(carol, at_member(carol, "reach"))


# What is asked before a change.


def test_changing_what_a_grant_permits_is_asked_and_then_done(alice: Member, carol: Member, shared: Memory) -> None:
    grant = Grant.objects.get(principal=carol.principal)
    path = at(shared, f"access/{grant.id}/change")
    assert "will hold more than before" in page(alice, path, privileges="write")
    assert confirm(alice, path, privileges=["read", "write"]).status_code == 302
    grant.refresh_from_db()
    assert grant.held == Privilege.READ | Privilege.WRITE


def test_giving_less_than_was_given_is_asked_first(alice: Member, carol: Member, shared: Memory) -> None:
    factories.grant(alice, shared, carol, "read", "write")
    given = client_of(alice).post(at(shared, "access/give"), {"principal": carol.principal, "privileges": ["read"]})
    assert given.status_code == 302
    assert "/change?privileges=read" in given.headers["Location"]
    assert Grant.objects.get(principal=carol.principal).held == Privilege.READ | Privilege.WRITE


def test_a_change_is_not_made_when_something_else_changed_since(alice: Member, carol: Member, shared: Memory) -> None:
    client, path = client_of(alice), at(shared, "restrict")
    child = factories.memory(alice, shared, "Child")
    path = at(child, "restrict")
    shown = expected(client.get(path).content)
    factories.grant(alice, shared, factories.member(alice.organisation, "Late"), "read")
    answer = client.post(path, {"expected": shown})
    assert answer.status_code == 422
    assert "Something changed since this was shown" in answer.content.decode()
    assert not Memory.objects.get(pk=child.id).restricted


def test_leaving_a_memory_without_anybody_takes_a_second_step(alice: Member, bob: Member, shared: Memory) -> None:
    orphan = factories.memory(bob, shared, "Orphan", restricted=True)
    path = at_member(bob, "deactivate")
    first = confirm(alice, path)
    assert first.status_code == 200
    assert "Nobody will be able to administer this any more" in words(first.content.decode())
    bob.refresh_from_db()
    assert bob.is_active
    answers = {"expected": expected(first.content), "confirm_orphans": "yes"}
    assert client_of(alice).post(path, answers).status_code == 302
    bob.refresh_from_db()
    assert not bob.is_active
    report = page(alice, f"{tree_of(alice)}/without-anybody")
    assert "Orphan" in report
    taken = client_of(alice).post(at(orphan, "take-over"))
    assert taken.status_code == 302
    assert "took over the administration" in page(alice, at(orphan))
    assert "All is looked after" in page(alice, f"{tree_of(alice)}/without-anybody")
    assert client_of(alice).post(at(orphan, "take-over")).status_code == 404


def test_what_concerns_many_has_to_be_typed(alice: Member, shared: Memory) -> None:
    crowd = factories.group(alice.organisation, *(factories.member(alice.organisation) for _ in range(25)))
    grant = factories.grant(alice, shared, crowd, "read")
    path = at(shared, f"access/{grant.id}/take-back")
    assert "Type Shared to confirm" in page(alice, path)
    assert confirm(alice, path, confirm="Sharde").status_code == 422
    assert Grant.objects.filter(pk=grant.id).exists()
    assert confirm(alice, path, confirm="Shared").status_code == 302
    assert not Grant.objects.filter(pk=grant.id).exists()


def test_taking_somebody_out_of_a_group_says_what_they_lose(
    alice: Member, bob: Member, shared: Memory, team: Group
) -> None:
    factories.record(alice, shared)
    path = f"/console/{alice.organisation.slug}/groups/{team.id}/remove/{bob.id}"
    text = page(alice, path)
    assert "1 person will lose access" in text
    assert "It concerns 1 memory with 1 record." in text
    assert confirm(alice, path).status_code == 302
    assert not team.members.filter(pk=bob.id).exists()


def test_a_move_is_found_shown_and_done(alice: Member, bob: Member, carol: Member, shared: Memory) -> None:
    target = factories.memory(alice, name="Target")
    moved = factories.memory(alice, shared, "Moved")
    assert "Target" in page(alice, at(moved, "move"), q="targ")
    assert "Target" not in page(bob, at(factories.memory(bob, shared), "move"))
    assert "2 people and 1 agent will lose access" in page(alice, at(moved, "move"), to=target.id)
    assert confirm(alice, at(moved, "move"), to=target.id).status_code == 302
    assert Memory.objects.get(pk=moved.id).parent_id == target.id
    assert "at the top" in page(alice, at(moved, "move"), to="top")
    assert "cannot be moved under itself" in page(alice, at(target, "move"), 422, to=moved.id)


def test_a_place_that_is_not_seen_is_one_that_is_not_there(alice: Member, stranger: Member, shared: Memory) -> None:
    unseen = factories.memory(stranger)
    texts = {page(alice, at(shared, "move"), 422, to=to).replace(to, "") for to in (unseen.id, "hmem_" + "0" * 32)}
    assert len(texts) == 1


# View as.


def test_viewing_as_an_agent_shows_its_tree_its_records_and_its_recall(
    alice: Member, agent: Member, shared: Memory
) -> None:
    factories.memory(alice, shared, "Kept back", restricted=True)
    factories.record(alice, shared, "The kiln is lit on Mondays.", title="Kiln")
    start = f"/console/{alice.organisation.slug}/as/{agent.id}"
    text = page(alice, start)
    assert "Viewing as Agent" in text
    assert "Shared" in text
    text = page(alice, f"{start}/memories/{shared.id}")
    assert "Kiln" in text
    assert "Kept back" not in text
    assert "The kiln is lit on Mondays." in page(alice, f"{start}/memories/{shared.id}", q="when is the kiln lit")
    seen = Event.objects.of(alice.organisation_id).filter(action="viewed.as").order_by("id")
    assert [(one.memory_id, one.detail) for one in seen] == [("", {}), (shared.id, {}), (shared.id, {"recalled": True})]


def test_looking_as_somebody_changes_nothing_of_when_they_last_read(
    alice: Member, agent: Member, shared: Memory
) -> None:
    for asked in ({}, {"q": "words"}):
        client_of(alice).get(f"/console/{alice.organisation.slug}/as/{agent.id}/memories/{shared.id}", asked)
    assert "never used" in page(alice, at_member(agent, "reach"))


# The audit log.


def test_the_log_of_a_memory_says_who_did_what(alice: Member, carol: Member, shared: Memory) -> None:
    text = page(alice, at(shared, "audit"))
    assert "Access given Carol (Person) read" in text
    assert "Memory created at the top" in text
    assert "Access given" not in page(alice, at(shared, "audit"), action="memory.created").replace(
        "Access given ", "", 1
    )
    assert "No event fits" in page(alice, at(shared, "audit"), who="Carol")
    tomorrow = (timezone.localdate() + timedelta(days=1)).isoformat()
    assert "No event fits" in page(alice, at(shared, "audit"), since=tomorrow)
    assert "Access given Carol" in page(alice, at(shared, "audit"), until=timezone.localdate().isoformat())


def test_an_owner_learns_nothing_of_memories_out_of_sight(alice: Member, stranger: Member) -> None:
    secret = factories.memory(stranger, name="Secret plans")
    text = page(alice, f"/console/{alice.organisation.slug}/audit")
    assert "at a memory that you may not see" in text
    for kind in ("csv", "jsonl"):
        text += exported(alice, f"/console/{alice.organisation.slug}/audit", kind)
    assert "Secret plans" not in text
    assert secret.id not in text


def test_the_log_of_a_memory_does_not_name_what_is_above_out_of_sight(alice: Member, carol: Member) -> None:
    top = factories.memory(alice, name="Secret top")
    child = factories.memory(alice, top, "Child")
    factories.grant(alice, child, carol, "delete")
    text = page(carol, at(child, "audit")) + exported(carol, at(child, "audit"), "jsonl")
    assert "below a memory that you may not see" in text
    assert "Secret top" not in text
    assert top.id not in text


def exported(who: Member, path: str, kind: str, **query: str) -> str:
    response: Any = client_of(who).get(path, {"format": kind, **query})
    assert response.status_code == 200
    assert f".{kind}" in response.headers["Content-Disposition"]
    return b"".join(response.streaming_content).decode()


def test_the_log_is_exported_whole_and_no_cell_is_a_formula(alice: Member, shared: Memory) -> None:
    named = factories.member(alice.organisation, "=HYPERLINK(1)")
    factories.grant(alice, shared, named, "read")
    path = f"/console/{alice.organisation.slug}/audit"
    total = Event.objects.of(alice.organisation_id).count()
    rows = list(csv.DictReader(io.StringIO(exported(alice, path, "csv"))))
    assert len(rows) == total
    assert "'=HYPERLINK(1)" in {row["subject_name"] for row in rows}
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@" and cell]
    lines = [json.loads(line) for line in exported(alice, path, "jsonl").splitlines()]
    assert len(lines) == total
    assert lines[-1]["detail"]["privileges"] == ["read"]
    assert [one["action"] for one in lines] == [row["action"] for row in rows]
    only = exported(alice, path, "jsonl", action="grant.given").splitlines()
    assert {json.loads(line)["action"] for line in only} == {"grant.given"}


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\tx", "\rx", "\nx"])
def test_a_cell_that_a_spreadsheet_would_compute_is_made_harmless(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"
    assert harmless("a=1") == "a=1"


# Members.


def test_a_person_joins_by_a_link_once(alice: Member, team: Group, shared: Memory) -> None:
    made = client_of(alice).post(
        f"/console/{alice.organisation.slug}/people/invite", {"name": "Nina", "groups": [team.id]}
    )
    link = re.search(r'value="http://testserver([^"]+/join/[^"]+)"', made.content.decode())
    assert link
    newcomer = Client()
    assert "Join Acme" in words(newcomer.get(link[1]).content.decode())
    joined = newcomer.post(link[1], {"email": "nina@example.com", "password": PASSWORD})
    assert joined.status_code == 302
    assert "Shared" in newcomer.get(joined.headers["Location"]).content.decode()
    assert Member.objects.get(name="Nina").user == User.objects.get(email="nina@example.com")
    again = Client().get(link[1])
    assert again.status_code == 404
    assert again.headers["Referrer-Policy"] == "same-origin"


def test_a_link_for_one_address_lets_nobody_else_in(alice: Member, mallory: Member) -> None:
    invited = members.invite(alice.organisation, name="Nina", email="nina@example.com")
    path = f"/console/{alice.organisation.slug}/join/{invited.token}"
    wrong = client_of(mallory).post(path)
    assert wrong.status_code == 422
    assert "another email address" in wrong.content.decode()
    elsewhere = f"/console/{mallory.organisation.slug}/join/{invited.token}"
    assert Client().get(elsewhere).status_code == 404
    assert Client().get(f"{path}x").status_code == 404


def test_an_invitation_is_withdrawn(alice: Member) -> None:
    invited = members.invite(alice.organisation, name="Nina")
    slug = alice.organisation.slug
    client_of(alice).post(f"/console/{slug}/people/invite/{invited.invitation.id}/withdraw")
    assert Client().get(f"/console/{slug}/join/{invited.token}").status_code == 404
    assert Invitation.objects.get().withdrawn_at is not None


def test_a_key_has_an_end(alice: Member, agent: Member) -> None:
    client_of(alice).post(at_member(agent), {"name": "Short", "days": "30"})
    key = Credential.objects.get(member=agent)
    assert key.expires_at
    assert timedelta(days=29) < key.expires_at - timezone.now() < timedelta(days=31)
    assert client_of(alice).post(at_member(agent), {"name": "Odd", "days": "31"}).status_code == 422


def test_what_a_leaving_member_made_is_handed_over(alice: Member, bob: Member, carol: Member, shared: Memory) -> None:
    made = factories.memory(bob, shared, "Made by Bob")
    path = at_member(bob, "hand-over")
    assert "created 1 memory" in page(alice, path)
    assert client_of(alice).post(path, {"to": carol.id}).status_code == 302
    assert Memory.objects.get(pk=made.id).creator == carol.principal


# What pages cost.


def grow(alice: Member, shared: Memory, rows: int) -> None:
    for _ in range(rows):
        below = factories.memory(alice, shared)
        factories.grant(alice, below, factories.group(alice.organisation, factories.member(alice.organisation)), "read")
        factories.grant(alice, shared, factories.member(alice.organisation), "read")
        records.forget(look(factories.caller(alice), below.id), factories.record(alice, below).id)


def test_pages_cost_the_same_queries_however_much_there_is(
    alice: Member, agent: Member, shared: Memory, team: Group
) -> None:
    slug = alice.organisation.slug
    then = urlencode({"at": timezone.now().isoformat()})
    grant = Grant.objects.get(principal=team.principal)
    paths = [
        *(at(shared, tab) for tab in ("who", "access", "audit", "move", "restrict", "delete")),
        *(f"{at(shared, tab)}?{then}" for tab in ("who", "why")),
        f"{at(shared, 'why')}?principal={agent.principal}&privilege=read",
        f"{at(shared, f'access/{grant.id}/change')}?privileges=read",
        *(f"{at_member(agent)}/{tab}" for tab in ("reach", "reach?show=all", "deactivate")),
        f"/console/{slug}/groups/{team.id}/reach",
        f"/console/{slug}/as/{agent.id}",
        f"/console/{slug}/as/{agent.id}/memories/{shared.id}",
        f"/console/{slug}/audit",
        f"{tree_of(alice)}/find?q=memory",
        f"{tree_of(alice)}/without-anybody",
    ]
    client = client_of(alice)

    def costs() -> dict[str, int]:
        found = {}
        for path in paths:
            with CaptureQueriesContext(connection) as queries:
                assert client.get(path).status_code == 200, path
            found[path] = len(queries)
        return found

    client.get(tree_of(alice))
    grow(alice, shared, 3)
    before = costs()
    grow(alice, shared, 9)
    assert costs() == before
