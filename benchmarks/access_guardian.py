"""django-treebeard's paths with django-guardian's object permissions, in the form that suits them best.

Neither knows a branch that is closed to what is granted above. Here the application stops at the first restricted
folder above, which takes the ancestors and their flags; that leaves closing a branch to one row. Permission rows are
asked for by the folders of a chain or by a user, never through `get_objects_for_user`, which reads all folders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import Permission
from django.db.models import F, Q

from benchmarks.access_load import WORDS
from benchmarks.access_methods import Asking, Audience, Reaching
from benchmarks.access_rival.models import Folder, FolderGroupPermission, FolderUserPermission
from members.models import Member, User
from memories.recall.scope import CAP

STEP = Folder.steplen
# From so many separate regions on, reading the whole subtree once is quicker than asking for each.
REGIONS = 50


def prefixes(path: str) -> list[str]:
    """The paths of a folder and those above it, from the root down."""
    return [path[:end] for end in range(STEP, len(path) + 1, STEP)]


def above(path: str) -> str:
    """The path of the parent, empty for a root."""
    return path[:-STEP]


def interval(path: str) -> tuple[str, str]:
    """Between which paths everything below one lies, as treebeard asks for it."""
    first, last = Folder._get_children_path_interval(path)
    return str(first), str(last)


class Libraries:
    """Materialised paths and object permissions."""

    name = "guardian + treebeard"

    def __init__(self) -> None:
        # Permissions are cached by any application that asks often.
        self.bits = {one.pk: WORDS[one.codename] for one in Permission.objects.filter(codename__in=WORDS)}
        self.read = next(pk for pk, bit in self.bits.items() if bit == 1)

    def decide(self, asking: Asking, memory: int) -> int:
        """The permissions that the user has on a folder: the folder, those above it, the rows on them."""
        chain = self._chain(self._folder(asking, memory))
        if any(one.owner_id == asking.user_id for one in chain):
            return 15
        users, groups = self._rows(asking)
        on = {"content_object__in": [one.pk for one in chain]}
        rows = users.filter(**on).values_list("permission_id").union(groups.filter(**on).values_list("permission_id"))
        return reduce(or_, (self.bits[permission] for (permission,) in rows), 0)

    def entry_points(self, asking: Asking) -> Collection[int]:
        """The ids of what the user holds, less what it would see from above."""
        held = self._held(asking)
        chains = {prefix for path in held for prefix in prefixes(above(path))}
        flags = dict(Folder.objects.filter(path__in=chains).values_list("path", "restricted"))

        def sees(path: str) -> bool:
            while path:
                if path in held:
                    return True
                if flags[path]:
                    return False
                path = above(path)
            return False

        return [pk for path, pk in held.items() if not sees(above(path))]

    def readable(self, asking: Asking, memory: int) -> Collection[int]:
        """The ids of what the user reads below a folder: the regions held there, less what is closed in them."""
        folder = self._folder(asking, memory)
        held = set(self._held(asking, reading=True, around=folder))
        reads = any(one.path in held for one in self._chain(folder))
        if reads:
            regions = [interval(folder.path)]
        else:
            top: list[str] = []
            for path in sorted(path for path in held if path.startswith(folder.path) and path != folder.path):
                if not top or not path.startswith(top[-1]):
                    top.append(path)
            if not top:
                return []
            regions = [(path, interval(path)[1]) for path in top]
            if len(regions) > REGIONS:
                regions = [interval(folder.path)]
        there = reduce(or_, (Q(path__range=region) for region in regions))
        rows = Folder.objects.filter(there).order_by("path").values_list("path", "restricted", "id")
        reading = {folder.path: reads}
        found = []
        for path, restricted, pk in rows:
            reading[path] = path in held or (not restricted and reading.get(above(path), False))
            if reading[path]:
                found.append((len(path), pk))
        found.sort()
        return [pk for _, pk in found[: CAP - 1]]

    def audience(self, asking: Asking, memory: int, limit: int) -> Audience:
        """Who reaches a folder and why: the rows on the chain, a page of the users in them, and their groups."""
        assert self.decide(asking, memory) & 8
        chain = self._chain(self._folder(asking, memory))
        on = [one.pk for one in chain]
        direct: dict[int, dict[int, int]] = {}
        for one in chain:
            direct.setdefault(one.owner_id, {})[one.pk] = 15
        by_group: dict[int, dict[int, int]] = {}
        fields = ("content_object_id", "permission_id")
        for model, held, who in (
            (FolderUserPermission, direct, "user_id"),
            (FolderGroupPermission, by_group, "group_id"),
        ):
            for holder, folder, permission in model.objects.filter(content_object__in=on).values_list(who, *fields):
                bits = held.setdefault(holder, {})
                bits[folder] = bits.get(folder, 0) | self.bits[permission]
        memberships = User.groups.through.objects.filter(group_id__in=by_group)
        reaching = Member.objects.of(asking.caller.organisation_id).active().by_name()
        reaching = reaching.filter(Q(user_id__in=direct) | Q(user_id__in=memberships.values("user_id")))
        users = [user for user, _ in reaching.values_list("user_id", "name")[:limit] if user]
        sources: dict[int, list[tuple[int, int, str, int]]] = {
            user: [(folder, -user, "", bits) for folder, bits in direct.get(user, {}).items()] for user in users
        }
        rows = memberships.filter(user_id__in=users).values_list("user_id", "group_id", "group__name")
        for user, group, name in rows:
            sources[user] += [(folder, group, name, bits) for folder, bits in by_group[group].items()]
        page = {
            user: Reaching(reduce(or_, (one[3] for one in held)), frozenset(one[:3] for one in held))
            for user, held in sources.items()
        }
        return Audience(reaching.count(), page)

    def restrict(self, asking: Asking, memory: int) -> None:
        """Close a branch: one row says it."""
        assert self.decide(asking, memory) & 8
        Folder.objects.filter(pk=memory + 1).update(restricted=True)

    def move(self, asking: Asking, memory: int, under: int) -> None:
        """Move a branch: the path of everything in it is written anew."""
        assert self.decide(asking, memory) & 8
        assert self.decide(asking, under) & 4
        Folder.objects.get(pk=memory + 1).move(Folder.objects.get(pk=under + 1), pos="last-child")

    def _folder(self, asking: Asking, memory: int) -> Any:
        return Folder.objects.get(pk=memory + 1, organisation_id=asking.caller.organisation_id)

    def _chain(self, folder: Any) -> list[Any]:
        """The folder and those above it, nearest first, up to the first restricted one."""
        chain = [folder]
        if not folder.restricted:
            for one in reversed(folder.get_ancestors()):
                chain.append(one)
                if one.restricted:
                    break
        return chain

    def _rows(self, asking: Asking) -> tuple[Any, Any]:
        return (
            FolderUserPermission.objects.filter(user_id=asking.user_id),
            FolderGroupPermission.objects.filter(group_id__in=asking.group_ids),
        )

    def _held(self, asking: Asking, *, reading: bool = False, around: Any = None) -> dict[str, int]:
        """Path to id of the folders the user owns or has a permission on; around a folder, those above and below it."""
        there, here = Q(), Q(organisation_id=asking.caller.organisation_id)
        if around is not None:
            first, last = interval(around.path)
            chain = prefixes(around.path)
            there = Q(content_object__path__in=chain) | Q(content_object__path__range=(first, last))
            here &= Q(path__in=chain) | Q(path__range=(first, last))
        if reading:
            there &= Q(permission=self.read)
        fields = {"path": F("content_object__path"), "folder": F("content_object_id")}
        users, groups = (rows.filter(there).values_list(*fields.values()) for rows in self._rows(asking))
        owned = Folder.objects.filter(here, owner_id=asking.user_id).values_list("path", "id")
        pairs: Iterable[tuple[str, int]] = owned.union(users, groups)
        return dict(pairs)
