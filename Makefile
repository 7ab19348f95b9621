# SPDX-License-Identifier: Apache-2.0
# Every CI step is a target of this file. Needed beforehand: Python 3.10+ with its venv module, and
# a JDK of version 17 or later; each target sets up the rest by itself.

# The Python that .venv is made with.
PYTHON ?= python3
# For pytest, e.g. PYTEST_ARGS='-k rename -x'.
PYTEST_ARGS ?=
# What `make test-slow` and `make test-integration` start: pytest, or what runs it and leaves the names
# of the tests that failed in .matrix/failed.json, PYTEST=tests.matrix.tested.
PYTEST ?= pytest
# A process for each core, each with a Spark session for the files that it gets; PARALLEL= for one.
PARALLEL ?= --numprocesses auto --dist loadfile --no-loadscope-reorder
# How many random histories `make soak` runs, e.g. HISTORIES=10000.
HISTORIES ?= 100
# In how many processes at once; one keeps little more than a core busy.
JOBS ?= 1
# What vendors set by default, for the tests' session, e.g. TEST_SETTINGS=vendors; none, if empty.
TEST_SETTINGS ?=
# The pairs of Spark and Delta for `make test-pairs`, e.g. PAIRS='4.0.1+4.1.0'; all, if empty.
PAIRS ?=
# SHORT=--short for the short tests on every pair.
SHORT ?=
# The tag that `make release` is to agree with, e.g. TAG=v0.1.0; none, if empty.
TAG ?=
# For the JUnit run, e.g. MVN_ARGS='-Dtest=DeltaHooksTest'.
MVN_ARGS ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two pips would write into one .venv
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Enough for the demo, the jar and the wheel, and for the docs; what has all serves both as well.
DEMO_INSTALLED := $(or $(wildcard $(INSTALLED)),$(VENV)/.demo)
DOCS_INSTALLED := $(or $(wildcard $(INSTALLED)),$(VENV)/.docs)
define NEW_VENV
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	|| { echo "Cannot create $(VENV): $(PYTHON) is older than 3.10. Set PYTHON=<a newer one>." >&2; exit 1; }
$(PYTHON) -m venv $(VENV)
endef
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# For every Python and machine at once, and anew: what is there already is not preferred.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --upgrade --generate-hashes \
	--no-header --no-annotate
# A repository of its own: Spark looks into ~/.m2, and would trip over what Maven left half there.
MVN := $(BIN)/python jars/maven.py -B -ntp -Dmaven.repo.local=$(CURDIR)/.maven/repository -f jars/pom.xml

JAR := spark_ext/jars/spark-ext.jar
# The jar carries the Python rules as well, so an edited rule makes a new jar.
JAR_SOURCES := jars/pom.xml jars/maven.py \
	$(shell find jars/src/main -type f 2>/dev/null) \
	$(shell find spark_ext -name '*.py' -o -name py.typed -o -name '*.json' 2>/dev/null)

##@ Use it

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make <target>\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*##/ {printf "  %-18s%s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: jar ## Run the main job on a real table, from nothing
	$(BIN)/python examples/demo.py

.PHONY: bench
bench: venv jar ## Time this project against plain delta-spark
	$(BIN)/python bench/run.py

.PHONY: notebook
notebook: venv jar ## Run the cells of examples/make_notebook.py and write examples/lakehouse.ipynb
	$(BIN)/python examples/make_notebook.py

.PHONY: golden
golden: venv jar ## Make the tables of docs/golden as their JSON says
	$(BIN)/python -m tests.golden.states

.PHONY: docs
docs: $(DOCS_INSTALLED) ## Build the pages for a browser: docs/_build/html/index.html
	$(BIN)/python -m sphinx -q --fail-on-warning --keep-going -c docs -d docs/_build/doctrees . docs/_build/html
	@echo "Open docs/_build/html/index.html"

##@ Set-up

.PHONY: venv
venv: $(INSTALLED) ## Create .venv with the package and the development tools

# What CI runs with is held by hashes; the two others go by pyproject.toml, which pins what they name.
$(INSTALLED): .ci/requirements.txt .ci/sdists.txt .ci/client.txt pyproject.toml
	$(NEW_VENV)
	$(PIP) install --no-compile --require-hashes --requirement .ci/sdists.txt
	@# --no-build-isolation: else pip fetches by name, without a hash, what builds an sdist.
	@# --use-pep517: a pip before 23.1, as Debian 12 has it, would want a `wheel` that no venv has.
	$(PIP) install --no-compile --require-hashes --no-build-isolation --use-pep517 \
		--requirement .ci/requirements.txt
	$(PIP) install --no-compile --no-deps --no-build-isolation --editable .
	$(PIP) wheel --require-hashes --no-deps --no-build-isolation --use-pep517 \
		--wheel-dir $(VENV)/wheels --requirement .ci/client.txt
	@touch $@ $(VENV)/.demo $(VENV)/.docs  # it has what the others have

$(VENV)/.demo: EXTRA := demo
$(VENV)/.docs: EXTRA := docs
$(VENV)/.demo $(VENV)/.docs: pyproject.toml
	$(NEW_VENV)
	$(PIP) install --no-compile --editable '.[$(EXTRA)]'
	@touch $@

.PHONY: lock
lock: venv ## Write the hashes of what pyproject.toml pins, and of what that requires, into .ci/
	$(LOCK) --extra dev --output-file .ci/requirements.txt pyproject.toml
	sed -n 's/^ *"\(setuptools==[^"]*\)".*/\1/p' pyproject.toml | $(LOCK) --output-file .ci/sdists.txt -
	sed -n 's/^ *"pyspark\(==[^"]*\)".*/pyspark-client\1/p' pyproject.toml \
		| $(LOCK) --no-deps --output-file .ci/client.txt -
	@# One by one: no lock has several versions of a package.
	for pin in $$($(BIN)/python -m tests.matrix.environment); do \
		$(LOCK) --no-deps - <<< $$pin; done > .ci/pairs.txt.new
	mv .ci/pairs.txt.new .ci/pairs.txt

.PHONY: jar
jar: $(JAR) ## Build the JVM half of the plugin

$(JAR): $(JAR_SOURCES) | $(DEMO_INSTALLED)
	@echo "Building $@ (the first time fetches Maven and its plugins)"
	@rm -rf jars/target/classes  # else classes and rules whose source is gone stay in the jar
	@$(MVN) -q -DskipTests package
	@mkdir -p $(@D)
	@cp jars/target/spark-ext.jar $@.new && mv $@.new $@  # a running session never sees half a jar

.PHONY: wheel
wheel: jar ## Build the package: dist/*.whl, for pip install
	@rm -f dist/*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

.PHONY: release
release: release-build release-try ## Build of this commit what is published, and try it: the two below

.PHONY: release-build
release-build: venv jar ## Build of this commit what is published: dist/release
	@test -z "$${TAG:-}" || $(BIN)/python -m tests.packaging.version "$$TAG"
	$(BIN)/python -m tests.packaging.release
	$(BIN)/python -m twine check --strict dist/release/python/*

.PHONY: release-try
release-try: venv jar ## Build it again, compare the bytes, and use it by name
	RELEASE=dist/release $(BIN)/python -m pytest tests/packaging/test_release.py -m matrix $(PYTEST_ARGS)

##@ Check it

.PHONY: test
test: venv jar ## Run all tests: JUnit, while it fetches its plugins everything under tests/
	@mkdir -p jars/target
	@$(MAKE) --no-print-directory test-java > jars/target/junit.log 2>&1 & junit=$$!; \
		tests=0; $(BIN)/python -m pytest tests $(PARALLEL) $(PYTEST_ARGS) || tests=$$?; \
		wait $$junit || { cat jars/target/junit.log; echo "JUnit failed." >&2; exit 1; }; \
		grep 'Tests run:' jars/target/junit.log | tail -1; exit $$tests

.PHONY: test-unit
test-unit: venv ## Run the Python tests that need no JVM (seconds)
	$(BIN)/python -m pytest tests/unit $(PYTEST_ARGS)

.PHONY: coverage
coverage: venv jar ## Show which lines of spark_ext no unit test runs; PYTEST_ARGS=tests/integration adds others
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest tests/unit $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

.PHONY: test-java
test-java: venv jar ## Run the JUnit tests: the hooks, and whether all fits the pair that is installed
	$(MVN) test -DargLine="-Dsparkext.pair=$$($(BIN)/python -m tests.matrix.installed)" $(MVN_ARGS)

.PHONY: test-integration
test-integration: venv jar ## Run the tests on a real Spark session
	$(BIN)/python -m $(PYTEST) tests/integration $(PARALLEL) $(PYTEST_ARGS)

.PHONY: test-matrix
test-matrix: test-slow test-pairs ## Run what `make test` leaves out: the two below (hours)

.PHONY: test-slow
test-slow: venv jar ## Run the tests that take too long for every run
	$(BIN)/python -m $(PYTEST) tests -m matrix $(PARALLEL) $(PYTEST_ARGS)

.PHONY: test-pairs
test-pairs: venv jar test-java ## Run the tests on PAIRS of Spark and Delta (all take hours), and print a table
	$(BIN)/python -m tests.matrix --pairs '$(PAIRS)' $(SHORT) --maven '$(MVN)' -- $(PARALLEL) $(PYTEST_ARGS)

.PHONY: nightly-jobs
nightly-jobs: venv ## Print as JSON what the nightly workflow runs today
	@$(BIN)/python -m tests.matrix.nightly --maven '$(MVN)'

.PHONY: soak
soak: venv jar ## Run HISTORIES random histories against the model in JOBS processes, and print how many steps
	$(BIN)/python -m tests.histories.soak --histories $(HISTORIES) --jobs $(JOBS)

.PHONY: lint
lint: venv ## Check style, types and workflows: ruff, mypy, google-java-format, zizmor
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet --min-severity medium .github
	$(MVN) -q com.spotify.fmt:fmt-maven-plugin:check

.PHONY: format
format: venv ## Rewrite the sources the way `lint` wants them, and releases as releases.json has them
	$(BIN)/python -m tests.matrix.places
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(MVN) -q com.spotify.fmt:fmt-maven-plugin:format

##@ Tidy up

.PHONY: clean
clean: ## Remove what was built (.venv and .maven stay)
	rm -rf jars/target $(JAR) dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
