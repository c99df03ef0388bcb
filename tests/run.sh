#!/bin/sh
# Sets up, builds and runs every test. From any folder, as a fresh clone; offline once set up.
#
#   tests/run.sh [release|debug|asan-ubsan|tsan] [ctest options]
set -eu
cd "$(dirname "$0")/.."
preset=release
case "${1:-}" in
  "" | -*) ;;
  *)
    preset=$1
    shift
    ;;
esac

./app/setup.sh
./app/build.sh "$preset"

echo "tests: running the suites of $preset"
# One more at a time than there are cores: many tests wait for a time-out or for another program.
jobs=$(($(nproc) + 1))
# The window's tests need an X server: a virtual one, unless one is already there.
if [ -n "${DISPLAY:-}" ]; then
  ctest --preset "$preset" -j "$jobs" "$@"
else
  # -noreset: else the server begins anew when its last client has gone, and a window that opens just then is refused.
  xvfb-run -a -s "-screen 0 1920x1080x24 -noreset" ctest --preset "$preset" -j "$jobs" "$@"
fi

# Once more than the suites: the hot paths' instructions, and files from anywhere, for a minute. Not where only
# some tests were asked for. The damage is the same each time, so that a change is judged by what it did and not by the
# day's luck. tests/fuzz/run.sh by itself has sanitizers, and without --seed it tries what nobody has tried.
if [ "$preset" = release ] && [ $# -eq 0 ]; then
  echo "tests: counting instructions, and damaging files for a minute"
  ./app/build.sh release reader_fuzz
  # Each takes one core; only one of them builds.
  SHARDLENS_BUILT=1 SHARDLENS_FUZZ=reader_fuzz ./tests/fuzz/run.sh 60 --seed 1 >build/release/fuzz.log 2>&1 &
  fuzz=$!
  failed=0
  ./tests/instructions/run.sh || failed=1
  wait "$fuzz" || failed=1
  cat build/release/fuzz.log
  exit "$failed"
fi
