# Needs Python 3.11 or newer with venv, and make. `make up` runs the server, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: up test check venv lock screenshots

up: venv
	@exec $(BIN)/python manage.py up $(ARGS)

test: venv
	@$(BIN)/python -m tests.chromium
	$(BIN)/python -m pytest --numprocesses 3 --dist loadfile $(ARGS)

# Everything a reviewer would otherwise have to remember: format, lint, types, templates, import contracts.
check: venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	git ls-files -z 'templates/*.html' | xargs -0 $(BIN)/djade --check --target-version 5.2

# The stamp is a copy of the lock file it was made from, so that an unchanged lock costs one comparison.
venv:
	@cmp -s requirements.lock $(VENV)/requirements.lock || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Heartwood needs Python 3.11 or newer."; exit 2; }; \
		test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock && \
		cp requirements.lock $(VENV)/requirements.lock; }

lock:
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --extra dev pyproject.toml --output-file requirements.lock
