# Toolscout. `make help` lists what can be done.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO          ?= go
BIN         := bin/toolscout
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PGRUN       := bin/pgrun
# Folders of data that is not part of the project; both have a stand-in made by the project where they are absent.
EVAL_DIR    ?= ../shared/eval
# What search came to when its figures were last kept: eval, gate and bench are held against it.
QUALITY     := core/search/evaluate/testdata/quality.json
PACES       := $(CURDIR)/core/search/evaluate/testdata/paces.json
# The official fixtures of TOON: tests/fixtures of github.com/toon-format/spec.
TOON_DIR    ?= ../shared/toon/fixtures
BENCHTIME   ?= 1s
# The catalogs that search is measured on, in tools; 300000 takes ten minutes more.
BENCH_TOOLS ?= 1000,8000,10000,100000
FUZZTIME    ?= 100000x
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0-dev)

.PHONY: help build run test race lint eval gate figures conformance bench fuzz docs clean

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(BIN) ## Build bin/toolscout

$(BIN): FORCE
	@$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $@ ./cmd/toolscout

$(PGRUN): FORCE
	@$(GO) build -o $@ ./core/postgres/embedded/cmd/pgrun

FORCE:

run: $(BIN) ## Start the server with three real MCP servers, index them, say what to try
	@scripts/run.sh $(BIN)

test: $(BIN) $(PGRUN) ## Run every test, on a real Postgres and real MCP servers that it sets up itself
	@scripts/test-tools.sh
	@$(PGRUN) -nosync -- $(GO) test -timeout 20m ./...

race: $(BIN) $(PGRUN) ## The same under the race detector
	@scripts/test-tools.sh
	@$(PGRUN) -nosync -- $(GO) test -race -timeout 40m ./...

lint: ## gofmt, go vet, go fix, staticcheck, go mod tidy, shell syntax
	@scripts/lint.sh $(STATICCHECK)

# Without the folder eval measures a set that it makes up.
SETS = $(if $(wildcard $(EVAL_DIR)),--dir "$(EVAL_DIR)")

eval: $(BIN) ## Measure retrieval quality on the sets in EVAL_DIR; fail on a loss that is no chance
	@$(BIN) eval $(SETS) --figures $(QUALITY)

FLOOR = TOOLSCOUT_PACES=$(PACES) $(PGRUN) -nosync -- $(GO) test ./core/search/evaluate -run '^$$' -bench Floor -benchtime 1x -timeout 60m

gate: $(PGRUN) ## Compare the speed of search with the least that it could cost; fail on a slowdown of over 15 %
	@$(FLOOR) -short

figures: $(BIN) $(PGRUN) ## Keep the figures of now, for eval, gate and bench to be held against
	@$(BIN) eval --figures $(QUALITY) --keep
	@$(BIN) eval $(SETS) --figures $(QUALITY) --keep
	@TOOLSCOUT_KEEP=1 $(FLOOR)

conformance: ## Run the official TOON fixtures in TOON_DIR, or our own tests where there are none
	@if [ -d "$(TOON_DIR)" ]; then TOON_FIXTURES="$(abspath $(TOON_DIR))" $(GO) test -count=1 -tags conformance ./core/toon -run '^TestConformance$$'; \
	else echo "no fixtures in $(TOON_DIR): running our own tests of TOON"; $(GO) test -count=1 ./core/toon; fi

bench: $(PGRUN) ## Run the benchmarks; EVAL_DIR gives them a corpus of real tools
	@scripts/test-tools.sh
	@TOOLSCOUT_PACES=$(PACES) TOOLSCOUT_BENCH_TOOLS=$(BENCH_TOOLS) TOOLSCOUT_EVAL_DIR="$(abspath $(wildcard $(EVAL_DIR)))" $(PGRUN) -- $(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m $$($(GO) list ./... )

fuzz: $(PGRUN) ## Fuzz every target FUZZTIME (100000x: so many inputs; or 1m) each
	@$(PGRUN) -nosync -- scripts/fuzz.sh $(FUZZTIME)

docs: ## Write the references in docs/ anew from the code
	@$(GO) test ./cmd/toolscout/config ./mcpserver/rest -run 'Reference|Docs' -update

clean: ## Remove what was built
	@rm -rf bin .cache
