#!/bin/sh
# Checks the page and its engine: in node, held against the native program, and in three browsers, from a file. Builds
# both first. Not a part of tests/run.sh, because the page takes ten minutes to build.
#
#   tests/web.sh                     everywhere
#   tests/web.sh firefox [node ...]  only there: node, chromium, firefox, webkit
#   tests/web.sh --kept [node ...]   the page that this script has built before from the same sources; if there is none,
#                                    says so and ends well
set -eu
cd "$(dirname "$0")/.."
. tests/web/kept.sh

if [ "${1:-}" = --kept ]; then
  shift
  if [ -z "$kept" ] || [ ! -d "$kept" ]; then
    echo "web: skipped: no page is kept that was built from these sources; tests/web.sh builds and keeps one"
    exit 0
  fi
  mkdir -p build/web
  for file in $made; do cp "$kept/$file" "build/$file"; done
else
  ./app/web.sh
  ./app/build.sh release shardlens-cli
  ./app/build.sh web shardlens-cli
  if [ -n "$kept" ]; then
    rm -rf "${kept%/*}"  # those of older sources
    mkdir -p "$kept/web"
    for file in $made; do cp "build/$file" "$kept/$file"; done
  fi
  . app/packages.sh
  # Each browser with what listens to WebDriver, and a screen for those that draw WebGL on none.
  install_packages tests chromium chromium-driver firefox-esr webkit2gtk-driver xvfb
fi
exec python3 tests/web/look.py "$@"
