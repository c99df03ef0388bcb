#!/bin/sh
# Configures a preset once, then builds what changed and shows progress. app/run.sh and tests/run.sh share it.
#
#   app/build.sh [preset] [target...]
set -eu
cd "$(dirname "$0")/.."
preset=${1:-release}
[ $# -eq 0 ] || shift

log=build/$preset/configure.log
mkdir -p "build/$preset"
if [ ! -f "build/$preset/build.ninja" ]; then
  echo "build: configuring $preset"
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
fi
echo "build: building $preset (the first time takes a few minutes)"
if [ $# -gt 0 ]; then
  exec cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
fi
exec cmake --build --preset "$preset" --parallel "$(nproc)"
