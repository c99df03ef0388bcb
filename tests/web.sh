#!/bin/sh
# Checks the page and its engine: in node, held against the native program, and in Chromium, from a file. Builds both
# first. Not a part of tests/run.sh, because the page takes ten minutes to build.
set -eu
cd "$(dirname "$0")/.."

./app/web.sh
./app/build.sh release shardlens-cli
./app/build.sh web shardlens-cli
missing=""
for package in chromium python3-websocket; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
  echo "tests: installing$missing"
  # shellcheck disable=SC2086 # one word a package
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
python3 tests/web/in_node.py
/usr/bin/python3 tests/web/in_chromium.py
