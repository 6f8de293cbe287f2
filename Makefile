# `make demo` sets up and runs the main job; `make test` sets up and passes the tests. Both start at once the second time.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# hnswlib is built from source: without this it would be tied to the CPU that built it
export HNSWLIB_NO_NATIVE = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint slow benchmarks clean

help:
	@echo "make demo        set up, then show the main job on a bundled conversation"
	@echo "make test        set up, then lint, check types and run the tests"
	@echo "make slow        the long versions of the tests"
	@echo "make benchmarks  ratios against peers and limits"
	@echo "make clean       remove the environment"

$(VENV)/.ready: constraints.txt pyproject.toml
	@echo "Setting up $(VENV) from constraints.txt; a first time takes some minutes (torch and ray are large)."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || (echo "A Python 3.11 with venv is needed; say which with PYTHON=..." && exit 1)
	@$(BIN)/python -c "import sys; sys.exit(sys.version_info < (3, 11))" || (echo "Python 3.11 or later is needed" && exit 1)
	@command -v c++ >/dev/null || (echo "A C++ compiler is needed: hnswlib is built from source (Debian: apt-get install g++)" && exit 1)
	$(BIN)/python -m pip install --quiet --progress-bar on -c constraints.txt -e '.[test]'
	@touch $@

setup: $(VENV)/.ready

demo: $(VENV)/.ready
	@$(BIN)/memory-actors demo

lint: $(VENV)/.ready
	@echo "lint: ruff, import-linter, mypy"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports --no-logo >$(VENV)/imports.log || (cat $(VENV)/imports.log; exit 1)
	@$(BIN)/mypy

test: lint
	@$(BIN)/python -m pytest

slow: $(VENV)/.ready
	@$(BIN)/python -m pytest -m "slow"

benchmarks: $(VENV)/.ready
	@$(BIN)/python -m pytest -m benchmark -s tests/benchmarks

clean:
	rm -rf $(VENV)
