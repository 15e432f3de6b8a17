# Everything lives in .venv; each target works alone and twice on a machine with only Python 3.11 or later and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready

# Silent while all is well; if not, it shows everything that pip said.
INSTALL = install() { $(BIN)/python -m pip install "$$@" >.venv/pip.log 2>&1 \
  || { cat .venv/pip.log >&2; exit 1; }; }; install

# What is compiled is kept, also where an image forbids it: two workers and forty processes compile the same files.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-photos test slow kernels quick check bench soundness torture hashed audit docs dist browser clean

demo: $(READY)
	$(BIN)/attribound demo

demo-photos: $(READY)
	$(BIN)/attribound demo --photos --out attribound-demo-photos

# Each worker takes one half of the files and then steals from the other: what a file's tests share is made once.
test: $(READY) browser
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" tests

# What `test` leaves out: ten thousand forged files, ten thousand attacked cells and the like, a quarter of an hour.
slow: $(READY)
	$(BIN)/python -m pytest -n 2 -m slow tests

# What another processor computes: stored numbers with torch's plain kernels and with AVX2's; with the plain ones also the
# tests of certificates and sampling in which a network is evaluated. Records, words and errors are the same everywhere.
NETWORKS = $(addprefix tests/certificates/test_,again.py certify.py given.py reasons.py together.py verify.py) \
  $(addprefix tests/sampling/test_,draws.py estimate.py interval.py prediction.py scan.py scatter.py votes.py witness.py)
kernels: $(READY)
	ONEDNN_MAX_CPU_ISA=SSE41 ATEN_CPU_CAPABILITY=default $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" \
	  tests/regression tests/paper/test_survey.py $(NETWORKS)
	ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" \
	  tests/regression tests/paper/test_survey.py

# The core rooms without the slow tests: while editing.
quick: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" tests/bounds tests/fields tests/sampling tests/certificates/test_record.py \
	  tests/certificates/test_certificate.py tests/test_house.py tests/test_checks.py tests/test_rounding.py tests/test_noise.py

# 120,000 exact cases in seconds, then five times CI's sampled and attacked ones; CI runs a small part of both.
soundness: $(READY)
	ATTRIBOUND_SOUNDNESS=20 $(BIN)/python -m pytest tests/soundness/test_many.py
	ATTRIBOUND_SOUNDNESS=5 $(BIN)/python -m pytest -n 2 tests/soundness tests/statistical

# The table of faults: processes killed, disks filled, files mutated. About an hour on two idle cores.
torture: $(READY)
	$(BIN)/python -m tests.torture

# The environment from files whose SHA-256 is known (Linux x86-64, CPython 3.11); torch is of the user's choosing.
hashed:
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --no-deps --require-hashes --requirement constraints-hashed.txt
	$(INSTALL) --constraint constraints.txt torch
	$(INSTALL) --no-deps --no-build-isolation --editable .
	touch $(READY)

# Known holes in the pinned packages; asks the advisory database of the Python registry.
audit:
	test -x .audit/bin/pip-audit || { $(PYTHON) -m venv .audit && .audit/bin/python -m pip install --quiet pip-audit; }
	.audit/bin/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt \
	|| { echo "audit: holes were found, or the advisory database cannot be reached from here (see above)"; exit 1; }

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

# Every figure, at most a quarter of an hour on two idle cores; `make test` runs a smoke of it. Writes results/bench.md.
bench: $(READY)
	$(BIN)/python -m benchmarks

# The documentation site in site/, strictly: a warning is an error (--quiet would hide it from --strict). Needs no
# network, neither to build nor to read.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "wrote site/index.html; to read with search: $(BIN)/python -m http.server --directory site"

# Wheel and source archive in dist/, checked in a fresh environment elsewhere that borrows torch from .venv.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python scripts/tools/check_dist.py dist

# The report and the site are tested in Debian's Chromium; without it, and without the right to install it, those tests are skipped.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "installing chromium for the browser tests" \
	     && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	|| echo "no Chromium here: the browser tests will be skipped (Debian: apt-get install chromium)"

# PIP_CONSTRAINT names its file relative to this folder: pip splits it at spaces, and the folder's name may have one.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt torch
	export PIP_CONSTRAINT=constraints.txt; $(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .audit attribound-demo artefacts site dist
