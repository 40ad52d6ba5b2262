from __future__ import annotations

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from members import authentication
from members.models import Group, Member, Organisation, User
from tests import factories

PROJECT = Path(__file__).resolve().parent.parent


def run(command: str, *arguments: str) -> str:
    """What a command prints; what it says beside that must be nothing."""
    output, errors = StringIO(), StringIO()
    call_command(command, *arguments, stdout=output, stderr=errors)
    assert errors.getvalue() == ""
    return output.getvalue()


def ask(command: str, *arguments: str) -> dict[str, Any]:
    """What a command answers with --json, which must be one line and nothing else."""
    printed = run(command, *arguments, "--json")
    assert printed.count("\n") == 1
    answer: dict[str, Any] = json.loads(printed)
    return answer


def refusal(command: str, *arguments: str) -> str:
    """The sentence with which a command refuses; it must print nothing."""
    output = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(command, *arguments, stdout=output)
    assert output.getvalue() == ""
    return str(caught.value)


@pytest.fixture
def organisation(db: None) -> Organisation:
    return factories.organisation("Tide & Timber")


@pytest.mark.django_db
class TestCreateOrganisation:
    def test_prints_the_organisation_its_owner_and_a_key_that_works(self) -> None:
        answer = ask(
            "create_organisation", "Tide & Timber", "--owner-email", "Una.Berg@tide.example", "--owner-password", "oak"
        )

        made = Organisation.objects.get()
        owner = authentication.find(answer["api_key"]).member
        assert answer == {
            "organisation": {"id": made.id, "name": "Tide & Timber", "slug": "tide-timber"},
            "member": {"id": owner.id, "principal": f"member:{owner.id}", "type": "human"},
            "api_key": answer["api_key"],
        }
        assert owner.is_owner
        assert owner.name == "Una Berg"
        assert User.objects.get(email="una.berg@tide.example").check_password("oak")
        assert Group.objects.get(is_everyone=True).organisation == made

    def test_makes_up_a_password_and_prints_it_for_a_person(self) -> None:
        lines = dict(
            line.split("  ", 1)
            for line in run("create_organisation", "Tide", "--owner-email", "una@tide.example").splitlines()
        )

        assert User.objects.get().check_password(lines["Password"].strip())
        assert authentication.find(lines["API key"].strip()).member.organisation.name == "Tide"

    def test_with_json_a_made_up_password_goes_to_standard_error(self) -> None:
        output, errors = StringIO(), StringIO()
        call_command(
            "create_organisation", "Tide", "--owner-email", "una@tide.example", "--json", stdout=output, stderr=errors
        )

        assert set(json.loads(output.getvalue())) == {"organisation", "member", "api_key"}
        said = errors.getvalue().strip()
        assert said.startswith("The password of una@tide.example is ")
        assert User.objects.get().check_password(said.rsplit(" ", 1)[1])

    def test_a_person_owns_a_second_organisation_with_the_account_they_have(self) -> None:
        ask("create_organisation", "Tide", "--owner-email", "una@tide.example", "--owner-password", "first")
        output, errors = StringIO(), StringIO()
        call_command(
            *(
                "create_organisation",
                "Tide",
                "--owner-email",
                "UNA@tide.example",
                "--owner-password",
                "second",
                "--json",
            ),
            stdout=output,
            stderr=errors,
        )

        assert json.loads(output.getvalue())["organisation"]["slug"] == "tide-2"
        assert errors.getvalue() == "una@tide.example already has an account, which keeps its password.\n"
        assert User.objects.get().check_password("first")

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ((" ", "--owner-email", "una@tide.example"), "A name has 1 to 120 characters."),
            (("x" * 121, "--owner-email", "una@tide.example"), "A name has 1 to 120 characters."),
            (("\udcff", "--owner-email", "una@tide.example"), "Text holds half of a surrogate pair."),
            (("Tide", "--owner-email", "una"), "'una' is not an email address."),
            (("Tide", "--owner-email", ""), "An email address has 1 to 254 characters."),
            (("Tide", "--owner-email", f"{'u' * 60}@{'t.' * 98}example"), "An email address has 1 to 254 characters."),
            (
                ("Tide", "--owner-email", "una@tide.example", "--owner-password", ""),
                "A password cannot be empty or hold what is not text.",
            ),
        ],
    )
    def test_refuses_in_one_sentence_and_leaves_nothing(self, arguments: tuple[str, ...], sentence: str) -> None:
        assert refusal("create_organisation", *arguments) == sentence
        assert not Organisation.objects.exists()
        assert not User.objects.exists()


class TestCreateMember:
    def test_an_agent_gets_a_key_and_the_groups_named(self, organisation: Organisation) -> None:
        crew, night = factories.group(organisation), factories.group(organisation)
        answer = ask(
            *("create_member", organisation.slug, "--name", "Planner", "--type", "agent"),
            *("--group", crew.id, "--group", night.id),
        )

        member = authentication.find(answer["api_key"]).member
        assert answer["member"] == {
            "id": member.id,
            "principal": f"member:{member.id}",
            "type": "agent",
            "name": "Planner",
        }
        assert set(answer) == {"member", "api_key"}
        assert set(member.groups.all()) == {crew, night}
        assert member.user is None
        assert not member.is_owner

    def test_a_person_signs_in_with_the_password_given(self, organisation: Organisation) -> None:
        answer = ask(
            *("create_member", organisation.id, "--name", "Una", "--type", "human"),
            *("--email", "una@tide.example", "--password", "oak"),
        )

        user = Member.objects.get(pk=answer["member"]["id"]).user
        assert user is not None
        assert user.check_password("oak")

    def test_a_person_without_a_password_gets_one(self, organisation: Organisation) -> None:
        printed = run(
            "create_member", organisation.slug, "--name", "Una", "--type", "human", "--email", "una@tide.example"
        )

        password = next(line for line in printed.splitlines() if line.startswith("Password")).split()[1]
        assert User.objects.get().check_password(password)

    def test_an_agent_needs_no_account(self, organisation: Organisation) -> None:
        printed = run("create_member", organisation.slug, "--name", "Planner", "--type", "agent")

        assert [line.split("  ")[0] for line in printed.splitlines()] == ["Member", "API key"]
        assert not User.objects.exists()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("--name", "Una", "--type", "robot"), "A member is human or agent."),
            (("--name", "", "--type", "human"), "A name has 1 to 120 characters."),
            (("--name", "Una", "--type", "human", "--password", "oak"), "--password needs the --email it belongs to."),
            (
                ("--name", "Una", "--type", "human", "--email", "taken@tide.example"),
                "taken@tide.example is already a member of Tide & Timber.",
            ),
            (
                ("--name", "Una", "--type", "human", "--group", "grp_7"),
                "Tide & Timber has no group with the id 'grp_7'.",
            ),
        ],
    )
    def test_refuses_in_one_sentence(
        self, organisation: Organisation, arguments: tuple[str, ...], sentence: str
    ) -> None:
        factories.member(organisation, email="taken@tide.example")
        assert refusal("create_member", organisation.slug, *arguments) == sentence
        assert Member.objects.count() == 1

    def test_a_group_of_another_organisation_is_unknown(self, organisation: Organisation) -> None:
        elsewhere = factories.group(factories.organisation())

        sentence = refusal(
            "create_member", organisation.slug, "--name", "Una", "--type", "human", "--group", elsewhere.id
        )
        assert sentence == f"Tide & Timber has no group with the id '{elsewhere.id}'."
        assert not Member.objects.exists()


class TestCreateGroup:
    def test_prints_the_group_and_holds_the_members_named(self, organisation: Organisation) -> None:
        una, ole = factories.member(organisation), factories.member(organisation, type="agent")
        answer = ask("create_group", organisation.slug, "Night shift", "--member", una.id, "--member", ole.id)

        group = Group.objects.get(name="Night shift")
        assert answer == {"group": {"id": group.id, "principal": f"group:{group.id}", "name": "Night shift"}}
        assert set(group.members.all()) == {una, ole}

    def test_says_it_in_words_without_json(self, organisation: Organisation) -> None:
        printed = run("create_group", organisation.slug, "Night shift")
        assert printed.split() == ["Group", "Night", "shift", f"({Group.objects.get(name='Night shift').principal})"]

    def test_refuses_a_name_that_is_taken(self, organisation: Organisation) -> None:
        factories.group(organisation, name="Night shift")
        sentence = refusal("create_group", organisation.slug, "NIGHT SHIFT")
        assert sentence == "Tide & Timber already has a group named NIGHT SHIFT."

    def test_an_unknown_member_leaves_no_group_behind(self, organisation: Organisation) -> None:
        sentence = refusal("create_group", organisation.slug, "Night shift", "--member", "mbr_7")
        assert sentence == "Tide & Timber has no member with the id 'mbr_7'."
        assert not Group.objects.filter(name="Night shift").exists()


class TestMembership:
    def test_a_member_comes_and_goes(self, organisation: Organisation) -> None:
        una, crew = factories.member(organisation, name="Una"), factories.group(organisation, name="Crew")

        assert run("add_to_group", organisation.slug, crew.id, una.id) == "Una is in Crew.\n"
        assert run("add_to_group", organisation.slug, crew.id, una.id) == "Una is in Crew.\n"
        assert list(crew.members.all()) == [una]
        assert run("remove_from_group", organisation.id, crew.id, una.id) == "Una is not in Crew.\n"
        assert list(crew.members.all()) == []

    @pytest.mark.parametrize("command", ["add_to_group", "remove_from_group"])
    def test_json_names_both(self, organisation: Organisation, command: str) -> None:
        una, crew = factories.member(organisation), factories.group(organisation)
        answer = ask(command, organisation.slug, crew.id, una.id)
        assert (answer["group"]["id"], answer["member"]["id"]) == (crew.id, una.id)

    @pytest.mark.parametrize("command", ["add_to_group", "remove_from_group"])
    def test_everyone_cannot_be_changed(self, organisation: Organisation, command: str) -> None:
        una, everyone = factories.member(organisation), Group.objects.get(is_everyone=True)
        assert refusal(command, organisation.slug, everyone.id, una.id).endswith(".")

    @pytest.mark.parametrize("command", ["add_to_group", "remove_from_group"])
    def test_what_is_not_there_is_named(self, organisation: Organisation, command: str) -> None:
        una, crew = factories.member(organisation), factories.group(organisation)
        stranger = factories.member(factories.organisation())

        assert "no organisation" in refusal(command, "tide", crew.id, una.id)
        assert "no organisation" in refusal(command, "\udcff", crew.id, una.id)
        assert "no group" in refusal(command, organisation.slug, una.id, una.id)
        assert "no member" in refusal(command, organisation.slug, crew.id, crew.id)
        assert "no member" in refusal(command, organisation.slug, crew.id, stranger.id)
        assert "no member" in refusal(command, organisation.slug, crew.id, "\udcff")


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, as a person would."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.django_db(transaction=True)
def test_a_command_works_beside_the_database_and_fails_with_one_line() -> None:
    # The server of this run, and the database that the tests are in.
    parameters = conninfo_to_dict(os.environ["DATABASE_URL"]) | {"dbname": connection.settings_dict["NAME"]}
    environment = {"DATABASE_URL": f"postgresql:///?{urlencode(parameters)}"}

    done = manage(
        *("create_organisation", "Tide", "--owner-email", "una@tide.example", "--owner-password", "oak", "--json"),
        **environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["organisation"]["id"] == Organisation.objects.get().id

    failed = manage("create_group", "nowhere", "Crew", "--json", **environment)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "There is no organisation with the slug or id 'nowhere'.\n"


def test_without_a_database_a_command_says_what_to_do(tmp_path: Path) -> None:
    done = manage("create_group", "tide", "Crew", "--data", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"There is no database in {tmp_path}; start the server with `manage.py up` first.\n"
