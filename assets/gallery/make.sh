#!/bin/bash
# Makes the gallery's recordings anew, each by the run that gallery.json names. They are real runs on the
# machine this is started on, and say so when they are replayed. Where there is no GPU, the recordings of
# one stay as they are.
set -euo pipefail
cd "$(dirname "$0")/../.."
cli=${1:-build/shardlens-cli}
limit=$((2 * 1024 * 1024))
has_gpu=$("$cli" info --backends | grep -c '^cuda  GPU' || true)
while IFS=$'\t' read -r name arguments; do
  if [[ $arguments == *"--backend cuda"* && $has_gpu = 0 ]]; then
    echo "$name: left as it is, there is no GPU"
    continue
  fi
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
