"""The forms of the pages on memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from members.models import Member
from uhp_site.http.text import flaw

PRIVILEGES = [("read", "read"), ("write", "write"), ("create", "create"), ("delete", "delete")]


def keepable(value: str) -> None:
    """Refuse text that cannot be kept."""
    if problem := flaw(value):
        raise ValidationError(problem)


class DescribeForm(forms.Form):
    """The name and description of a memory."""

    name = forms.CharField(max_length=120, validators=[keepable])
    description = forms.CharField(
        max_length=2000,
        required=False,
        validators=[keepable],
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What is inside. Agents read it to decide where to look.",
    )


class MemoryForm(DescribeForm):
    """A new memory."""

    restricted = forms.BooleanField(
        required=False,
        label="Close this branch",
        help_text="Access given above will not reach it, from the first moment.",
    )


class GiveForm(forms.Form):
    """A grant: who, and what."""

    principal = forms.ChoiceField(label="Who")
    privileges = forms.MultipleChoiceField(
        label="May", choices=PRIVILEGES, widget=forms.CheckboxSelectMultiple, initial=["read"]
    )

    def __init__(self, *args: Any, principals: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["principal"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Choose a person, agent or group"), *principals]


class ChangeForm(forms.Form):
    """What a grant will permit."""

    privileges = forms.MultipleChoiceField(label="May", choices=PRIVILEGES, widget=forms.CheckboxSelectMultiple)


class CheckForm(forms.Form):
    """Who is asked about, and what they might be permitted."""

    principal = forms.ChoiceField(label="Who")
    privilege = forms.ChoiceField(label="May", choices=PRIVILEGES, initial="read")

    def __init__(self, *args: Any, principals: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["principal"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Choose a person, agent or group"), *principals]


class HandOverForm(forms.Form):
    """Who takes over what a leaving member made."""

    to = forms.ModelChoiceField(queryset=Member.objects.none(), label="To whom")

    def __init__(self, *args: Any, leaving: Member, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["to"]
        assert isinstance(field, forms.ModelChoiceField)
        others = Member.objects.of(leaving.organisation_id).active().exclude(pk=leaving.pk)
        field.queryset = others.by_name()
