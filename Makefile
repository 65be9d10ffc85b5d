# Every target builds .venv from requirements.lock by itself. `make` alone says what there is.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.built-from-lock
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13)
APT := sudo apt-get install -y libegl1 libgl1 libxkbcommon0 libxkbcommon-x11-0 libdbus-1-3 libfontconfig1 libglib2.0-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-shape0

PYTEST := QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest
.PHONY: help setup run test test-window test-others test-all lint bench shots clean

help:
	@echo "make setup   build .venv from requirements.lock and try Qt"
	@echo "make run     open the window (FILE=prog.py or FILE=run.gradviz to open a file)"
	@echo "make test    lint, then the tests; needs no display (ARGS='tests/player -k quiz': only these)"
	@echo "make test-all  the same with the tests marked slow, which take many minutes"
	@echo "make lint    ruff and mypy --strict"
	@echo "make bench   measure the start of the window beside 'import torch', and the canvas"
	@echo "make shots   PNGs of the window into shots/"

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "gradviz needs Python 3.11 or newer: install python3.11, or say make PYTHON=/path/to/python." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "gradviz needs Python 3.11 or newer, and $(PYTHON) is not: say make PYTHON=/path/to/python." >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $(STAMP)

setup: $(STAMP)
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -c 'import PySide6.QtWidgets' || { echo "Qt lacks system libraries. On Debian and Ubuntu: $(APT)" >&2; exit 1; }
	@# The tests need no display, so what only a window on X11 needs is told and stops nothing.
	@! ldd $(VENV)/lib/python*/site-packages/PySide6/Qt/plugins/platforms/libqxcb.so 2>/dev/null | grep -q "not found" || echo "A window on X11 needs more system libraries. On Debian and Ubuntu: $(APT)"
	@$(BIN)/python -m gradviz --version

run: $(STAMP)
	$(BIN)/python -m gradviz $(FILE)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict gradviz tests

test: lint
ifdef ARGS
	$(PYTEST) $(ARGS)
else
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-window test-others
endif

# The two halves take about as long as one another, each on a core of its own.
test-window:
	$(PYTEST) tests/app

test-others:
	$(PYTEST) tests --ignore=tests/app

test-all: lint
	$(PYTEST) -m ''

bench: $(STAMP)
	QT_QPA_PLATFORM=$${QT_QPA_PLATFORM:-offscreen} $(BIN)/python -m tests.bench.bench $(ARGS)

shots: $(STAMP)
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m gradviz.app.shots shots

clean:
	rm -rf $(VENV) build dist shots .mypy_cache .ruff_cache .pytest_cache .hypothesis
