# One command each, from a fresh clone: every target does its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

# CPU builds of torch: PyPI's for Linux bring several GB of CUDA.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# Only for the openfhe backend, which an independent check of the others runs on.
OPENFHE_PYTHON ?= $(shell scripts/openfhe_python.sh)
OPENFHE_VENV   := .venv-openfhe
OPENFHE_STAMP  := $(OPENFHE_VENV)/.ready
PREVIOUS_VENV  := .venv-previous

# Each takes one core and up to 2 GB.
TEST_PROCESSES ?= 2

.PHONY: setup test test-core sanitize lint demo soak docs bench bench-quick fhe-benchmark gpu-report openfhe previous constraints wheel release clean

setup: $(STAMP)

# Rebuilt only when what is installed could differ: constraints, metadata or native sources.
# Whatever is installed has one of the hashes in constraints/.
# Modules are compiled when they are first loaded, as here: of all that is installed, few ever are.
# CrypTen asks for two packages that it does not use; one of them cannot be installed by anybody.
$(STAMP): pyproject.toml lab/pyproject.toml constraints/torch.txt constraints/development.txt \
	constraints/crypten.txt $(wildcard native/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --no-deps --retries 1 \
	--index-url $(TORCH_INDEX) --requirement constraints/torch.txt
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement constraints/development.txt
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --no-deps --requirement constraints/crypten.txt
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --no-build-isolation \
	--editable . --editable lab
	! $(BIN)/python -m pip check | grep -v -e "^No broken" -e "^crypten .* requires \(future\|sklearn\),"
	$(BIN)/python -c "import securefair.cli, securefair.library, securefair.run.execute, securefair_lab"
	touch $(STAMP)

# Processes that tests start would compile the package anew, each of them.
unexport PYTHONDONTWRITEBYTECODE

# Stores that tests write are synchronised at every commit: in memory where 4 GB of it are free for files.
SPARE_MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | tail -1)
ifeq ($(shell test "$(SPARE_MEMORY)" -gt 4000000 2>/dev/null && echo enough),enough)
export PYTEST_DEBUG_TEMPROOT ?= /dev/shm
endif

# Tests of one file stay in one process: they share what their fixtures have run. Files are taken in
# the order of tests/conftest.py, long ones first.
PYTEST = $(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadfile \
	--no-loadscope-reorder

# Properties draw half as many examples as where nobody says otherwise, and always the same; `make soak`
# draws a thousand, others every time.
test: setup openfhe-if-possible previous-if-possible
	SECUREFAIR_EXAMPLES=25 $(PYTEST)

# Unit, contract and security tests of the package: without the laboratory, whole runs, and openfhe's
# second opinion. No folder is named: the process that only divides the tests would load its
# conftest.py, and torch.
test-core: setup
	SECUREFAIR_EXAMPLES=25 $(PYTEST) -o testpaths=tests --ignore=tests/system -m "not slow" -k "not openfhe"

# Native kernels with AddressSanitizer and UBSan, in a copy of the package: some minutes to build.
SANITIZED = build/sanitized
KERNEL_TESTS = $(addprefix tests/unit/ckks/backends/test_, kernels.py kernel_calls.py \
	seed_kernels.py patch_kernels.py arrivals.py packing.py)

sanitize: setup
	cmake -S native -B $(SANITIZED)/native -DSECUREFAIR_SANITIZE=ON \
	-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	cmake --build $(SANITIZED)/native --parallel $(TEST_PROCESSES)
	rm -rf $(SANITIZED)/securefair && cp -r src/securefair $(SANITIZED)/securefair
	cp $(SANITIZED)/native/_native*.so $(SANITIZED)/securefair/ckks/backends/
	PYTHONPATH=$(SANITIZED) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	$(BIN)/python scripts/sanitized_tests.py $(KERNEL_TESTS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config lab/pyproject.toml

# The long forms of tests of sites, and twenty times the examples of every property, others each
# time: hours.
soak: setup previous-if-possible
	SECUREFAIR_ROUNDS=1000 SECUREFAIR_MUTATIONS=1000000 SECUREFAIR_KILLS=200 SECUREFAIR_HOSTS=8 \
	SECUREFAIR_FLARE=1 $(BIN)/python -m pytest tests/unit/sites/site/test_site.py \
	tests/security/test_envelopes.py \
	tests/system/test_half_staffed.py tests/system/test_rehearsal.py tests/system/test_upgrade.py \
	tests/system/test_slow_links.py tests/system/test_flare.py
	SECUREFAIR_EXAMPLES=1000 $(PYTEST) -m hypothesis tests/unit tests/contract tests/security \
	tests/system/test_stated_precision.py

demo: setup
	$(BIN)/securefair demo

# Strict: a broken link or a page that is missing ends it. Nothing is fetched, and no page fetches.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# One table an operation, so that its rows compare backends; at the end what has changed. Every run
# is kept in .benchmarks: `pytest-benchmark compare` puts any two side by side.
bench: setup
	$(BIN)/python -m pytest bench --benchmark-only --benchmark-autosave \
	--benchmark-sort=min --benchmark-columns=min,median,stddev,rounds
	$(BIN)/python bench/compared.py

# The targets of the engine, beside the kept run before: under three minutes.
bench-quick: setup
	$(BIN)/python bench/targets.py --quick

# The public benchmark's ml-inference workload, for 1 to 10,000 images of SECUREFAIR_DATA.
fhe-benchmark: setup
	$(BIN)/python bench/fhe_benchmark/run.py --write docs/performance.md

# Bits and times of a GPU, where one is, as one Markdown file: in an environment of its own, with the
# build of torch that a card needs (several GB). Its version is that of constraints/torch.txt.
GPU_TORCH_INDEX ?= https://download.pytorch.org/whl/cu130
GPU_VENV := .venv-gpu

gpu-report:
	@command -v nvidia-smi > /dev/null || { echo "No card: nvidia-smi is not here. Nothing was installed or measured."; exit 1; }
	@$(MAKE) --no-print-directory $(GPU_VENV)/.ready
	$(GPU_VENV)/bin/python bench/gpu_report.py

$(GPU_VENV)/.ready: pyproject.toml constraints/torch.txt constraints/development.txt $(wildcard native/*)
	test -x $(GPU_VENV)/bin/python || $(PYTHON) -m venv $(GPU_VENV)
	$(GPU_VENV)/bin/python -m pip install --quiet --no-compile --retries 1 --extra-index-url $(GPU_TORCH_INDEX) \
	$$(grep -o "^torch==[0-9.]*" constraints/torch.txt)
	$(GPU_VENV)/bin/python -m pip install --quiet --no-compile --require-hashes --requirement constraints/development.txt
	$(GPU_VENV)/bin/python -m pip install --quiet --no-compile --no-deps --no-build-isolation --editable .
	touch $@

# Only for the openfhe backend, an independent check (docs/backends.md). Nothing else needs it.
openfhe:
	@test -n "$(OPENFHE_PYTHON)" || { echo "openfhe needs CPython 3.10, or 3.12 with glibc 2.38 or \
	newer: none was found on the path or among pyenv's. OPENFHE_PYTHON=... names one."; exit 1; }
	@$(MAKE) --no-print-directory $(OPENFHE_STAMP)

$(OPENFHE_STAMP): constraints/openfhe.txt
	$(OPENFHE_PYTHON) -m venv --clear $(OPENFHE_VENV)
	$(OPENFHE_VENV)/bin/python -m pip install --quiet --no-compile --require-hashes --requirement $<
	$(OPENFHE_VENV)/bin/python -c "import numpy, openfhe"
	touch $@

# Tests do without it; pytest counts at its end what was skipped for that.
.PHONY: openfhe-if-possible
openfhe-if-possible:
	@$(MAKE) --no-print-directory openfhe || echo "THE TESTS OF THE OPENFHE BACKEND WILL BE SKIPPED"

# The release before this one, beside it: tests of upgrades run sites of both in one project.
previous: setup
	scripts/previous_release.sh $(BIN)/python $(PREVIOUS_VENV)

.PHONY: previous-if-possible
previous-if-possible:
	@test -x $(PREVIOUS_VENV)/bin/python || $(MAKE) --no-print-directory previous || \
	echo "THE TEST OF UPGRADES WILL BE SKIPPED"

# The newest versions that fit together, and their hashes.
constraints: setup
	$(BIN)/python scripts/raise_constraints.py --torch-index $(TORCH_INDEX)

# The source, and a wheel for this machine. Those for an index come from cibuildwheel.
wheel: setup
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m build --no-isolation --wheel --outdir dist lab

# Checks, changelog, tag, wheel, source and list of components. Publishes nothing.
release: setup
	$(BIN)/python scripts/release.py --torch-index $(TORCH_INDEX) $(VERSION)

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache
