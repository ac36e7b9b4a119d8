#!/bin/sh
# Fuzzes every target of the module in turn, each with as many inputs as $1 says (2000x).
# A duration (10s) works too, but up to Go 1.26 a busy machine then sometimes fails a target
# with "context deadline exceeded" and no input: golang.org/issue/75804.
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
	package=./$(dirname "${file#./}")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "fuzz: $package $target" >&2
		go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$1"
	done
done
