# Everything runs in .venv, which the first target that needs it creates. PYTHON chooses the interpreter.
PYTHON ?= python3
BIN := .venv/bin
# Dependencies are declared in pyproject.toml: extras of the package, and groups for working on it.
EXTRAS := --editable '.[demo,cluster,documents]'
INSTALL := -m pip install --quiet --disable-pip-version-check
PIP := $(BIN)/python $(INSTALL) --constraint constraints.txt

.PHONY: demo test check bench bench-counting bench-fitting bench-questions bench-uncertainty bench-exploring bench-scaling bench-streaming bench-peers experiments \
  experiment-state-of-the-union experiment-google-books experiment-short-texts experiment-adam experiment-scale clean

demo: .venv/demo.done
	@$(BIN)/wordtide demo -o build/demo --overwrite

# The tests of a file run in one process, because they share expensive fixtures. test-slow: kills, clusters, browsers, sites.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile
.PHONY: test-slow
test: .venv/test.done
	$(PYTEST) -m "not slow"

test-slow: .venv/test.done
	$(PYTEST) -m slow

# Not part of `make test`, because tracing makes the tests slower. The floor is in pyproject.toml.
.PHONY: coverage
coverage: .venv/coverage.done
	$(PYTEST) -m "not slow" --cov --cov-report=term:skip-covered

# Runs the checks of .pre-commit-config.yaml before each commit in this clone.
.PHONY: hooks
hooks: .venv/hooks.done
	$(BIN)/pre-commit install

# The wheel and the source distribution, into dist/.
.PHONY: dist
dist: .venv/test.done
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

check: .venv/test.done .venv-audit/done
	$(BIN)/ruff check src tests benchmarks experiments docs fuzz
	$(BIN)/ruff format --check src tests benchmarks experiments docs fuzz
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py
	$(BIN)/python tests/hostile/licences.py
	$(BIN)/python tests/hostile/auditing.py .venv-audit/bin/pip-audit

# Hostile input, guided by coverage: fuzz/README.md. A finding ends the target it belongs to; the exit code is then 1.
.PHONY: fuzz test-lowest test-newest
SECONDS ?= 60
fuzz: .venv/fuzz.done
	$(BIN)/python fuzz/every_target.py $(TARGETS) --seconds $(SECONDS)

# The lowest and the newest versions of the dependencies, each in an environment of its own; not the page in a browser, and not the site.
test-lowest test-newest: test-%: .venv-%/done
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-$*/numba .venv-$*/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile \
	  --override-ini filterwarnings=default --disable-warnings tests/model tests/storage tests/corpus tests/counts tests/embeddings tests/figures \
	  tests/inference tests/streaming tests/evaluation tests/cli tests/faults

bench: bench-counting bench-fitting bench-questions bench-uncertainty

BENCHMARKS := counting fitting questions uncertainty scaling streaming exploring
$(BENCHMARKS:%=bench-%): bench-%: .venv/bench.done
	$(BIN)/python benchmarks/$*.py

# The figures of README and docs, from the files that the benchmarks write (benchmarks/results).
.PHONY: results
results: | .venv/bin/python
	$(BIN)/python benchmarks/results.py

# The size of an installation without extras, and the time it takes. Exit code 1 at 900 MB or more.
.PHONY: bench-install
bench-install: | .venv/bin/python
	$(BIN)/python benchmarks/install.py

bench-peers: .venv/bench.done .venv-pwe/done
	PYTHONPATH=benchmarks $(BIN)/python benchmarks/peers/comparing.py
	PYTHONPATH=benchmarks $(BIN)/python benchmarks/peers/comparing.py --worlds few --seeds 1 --with-pwe
	PYTHONPATH=benchmarks $(BIN)/python benchmarks/peers/drawn_counts.py

# Rankings against human judgments in the layout of DWUG (GOLD=folder), or against planted changes in real text.
.PHONY: bench-gold
GOLD_SEEDS ?= 21 22 23 24 25 26
bench-gold: .venv/bench.done
ifdef GOLD
	PYTHONPATH=benchmarks/peers $(BIN)/python benchmarks/gold.py "$(GOLD)"
else
	for seed in $(GOLD_SEEDS); do $(BIN)/python benchmarks/planted_senses.py sotu build/gold/$$seed --uses 60 --seed $$seed; done
	PYTHONPATH=benchmarks/peers $(BIN)/python benchmarks/gold.py $(GOLD_SEEDS:%=build/gold/%)
endif

# All commands that write, killed again and again, and load on watch and the explorer's server: docs/evidence.md.
.PHONY: soak
MINUTES ?= 20
soak: .venv/test.done
	PYTHONPATH=tests:benchmarks $(BIN)/python tests/faults/soaking.py --minutes $(MINUTES)

# The page of `wordtide explore` from its sources: only those who change it need node. The built page is part of the package.
.PHONY: explorer check-explorer
explorer: explorer/node_modules/.package-lock.json
	cd explorer && npm run build

explorer/node_modules/.package-lock.json: explorer/package-lock.json
	cd explorer && npm ci --no-audit --no-fund
	@touch $@

check-explorer: explorer
	cd explorer && npm run check && npm test
	git diff --exit-code -- src/wordtide/explorer/page/explorer.html

# The site, into build/docs. Warnings are errors. docs-commands writes the reference of commands from their help.
.PHONY: docs docs-commands
docs: .venv/docs.done
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --builder html docs build/docs
	@echo "open build/docs/index.html"

docs-commands: .venv/package.done
	$(BIN)/python docs/make_commands.py

# The pictures of the explorer in the docs, from the page of the demo. Needs Chromium.
.PHONY: docs-screenshots
docs-screenshots: demo .venv/test.done
	$(BIN)/python docs/make_screenshots.py

# Hours. Every experiment resumes where it was stopped. GBOOKS and UNGDC are the paths of the texts: docs/paper.md.
experiments: experiment-state-of-the-union experiment-google-books experiment-short-texts experiment-adam experiment-scale
	$(BIN)/python experiments/paper_tables.py
	$(BIN)/python benchmarks/results.py

experiment-state-of-the-union experiment-adam: experiment-%: .venv/demo.done
	$(BIN)/python experiments/$(subst -,_,$*).py

experiment-google-books: .venv/package.done
	$(BIN)/python experiments/google_books.py --source "$(GBOOKS)"

experiment-short-texts: .venv/package.done
	$(BIN)/python experiments/short_texts.py --source "$(UNGDC)"

experiment-scale: .venv/package.done
	$(BIN)/python experiments/scale.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

# pip 25.1 and later know dependency groups.
.venv/package.done: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python $(INSTALL) --upgrade 'pip>=25.1'
	$(PIP) --editable '.[pandas]'
	@touch $@

.venv/demo.done: .venv/package.done
	$(PIP) --editable '.[demo]'
	@mkdir -p build
	@touch $@

.venv/test.done: .venv/demo.done
	$(PIP) $(EXTRAS) --group test --group check --group docs
	@touch $@

.venv/docs.done: .venv/demo.done
	$(PIP) --group docs
	@touch $@

.venv/bench.done .venv/coverage.done .venv/hooks.done: .venv/%.done: .venv/test.done
	$(PIP) --group $*
	@touch $@

.venv/fuzz.done: .venv/demo.done
	$(PIP) --group fuzz
	@mkdir -p build
	@touch $@

.venv-lowest/done: constraints-lowest.txt pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python $(INSTALL) --upgrade 'pip>=25.1'
	.venv-lowest/bin/python $(INSTALL) --constraint constraints-lowest.txt $(EXTRAS) --group test
	@touch $@

.venv-newest/done: pyproject.toml
	$(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python $(INSTALL) --upgrade 'pip>=25.1'
	.venv-newest/bin/python $(INSTALL) $(EXTRAS) --group test
	@touch $@

# If pip-audit cannot be installed, the audit says that it did not run.
.venv-audit/done:
	$(PYTHON) -m venv .venv-audit
	-.venv-audit/bin/python $(INSTALL) --upgrade 'pip>=25.1'
	-.venv-audit/bin/python $(INSTALL) --group audit
	@touch $@

# TensorFlow and an old setuptools, for one peer: not to be mixed with anything else.
.venv-pwe/done: pyproject.toml
	$(PYTHON) -m venv .venv-pwe
	.venv-pwe/bin/python $(INSTALL) --upgrade 'pip>=25.1'
	.venv-pwe/bin/python $(INSTALL) --group pwe
	@touch $@

clean:
	rm -rf .venv .venv-pwe .venv-lowest .venv-newest .venv-audit build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks experiments -name __pycache__ -type d -exec rm -rf {} +
