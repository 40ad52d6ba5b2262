"""Organisations, members, groups and keys: what each verb does, refuses, and takes effect on."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.utils import timezone

from members import credentials
from members import services as members
from members.callers import caller_for, principals_by_member
from members.ids import NOBODY, digits, mint, to_uuid
from members.models import Credential, Group, Member, Membership, Organisation, User
from members.services import Refused
from tests import factories
from tests.conftest import Api

pytestmark = pytest.mark.django_db


def test_an_organisation_begins_with_everyone(db: None) -> None:
    acme = members.found_organisation(" Acme & Sons ")
    assert (acme.name, acme.slug) == ("Acme & Sons", "acme-sons")
    assert [(group.name, group.is_everyone) for group in acme.groups.all()] == [("everyone", True)]


def test_organisations_of_one_name_have_two_slugs(db: None) -> None:
    assert [members.found_organisation("Acme").slug for _ in range(3)] == ["acme", "acme-2", "acme-3"]
    assert members.found_organisation("日本").slug == "organisation"


@pytest.mark.parametrize("name", ["", "   ", "n" * 121, "a\0b", "a\ud800b"])
def test_a_name_is_one_to_120_characters_that_can_be_kept(organisation: Organisation, name: str) -> None:
    with pytest.raises(Refused):
        members.found_organisation(name)
    with pytest.raises(Refused):
        members.join(organisation, name=name, type="human")
    with pytest.raises(Refused):
        members.create_group(organisation, name)
    assert Organisation.objects.count() == 1


def test_a_member_is_a_human_or_an_agent(organisation: Organisation) -> None:
    with pytest.raises(Refused) as refused:
        members.join(organisation, name="Rex", type="dog")
    assert refused.value.field == "type"


def test_a_person_may_be_a_member_of_several_organisations(organisation: Organisation) -> None:
    here = members.join(organisation, name="Ann", type="human", email="Ann@Example.com", password="correct horse 1")
    elsewhere = members.join(factories.organisation(), name="Ann", type="human", email="ann@example.com")
    assert here.user == elsewhere.user
    assert User.objects.count() == 1
    assert authenticate(None, email="ann@example.com", password="correct horse 1") == here.user


def test_a_second_membership_does_not_change_the_password(organisation: Organisation) -> None:
    members.join(organisation, name="Ann", type="human", email="ann@example.com", password="correct horse 1")
    members.join(factories.organisation(), name="Ann", type="human", email="ANN@example.com", password="stolen horse 2")
    assert authenticate(None, email="ann@example.com", password="stolen horse 2") is None


def test_a_person_joins_an_organisation_once(organisation: Organisation) -> None:
    members.join(organisation, name="Ann", type="human", email="ann@example.com")
    with pytest.raises(Refused) as refused:
        members.join(organisation, name="Ann again", type="human", email="ANN@example.com")
    assert refused.value.field == "email"
    assert Member.objects.count() == 1


@pytest.mark.parametrize("email", ["ann", "ann@", "a b@example.com", "ann@example.com\n.org", "a\0@example.com"])
def test_an_email_is_an_email(organisation: Organisation, email: str) -> None:
    with pytest.raises(Refused):
        members.join(organisation, name="Ann", type="human", email=email)
    assert not User.objects.exists()


def test_a_caller_counts_as_itself_its_groups_and_everyone(organisation: Organisation) -> None:
    ann, ben = factories.member(organisation), factories.member(organisation, type="agent")
    sales, law = factories.group(organisation, ann, ben), factories.group(organisation, ann)
    factories.group(organisation)
    everyone = organisation.groups.get(is_everyone=True)
    assert caller_for(ann).principals == {ann.principal, sales.principal, law.principal, everyone.principal}
    assert caller_for(ben).principals == {ben.principal, sales.principal, everyone.principal}
    assert principals_by_member(organisation.id) == {one: caller_for(one).principals for one in (ann, ben)}


def test_principals_are_kind_and_id(organisation: Organisation) -> None:
    ann = factories.member(organisation)
    assert ann.principal == f"member:{ann.id}"
    assert factories.group(organisation).principal.startswith("group:grp_")


def test_everyone_is_of_one_organisation(organisation: Organisation) -> None:
    ann, other = factories.member(organisation), factories.member(factories.organisation())
    assert not caller_for(ann).principals & caller_for(other).principals


def test_a_group_name_is_taken_whatever_its_case(organisation: Organisation) -> None:
    members.create_group(organisation, "Sales")
    for name in ("sales", "EVERYONE"):
        with pytest.raises(Refused):
            members.create_group(organisation, name)
    assert members.create_group(factories.organisation(), "Sales")


def test_a_group_takes_members_of_its_organisation_only(organisation: Organisation) -> None:
    outsider = factories.member(factories.organisation())
    with pytest.raises(Refused):
        members.add_to_group(factories.group(organisation), outsider)
    with pytest.raises(Refused):
        members.create_group(organisation, "Mixed", [outsider])
    assert not Membership.objects.exists()
    assert not Group.objects.filter(name="Mixed").exists()


def test_joining_and_leaving_twice_change_nothing(organisation: Organisation) -> None:
    ann = factories.member(organisation)
    sales = factories.group(organisation, ann)
    members.add_to_group(sales, ann)
    assert Membership.objects.count() == 1
    members.remove_from_group(sales, ann)
    members.remove_from_group(sales, ann)
    assert sales.principal not in caller_for(ann).principals


def test_nobody_joins_or_leaves_everyone(organisation: Organisation) -> None:
    everyone, ann = organisation.groups.get(is_everyone=True), factories.member(organisation)
    with pytest.raises(Refused):
        members.add_to_group(everyone, ann)
    with pytest.raises(Refused):
        members.remove_from_group(everyone, ann)


def test_a_key_is_kept_as_a_hash_and_shown_once(organisation: Organisation) -> None:
    issued = members.issue_key(factories.member(organisation), "Laptop")
    kept = Credential.objects.get()
    assert re.fullmatch(r"hw_[\w-]{43}", issued.token)
    assert issued.token.startswith(kept.prefix)
    assert len(kept.prefix) < 12
    assert bytes(kept.digest) == credentials.digest(issued.token)
    assert issued.token not in str(Credential.objects.values().get())


def test_a_key_acts_as_its_member(api: Api, alice: Member) -> None:
    memory = factories.memory(alice)
    assert api.call("GET", f"/v1/memories/{memory.id}", as_=alice).status == 200


def test_a_revoked_key_is_refused_on_the_next_request(api: Api, alice: Member) -> None:
    api.get("/v1/memories", alice)
    members.revoke_key(Credential.objects.get(member=alice))
    answer = api.call("GET", "/v1/memories", as_=alice)
    assert (answer.status, answer.error["code"]) == (401, "invalid_credential")


def test_a_deactivated_member_is_refused_on_the_next_request(api: Api, alice: Member) -> None:
    api.get("/v1/memories", alice)
    members.deactivate(alice)
    assert api.call("GET", "/v1/memories", as_=alice).status == 401
    members.reactivate(alice)
    assert api.call("GET", "/v1/memories", as_=alice).status == 200


def test_a_deactivated_member_is_not_among_those_who_reach_anything(organisation: Organisation) -> None:
    ann = factories.member(organisation)
    members.deactivate(ann)
    assert principals_by_member(organisation.id) == {}


def test_revoking_one_key_leaves_the_others(api: Api, alice: Member) -> None:
    other = members.issue_key(alice)
    api.get("/v1/memories", alice)
    members.revoke_key(other.credential)
    assert api.call("GET", "/v1/memories", as_=alice).status == 200


def test_the_last_use_of_a_key_is_noted_but_not_at_every_request(api: Api, alice: Member) -> None:
    api.get("/v1/memories", alice)
    first = Credential.objects.get(member=alice).last_used_at
    api.get("/v1/memories", alice)
    assert Credential.objects.get(member=alice).last_used_at == first is not None
    Credential.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    api.get("/v1/memories", alice)
    assert (Credential.objects.get(member=alice).last_used_at or first) > first


@pytest.mark.parametrize(
    "value", ["", "org_", "grp_" + "0" * 32, "org_" + "A" * 32, "org_" + "0" * 31, "org_\0", None, 5]
)
def test_an_id_of_another_shape_is_nobodys(value: object) -> None:
    assert to_uuid(value, "org_") == NOBODY


def test_ids_are_ordered_by_time() -> None:
    made = [mint("org_") for _ in range(50)]
    assert made == sorted(made)
    assert str(to_uuid(made[0], "org_")).replace("-", "") == made[0].removeprefix("org_")


def test_the_built_in_group_is_found_by_what_it_is_not_by_its_name(organisation: Organisation) -> None:
    everyone = Group.objects.get(organisation=organisation, is_everyone=True)
    assert everyone.name == Group.EVERYONE


def test_digits_are_those_of_ids_of_this_shape_alone() -> None:
    one, other = mint("hmem_"), mint("hmem_")
    wrong = ("", "hmem_", one[:-1], f"{one}0", one.upper(), one.replace("hmem_", "hrec_"), f"{one}\n", f"x{one}")
    assert digits([one, *wrong, other], "hmem_") == [one.removeprefix("hmem_"), other.removeprefix("hmem_")]
