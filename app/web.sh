#!/bin/sh
# Sets up, builds the studio as one page, build/shardlens.html, and says how to open it.
set -eu
cd "$(dirname "$0")/.."

./app/setup.sh
./app/web-setup.sh
./app/build.sh web shardlens_page
echo "web: open build/shardlens.html in a browser, or send it to somebody."
echo "web: shardlens-cli page --recording FILE.shardlens --out FILE.html puts a recording into it."
