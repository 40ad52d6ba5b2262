"""The forms of the pages on members."""

from __future__ import annotations

from django import forms

from .models import Member


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


class KeyForm(forms.Form):
    """A new key."""

    name = forms.CharField(max_length=120, initial="API key", help_text="What it is for, to tell it from others.")


class MembershipForm(forms.Form):
    """Somebody to put into a group."""

    member = forms.ModelChoiceField(queryset=Member.objects.none(), label="Add a member")

    def __init__(self, *args: object, organisation_id: str, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["member"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Member.objects.of(organisation_id).active().by_name()
