"""Who is asking: organisations, their members (people and agents alike), groups and credentials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.text import slugify

from .ids import PublicIdField, mint

Rows = TypeVar("Rows", bound=models.QuerySet[Any])


def annotated(rows: Rows, **expressions: Any) -> Rows:
    """`annotate` that keeps the queryset's own type, and with it the questions one can ask of it."""
    result: Any = rows
    return cast(Rows, result.annotate(**expressions))


class UserManager(BaseUserManager["User"]):
    """Accounts by email address, compared without regard to case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create an account; without a password nobody can sign in to it until one is set."""
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save()
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person's account for the console; what they may do is a matter of their members, one an organisation."""

    email = models.EmailField(unique=True, max_length=254)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_any_case")]

    def __str__(self) -> str:
        return self.email


class Organisation(models.Model):
    """A tenant: everything else belongs to exactly one."""

    id = PublicIdField("org_")
    name = models.CharField(max_length=120)
    slug = models.SlugField(max_length=60, unique=True)
    language = models.CharField(
        max_length=63, default="english", help_text="How words are stemmed: a text search configuration of Postgres."
    )
    former_language = models.CharField(
        max_length=63, blank=True, default="", help_text="Asked in too, while words are indexed anew."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def free_slug(name: str) -> str:
        """A slug made from the name that no organisation has yet."""
        stem = slugify(name)[:50] or "organisation"
        slug, number = stem, 1
        while Organisation.objects.filter(slug=slug).exists():
            number += 1
            slug = f"{stem}-{number}"
        return slug


class MemberQuerySet(models.QuerySet["Member"]):
    """The questions one asks of members."""

    def of(self, organisation_id: str) -> MemberQuerySet:
        """Those of one organisation."""
        return self.filter(organisation_id=organisation_id)

    def active(self) -> MemberQuerySet:
        """Those who may act at all."""
        return self.filter(deactivated_at=None)

    def by_name(self) -> MemberQuerySet:
        """In the order people look for them."""
        return annotated(self, sort_name=Lower("name")).order_by(models.F("sort_name"), "id")


class Member(models.Model):
    """Anyone who acts in an organisation. Whether person or agent is information; no rule depends on it."""

    class Type(models.TextChoices):
        HUMAN = "human", "Person"
        AGENT = "agent", "Agent"

    id = models.CharField(max_length=40, primary_key=True, editable=False, default=partial(mint, "mbr_"))
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="members")
    type = models.CharField(max_length=5, choices=Type.choices)
    name = models.CharField(max_length=120)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="members")
    is_owner = models.BooleanField(default=False, help_text="May administer members, groups and keys.")
    created_at = models.DateTimeField(auto_now_add=True)
    deactivated_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(
        null=True, editable=False, help_text="Gone for good; the name stays on what it wrote."
    )

    objects = MemberQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "user"], name="member_once_per_organisation"),
            models.CheckConstraint(condition=models.Q(type__in=["human", "agent"]), name="member_type_known"),
        ]
        indexes = [
            models.Index("organisation", Lower("name"), "id", include=["deactivated_at"], name="member_by_name"),
        ]

    if TYPE_CHECKING:
        sort_name: str

    def __str__(self) -> str:
        return self.name

    @property
    def principal(self) -> str:
        """How grants and records name this member."""
        return f"member:{self.id}"

    @property
    def is_active(self) -> bool:
        """Whether the member may act at all."""
        return self.deactivated_at is None


class Group(models.Model):
    """A set of members. Every organisation has `everyone`, which holds all its active members without a list."""

    EVERYONE = "everyone"

    id = PublicIdField("grp_")
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="groups")
    name = models.CharField(max_length=120)
    is_everyone = models.BooleanField(default=False)
    members = models.ManyToManyField(Member, through="Membership", related_name="groups")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("organisation", Lower("name"), name="group_name_once"),
            models.UniqueConstraint(
                fields=["organisation"], condition=models.Q(is_everyone=True), name="group_one_everyone"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def principal(self) -> str:
        """How grants name this group."""
        return f"group:{self.id}"


class Membership(models.Model):
    """One member in one group of the same organisation."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="memberships")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "group"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.member_id} in {self.group_id}"


class CredentialQuerySet(models.QuerySet["Credential"]):
    """The questions one asks of keys."""

    def live(self) -> CredentialQuerySet:
        """Those that are accepted now: neither revoked nor past their end. That of their member is another matter."""
        return self.filter(revoked_at=None).filter(models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now()))


class Credential(models.Model):
    """An API key of one member: only its hash is kept."""

    id = PublicIdField("key_")
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="credentials")
    name = models.CharField(max_length=120, default="API key")
    prefix = models.CharField(max_length=20, help_text="The part of the key that may be shown.")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="From then on the key is refused.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = CredentialQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(prefix__startswith="hw_"), name="credential_prefix_shape")
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"


class Invitation(models.Model):
    """A link by which one person may join an organisation, once and for a while; only the hash of its token is kept."""

    id = PublicIdField("inv_")
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="invitations")
    name = models.CharField(max_length=120, help_text="What the member will be called.")
    email = models.EmailField(max_length=254, blank=True, help_text="Empty: whoever has the link says.")
    is_owner = models.BooleanField(default=False)
    groups = models.ManyToManyField(Group, related_name="+")
    digest = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    member = models.OneToOneField(
        Member, on_delete=models.CASCADE, null=True, related_name="invitation", help_text="Who came by it."
    )

    def __str__(self) -> str:
        return f"{self.name} to {self.organisation_id}"

    @property
    def is_open(self) -> bool:
        """Whether somebody may still come by it."""
        return self.member_id is None and self.withdrawn_at is None and self.expires_at > timezone.now()


class EventQuerySet(models.QuerySet["Event"]):
    """The questions one can ask of what happened."""

    def of(self, organisation_id: str) -> EventQuerySet:
        """Those of one organisation."""
        return self.filter(organisation_id=organisation_id)

    def newest_first(self) -> EventQuerySet:
        """Backward through time."""
        return self.order_by("-id")


class Event(models.Model):
    """Something that changed who may do what, or what there is: appended in the transaction that did it, never edited.

    Ids and words of the protocol only, never what a record says: an erased record leaves no word here.
    """

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+", db_index=False)
    at = models.DateTimeField()
    action = models.CharField(max_length=40, help_text="noun.past_participle, for example memory.moved")
    actor = models.CharField(max_length=180, help_text="The principal that did it; empty for the system.", blank=True)
    via = models.CharField(max_length=10, help_text="api, console, command or system")
    address = models.GenericIPAddressField(null=True)
    memory_id = models.CharField(max_length=80, blank=True, help_text="Kept when the memory is gone.")
    subject = models.CharField(max_length=180, blank=True, help_text="The principal or record concerned.")
    detail = models.JSONField(default=dict)

    objects = EventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["organisation", "-id"], name="event_of_organisation"),
            models.Index(fields=["organisation", "memory_id", "-id"], name="event_of_memory"),
            models.Index(fields=["organisation", "actor", "-id"], name="event_of_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.actor or 'the system'}"


class KeptAnswer(models.Model):
    """The first answer to a request that was sent with an Idempotency-Key, committed together with what it did.

    There is no row while the request runs: a repeat waits for its transaction, and finds the row or does the work.
    """

    class State(models.TextChoices):
        DONE = "done"
        BEGUN = "begun", "Done, and its answer is made from what was begun"
        ERASED = "erased", "Carried a record that is erased"

    id = models.BigAutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+", db_index=False)
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="+", db_index=False)
    scope = models.BinaryField(max_length=32, help_text="SHA-256 of method, path and key.")
    method = models.CharField(max_length=7)
    key = models.CharField(max_length=255)
    request_digest = models.BinaryField(max_length=32, null=True, help_text="SHA-256 of the body; information only.")
    state = models.CharField(max_length=6, choices=State.choices)
    status = models.PositiveSmallIntegerField()
    body = models.TextField(help_text="The JSON of the answer, to the byte.")
    shows = ArrayField(models.CharField(max_length=80), default=list, help_text="Ids of records and files in it.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["member", "scope"], name="kept_answer_once")]
        indexes = [
            models.Index(fields=["expires_at"], name="kept_answer_expiry"),
            GinIndex(fields=["shows"], name="kept_answer_shows"),
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.state}"


# At the end, because these name the models above.
from .notification_models import Delivery, DigestChoice, Webhook  # noqa: E402, F401
