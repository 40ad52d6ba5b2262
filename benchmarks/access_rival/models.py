"""Materialised paths by django-treebeard, object permissions by django-guardian with foreign keys of their own."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase
from treebeard.mp_tree import MP_Node  # type: ignore[import-untyped]


class Folder(MP_Node):  # type: ignore[misc]
    """A place in the tree. Its owner holds everything on it and below; `restricted` stops what comes from above."""

    name = models.CharField(max_length=120)
    restricted = models.BooleanField(default=False)
    organisation = models.ForeignKey("members.Organisation", on_delete=models.CASCADE, related_name="+")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        app_label = "access_rival"
        default_permissions = ()
        permissions = [(f"{word}_folder", word) for word in ("read", "write", "create", "delete")]

    def __str__(self) -> str:
        return str(self.name)


class FolderUserPermission(UserObjectPermissionBase):
    """One permission of one user on one folder."""

    content_object = models.ForeignKey(Folder, on_delete=models.CASCADE, related_name="user_permissions")

    class Meta(UserObjectPermissionBase.Meta):
        app_label = "access_rival"


class FolderGroupPermission(GroupObjectPermissionBase):
    """One permission of one group on one folder."""

    content_object = models.ForeignKey(Folder, on_delete=models.CASCADE, related_name="group_permissions")

    class Meta(GroupObjectPermissionBase.Meta):
        app_label = "access_rival"
