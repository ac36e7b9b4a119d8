#!/bin/sh
# Installs what the tests run against: the official MCP servers and clients, at
# the versions of integration/package-lock.json. Does nothing when they are there.
set -eu
cd "$(dirname "$0")/../integration"
command -v npm >/dev/null || { echo "the tests need Node 20 or newer with npm: install nodejs and npm" >&2; exit 1; }
[ -f node_modules/.complete ] && [ node_modules/.complete -nt package-lock.json ] && exit 0
echo "installing the official MCP servers and clients" >&2
npm ci --no-audit --no-fund --loglevel=error >&2
touch node_modules/.complete
