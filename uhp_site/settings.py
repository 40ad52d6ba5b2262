"""Settings, read from the environment and the data directory; docs/operations.md lists the variables."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from pathlib import Path

from uhp_site import data, mail


def env_bool(name: str, default: bool) -> bool:
    """Read a boolean variable; anything but the usual spellings stops the start with a sentence."""
    value = os.environ.get(name, "").strip().lower()
    if value in {"", "default"}:
        return default
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    raise SystemExit(f"{name} must be true or false, not {value!r}.")


def env_int(name: str, default: int) -> int:
    """Read a whole number; anything else stops the start with a sentence."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    try:
        return int(value)
    except ValueError:
        raise SystemExit(f"{name} must be a whole number, not {value!r}.") from None


def env_list(name: str, default: list[str]) -> list[str]:
    """Read a comma-separated list."""
    value = os.environ.get(name, "").strip()
    return [item.strip() for item in value.split(",") if item.strip()] if value else default


BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data.directory()

DEBUG = env_bool("HEARTWOOD_DEBUG", False)
SECRET_KEY = data.secret_key()
ALLOWED_HOSTS = env_list("HEARTWOOD_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env_list("HEARTWOOD_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_structlog",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "uhp_site",
    "members",
    "memories",
    "harnesses",
]

MIDDLEWARE = [
    "uhp_site.http.headers.SecurityHeadersMiddleware",
    "uhp_site.http.version.VersionMiddleware",
    "uhp_site.http.segments.EncodedSlashMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "uhp_site.http.assets.AssetsMiddleware",
    "uhp_site.http.compression.PageCompressionMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "uhp_site.urls"
WSGI_APPLICATION = "uhp_site.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials", "uhp_site.templatetags.heartwood"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# One Postgres holds rows, words, vectors and, unless told otherwise, the queue.
DATABASES = {"default": data.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The largest request body under /v1/, in bytes; a larger one is refused with 413 and says this number.
MAX_BODY_BYTES = env_int("HEARTWOOD_MAX_BODY_BYTES", 4 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES

# The largest uploaded file, in bytes; a larger one is refused, never cut.
MAX_FILE_BYTES = env_int("HEARTWOOD_MAX_FILE_BYTES", 64 * 1024 * 1024)
# Where a file is while it arrives; on the disk of the store, keeping it is renaming it.
FILES_INCOMING = DATA_DIR / "incoming"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "files": data.file_store(),
}

AUTH_USER_MODEL = "members.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGOUT_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "members.accounts.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key"}
# Where mail goes out; without it nobody gets any, and what would have been sent is printed.
MAIL = mail.outgoing(os.environ.get("HEARTWOOD_EMAIL_URL", ""), os.environ.get("HEARTWOOD_EMAIL_BACKEND", ""))
EMAIL_BACKEND, DEFAULT_FROM_EMAIL = MAIL.backend, MAIL.sender
EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL.host, MAIL.port, MAIL.user, MAIL.password
EMAIL_USE_TLS, EMAIL_USE_SSL, EMAIL_TIMEOUT = MAIL.starttls, MAIL.tls, mail.SECONDS

# Behind TLS set HEARTWOOD_TLS=true: secure cookies, HSTS, and the proxy's X-Forwarded-Proto is believed.
TLS = env_bool("HEARTWOOD_TLS", False)
SESSION_COOKIE_NAME = "heartwood_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = TLS
CSRF_COOKIE_NAME = "heartwood_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "uhp_site.http.pages.csrf_failure"
SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds()) if TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = TLS
# Redirecting to TLS is the proxy's: a redirect under /v1 would not be the protocol.
SECURE_SSL_REDIRECT = False
SILENCED_SYSTEM_CHECKS = ["security.W008"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TLS else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = None
# Where `uhp_site.http.assets` finds what it puts together; nothing is served from there.
STATICFILES_DIRS = [BASE_DIR / "static"]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["members.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["uhp_site.http.body.JSONBody"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "uhp_site.http.body.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "uhp_site.http.envelope.handle",
    "UNAUTHENTICATED_USER": None,
    "UNICODE_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Heartwood: UHP Memories",
    "DESCRIPTION": "The Memories chapter of the Unified Harness Protocol.",
    "VERSION": "2026-10-19",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
}

CELERY_BROKER_URL, CELERY_BROKER_TRANSPORT_OPTIONS = data.broker()

# Which embedder makes vectors: the bundled model, the deterministic double that fast tests use, or an endpoint.
EMBEDDER = os.environ.get("HEARTWOOD_EMBEDDER", "minilm")
EMBEDDING_URL = os.environ.get("HEARTWOOD_EMBEDDING_URL", "")
EMBEDDING_KEY = os.environ.get("HEARTWOOD_EMBEDDING_KEY", "")
EMBEDDING_MODEL = os.environ.get("HEARTWOOD_EMBEDDING_MODEL", "")
EMBEDDING_DIMENSIONS = env_int("HEARTWOOD_EMBEDDING_DIMENSIONS", 0)
# A chat endpoint that speaks the OpenAI protocol, for the memories that somebody lets use it; empty for none.
LLM_URL = os.environ.get("HEARTWOOD_LLM_URL", "")
LLM_KEY = os.environ.get("HEARTWOOD_LLM_KEY", "")
LLM_MODEL = os.environ.get("HEARTWOOD_LLM_MODEL", "")
# May any member plant a root, or only the organisation's owners (contract A-09)?
ROOTS_BY_OWNERS_ONLY = env_bool("HEARTWOOD_ROOTS_BY_OWNERS_ONLY", False)
# When memories consolidate that nobody gave a schedule: off, idle, hourly or nightly.
CONSOLIDATE = os.environ.get("HEARTWOOD_CONSOLIDATE", "idle").strip().lower() or "idle"
if CONSOLIDATE not in {"off", "idle", "hourly", "nightly"}:
    raise SystemExit(f"HEARTWOOD_CONSOLIDATE must be off, idle, hourly or nightly, not {CONSOLIDATE!r}.")
# How many consolidations run at the same time, on all workers together; one worker has two threads.
CONSOLIDATIONS_AT_ONCE = env_int("HEARTWOOD_CONSOLIDATIONS_AT_ONCE", 1)
# May any member make a harness and its agent, or only the organisation's owners?
HARNESSES_BY_OWNERS_ONLY = env_bool("HEARTWOOD_HARNESSES_BY_OWNERS_ONLY", False)
# What an agent can be configured for, and the models each runs, its default first; none where it is not asked.
HARNESS_BASES = [
    {"name": "claude-code", "label": "Claude Code", "models": ["sonnet", "opus", "haiku"]},
    {"name": "codex", "label": "Codex", "models": ["gpt-5-codex", "gpt-5"]},
    {"name": "cursor", "label": "Cursor", "models": ["auto"]},
    {"name": "mcp", "label": "Any MCP client", "models": []},
]

# May webhooks lead into our own network, and by http? For development, and where all receivers are inside.
WEBHOOKS_INSIDE = env_bool("HEARTWOOD_WEBHOOKS_INSIDE", False)

LOGGING_CONFIG = "uhp_site.logs.configure"
LOGGING: dict[str, object] = {"level": os.environ.get("HEARTWOOD_LOG_LEVEL", "INFO")}
# One line for each request, at its end; a refusal is an answer like any other. Tasks say only what went wrong.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = logging.INFO
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_CELERY_TASK_START_LOG_LEVEL = logging.DEBUG
DJANGO_STRUCTLOG_CELERY_TASK_SUCCESS_LOG_LEVEL = logging.DEBUG
