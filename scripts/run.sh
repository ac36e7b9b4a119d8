#!/bin/sh
# Starts the server with the example configuration. Its log goes to a file, so
# that the terminal is left to the progress and the banner.
set -eu
bin=$1
cd "$(dirname "$0")/.."
mkdir -p .cache
if [ -n "${TOOLSCOUT_CONFIG:-}" ]; then config=$TOOLSCOUT_CONFIG; else config=examples/toolscout.toml; fi
exec "$bin" serve --config "$config" --log-file .cache/toolscout.log --banner
