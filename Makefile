# `make` alone explains the targets. Each of them sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
PRODUCT := headrace router lake_writer backfill stream_app fleet
CODE := $(PRODUCT) tests tools benchmarks examples

# Each process has a broker and a Spark session of its own. How many, and who begins:
# tests/side_by_side.py.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-quick faults fuzz lint format bench generated lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: ## Install everything: .venv from the lock file, jars checked by hash
	@$(PYTHON) tools/setup_environment.py

demo: setup ## Run broker, router, lake writer and replay end to end, and show the counts
	@$(BIN)/headrace dev --demo --once

test: setup lint ## Lint, types and all tests
	@$(BIN)/pytest $(SIDE_BY_SIDE)

test-quick: setup ## ruff and the tests that need no JVM: a minute, or two
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/pytest $(SIDE_BY_SIDE) tests/unit tests/fuzz

faults: setup ## All fault tests, and all long tests that `make test` leaves out
	@$(BIN)/pytest tests/faults tests/integration tests/end_to_end -m "long or not long"

fuzz: setup ## Look for inputs that break a decoder; FUZZ="json --seconds 600" runs one target
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/fuzz.txt
	@$(BIN)/python -m tests.fuzz $(FUZZ)

lint: setup ## ruff, mypy --strict, import contracts, declared dependencies
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry $(PRODUCT)
	@$(BIN)/uv pip check --python $(BIN)/python

format: setup ## Format the code and fix what ruff can fix
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: setup ## Benchmarks in their short form; BENCH=--full runs the full form
	@$(BIN)/python -m benchmarks $(BENCH)

generated: setup ## Write what is generated: JSON Schemas for editors, docs/metrics.md, deploy/, the picture of the layers
	@$(BIN)/python -m tools.write_json_schemas
	@$(BIN)/python -m tools.draw_layers
	@$(BIN)/python -m tools.write_metrics_page
	@$(BIN)/python -m tools.write_alert_rules
	@$(BIN)/python -m tools.write_dashboards

lock: setup ## Resolve the lock files again (packages and jars)
	@$(BIN)/python tools/write_locks.py

clean: ## Remove what make created; the caches of downloads stay
	@rm -rf .venv .venv.lock .headrace .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
