# Everything below sets itself up in .venv: Python >= 3.11, make and a package index are enough.
PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
# hundreds of programs are started by the tests: their byte code is kept, whatever the shell wishes
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
comma := ,
# packages of the extras $(1): within the bounds of pyproject.toml, or with LOCKED=1 exactly the files
# that requirements/*.txt list with their hashes
ifdef LOCKED
install = $(PIP) --require-hashes $(patsubst %,-r requirements/%.txt,$(subst $(comma), ,$(1))) && $(PIP) --no-deps -e .
else
# byte code is compiled on all cores afterwards; a package may contain files of another Python
install = $(PIP) --no-compile -e '.[$(1)]' -c requirements/pins.txt && { $(BIN)/python -m compileall -qq -j 0 $(VENV) || true; }
endif

.PHONY: stubs help demo view test check lint docs bench speed fuzz attack mutants clean lock matrix release-check

help:
	@echo "make demo   explain a torque, and work the exercises of the course"
	@echo "make view   open a robot in the browser"
	@echo "make test   run all tests; MANY=1 takes all seeds and examples of each"
	@echo "make check  ruff, pyright on what changed, few cases of matrix, laws and references, in a minute"
	@echo "make lint   ruff and pyright"
	@echo "make docs   build the documentation in build/docs, warnings are errors"
	@echo "make bench  measure kinetree and its peers, write a dated record"
	@echo "make speed [STORE=1]  ratios to peers beside the stored ones, about 3 minutes; STORE=1 renews these"
	@echo "make release-check  build the wheel and the sdist twice, install and inspect them"
	@echo "make matrix [CELLS=pattern ADD=report.json]  the wheel on other Pythons, dependencies and ARM, with a record"
	@echo "make lock   renew the locked packages in requirements/; LOCKED=1 uses them"
	@echo "make fuzz   feed 100,000 mutated robot files to the readers"
	@echo "make mutants [FOLDER=simulate COUNT=60 SEED=1 JOBS=1 RECORD=file]  plant faults, list those tests miss"
	@echo "make attack [SEED= TIMES=20 JOBS=2 LAWS=pattern]  the laws on so many times more random cases"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(PIP) -e .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml requirements/pins.txt
	$(call install,test)
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(call install,test$(comma)lint)
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) -e '.[test,bench]' -c requirements/pins.txt
	@touch $@

# peers whose versions exclude those of the others
$(VENV)-solvers/.bench: pyproject.toml benchmarks/solvers.txt
	$(PYTHON) -m venv $(VENV)-solvers
	$(VENV)-solvers/bin/python -m pip --disable-pip-version-check install --quiet -e . -r benchmarks/solvers.txt
	@touch $@

# the types of quantities, from their declarations; an editable installation writes them, too
stubs: $(VENV)/.core
	@$(BIN)/python tools/write_stubs.py

demo: $(VENV)/.core
	@$(BIN)/kinetree demo

$(VENV)/.view: $(BIN)/python pyproject.toml
	$(PIP) -e '.[symbolic]'
	@touch $@

view: $(VENV)/.view
	@$(BIN)/kinetree view

# one test more at once than there are cores, because some wait for a browser or another process;
# tests of one file stay together (worksteal), so that what they share is made once
test: export OPENBLAS_NUM_THREADS ?= 1
test: $(VENV)/.test stubs
	$(BIN)/python -m pytest -n $$($(BIN)/python -c "import os; print((os.cpu_count() or 1) + 1)") --dist worksteal \
	  $(if $(MANY),--many)

# few cases of the tests that find most faults in their time, while pyright reads the modules that the
# last commit and the working tree change; make lint takes all modules, make test all tests
QUICK := tests/matrix tests/laws tests/interfaces/test_public_names.py $(addprefix tests/unit/,core spatial \
  model controllers simulate engine/compiler engine/golden engine/kernels/test_stored.py test_layout.py) $(addprefix tests/references/test_, \
  bad_inputs.py constraints.py contacts_references.py control.py file_features.py motion.py recording_files.py \
  robot_files.py robot_tables.py simulation.py written_files.py)
DEAR := $(addprefix --deselect=tests/,laws/test_constraint_laws.py::test_sensitivities_are_differences_of_closed_motions \
  laws/test_constraint_laws.py::test_a_motion_stays_closed_and_keeps_its_energy \
  laws/test_contact_laws.py::test_derivatives_of_a_soft_step_are_its_differences \
  laws/test_contact_laws.py::test_impacts_gain_no_energy \
  matrix/test_matrix_values.py::test_every_width_gives_the_same_bits matrix/test_matrix_values.py::test_the_interpreter \
  references/test_written_files.py::test_the_command_writes_urdf_mjcf_and_json_and_compares)
CHANGED = $(shell git diff --name-only --diff-filter=d HEAD~1 -- 'src/*.py' 2>/dev/null; git ls-files --others --exclude-standard -- 'src/*.py' 2>/dev/null)
check: export OPENBLAS_NUM_THREADS ?= 1
check: $(VENV)/.lint stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(if $(CHANGED),$(BIN)/pyright $(CHANGED),true) & types=$$!; \
	  $(BIN)/python -m pytest -n 2 --dist worksteal --few $(DEAR) $(QUICK) && wait $$types

lint: $(VENV)/.lint stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src docs tools benchmarks examples README.md CONTRIBUTING.md CHANGELOG.md
	$(BIN)/pyright

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(call install,docs)
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

bench: $(VENV)/.bench
	$(MAKE) $(VENV)-solvers/.bench || echo "Crocoddyl cannot be installed here: it is left out"
	$(BIN)/python -m benchmarks.run

$(VENV)/.speed: $(BIN)/python pyproject.toml requirements/pins.txt
	$(PIP) -e . pin mujoco casadi example-robot-data -c requirements/pins.txt
	@touch $@

speed: $(VENV)/.speed
	$(BIN)/python -m benchmarks.speed $(if $(STORE),--store)

fuzz: $(VENV)/.test
	$(BIN)/python tools/fuzz_urdf.py --count 100000 --seed 1 $(wildcard ../shared)

# the laws on other random cases than those of the tests; what fails is simplified
attack: export OPENBLAS_NUM_THREADS ?= 1
attack: SEED := $(or $(SEED),$(shell date +%s))
attack: $(VENV)/.test
	@echo "make attack SEED=$(SEED) repeats these cases"
	$(BIN)/python -m pytest tests/laws --many --times $(or $(TIMES),20) --hypothesis-seed $(SEED) \
	  -n $(or $(JOBS),2) -k '$(LAWS)'

mutants: $(VENV)/.test
	$(BIN)/python tools/mutants.py $(or $(FOLDER),simulate) --count $(or $(COUNT),60) \
	  --seed $(or $(SEED),1) --jobs $(or $(JOBS),1) \
	  $(if $(RECORD),--record $(RECORD)) $(if $(REASONS),--reasons $(REASONS))

# the packages that LOCKED=1 installs, for Python 3.11 and newer on every platform
lock: export UV_CUSTOM_COMPILE_COMMAND = make lock
lock: $(BIN)/python
	$(PIP) 'uv>=0.9'
	for extra in test lint docs release; do \
	  $(BIN)/uv pip compile pyproject.toml --extra $$extra -c requirements/pins.txt --upgrade --quiet \
	    --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	    -o requirements/$$extra.txt >/dev/null || exit 1; \
	done
	@wc -l requirements/*.txt

# the files of a release of the last commit, in build/release/dist; needs nothing of $(VENV)
release-check:
	$(PYTHON) tools/release_check

# the built wheel in many environments; tools/matrix describes them
matrix: $(BIN)/python
	PYTHONPATH=tools $(BIN)/python -m matrix $(if $(CELLS),$(foreach cell,$(CELLS),'$(cell)')) \
	  $(if $(ADD),--add $(ADD)) $(if $(RECORD),--record $(RECORD))

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
