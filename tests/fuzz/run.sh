#!/bin/sh
# Damages recordings and every other form of file at random, for a minute, and lets everything that reads them read them.
# A failure names the seed and the case. At the end it prints how many cases of each form were tried.
#
#   tests/fuzz/run.sh [seconds] [reader_fuzz options]    with sanitizers, which takes minutes to build
#   SHARDLENS_FUZZ=reader_fuzz tests/fuzz/run.sh …         without
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -eq 0 ] || shift

program=${SHARDLENS_FUZZ:-reader_fuzz_sanitized}
[ -n "${SHARDLENS_BUILT:-}" ] || ./app/build.sh release "$program" shardlens-cli
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

record() { build/shardlens-cli "$@" --threads 1 --batch 2 --seq 8 --record "$folder/$seed.shardlens" >/dev/null; }
seed=layer && record step --model gpt2-tiny --layer --tp 2 --delay 1:attn.proj:1 --record-picture-size 4
seed=model && record step --model gpt2-tiny --tp 2 --dp 2 --updates 2 --record-pictures off
seed=bert && record step --model bert-tiny --layer --tp 1 --record-picture-size 4
seed=train && record train --model gpt2-tiny --data sample --tp 2 --steps 3 --record-picture-size 1

if ! "build/release/tests/$program" --seconds "$seconds" "$@" "$folder"/*.shardlens; then
  trap - EXIT
  echo "begun with $folder/*.shardlens: give them again to repeat a case" >&2
  exit 1
fi
