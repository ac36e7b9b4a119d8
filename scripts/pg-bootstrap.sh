#!/bin/sh
exec sh "$(dirname "$0")/../core/postgres/embedded/bootstrap.sh" "$@"
