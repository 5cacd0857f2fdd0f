# Set-up, checks and the demo. Every target makes its own environment in .venv, with the first Python here that
# exparity is tested with (see .ci/environment), or with the one named: make demo PYTHON=python3.13 VENV=.venv-313
VENV := .venv
BIN := $(VENV)/bin
LOCKED := $(VENV)/.locked
STAMP := $(VENV)/.installed
# Tests on all cores, files as a whole (tests/conftest.py says how many and puts the longest first).
WORKERS ?= -n auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-fast test-bits lint style types format docs reference lock dist audit-deps clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(LOCKED): requirements.lock requirements-cpu.lock requirements-cuda.lock
	.ci/environment $(VENV)
	@touch $@

# `pip check` proves that the locks lack nothing.
$(STAMP): $(LOCKED) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/python -m pip check
	@touch $@

demo: $(STAMP)  ## run the default experiment on embedded data; prints the answers and names the report
	$(BIN)/snakemake
	@echo
	@$(BIN)/exparity show results
	@echo
	@echo "Done. Open the report: $(CURDIR)/results/report/index.html"

test: $(STAMP)  ## run the tests, of each sweep a part
	$(BIN)/python -m pytest $(WORKERS)

test-all: $(STAMP)  ## run them with every sweep in full
	$(BIN)/python -m pytest $(WORKERS) --exhaustive

test-fast: $(STAMP)  ## run all tests but those that run whole workflows
	$(BIN)/python -m pytest $(WORKERS) -m "not workflow"

test-bits: $(STAMP)  ## run the tests of equal bits as on four other processors
	.ci/bits $(BIN)/python all

lint: style types  ## check style, types, spelling and the workflow

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/codespell

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)  ## format Python and Snakemake files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

# The site has an environment of its own, which those who run experiments need not have.
DOCS := .venv-docs
$(DOCS)/.installed: requirements-docs.lock
	.ci/environment $(DOCS) $<
	@touch $@

docs: $(STAMP) $(DOCS)/.installed  ## build the documentation as a site, in site/; a broken link is an error
	$(BIN)/python .ci/reference.py --api build/api.md
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "Open $(CURDIR)/site/index.html; its search needs a server: python3 -m http.server -d site"

reference: $(STAMP)  ## write the tables of the docs that the code knows
	$(BIN)/python .ci/reference.py

lock: $(STAMP)  ## write what is installed, with hashes, to the lock files; needs a network
	$(BIN)/python .ci/lock.py

dist: $(STAMP)  ## build sdist and wheel in dist/, and run the demo from empty environments
	rm -rf dist
	$(BIN)/uv build --quiet --no-build-isolation --python $(BIN)/python
	.ci/try_dist dist/exparity-*.tar.gz --dry-run --quiet all
	.ci/try_dist dist/exparity-*.whl

audit-deps: $(STAMP)  ## look the locked versions up among known vulnerabilities; needs a network
	@$(BIN)/uv tool run --quiet pip-audit --strict --disable-pip -r requirements.lock -r requirements-cuda.lock \
	  || { echo "audit-deps needs a network: unless vulnerabilities are listed above, the advisories of PyPI" \
	  "could not be asked and nothing has been audited" >&2; exit 1; }

clean:  ## remove results and caches, and keep the environment
	find results -mindepth 1 -not -name .gitkeep -delete
	rm -rf site .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
