"""The forms of the pages on members."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import forms
from django.utils import timezone

from .models import Group, Member


class AddMemberForm(forms.Form):
    """A new person or agent."""

    name = forms.CharField(max_length=120)
    type = forms.ChoiceField(choices=Member.Type.choices, widget=forms.RadioSelect, initial=Member.Type.AGENT)
    email = forms.EmailField(required=False, help_text="For people: they sign in with it.")
    password = forms.CharField(
        required=False,
        min_length=10,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="For a new account: at least 10 characters. Somebody who has an account keeps their password.",
    )

    def clean(self) -> dict[str, object]:
        """Agents do not sign in, and a person without an account needs a password to."""
        data = super().clean() or {}
        if data.get("type") == Member.Type.AGENT and data.get("email"):
            self.add_error("email", "An agent does not sign in: make it a key instead.")
        return data


class GroupForm(forms.Form):
    """A new group."""

    name = forms.CharField(max_length=120, label="New group")


LASTING = {"": "No end", "30": "30 days", "90": "90 days", "365": "A year"}


class KeyForm(forms.Form):
    """A new key."""

    name = forms.CharField(max_length=120, initial="API key", help_text="What it is for, to tell it from others.")
    days = forms.ChoiceField(
        choices=list(LASTING.items()), required=False, label="Lasts", help_text="Afterwards it is refused."
    )

    def expires_at(self) -> datetime | None:
        """When the key ends, if it does."""
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class InviteForm(forms.Form):
    """A link by which a person may join."""

    name = forms.CharField(max_length=120, label="Name of the person")
    email = forms.EmailField(required=False, help_text="If given, only this address can join by the link.")
    groups = forms.ModelMultipleChoiceField(
        queryset=Group.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="What these hold, the person will hold from the first moment.",
    )
    is_owner = forms.BooleanField(
        required=False, label="Owner of the organisation", help_text="Administers members, groups and keys."
    )
    by_mail = forms.BooleanField(
        required=False, label="Send the link by email", help_text="To the address above. The link is shown here too."
    )

    def __init__(self, *args: object, organisation_id: str, mails: bool = False, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if not mails:
            del self.fields["by_mail"]
        field = self.fields["groups"]
        assert isinstance(field, forms.ModelMultipleChoiceField)
        field.queryset = Group.objects.filter(organisation_id=organisation_id, is_everyone=False).order_by("name")

    def clean(self) -> dict[str, object]:
        """A mail needs an address."""
        data = super().clean() or {}
        if data.get("by_mail") and not data.get("email") and "email" not in self.errors:
            self.add_error("email", "Say where the link is to be sent.")
        return data


class JoinForm(forms.Form):
    """A new account for somebody who was invited."""

    email = forms.EmailField(widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    password = forms.CharField(
        min_length=10,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 10 characters.",
    )


class MembershipForm(forms.Form):
    """Somebody to put into a group."""

    member = forms.ModelChoiceField(queryset=Member.objects.none(), label="Add a member")

    def __init__(self, *args: object, organisation_id: str, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["member"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Member.objects.of(organisation_id).active().by_name()
