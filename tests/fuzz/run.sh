#!/bin/sh
# Records a few small runs of different kinds and damages the recordings at random for a minute. A failure names the
# seed and the case, and keeps the file.
#
#   tests/fuzz/run.sh [seconds] [recording_fuzz options]
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -eq 0 ] || shift

[ -n "${SHARDLENS_BUILT:-}" ] || ./app/build.sh release recording_fuzz shardlens-cli
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

record() { build/shardlens-cli "$@" --threads 1 --batch 2 --seq 8 --record "$folder/$seed.shardlens" >/dev/null; }
seed=layer && record step --model gpt2-tiny --layer --tp 2 --delay 1:attn.proj:1 --record-picture-size 4
seed=model && record step --model gpt2-tiny --tp 2 --dp 2 --updates 2 --record-pictures off
seed=bert && record step --model bert-tiny --layer --tp 1 --record-picture-size 4
seed=train && record train --model gpt2-tiny --data sample --tp 2 --steps 3 --record-picture-size 1

if ! build/release/tests/recording_fuzz --seconds "$seconds" "$@" "$folder"/*.shardlens; then
  trap - EXIT
  echo "begun with $folder/*.shardlens: give them again to repeat the case" >&2
  exit 1
fi
