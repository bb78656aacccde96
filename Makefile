# Two commands: `make demo` and `make test`. Each sets up what it needs in .venv first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# If PIP_FIND_LINKS names a folder of wheels for pip, uv uses it too.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)
export UV_COMPILE_BYTECODE = 1

.PHONY: demo test check attack docs perf results package clean

demo: $(VENV)/.demo
	$(BIN)/manifuse demo

test: $(VENV)/.dev
	scripts/test

check: $(VENV)/.dev
	scripts/check

attack: $(VENV)/.dev
	scripts/attack

docs: $(VENV)/.docs
	scripts/docs

perf: $(VENV)/.dev
	scripts/perf

results: $(VENV)/.dev
	scripts/reproduce

package: $(VENV)/.dev
	scripts/package --extras

$(VENV)/.demo: pyproject.toml constraints.txt
	scripts/install $(PYTHON) $(VENV) page
	touch $@

$(VENV)/.dev: pyproject.toml study/pyproject.toml constraints.txt
	scripts/install $(PYTHON) $(VENV) dev study
	touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml study/pyproject.toml constraints.txt
	scripts/install $(PYTHON) $(VENV) docs study
	touch $@

clean:
	rm -rf $(VENV) dist docs/_build docs/generated .pytest_cache .hypothesis .mypy_cache .ruff_cache
