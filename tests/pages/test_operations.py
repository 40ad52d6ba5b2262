"""What people do with a record by its type: a form made from the schema of each operation."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from members.models import Member
from memories.models import Memory
from memories.providers.base import RecordVersion
from memories.services import records, types
from memories.services.sight import look
from tests import factories
from tests.pages.conftest import Visit
from tests.pages.people import client_of
from tests.pages.test_accessibility import grave
from tests.pages.test_record_stories import HOSTILE, at
from tests.pages.test_stories import status


@pytest.fixture
def task(alice: Member, shared: Memory) -> RecordVersion:
    """A task that nobody has."""
    return factories.record(
        alice, shared, "Call the landlord.", title="Landlord", type="x.task", attributes={"state": "open"}
    )


def head(by: Member, memory: Memory, record: RecordVersion) -> RecordVersion:
    """A record as it is now."""
    return records.get(look(factories.caller(by), memory.id), record.id)


def test_a_task_is_assigned_and_completed_from_its_page(
    visit: Visit, alice: Member, shared: Memory, task: RecordVersion
) -> None:
    page = visit(alice, at(task))
    page.get_by_role("link", name="Assign").click()
    page.get_by_label("Assignee").fill("Ben")
    page.get_by_label("Due").fill("2026-12-24")
    assert not grave(page)
    page.get_by_role("button", name="Assign").click()
    status(page, "Assign: version 2 was written.")
    page.get_by_role("link", name="Complete").click()
    page.get_by_role("button", name="Complete").click()
    status(page, "Complete: version 3 was written.")
    attributes = head(alice, shared, task).draft.attributes or {}
    assert (attributes["state"], attributes["assignee"], attributes["due"]) == ("done", "Ben", "2026-12-24")


def test_what_an_operation_answers_is_shown(visit: Visit, alice: Member, task: RecordVersion) -> None:
    page = visit(alice, at(task))
    page.get_by_role("link", name="Changes").click()
    page.get_by_role("button", name="Changes").click()
    expect(page.get_by_role("status").filter(has_text='"version": 1')).to_be_visible()


def test_input_that_does_not_fit_is_refused_and_stays_in_the_form(
    alice: Member, shared: Memory, task: RecordVersion
) -> None:
    answer = client_of(alice).post(at(task, "operations/assign"), {"assignee": "Ben", "due": "at Christmas"})
    assert answer.status_code == 422
    assert b"at Christmas" in answer.content
    assert b'aria-invalid="true"' in answer.content
    assert head(alice, shared, task).number == 1


def test_a_reader_is_offered_what_reads_and_refused_what_writes(
    alice: Member, shared: Memory, carol: Member, task: RecordVersion
) -> None:
    page = client_of(carol).get(at(task)).content.decode()
    assert "/operations/changes" in page
    assert "/operations/complete" not in page
    assert client_of(carol).post(at(task, "operations/complete")).status_code == 403
    assert head(alice, shared, task).number == 1


def test_a_closed_task_offers_nothing(alice: Member, shared: Memory, task: RecordVersion) -> None:
    records.forget(look(factories.caller(alice), shared.id), task.id)
    assert "/operations/" not in client_of(alice).get(at(task)).content.decode()
    assert client_of(alice).get(at(task, "operations/complete")).status_code == 404


def test_each_kind_of_input_arrives_typed_and_hostile_names_are_shown_as_text(alice: Member, shared: Memory) -> None:
    kinds: dict[str, Any] = {
        "many": {"type": "integer"},
        "sure": {"type": "boolean"},
        "size": {"enum": ["small", "large"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"], "description": HOSTILE},
    }
    types.register(
        shared.organisation_id,
        {
            "type": "x.order",
            "operations": [
                {
                    "name": "fill",
                    "description": HOSTILE,
                    "input": {"type": "object", "properties": kinds},
                    "set": {name: {"$input": name} for name in kinds},
                }
            ],
        },
    )
    order = factories.record(alice, shared, "An order.", type="x.order")
    form = client_of(alice).get(at(order, "operations/fill")).content.decode()
    assert HOSTILE not in form
    sent = {"many": "3", "sure": "true", "size": "large", "tags": '["a", "b"]', "note": ""}
    assert client_of(alice).post(at(order, "operations/fill"), sent).status_code == 302
    assert head(alice, shared, order).draft.attributes == {
        "many": 3,
        "sure": True,
        "size": "large",
        "tags": ["a", "b"],
        "note": None,
    }
    refused = client_of(alice).post(at(order, "operations/fill"), {**sent, "tags": "[NaN]"})
    assert refused.status_code == 422


def test_only_what_the_privileges_allow_is_offered_to_whoever_may_write_but_not_erase(
    alice: Member, shared: Memory, task: RecordVersion
) -> None:
    writer = factories.member(alice.organisation, "Willa")
    factories.grant(alice, shared, writer, "read", "write")
    page = client_of(writer).get(at(task)).content.decode()
    assert "/operations/complete" in page
