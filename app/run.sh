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

views=build/views
mkdir -p "$views"
echo "run: there is no display (DISPLAY is not set), so the opening views are rendered to PNG files"
for view in stage memory traffic program; do
  build/shardlens --screenshot "$views/$view.png" --size 1920x1080 --view "$view" "$@"
  echo "run: wrote $PWD/$views/$view.png"
done
