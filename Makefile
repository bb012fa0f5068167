# Every target sets up what it needs in .venv; `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test check audit torture months consortium kills figures pictures bench bench-cost bench-shift bench-worth calibration coverage clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

# Bytecode is kept even where the environment says otherwise: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

$(READY): pyproject.toml
	@echo "== setting up $(VENV): about a minute, once"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	@touch $@

run: $(READY) ## train a model across ten synthetic banks (the main job)
	@echo "== copriv train: ten banks, 10,000 loans each, epsilon = 1 for each bank"
	@$(BIN)/copriv train

check: $(READY) ## format, lint, import contracts, strict types
	@echo "== format";           $(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@echo "== lint";             $(BIN)/ruff check --quiet .
	@echo "== import contracts"; $(BIN)/lint-imports --no-cache > $(VENV)/contracts.log 2>&1 || { cat $(VENV)/contracts.log; exit 1; }
	@echo "== strict types";     $(BIN)/mypy --no-error-summary

test: $(READY) ## everything in check, then doctests and tests
	@$(BIN)/python tests/kernels.py & $(MAKE) --no-print-directory check || { kill $$!; exit 1; }; wait $$!
	@echo "== browser";          $(BIN)/python tests/browser/find_browser.py
	@echo "== doctests and tests"
	@$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --quiet

audit: $(READY) ## attack the noise, and compare whole replies under every study and record: records, then people
	@echo "== copriv audit: about three minutes"
	@$(BIN)/copriv audit
	@$(BIN)/copriv audit --unit person

months: $(READY) ## 24 monthly retrainings on real panels: people return, appends are killed, old copies are put back
	@echo "== months: about ten minutes"
	@PYTHONPATH=. $(BIN)/python tests/faults/months_cost.py

torture: $(READY) ## a thousand kills of owner and of learner, and power cuts, over real processes
	@echo "== torture: about a minute"
	@$(BIN)/python tests/faults/torture.py --kills 1000 --cuts 400

consortium: $(READY) ## broker, learner and ten owner processes on this machine, as docs/deploy.md says
	@echo "== consortium: about two minutes"
	@$(BIN)/python tests/consortium/rehearse.py

kills: $(READY) ## kill broker, learner and owners 100 times during one study over the network, 30 times with a menu
	@echo "== kills: about four minutes"
	@$(BIN)/python -u tests/consortium/kills.py --kills 100 --horizon 1000
	@$(BIN)/python -u tests/consortium/kills.py --kills 30 --menu

figures: $(READY) ## redraw the paper's figures from synthetic records
	@echo "== copriv reproduce all"
	@$(BIN)/copriv reproduce all --out figures

pictures: $(READY) ## take the pictures of the README anew, with Chromium
	@echo "== pictures: about a minute"
	@$(BIN)/python docs/pictures/draw.py
	@$(BIN)/python tests/browser/pictures.py docs/pictures

bench: $(READY) ## ratios measured side by side; tables go to benchmarks/results
	@echo "== benchmarks"
	@$(BIN)/python -m benchmarks

bench-cost: $(READY) ## what privacy costs: ours, Algorithm 1 and what users would pick instead, on all data
	@echo "== benchmark: cost (about a quarter of an hour, and two minutes once to install its peers; real data from \$$COPRIV_DATA or ../shared/data)"
	@$(BIN)/python -m benchmarks cost

bench-shift: $(READY) ## public rows that differ from the owners': ours against every other use of the same budget
	@echo "== benchmark: shift (about twenty minutes; real data from \$$COPRIV_DATA or ../shared/data)"
	@$(BIN)/python -m benchmarks shift

bench-worth: $(READY) ## is the joint model worth having? held-out R² and AUC beside models that need no owners
	@echo "== benchmark: worth (about a quarter of an hour; real data from \$$COPRIV_DATA or ../shared/data)"
	@$(BIN)/python -m benchmarks worth

calibration: $(READY) ## forecast from public rows against ψ measured on private ones, drawn over the whole grid
	@echo "== calibration (about two minutes on two cores; real data from \$$COPRIV_DATA or ../shared/data)"
	@$(BIN)/python -m benchmarks calibration

coverage: $(READY) ## do 95 % intervals hold what they say: blocks, named owners, few public rows, public rows from elsewhere
	@echo "== coverage (a few minutes on two cores; real data from \$$COPRIV_DATA or ../shared/data)"
	@$(BIN)/python -m benchmarks coverage

clean: ## remove the environment and caches (never a run folder or a ledger)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
