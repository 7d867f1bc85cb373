# `make` alone explains the targets. Each of them sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
CODE := headrace router lake_writer backfill stream_app tests tools benchmarks examples

.DEFAULT_GOAL := help
.PHONY: help setup demo test faults fuzz lint format bench schemas lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

setup: ## Install everything: .venv from the lock file, jars checked by hash
	@$(PYTHON) tools/setup_environment.py

demo: setup ## Broker, events, router, lake writer and replay, end to end, with counts
	@$(BIN)/headrace dev --demo --once

test: setup lint ## Lint, types and all tests
	@$(BIN)/pytest

faults: setup ## All fault runs, and every long run that `make test` leaves out
	@$(BIN)/pytest tests/faults tests/integration tests/end_to_end -m "long or not long"

fuzz: setup ## Look for inputs that break a decoder; FUZZ="json --seconds 600" for one of them
	@$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/fuzz.txt
	@$(BIN)/python -m tests.fuzz $(FUZZ)

lint: setup ## ruff, mypy --strict and the import contracts
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: setup ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix $(CODE)
	@$(BIN)/ruff format $(CODE)

bench: setup ## Benchmarks in their short form; BENCH=--full for the real one
	@$(BIN)/python -m benchmarks $(BENCH)

schemas: setup ## Write the JSON Schemas of all kinds of file, for editors
	@$(BIN)/python -m tools.write_json_schemas

lock: setup ## Resolve the lock files anew (packages and jars)
	@$(BIN)/python tools/write_locks.py

clean: ## Remove what make made; the caches of downloads stay
	@rm -rf .venv .venv.lock .headrace .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
