"""When consolidations begin by themselves, and which engine does them: of a memory, and of the whole organisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from members.shell import ConsoleRequest, member_page, shell
from memories.access import Privilege
from memories.consolidation import registry
from memories.models import Schedule
from memories.services import run_asking
from memories.services import schedules as verbs
from memories.services.sight import look
from uhp_site.http import pages
from uhp_site.http.errors import MemoryForbidden, MemoryInvalid, MemoryUnsupported

from .memory import memory_context
from .nodes import address
from .questions import counted
from .run_accept import AsksForm

Mode = Schedule.Mode
CHOICES = [
    (Mode.OFF, "Never by itself"),
    (Mode.IDLE, "When it was quiet for a while, or much was said"),
    (Mode.HOURLY, "Every hour"),
    (Mode.NIGHTLY, "Every night"),
    (Mode.CRON, "At times of your own"),
]
NAMES = {"rules": "Rules", "llm": "A language model"}
ORIGINS = {
    "memory": "set on this memory",
    "organisation": "as the organisation has it",
    "server": "as the server has it",
}


class RuleForm(forms.Form):
    """When runs begin by themselves."""

    mode = forms.ChoiceField(label="A run begins", widget=forms.RadioSelect)
    cron = forms.CharField(
        label="Times of your own",
        max_length=100,
        required=False,
        help_text="Five fields: minute, hour, day, month, weekday, in UTC. “30 6 * * 1” is Mondays at half past six.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    idle_minutes = forms.IntegerField(
        label="Quiet minutes",
        min_value=1,
        max_value=verbs.LONGEST_IDLE_MINUTES,
        required=False,
        help_text=f"When it was quiet: for so long. Empty: {verbs.IDLE_MINUTES}.",
    )
    idle_episodes = forms.IntegerField(
        label="New episodes",
        min_value=1,
        max_value=1_000_000,
        required=False,
        help_text=f"When much was said: so many. Empty: {verbs.IDLE_EPISODES}.",
    )

    def __init__(self, *args: Any, inherited: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["mode"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(Mode.INHERIT, inherited), *CHOICES]

    def values(self) -> dict[str, Any]:
        """What a service takes beside the mode."""
        return {name: self.cleaned_data[name] for name in ("cron", "idle_minutes", "idle_episodes")}


@dataclass(frozen=True)
class EngineView:
    """An engine as it declares itself."""

    name: str
    label: str
    summary: str
    sends_text_to: str
    tokens: str
    current: bool


def said(rule: verbs.Rule) -> str:
    """When runs begin by themselves, in one sentence."""
    quiet = counted(rule.idle_minutes, "quiet minute", "quiet minutes")
    sentences = {
        Mode.OFF: "No run begins by itself",
        Mode.IDLE: f"A run begins after {quiet} or {counted(rule.idle_episodes, 'new episode', 'new episodes')}",
        Mode.HOURLY: "A run begins every hour when there is something new",
        Mode.NIGHTLY: f"A run begins every night after {verbs.NIGHT_HOUR}:00 UTC when there is something new",
        Mode.CRON: f"A run begins at the times “{rule.cron}” (UTC) when there is something new",
    }
    return f"{sentences[Mode(rule.mode)]}, {ORIGINS[rule.origin]}."


@member_page
@require_http_methods(["GET", "POST"])
def of_memory(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """When runs of a memory begin by themselves, for those who may write there; and its engine."""
    place = look(request.caller, memory_id)
    place.require(Privilege.WRITE, Privilege.DELETE)
    row = Schedule.objects.filter(memory_id=memory_id).first()
    engine_of: dict[str, Any] = row.engine if row else {}
    form = RuleForm(
        request.POST if request.method == "POST" else None, initial=kept(row), inherited="As the organisation has it"
    )
    if request.method == "POST":
        place.require(Privilege.WRITE)
        if form.is_valid() and done(form, lambda: verbs.set_rule(place, form.cleaned_data["mode"], **form.values())):
            messages.success(request, f"Saved. {said(verbs.rule_for(place.memory))}")
            return redirect("console:schedule", request.organisation.slug, memory_id)
    deletes = Privilege.DELETE in place.privileges
    context = {
        **memory_context(request, place, "runs"),
        "form": form if Privilege.WRITE in place.privileges else None,
        "now": said(verbs.rule_for(place.memory)),
        "engines": engines(engine_of),
        "engine_missing": (engine_of.get("engine") or registry.RULES) not in registry.available(),
        "engine_url": address(request, "schedule-engine", memory_id) if deletes else None,
        "asks_form": AsksForm(initial=asdict(run_asking.rule_of(place.memory))) if deletes else None,
        "asks_url": address(request, "schedule-asks", memory_id),
        "action_url": request.path,
        "back_url": address(request, "runs", memory_id),
    }
    return pages.answer(request, "memories/schedule.html", context, status=422 if form.errors else 200)


@member_page
@require_POST
def engine(request: ConsoleRequest, memory_id: str) -> HttpResponse:
    """Choose the engine of a memory. One that sends text away has to be allowed in so many words."""
    place = look(request.caller, memory_id)
    place.require(Privilege.DELETE)
    name = request.POST.get("engine", "")[:40]
    if name != registry.RULES and request.POST.get("allow") != "yes":
        messages.error(request, "Nothing was changed: say that the text of this memory may be sent there.")
    else:
        try:
            chosen = verbs.choose_engine(place, {"engine": name})
        except (MemoryInvalid, MemoryUnsupported) as refusal:
            messages.error(request, refusal.message)
        else:
            sent = chosen.declare().get("sends_text_to") or ""
            where = f"The next runs send text to {sent}." if sent else "Nothing is sent anywhere."
            messages.success(request, f"{NAMES.get(name, name)}: chosen for this memory. {where}")
    return redirect("console:schedule", request.organisation.slug, memory_id)


@member_page
@require_http_methods(["GET", "POST"])
def of_organisation(request: ConsoleRequest) -> HttpResponse:
    """The rule for every memory without one of its own, for owners."""
    if not request.caller.member.is_owner:
        raise MemoryForbidden("Only an owner of the organisation may set this.")
    row = Schedule.objects.filter(organisation_id=request.organisation.id, memory=None).first()
    form = RuleForm(
        request.POST if request.method == "POST" else None, initial=kept(row), inherited="As the server has it"
    )
    if request.method == "POST" and form.is_valid():
        mode = form.cleaned_data["mode"]
        if done(form, lambda: verbs.set_organisation_rule(request.caller, mode, **form.values())):
            messages.success(request, "Saved. It holds for every memory without a rule of its own.")
            return redirect("console:schedule-all", request.organisation.slug)
    context = {
        **shell(request, "jobs"),
        "form": form,
        "action_url": request.path,
        "back_url": address(request, "runs-all"),
        "jobs_url": address(request, "jobs"),
        "runs_url": address(request, "runs-all"),
        "schedule_url": request.path,
    }
    return pages.answer(request, "memories/schedule_all.html", context, status=422 if form.errors else 200)


def kept(row: Schedule | None) -> dict[str, Any]:
    """What is set now, for a form."""
    if row is None:
        return {"mode": Mode.INHERIT}
    return {name: getattr(row, name) for name in ("mode", "cron", "idle_minutes", "idle_episodes")}


def done(form: RuleForm, do: Callable[[], object]) -> bool:
    """Do it; true when it was done, else what is wrong with it is in the form."""
    try:
        do()
    except MemoryInvalid as refusal:
        form.add_error(refusal.param if refusal.param in form.fields else None, refusal.message)
        return False
    return True


def engines(settings: Mapping[str, Any]) -> list[EngineView]:
    """The engines that this server has, each with what it says of itself."""
    current = settings.get("engine") or registry.RULES
    found = []
    for name in registry.available():
        declared = registry.engine_for({"engine": name}).declare()
        found.append(
            EngineView(
                name=name,
                label=NAMES.get(name, name),
                summary=str(declared.get("summary", "")),
                sends_text_to=str(declared.get("sends_text_to") or ""),
                tokens=str(declared.get("tokens", "")),
                current=name == current,
            )
        )
    return found
