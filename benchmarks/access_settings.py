"""The real settings, and the tables of what is measured beside the product."""

from __future__ import annotations

from uhp_site.settings import *  # noqa: F403
from uhp_site.settings import INSTALLED_APPS as PRODUCT_APPS

INSTALLED_APPS = [*PRODUCT_APPS, "guardian", "treebeard", "benchmarks.access_rival"]

EMBEDDER = "hashing"
ANONYMOUS_USER_NAME = None
GUARDIAN_MONKEY_PATCH_USER = False
GUARDIAN_MONKEY_PATCH_GROUP = False
SILENCED_SYSTEM_CHECKS = ["guardian.W001"]
