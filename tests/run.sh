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
# The window's tests need an X server: a virtual one, unless one is already there.
if [ -n "${DISPLAY:-}" ]; then
  ctest --preset "$preset" -j "$(nproc)" "$@"
else
  xvfb-run -a -s "-screen 0 1920x1080x24" ctest --preset "$preset" -j "$(nproc)" "$@"
fi

# Once more than the suites: the hot paths' instructions, and recordings from anywhere, for a minute. Not where only
# some tests were asked for. The harm is the same each time, so that a change is judged by what it did and not by the
# day's luck; without --seed, tests/fuzz/run.sh tries what nobody has tried.
if [ "$preset" = release ] && [ $# -eq 0 ]; then
  echo "tests: counting instructions"
  ./tests/instructions/run.sh
  echo "tests: harming recordings for a minute"
  ./tests/fuzz/run.sh 60 --seed 1
fi
