#!/bin/bash
# Makes the gallery's recordings anew, each by the run that gallery.json names. They are real runs on the
# machine this is started on, and say so when they are replayed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cli=${1:-build/shardlens-cli}
limit=$((2 * 1024 * 1024))
while IFS=$'\t' read -r name arguments; do
  made=$(mktemp -u --suffix=.shardlens)
  trap 'rm -f "$made"' EXIT
  # shellcheck disable=SC2086  # the arguments are words
  "$cli" $arguments --record "$made" > /dev/null
  bytes=$(stat -c %s "$made")
  echo "$name: $bytes bytes"
  if ((bytes > limit)); then
    echo "$name has $bytes bytes, a recording of the gallery may have $limit" >&2
    exit 1
  fi
  mv "$made" "assets/gallery/$name.shardlens"
done < <(sed -n -E 's/^ *"name": "(.*)",$/\1/p; s/^ *"arguments": "(.*)"$/\1/p' assets/gallery/gallery.json | paste - -)
