#!/bin/sh
# Everything that reads the code without running it. Ends with status 1 at the
# first thing that is not as it should be.
set -eu
cd "$(dirname "$0")/.."
say() { echo "lint: $*" >&2; }
say gofmt
bad=$(gofmt -l $(git ls-files -- '*.go'))
[ -z "$bad" ] || { echo "not formatted: $bad" >&2; exit 1; }
say "go vet"
go vet ./...
GOOS=darwin go vet ./core/postgres/embedded ./core/upstream ./cmd/...
say "go fix"
bad=$(go fix -diff ./... 2>&1) || { echo "$bad" >&2; exit 1; }
[ -z "$bad" ] || { echo "$bad" >&2; exit 1; }
say staticcheck
go run "$1" ./...
say "go mod tidy"
go mod tidy -diff
say "shell scripts"
for f in scripts/*.sh core/postgres/embedded/*.sh; do sh -n "$f"; done
bash -n .ci/run
