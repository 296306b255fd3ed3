# Everything runs in .venv, which the first target that needs it creates. PYTHON chooses the interpreter.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check bench bench-counting bench-fitting bench-questions bench-uncertainty bench-exploring bench-peers experiments \
  experiment-state-of-the-union experiment-google-books experiment-short-texts experiment-un-debates clean

demo: .venv/demo.done
	@$(BIN)/wordtide demo -o build/demo --overwrite

test: .venv/test.done
	$(BIN)/python -m pytest

check: .venv/test.done
	$(BIN)/ruff check src tests benchmarks experiments docs
	$(BIN)/ruff format --check src tests benchmarks experiments docs
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: bench-counting bench-fitting bench-questions bench-uncertainty

bench-counting: .venv/bench.done
	$(BIN)/python benchmarks/counting.py

bench-fitting: .venv/bench.done
	$(BIN)/python benchmarks/fitting.py

bench-questions: .venv/bench.done
	$(BIN)/python benchmarks/questions.py

bench-uncertainty: .venv/bench.done
	$(BIN)/python benchmarks/uncertainty.py

bench-exploring: .venv/bench.done
	$(BIN)/python benchmarks/exploring.py

bench-peers: .venv/bench.done .venv-pwe/done
	$(BIN)/python benchmarks/peers/comparing.py
	$(BIN)/python benchmarks/peers/comparing.py --worlds few --seeds 1 --with-pwe
	$(BIN)/python benchmarks/peers/drawn_counts.py

# The page of `wordtide explore` from its sources: only who changes it needs node. The built page is part of the package.
.PHONY: explorer check-explorer
explorer: explorer/node_modules/.package-lock.json
	cd explorer && npm run build

explorer/node_modules/.package-lock.json: explorer/package-lock.json
	cd explorer && npm ci --no-audit --no-fund
	@touch $@

check-explorer: explorer
	cd explorer && npm run check && npm test
	git diff --exit-code -- src/wordtide/explorer/page/explorer.html

# Hours. Every experiment goes on where it was stopped. GBOOKS and UNGDC are the paths of the texts: experiments/README.md.
experiments: experiment-state-of-the-union experiment-google-books experiment-short-texts experiment-un-debates

experiment-state-of-the-union: .venv/demo.done
	$(BIN)/python experiments/state_of_the_union.py

experiment-google-books: .venv/package.done
	$(BIN)/python experiments/google_books.py --source "$(GBOOKS)"

experiment-short-texts: .venv/package.done
	$(BIN)/python experiments/short_texts.py --source "$(UNGDC)"

experiment-un-debates: .venv/package.done
	$(BIN)/python experiments/un_debates.py --source "$(UNGDC)"

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/package.done: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --editable .
	@touch $@

.venv/demo.done: .venv/package.done
	$(PIP) --editable '.[demo]'
	@mkdir -p build
	@touch $@

.venv/test.done: .venv/demo.done
	$(PIP) --requirement tests/requirements.txt
	@touch $@

.venv/bench.done: .venv/test.done
	$(PIP) --requirement benchmarks/requirements.txt
	@touch $@

# TensorFlow and an old setuptools, for one peer: not to be mixed with anything else.
.venv-pwe/done: benchmarks/peers/pwe-requirements.txt
	$(PYTHON) -m venv .venv-pwe
	.venv-pwe/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/peers/pwe-requirements.txt
	@touch $@

clean:
	rm -rf .venv .venv-pwe build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks experiments -name __pycache__ -type d -exec rm -rf {} +
