# Two commands: `make up` runs the product, `make test` passes every test. Nothing comes before them.
# `make quick` runs what matters most in three minutes; `make soak` runs the long proofs.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv
WEB := frontend/dist/.stamp
export PATH := $(CURDIR)/.venv/node/bin:$(PATH)
# some container images set it; each of a test's processes would compile every module again
unexport PYTHONDONTWRITEBYTECODE
WEB_SOURCES := $(shell find frontend -path frontend/node_modules -prune -o -path frontend/dist -prune -o -type f -print 2>/dev/null)

.PHONY: up test quick soak check compiled curl chromium unit web-test e2e bench lab pictures lock types fix dev clean

up: .venv/.stamp $(WEB)
	@$(BIN)/lamplighter up

test:
	@$(MAKE) --no-print-directory -j2 check web-test compiled
	@$(MAKE) --no-print-directory unit e2e

check: .venv/.stamp
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy && $(BIN)/lint-imports --no-logo
	$(BIN)/python -m benchmarks.house

# beside the checks: else each process of the unit tests compiles all of them for itself
compiled: .venv/.stamp
	@$(BIN)/pytest --collect-only -qq tests > /dev/null

# one after the other: each may install a package of Debian
curl: .venv/.stamp
	@$(BIN)/python tests/programs.py curl

chromium: curl
	@$(BIN)/python e2e/chromium.py

unit: curl $(WEB)
	$(BIN)/pytest -n 5 --dist worksteal tests

quick: check
	$(BIN)/pytest -n 3 --dist worksteal tests/domain tests/spec tests/config tests/test_architecture.py tests/test_docs.py

soak: chromium $(WEB)
	$(BIN)/pytest -s --timeout 7200 tests/soak
	THOROUGH=1 $(BIN)/pytest -n 2 --timeout 7200 tests
	THOROUGH=1 $(BIN)/pytest -n 2 --timeout 7200 e2e/test_round.py

web-test: frontend/node_modules/.stamp
	cd frontend && npm run --silent check && npm test --silent

e2e: chromium $(WEB)
	$(BIN)/pytest -n 4 --dist worksteal e2e

bench: chromium $(WEB)
	$(BIN)/python -m benchmarks

lab: .venv/.stamp $(WEB)
	$(BIN)/python -m benchmarks.lab --page docs/lab.md

pictures: chromium $(WEB)
	PYTHONPATH=tests $(BIN)/python e2e/pictures.py && PYTHONPATH=tests $(BIN)/python e2e/demo_pictures.py

.venv/.stamp: requirements/dev.lock pyproject.toml
	@echo "Checking what the set-up needs" && sh requirements/preflight.sh "$(PYTHON)"
	@echo "Installing Python packages (1 of 3)" && $(PYTHON) -m venv .venv && $(BIN)/python -m pip install -q --disable-pip-version-check uv==0.13.9
	@VIRTUAL_ENV=.venv $(UV) pip sync -q --require-hashes requirements/dev.lock
	@mkdir -p frontend/dist && VIRTUAL_ENV=.venv $(UV) pip install -q --no-deps --no-build-isolation -e . && touch $@

.venv/node/.stamp: .venv/.stamp requirements/node.lock requirements/node.py
	@$(BIN)/python requirements/node.py

frontend/node_modules/.stamp: .venv/node/.stamp frontend/package-lock.json
	@echo "Installing Node packages (2 of 3)" && cd frontend && npm ci --silent && touch node_modules/.stamp

$(WEB): frontend/node_modules/.stamp $(WEB_SOURCES)
	@echo "Building the app (3 of 3)" && cd frontend && npm run --silent build -- --logLevel warn && touch dist/.stamp

lock: .venv/.stamp
	$(UV) pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate requirements/run.in -o requirements/run.lock
	$(UV) pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate requirements/dev.in -o requirements/dev.lock
	$(UV) pip compile -q --universal --generate-hashes --python-version 3.11 --no-header --no-annotate requirements/node.in -o requirements/node.lock

types: .venv/.stamp frontend/node_modules/.stamp
	$(BIN)/python frontend/build/api.py

fix: .venv/.stamp
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	rm -rf .venv frontend/node_modules frontend/dist
