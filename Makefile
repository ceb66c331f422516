# `make demo` and `make test` need python3 and nothing else: .venv is built when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test browser check bench cluster faults fuzz docs site wheel clean

demo: $(READY)
	rm -rf runs/demo
	$(BIN)/knowwhen demo --run runs/demo

test: $(READY) browser
	$(BIN)/pytest

# The page is tested in a real browser: Debian's, installed where we may; without one those tests are skipped, and say so.
browser:
	@command -v chromium >/dev/null || { apt-get -q update && apt-get -qy install --no-install-recommends chromium; } >/dev/null 2>&1 \
		|| echo "no Chromium, and none could be installed: tests of the page are skipped"

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.loading
	$(BIN)/python -m benchmarks.softmax
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.training --entities 432715 --rank 100 --sampling uniform --negatives 2048
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.query
	$(BIN)/python -m benchmarks.embedding
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.distributed --sampling uniform --negatives 2048
	$(BIN)/python -m benchmarks.wikidata

# Every fault at every operation of every command that writes; and 50,000 damaged inputs. Each prints what survived.
faults: $(READY)
	$(BIN)/python -m tests.faults.trying

fuzz: $(READY)
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m tests.fuzz.fuzzing --cases 50000 --seed 0
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python -m tests.fuzz.fuzzing --cases 500 --seed 0 --target flipped_run

# Extraction and training on a Ray cluster of two nodes here, and a killed process.
cluster: $(READY)
	KNOWWHEN_RAY=1 $(BIN)/pytest -n 0 tests/distributed/test_ray.py

docs: $(READY)
	$(BIN)/python docs/generate.py

# The documentation as a web site in ./site, which opens from the disk and fetches nothing.
site: $(READY)
	$(BIN)/mkdocs build --strict

# What would be published: built, checked, and installed where nothing of this folder can be seen.
wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build -q --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m tests.installing dist/*.whl

clean:
	rm -rf .venv dist site .pytest_cache .mypy_cache .ruff_cache

# torch first and alone: a later install that finds it in place never asks for another build.
$(READY): pyproject.toml constraints.txt
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt torch
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[docs,excel,mcp,plot,ray,rdf,serve,tune,wikidata,dev]'
	touch $@
