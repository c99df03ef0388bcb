#!/bin/sh
# Checks the page and its engine: in node, held against the native program, and in three browsers, from a file. Builds
# both first. Not a part of tests/run.sh, because the page takes ten minutes to build.
#
#   tests/web.sh                     everywhere
#   tests/web.sh firefox [node ...]  only there: node, chromium, firefox, webkit
set -eu
cd "$(dirname "$0")/.."

./app/web.sh
./app/build.sh release shardlens-cli
./app/build.sh web shardlens-cli
. app/packages.sh
# Each browser with what listens to WebDriver, and a screen for those that draw WebGL on none.
install_packages tests chromium chromium-driver firefox-esr webkit2gtk-driver xvfb
exec python3 tests/web/look.py "$@"
