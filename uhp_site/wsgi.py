"""The web application that gunicorn serves."""

from __future__ import annotations

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "uhp_site.settings")
os.environ.setdefault("HEARTWOOD_DATABASE_POOL", "10")

application = get_wsgi_application()
# Otherwise the first request would wait for every view to be imported.
import_module(settings.ROOT_URLCONF)
