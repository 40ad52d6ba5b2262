"""The same tree as a Django team would keep it with django-treebeard and django-guardian."""

from __future__ import annotations
