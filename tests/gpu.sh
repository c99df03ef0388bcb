#!/bin/sh
# What is to be run first on a machine with a GPU, one after another, within 25 minutes: the operations' and the whole
# model's tests against the CPU, T = 1 to 8 ranks on one GPU against one rank, times, what is recorded for the gallery,
# and compute-sanitizer over the tests. Each part has a time limit and a log file of its own; one that fails stops no
# other. At the end a table says what became of each. Without a GPU it says so, and is done.
#
#   tests/gpu.sh [BUILD or BUNDLE] [--logs FOLDER] [PART...]
#
# PART: tests, verify, bench, record, memcheck, racecheck, initcheck; all if left out. A bundle has no tests: there
# compute-sanitizer looks at training steps. Exit code: 0 when nothing failed, 1 when something did, 2 for a wrong
# request.
set -u

fail() {
  printf 'gpu: %s\n' "$*" >&2
  exit 2
}

folder=
logs=gpu-logs
wanted=
while [ $# -gt 0 ]; do
  case $1 in
    --logs)
      [ $# -ge 2 ] || fail "--logs needs a folder"
      logs=$2
      shift
      ;;
    tests | verify | bench | record | memcheck | racecheck | initcheck) wanted="$wanted $1" ;;
    *)
      if [ -n "$folder" ] || [ ! -d "$1" ]; then
        fail "\"$1\" is no folder and no part; parts are tests, verify, bench, record, memcheck, racecheck, initcheck"
      fi
      folder=$1
      ;;
  esac
  shift
done
if [ -z "$folder" ]; then
  here=$(cd "$(dirname "$0")" && pwd)
  folder=$here
  [ -x "$here/bin/shardlens-cli" ] || folder=$here/../build
fi

first_of() {
  for one in "$@"; do
    [ -x "$one" ] && printf '%s\n' "$one" && return
  done
}
cli=$(first_of "$folder/bin/shardlens-cli" "$folder/shardlens-cli")
tests=$(first_of "$folder/release/tests/engine_tests" "$folder/tests/engine_tests")
sanitizer=$(first_of "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer)
[ -n "$cli" ] || fail "no shardlens-cli in $folder: give the folder of a build (build) or of a bundle"

if ! found=$("$cli" info --backends); then
  fail "$cli info --backends failed"
fi
case $found in
  *"cuda  not usable: "*)
    printf 'skipped: no CUDA device (%s)\n' "$(printf '%s\n' "$found" | sed -n 's/^cuda  not usable: //p')"
    exit 0
    ;;
esac
mkdir -p "$logs" || fail "cannot make the folder $logs"
logs=$(cd "$logs" && pwd)
printf '%s\n' "$found" | tee "$logs/backends.log"

table=$logs/table.txt
: >"$table"
failed=0

note() {
  printf '%-28s %-10s %6s  %s\n' "$1" "$2" "$3" "$4" | tee -a "$table"
}

# NAME SECONDS COMMAND...; its part is the name's first word.
part() {
  name=$1
  limit=$2
  shift 2
  case "$wanted " in
    " " | *" ${name%%-*} "*) ;;
    *) return ;;
  esac
  if [ -z "$1" ]; then
    note "$name" skipped - "needs $2"
    return
  fi
  log=$logs/$name.log
  printf '%s\n\n' "$*" >"$log"
  begin=$(date +%s)
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1
  code=$?
  seconds=$(($(date +%s) - begin))s
  case $code in
    0) note "$name" ok "$seconds" "" ;;
    124 | 137)
      failed=1
      note "$name" "TIMED OUT" "$seconds" "after $limit s: $log"
      ;;
    *)
      failed=1
      note "$name" FAILED "$seconds" "exit code $code: $log"
      ;;
  esac
}

# Only what runs on the GPU; the CPU's own tests are not what is asked here.
filter='--gtest_filter=*EveryDevice*/Gpu:GpuParity.*'
checked() {
  if [ -z "$sanitizer" ]; then
    part "$1" 180 "" "compute-sanitizer of CUDA's toolkit"
  else
    if [ -n "$tests" ]; then
      part "$1" 180 "$sanitizer" --tool "$1" --error-exitcode 9 "$tests" "$filter"
    else
      part "$1" 180 "$sanitizer" --tool "$1" --error-exitcode 9 "$cli" step --model gpt2-tiny --tp 2 --seq 16 \
        --updates 2 --lr 1e-3 --backend cuda
    fi
  fi
}

if [ -n "$tests" ]; then
  part tests 240 "$tests" "$filter"
else
  part tests 240 "" "engine_tests, which are in a build and not in a bundle"
fi
for tp in 2 4 8; do
  part "verify-tp$tp" 40 "$cli" verify --model gpt2 --heads-policy uneven --tp "$tp" --batch 1 --seq 64 --backend cuda --gpu 0
done
part bench-step-tp1 120 "$cli" bench step --model megatron-1.2b --dtype bf16 --tp 1 --batch 8 --seq 1024 \
  --backend cuda --gpu 0 --json
for tp in 2 4 8; do
  part "bench-step-tp$tp" 60 "$cli" bench step --model gpt2-medium --dtype bf16 --tp "$tp" --batch 8 --seq 1024 \
    --backend cuda --gpu 0 --json
done
for tp in 2 4 8; do
  part "bench-allreduce-tp$tp" 30 "$cli" bench allreduce --tp "$tp" --backend cuda --gpu 0
done
part bench-generate 60 "$cli" bench generate --model gpt2 --dtype bf16 --tp 1 --backend cuda --gpu 0 --json
part bench-trace 30 "$cli" bench trace --model gpt2-medium --dtype bf16 --tp 1 --batch 8 --seq 1024 --backend cuda \
  --gpu 0 --json
part bench-record 60 "$cli" bench record --model gpt2-medium --dtype bf16 --tp 2 --backend cuda --gpu 0 --json
rm -f "$logs/demo.shardlens"
part record 60 "$cli" step --model gpt2 --tp 4 --backend cuda --gpu 0 --record "$logs/demo.shardlens"
for tool in memcheck racecheck initcheck; do
  checked "$tool"
done

printf '\n'
cat "$table"
printf '\nlogs: %s\n' "$logs"
exit $failed
