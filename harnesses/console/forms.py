"""The forms of the pages on agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from harnesses import bases
from memories.services import priming
from uhp_site.http.text import flaw

LEFT_OPEN = "Whatever it chooses"


def keepable(value: str) -> None:
    """Refuse text that cannot be kept."""
    if problem := flaw(value):
        raise ValidationError(problem)


class HarnessForm(forms.Form):
    """A new agent. A model is chosen together with its base, so that the page needs no script."""

    name = forms.CharField(max_length=120, validators=[keepable], help_text="People and agents see it beside its work.")
    base = forms.ChoiceField(label="Runs in", help_text="The program that this agent is. It does not change later.")
    model = forms.ChoiceField(required=False, help_text="One of those that the program above runs.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = bases.declared().values()
        base, model = self.fields["base"], self.fields["model"]
        assert isinstance(base, forms.ChoiceField)
        assert isinstance(model, forms.ChoiceField)
        base.choices = [(one.name, one.label) for one in known]
        grouped = [(one.label, [(f"{one.name}/{each}", each) for each in one.models]) for one in known if one.models]
        model.choices = [("", LEFT_OPEN), *grouped]

    def clean(self) -> dict[str, Any]:
        """A model belongs to its base; what is kept of it is its id."""
        data = super().clean() or {}
        base, _, model = str(data.get("model") or "").partition("/")
        if model and data.get("base") and base != data["base"]:
            self.add_error("model", f"{bases.declared()[data['base']].label} does not run this model: choose another.")
        data["model"] = model
        return data


class AttachForm(forms.Form):
    """The two memory settings of a harness."""

    default_memory_id = forms.ChoiceField(
        required=False,
        label="Default memory",
        help_text="What the agent remembers without saying where goes here. Only memories that it may write in and "
        "that you see are offered.",
    )
    observe = forms.BooleanField(required=False, label="Observe finished turns")

    def __init__(self, *args: Any, memories: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["default_memory_id"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "None"), *memories]


class BudgetForm(forms.Form):
    """How much a prime may cost."""

    budget = forms.IntegerField(min_value=1, max_value=priming.MOST_BUDGET, label="Budget, in tokens")
