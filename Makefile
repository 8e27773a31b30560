# Every target works on a fresh clone: it first installs what it needs into .venv.
# Set-up writes to stderr only, so that `make -s demo | jq -r .answer` prints the answer.

VENV   := .venv
PY     := $(VENV)/bin/python
PYTEST  = PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n auto --dist worksteal
HOUSE  := $(patsubst %,tests/repository/test_%.py,architecture packaging line_budget)# the tests of `make check`
ENGINE := ../shared/container/with_engine.sh
ARGS   ?=
BIOME  := 2.6.8
UV     := 0.13.8
MAX_PACKAGES  := 68
MAX_MEGABYTES := 160

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1	\2/p' Makefile

demo: $(VENV)/runtime ## Answer a question with no key, no model and no network
	@$(PY) -m compileall -q agent >&2
	@$(VENV)/bin/research-agent --offline "Who won the 2022 FIFA World Cup?"

test: $(VENV)/dev ## Run the fast tests on all cores, in two minutes; ARGS="-k name" for some
	@$(PYTEST) -m "not slow" $(HOUSE:%=--ignore=%) $(ARGS)

test-slow: $(VENV)/dev ## Run the slow tests: kills, hangs, hostile input, a browser
	@$(PYTEST) -m slow $(ARGS)

check: $(VENV)/dev ## Check style, types, imports, licences, known vulnerabilities
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) -m pytest $(HOUSE)
	@$(PY) -m tests.support.vulnerabilities
	@$(MAKE) --no-print-directory javascript

javascript: ## Check the style of the page's JavaScript; skipped without node
	@if ! { command -v node && command -v npm; } >/dev/null; then \
		echo "Skipped: no node for the linter of JavaScript."; \
	elif $(MAKE) -s --no-print-directory node_modules/biome-$(BIOME) 2>/dev/null; then \
		cd agent/server/page && "$(CURDIR)/node_modules/.bin/biome" check --error-on-warnings; \
	else \
		echo "Skipped: the linter of JavaScript could not be had from npm."; \
	fi

bench: $(VENV)/dev ## Measure speed and memory into evals/benchmarks/RESULTS.md
	@$(PY) -m compileall -q agent evals >&2
	@$(PY) -m evals.benchmarks $(ARGS)

eval: $(VENV)/dev ## Measure the quality of answers into evals/RESULTS.md
	@$(PY) -m evals $(ARGS)

pictures: $(VENV)/dev ## Take the pictures of the page that the documents show, into docs/pictures
	@$(PY) -m tests.support.pictures docs/pictures $(ARGS)

fuzz: $(VENV)/fuzz ## Read hostile input of every format for five minutes; ARGS="--seconds 30 html pdf"
	@$(PY) -m evals.fuzz $(ARGS)

docs: $(VENV)/docs ## Build the manual into build/site/html, and check its links
	@NO_MKDOCS_2_WARNING=1 $(PY) -m tests.support.site build/site
	@echo "Written: build/site/html/index.html"

container: $(VENV)/dev ## Build the image and test it on a Docker engine
	@if [ -x $(ENGINE) ]; then engine="$(ENGINE) python:3.11-slim-bookworm"; fi; \
	$$engine $(PY) -m tests.whole.container.check

lock: ## Pin all dependencies with hashes; ARGS=--upgrade for newer versions
	@$(call new_venv,$(VENV)-lock)
	@$(VENV)-lock/bin/python -m pip install -qq uv==$(UV)
	@UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$( \
		$(VENV)-lock/bin/python -m pip config get global.index-url 2>/dev/null)}}" \
		PATH="$(CURDIR)/$(VENV)-lock/bin:$$PATH" .ci/lock $(ARGS)
	@rm -rf $(VENV)-lock

size: ## Check the number of packages and megabytes of the core install
	@$(call new_venv,$(VENV)-size)
	@$(VENV)-size/bin/python -m pip freeze --all | grep -c . > $(VENV)-size/before
	@$(call lock_before,server,$(VENV)-size)
	@$(VENV)-size/bin/python -m pip install -qq --no-compile --require-hashes --no-deps -r $(VENV)-size/lock.txt >&2
	@packages=$$(( $$($(VENV)-size/bin/python -m pip freeze --all | grep -c .) - $$(cat $(VENV)-size/before) )); \
	megabytes=$$(du -sm --exclude=pip --exclude='pip-*' $(VENV)-size/lib | cut -f1); \
	rm -rf $(VENV)-size; \
	echo "$$packages packages, $$megabytes MB"; \
	[ $$packages -lt $(MAX_PACKAGES) ] && [ $$megabytes -lt $(MAX_MEGABYTES) ]

clean: ## Remove everything that the other targets made
	rm -rf $(VENV) $(VENV)-lock $(VENV)-size .fuzz node_modules .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help demo test test-slow check javascript bench eval pictures fuzz docs container lock size clean

# --- set-up -------------------------------------------------------------------------------------
# A stamp file says that the environment holds what sections of the lock name. Bytecode is
# compiled here: start-up counts, and PYTHONDONTWRITEBYTECODE may be set.

$(VENV)/runtime: .ci/lock.txt
	@echo "Setting up $(VENV); this takes less than a minute ..." >&2
	@$(call new_venv,$(VENV))
	@$(call install_before,server)
	@$(PY) -m compileall -qq $(VENV)/lib >&2 || true
	@printf '%s\n' '#!$(CURDIR)/$(PY)' 'import sys; sys.path.insert(0, "$(CURDIR)")' \
		'from agent.cli import main' 'main()' > $(VENV)/bin/research-agent
	@chmod +x $(VENV)/bin/research-agent
	@touch $@

$(VENV)/dev: $(VENV)/runtime
	@$(call install_before,docs)
	@touch $@

# Atheris has wheels for Linux and Python up to 3.13 alone; elsewhere seeds are changed at random.
$(VENV)/fuzz: $(VENV)/docs
	@$(call install_before,the end) 2>/dev/null || \
		echo "Skipped: atheris does not install here; seeds are changed at random." >&2
	@touch $@

$(VENV)/docs: $(VENV)/dev
	@$(call install_before,fuzz)
	@touch $@

# Biome is installed without a lock file: its version is exact, and it pins its only dependency.
node_modules/biome-$(BIOME):
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund --fetch-retries=1 \
		--prefix . @biomejs/biome@$(BIOME) >/dev/null 2>&1 && touch $@

# The sections of the lock before one, in a file of an environment; and their installation: nothing
# else, each file with a hash that the lock holds.
define lock_before
sed '/^# --- $(1) ---/,$$d' .ci/lock.txt > $(2)/lock.txt
endef
define install_before
{ $(call lock_before,$(1),$(VENV)) && \
	$(PY) -m pip install -qq --require-hashes --no-deps -r $(VENV)/lock.txt; } >&2
endef

# An environment from the first Python that is new enough and has what it takes. pip is upgraded
# first: the one that comes with Python 3.11 installs half as fast.
define new_venv
{ for python in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do \
	if "$$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		"$$python" -m venv --clear $(1) && $(call lock_before,runtime,$(1)) && \
			exec $(1)/bin/python -m pip install -qq --require-hashes -r $(1)/lock.txt; \
	fi; \
done; \
echo "Python 3.11 or newer with its venv module is needed; name one with PYTHON=/path/to/it."; \
exit 1; } >&2
endef
