"""Keeping the skills of a harness: whole folders, given back byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

from harnesses.errors import HarnessInvalid, SkillNotFound
from harnesses.folders import SkillDraft, SkillFile, blob_of, require_room
from harnesses.models import Harness, Skill
from harnesses.models import SkillFile as Stored


def put(harness: Harness, drafts: Sequence[SkillDraft]) -> None:
    """Make these the skills of a harness. A draft with a blob keeps the files that harness has under that handle.

    Raises HarnessInvalid for a handle it does not have, and FileTooLarge.
    """
    kept = {skill.blob: skill for skill in harness.skills.all() if skill.blob}
    for index, draft in enumerate(drafts):
        if draft.blob and draft.blob not in kept:
            message = "The harness has no such files any more; send the skill with its files."
            raise HarnessInvalid(message, param=f"skills.{index}.blob")
    folders = {draft.name: files_of(kept[draft.blob]) if draft.blob else draft.files for draft in drafts}
    require_room(sum(len(file.content) for files in folders.values() for file in files))
    harness.skills.all().delete()
    for position, draft in enumerate(drafts):
        files = folders[draft.name]
        skill = Skill.objects.create(
            organisation_id=harness.organisation_id,
            harness=harness,
            position=position,
            name=draft.name,
            enabled=draft.enabled,
            blob=blob_of(files) if files else "",
            bytes=sum(len(file.content) for file in files),
        )
        Stored.objects.bulk_create(
            Stored(
                organisation_id=harness.organisation_id,
                skill=skill,
                path=file.path,
                content=file.content,
                text=file.text,
            )
            for file in files
        )


def find(harness: Harness, name: str) -> Skill:
    """A skill by name. Raises SkillNotFound."""
    skill = None if "\0" in name else harness.skills.filter(name=name).first()
    if skill is None:
        raise SkillNotFound()
    return skill


def files_of(skill: Skill) -> tuple[SkillFile, ...]:
    """The files of a skill, by path."""
    return tuple(SkillFile(one.path, bytes(one.content), one.text) for one in skill.files.all())
