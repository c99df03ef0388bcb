#!/bin/sh
# Checks the page and its engine: in node, held against the native program, and in Chromium, from a file. Builds both
# first. Not a part of tests/run.sh, because the page takes ten minutes to build.
set -eu
cd "$(dirname "$0")/.."

./app/web.sh
./app/build.sh release shardlens-cli
./app/build.sh web shardlens-cli
. app/packages.sh
install_packages tests chromium python3-websocket
python3 tests/web/in_node.py
/usr/bin/python3 tests/web/in_chromium.py
