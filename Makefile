# noeta's commands. `make` alone lists them.
#
# Everything is installed into .venv from requirements/*.lock, with hashes; nothing else on the
# machine is touched. A stamp file remembers what was installed, so the second run is quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# -qq: only errors are printed; what is installed stands in the lock.
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input

# The version that wrote the locks; only `make lock` needs it.
UV ?= $(BIN)/uv
UV_VERSION := 0.13.9
COMPILE = $(UV) pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--no-header --no-emit-index-url --no-emit-find-links $(if $(UPGRADE),--upgrade) \
	pyproject.toml requirements/build.in

# A moved clone or a removed Python leaves scripts in .venv that cannot start: install afresh.
$(shell [ -x $(BIN)/python ] && [ "$$(cat $(VENV)/made.stamp 2>/dev/null)" = "$(CURDIR)" ] \
	|| rm -f $(VENV)/*.stamp)

SOURCES := noeta tests bench
# Worker processes for the tests: a number, or auto for one a core.
JOBS ?= auto
TESTS ?= tests

.DEFAULT_GOAL := help
# The stages of `check` stop at the first that fails, so they run one by one.
.NOTPARALLEL:
.PHONY: help run check format format-check lint types layers test bench install install-dev lock clean

help: ## Print this list
	@echo "Usage: make TARGET [NAME=VALUE ...]"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## Install noeta and run the demo: a task that survives two kills [SEED=N] [ARGS="..."]
	@$(BIN)/noeta demo $(if $(SEED),--seed $(SEED)) $(ARGS)

check: format-check lint types layers test ## Install what the tests need, then check format, lint, types, layers, tests
	@echo "== check: all five stages passed"

format: install-dev ## Rewrite the code in the house format, and fix what lint can fix
	@$(BIN)/ruff check --quiet --fix-only $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

format-check: install-dev ## Check the format, changing nothing
	@echo "== format: is the code in the house format? (make format rewrites it)"
	@$(BIN)/ruff format --check $(SOURCES)

lint: install-dev ## Check the lint rules
	@echo "== lint: bugs and banned calls (ruff)"
	@$(BIN)/ruff check $(SOURCES)

types: install-dev ## Check the types
	@echo "== types: strict, tests too (mypy)"
	@$(BIN)/mypy

layers: install-dev ## Check who imports whom
	@echo "== layers: who may import whom (.importlinter)"
	@$(BIN)/lint-imports --no-logo

test: install-dev ## Run the tests [TESTS=path] [JOBS=N] [ARGS="-k word"]
	@echo "== tests: $(TESTS) (pytest, $(JOBS) workers)"
	@$(BIN)/pytest -n $(JOBS) $(ARGS) $(TESTS)

bench: install-dev ## Measure, and print the tables [ONLY=name]
	@$(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

install: $(VENV)/run.stamp ## Install noeta into .venv

install-dev: $(VENV)/dev.stamp ## Install noeta and what the checks need into .venv

lock: | $(filter $(BIN)/uv,$(UV)) ## Pin the dependencies again from pyproject.toml [UPGRADE=1]
	@$(COMPILE) --extra dev --output-file requirements/dev.lock >/dev/null
	@$(COMPILE) --constraint requirements/dev.lock --output-file requirements/run.lock >/dev/null
	@echo "lock: wrote requirements/dev.lock and requirements/run.lock"

clean: ## Remove .venv, caches and what was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made.stamp:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "noeta needs Python 3.11 or newer, and there is no $(PYTHON) here." >&2; \
	  echo "Install it (Debian, Ubuntu: apt install python3 python3-venv), or name one: make PYTHON=/path/to/python3.12 ..." >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "noeta needs Python 3.11 or newer, and $(PYTHON) is `$(PYTHON) -V 2>&1`." >&2; \
	  echo "Name a newer one: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make a virtual environment: its venv module is missing." >&2; \
	  echo "Install it (Debian, Ubuntu: apt install python3-venv), then run make again." >&2; \
	  exit 1; }
	@echo "== install: a virtual environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "$(CURDIR)" >$@

$(VENV)/run.stamp: requirements/run.lock pyproject.toml | $(VENV)/made.stamp
	@echo "== install: noeta and its dependencies (requirements/run.lock)"
	@$(PIP) install --require-hashes -r requirements/run.lock
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

# dev.lock holds everything that run.lock holds, in the same versions: after it, both are installed.
$(VENV)/dev.stamp: requirements/dev.lock pyproject.toml | $(VENV)/made.stamp
	@echo "== install: noeta and what the checks need (requirements/dev.lock)"
	@$(PIP) install --require-hashes -r requirements/dev.lock
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@ $(VENV)/run.stamp

$(BIN)/uv: | $(VENV)/made.stamp
	@$(PIP) install uv==$(UV_VERSION)
