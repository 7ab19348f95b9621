# SPDX-License-Identifier: Apache-2.0
# Every CI step is a target of this file. It needs Python 3.10+ with its venv module and a JDK 17 or
# later. Each target installs everything else.

# The Python of .venv.
PYTHON ?= python3
# Arguments of pytest, e.g. PYTEST_ARGS='-k rename -x'.
PYTEST_ARGS ?=
# One process more than cores, each with a Spark session. PARALLEL= runs one process.
PARALLEL ?= --numprocesses auto --dist loadfile --no-loadscope-reorder
# The number of random histories of `make soak`, e.g. HISTORIES=10000.
HISTORIES ?= 100
# The number of processes of `make soak`. One process uses little more than a core.
JOBS ?= 1
# Default settings of vendors for the session of the tests, e.g. TEST_SETTINGS=vendors.
TEST_SETTINGS ?=
# The pairs of Spark and Delta for `make test-pairs`, e.g. PAIRS='4.0.1+4.1.0'. Empty means all pairs.
PAIRS ?=
# SHORT=--short runs the short tests on every pair.
SHORT ?=
# The tag that `make release` checks, e.g. TAG=v0.1.0. Empty means no check.
TAG ?=
# Arguments of Maven in the JUnit run, e.g. MVN_ARGS='-Dtest=DeltaHooksTest'.
MVN_ARGS ?=

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two runs of pip would write into one .venv
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Smaller installs for the demo, jar and wheel, and for the docs. A full install serves both too.
# The docs need no Spark: docs/conf.py mocks the imports of pyspark, delta and py4j.
DEMO_INSTALLED := $(or $(wildcard $(INSTALLED)),$(VENV)/.demo)
DOCS_INSTALLED := $(or $(wildcard $(INSTALLED)),$(VENV)/.docs)
define NEW_VENV
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	|| { echo "Cannot create $(VENV): $(PYTHON) is older than 3.10. Set PYTHON=<a newer one>." >&2; exit 1; }
$(PYTHON) -m venv $(VENV)
endef
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Locks for every Python and machine, and ignores the existing lock.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --upgrade --generate-hashes \
	--no-header --no-annotate
# A separate repository, because Spark reads ~/.m2 and fails on incomplete downloads of Maven.
MVN := $(BIN)/python jars/maven.py -B -ntp -Dmaven.repo.local=$(CURDIR)/.maven/repository -f jars/pom.xml

JAR := spark_ext/jars/spark-ext.jar
# The jar carries the Python rules as well, so an edited rule makes a new jar.
JAR_SOURCES := jars/pom.xml jars/maven.py jars/function_columns.py \
	$(shell find jars/src/main -type f 2>/dev/null) \
	$(shell find spark_ext -name '*.py' -o -name py.typed -o -name '*.json' 2>/dev/null)

##@ Use it

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make <target>\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*##/ {printf "  %-18s%s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: jar ## Show usage tracking on real tables
	$(BIN)/python examples/demo.py

.PHONY: bench
bench: venv jar ## Compare times with plain delta-spark
	$(BIN)/python bench/run.py

.PHONY: notebook
notebook: venv jar ## Run the cells of examples/make_notebook.py and write examples/lakehouse.ipynb
	$(BIN)/python examples/make_notebook.py

.PHONY: golden
golden: venv jar ## Make the tables of docs/golden from their JSON
	$(BIN)/python -m tests.golden.states

.PHONY: pictures
pictures: jar ## Draw the pictures of docs/pictures again
	$(BIN)/python -m docs.pictures.diagrams
	$(BIN)/python -m docs.pictures.charts
	$(BIN)/python -m docs.pictures.badges
	$(BIN)/python -m docs.pictures.parquet_schema
	$(BIN)/python -m docs.pictures.terminal

.PHONY: docs
docs: $(DOCS_INSTALLED) ## Build the pages for a browser: docs/_build/html/index.html
	$(BIN)/python -m sphinx -q --fail-on-warning --keep-going -c docs -d docs/_build/doctrees . docs/_build/html
	@echo "Open docs/_build/html/index.html"

##@ Set-up

.PHONY: venv
venv: $(INSTALLED) ## Create .venv with the package and the development tools

# CI installs by hashes. The two other installs use the pins of pyproject.toml.
$(INSTALLED): .ci/requirements.txt .ci/sdists.txt .ci/client.txt pyproject.toml
	$(NEW_VENV)
	$(PIP) install --no-compile --require-hashes --requirement .ci/sdists.txt
	@# --no-build-isolation: otherwise pip fetches the builder of an sdist without a hash.
	@# --use-pep517: pip before 23.1 (Debian 12) requires the package `wheel`, which no venv has.
	$(PIP) install --no-compile --require-hashes --no-build-isolation --use-pep517 \
		--requirement .ci/requirements.txt
	$(PIP) install --no-compile --no-deps --no-build-isolation --editable .
	$(PIP) wheel --require-hashes --no-deps --no-build-isolation --use-pep517 \
		--wheel-dir $(VENV)/wheels --requirement .ci/client.txt
	@touch $@ $(VENV)/.demo $(VENV)/.docs  # this install contains the others

$(VENV)/.demo: pyproject.toml
	$(NEW_VENV)
	$(PIP) install --no-compile --editable '.[demo]'
	@touch $@

$(VENV)/.docs: pyproject.toml
	$(NEW_VENV)
	@# The pins of the extra without the package, whose requirements contain pyspark.
	sed -n '/^docs = \[/,/^\]/s/^ *"\([^"]*\)".*/\1/p' pyproject.toml > $(VENV)/docs.txt
	$(PIP) install --no-compile --requirement $(VENV)/docs.txt
	@touch $@

.PHONY: lock
lock: venv ## Write the hashes of all requirements into .ci/
	$(LOCK) --extra dev --output-file .ci/requirements.txt pyproject.toml
	sed -n 's/^ *"\(setuptools==[^"]*\)".*/\1/p' pyproject.toml | $(LOCK) --output-file .ci/sdists.txt -
	sed -n 's/^ *"pyspark\(==[^"]*\)".*/pyspark-client\1/p' pyproject.toml \
		| $(LOCK) --no-deps --output-file .ci/client.txt -
	@# One at a time, because a lock contains one version of a package.
	for pin in $$($(BIN)/python -m tests.matrix.environment); do \
		$(LOCK) --no-deps - <<< $$pin; done > .ci/pairs.txt.new
	mv .ci/pairs.txt.new .ci/pairs.txt

.PHONY: jar
jar: $(JAR) ## Build the JVM half of the plugin

$(JAR): $(JAR_SOURCES) | $(DEMO_INSTALLED)
	@echo "Building $@ (the first time fetches Maven and its plugins)"
	@rm -rf jars/target/classes  # otherwise the jar keeps classes and rules without a source
	@mkdir -p $(@D) jars/target/columns
	@$(BIN)/python jars/function_columns.py > jars/target/columns/function_columns.json
	@$(MVN) -q -DskipTests package
	@cp jars/target/spark-ext.jar $@.new && mv $@.new $@  # a running session never reads half a jar

.PHONY: wheel
wheel: jar ## Build the package: dist/*.whl, for pip install
	@rm -f dist/*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist/*.whl

.PHONY: release
release: release-build release-try ## Build the published files of this commit and try them: the two below

.PHONY: release-build
release-build: venv jar ## Build the published files of this commit: dist/release
	@test -z "$${TAG:-}" || $(BIN)/python -m tests.packaging.version "$$TAG"
	$(BIN)/python -m tests.packaging.release
	$(BIN)/python -m twine check --strict dist/release/python/*

.PHONY: release-try
release-try: venv jar ## Build them again, compare the bytes, and install them by name
	RELEASE=dist/release $(BIN)/python -m pytest tests/packaging/test_release.py -m matrix $(PYTEST_ARGS)

##@ Check it

.PHONY: test
test: venv jar ## Run the first tier in minutes: JUnit, tests/unit and tests/first_tier.txt
	@mkdir -p jars/target
	@$(MAKE) --no-print-directory test-java > jars/target/junit.log 2>&1 & junit=$$!; \
		tests=0; $(BIN)/python -m pytest -m 'not second_tier and not matrix' $(PARALLEL) $(PYTEST_ARGS) \
			|| tests=$$?; \
		wait $$junit || { cat jars/target/junit.log; echo "JUnit failed." >&2; exit 1; }; \
		grep 'Tests run:' jars/target/junit.log | tail -1; exit $$tests

.PHONY: test-all
test-all: venv jar ## Run the tests that `make test` omits, except the matrix
	$(BIN)/python -m pytest -m 'second_tier and not matrix' $(PARALLEL) $(PYTEST_ARGS)

.PHONY: coverage
coverage: venv jar ## Show lines of spark_ext that no unit test runs; PYTEST_ARGS=tests/integration adds others
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest tests/unit $(PYTEST_ARGS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

.PHONY: test-java
test-java: venv jar ## Run the JUnit tests: the hooks, and the calls into the installed pair
	$(MVN) test -DargLine="-Dsparkext.pair=$$($(BIN)/python -m tests.matrix.installed)" $(MVN_ARGS)

.PHONY: test-integration
test-integration: venv jar ## Run the tests on a real Spark session
	$(BIN)/python -m pytest tests/integration $(PARALLEL) $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: venv jar ## Run the tests marked `matrix` (hours)
	$(BIN)/python -m pytest tests -m matrix $(PARALLEL) $(PYTEST_ARGS)

.PHONY: test-pairs
test-pairs: venv jar test-java ## Run the integration tests on PAIRS of Spark and Delta (all take hours)
	$(BIN)/python -m tests.matrix --pairs '$(PAIRS)' $(SHORT) --maven '$(MVN)' -- $(PARALLEL) $(PYTEST_ARGS)

.PHONY: nightly-jobs
nightly-jobs: venv ## Print the commands of today's nightly workflow as JSON
	@$(BIN)/python -m tests.matrix.pairs

.PHONY: soak
soak: venv jar ## Compare HISTORIES random histories with the model in JOBS processes
	$(BIN)/python -m tests.histories.soak --histories $(HISTORIES) --jobs $(JOBS)

.PHONY: lint
lint: venv ## Check style, spelling, types and workflows: ruff, codespell, mypy, google-java-format, zizmor
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell --skip docs/golden,docs/_build,docs/pictures --ignore-words-list advices,copyin \
		*.md .github docs spark_ext jars/src
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet --min-severity medium .github
	$(MVN) -q com.spotify.fmt:fmt-maven-plugin:check

.PHONY: format
format: venv ## Format the sources, and write the releases and settings into other files
	$(BIN)/python -m tests.matrix.places
	$(BIN)/python tests/unit/test_settings.py
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(MVN) -q com.spotify.fmt:fmt-maven-plugin:format

##@ Tidy up

.PHONY: clean
clean: ## Remove built files (.venv and .maven are kept)
	rm -rf jars/target $(JAR) dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
