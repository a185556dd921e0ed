# Everything a person or CI does here. `make help` lists the targets.
# On a fresh machine each target first sets up what it needs, under .venv and .local only.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
MODEL ?= minilm
OTHER_MODEL ?=
INDEX ?= embedded
ARCH ?= x86_64
STACK ?= custody
PARAMETERS ?=
ENDPOINT ?=
PYTHON ?=
export UV_NO_PROGRESS := 1
export SAM_CLI_TELEMETRY := 0
export CUSTODY_MODEL := $(MODEL)
export CUSTODY_OTHER_MODEL := $(OTHER_MODEL)

say = @printf '%s\n' "$(1)" >&2

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# --- environments -----------------------------------------------------------------------------
.PHONY: setup tools
setup: $(VENV)/.ready ## make .venv with everything that is developed and tested here
tools: .local/venvs/ministack/.ready .local/venvs/sam/.ready .local/runtime/.ready ## the local AWS and the SAM command, each in its own environment

$(VENV)/.uv: requirements/uv.txt local/find-python
	$(call say,Making $(VENV) with a Python 3.12 ...)
	@python=$$(PYTHON='$(PYTHON)' sh local/find-python) && \
	  { test -x $(BIN)/python && $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' \
	    || "$$python" -m venv --clear $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(VENV)/.ready: $(VENV)/.uv requirements/dev.txt pyproject.toml
	$(call say,Installing the development environment ...)
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.local/venvs/%/.ready: requirements/%.txt | $(VENV)/.uv
	$(call say,Installing $* in an environment of its own ...)
	@python=$$(PYTHON='$(PYTHON)' sh local/find-python) && \
	  $(UV) venv --quiet --clear --python "$$python" .local/venvs/$*
	@$(UV) pip sync --quiet --python .local/venvs/$*/bin/python --require-hashes requirements/$*.txt
	@touch $@

# What the Lambda runtime itself gives a handler.
.local/runtime/.ready: requirements/runtime.txt | $(VENV)/.uv
	@rm -rf .local/runtime && mkdir -p .local/runtime
	@$(UV) pip install --quiet --python $(BIN)/python --target .local/runtime --no-deps --require-hashes -r $<
	@touch $@

.PHONY: lock
lock: $(VENV)/.uv ## compile requirements/*.in to hashed lock files
	@UV=../$(UV) sh requirements/lock.sh

# --- tests ------------------------------------------------------------------------------------
PYTEST := $(BIN)/pytest -q -n 2
SLOW := slow or opensearch or emulator or e2e
.PHONY: test test-fast test-slow test-iam
test: test-fast test-slow ## every test; sets itself up

test-fast: setup model ## the tests that take milliseconds
	$(PYTEST) -m "not ($(SLOW))"

test-slow: setup tools model ## real index, local AWS, packaging, end to end
	$(PYTEST) --dist loadfile -m "$(SLOW)"

test-iam: setup tools model ## the main path end to end with every role held to its policy
	CUSTODY_TEST_ENFORCE_IAM=1 $(PYTEST) --dist loadfile -m e2e tests/e2e/main_path

.PHONY: mutate
mutate: setup model ## break each promise once and watch its test fail (some minutes)
	$(BIN)/python -m tests.mutate

# --- checks -----------------------------------------------------------------------------------
.PHONY: lint lint-style lint-types lint-imports lint-template format hooks
lint: lint-style lint-types lint-imports lint-template ## ruff, mypy, import rules, template checks

# .pre-commit-config.yaml runs the same four before a commit.
lint-style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: setup
	$(BIN)/mypy

lint-imports: setup
	$(BIN)/lint-imports

lint-template: setup tools
	$(BIN)/cfn-lint template.yaml $(wildcard templates/*.yaml)
	.local/venvs/sam/bin/sam validate --lint --template template.yaml --region us-east-1

hooks: setup ## let git run `make lint` before each commit
	$(BIN)/pre-commit install

format: setup ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: clean
clean: ## remove what was built (not the environments)
	rm -rf .aws-sam .local/build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# --- model and layers -------------------------------------------------------------------------
.PHONY: model
model: setup ## fetch the embedding model and check it (MODEL=minilm or e5-small-v2) into .local/models
	@$(BIN)/python layers/embeddings/build_model.py $(MODEL) .local/models/$(MODEL) --cache .local/cache/models

.PHONY: build
build: setup tools ## build layers and functions for this machine, as the local stack does
	@$(BIN)/python -m custody_local.build $(MODEL)

# --- the local stack --------------------------------------------------------------------------
.PHONY: up down status demo invoke
AT := $(if $(ENDPOINT),--endpoint $(ENDPOINT))

demo: setup tools ## run the main job for real, check every claim, leave nothing running (ENDPOINT=an emulator that runs)
	@$(BIN)/python -m custody_cli.demo --index $(INDEX) --model $(MODEL) $(AT)

up: setup tools ## start the whole service on this machine (INDEX=embedded or opensearch, ENDPOINT=…)
	@$(BIN)/custody up --index $(INDEX) --model $(MODEL) $(AT)

down: setup ## stop what `make up` started
	@$(BIN)/custody down

status: setup ## what runs, and where
	@$(BIN)/custody status

invoke: setup tools ## run one handler as Lambda does: FUNCTION=query EVENT=events/query/search.json
	@test -n "$(FUNCTION)" -a -n "$(EVENT)" || { echo "usage: make invoke FUNCTION=query EVENT=events/query/search.json" >&2; exit 2; }
	@$(BIN)/python -m custody_local.invoke "$(FUNCTION)" "$(EVENT)"

# --- AWS --------------------------------------------------------------------------------------
.PHONY: deploy
deploy: setup tools ## deploy to AWS: STACK=custody ARCH=x86_64 PARAMETERS="TokenIssuer=https://… OpenSearchUrl=https://… …"
	@test -n "$(PARAMETERS)" || { echo "make deploy needs PARAMETERS=\"Name=value …\"; docs/operations.md lists them." >&2; exit 2; }
	PATH="$(abspath $(BIN)):$$PATH" CUSTODY_LAYER_PLATFORM=$(ARCH) .local/venvs/sam/bin/sam build \
	  --parameter-overrides Architecture=$(ARCH) ModelName=$(MODEL) OtherModelName='"$(OTHER_MODEL)"'
	.local/venvs/sam/bin/sam deploy --stack-name $(STACK) --resolve-s3 --no-fail-on-empty-changeset \
	  --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND \
	  --parameter-overrides Architecture=$(ARCH) ModelName=$(MODEL) OtherModelName='"$(OTHER_MODEL)"' $(PARAMETERS)
