#!/bin/sh
# Sets up, builds and opens the studio. Without a display it renders the opening views to PNG files instead.
# Arguments go to the studio: app/run.sh --tp 8
set -eu
cd "$(dirname "$0")/.."

./app/setup.sh
./app/build.sh release shardlens shardlens-cli

if [ -n "${DISPLAY:-}" ]; then
  echo "run: opening the studio"
  exec build/shardlens "$@"
fi

echo "run: there is no display (DISPLAY is not set), so every view is rendered to a PNG file:"
exec build/shardlens --render-views build/views --size 1920x1080 "$@"
