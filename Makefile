# make demo: the main job on built-in data; make test: the tests; make check: what CI runs
PYTHON ?= python3
BIN := .venv/bin
export MLFLOW_DISABLE_TELEMETRY ?= true

.PHONY: demo test lint check slow bench resources

demo: .venv/runtime
	PATH="$(CURDIR)/$(BIN):$$PATH" mlflow run . --env-manager local

test: .venv/dev
	$(BIN)/python -m pytest

slow: .venv/dev
	$(BIN)/python -m pytest -m slow

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test

bench: .venv/dev
	for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

resources: .venv/dev
	$(BIN)/python resources/build

.venv/runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e .
	touch $@

.venv/dev: .venv/runtime
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@
