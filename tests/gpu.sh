#!/bin/sh
# What is to be run first on a machine with a GPU: the operations' and the whole model's tests against the CPU, T = 1 to
# 8 ranks on one GPU against one rank, a recording for the gallery, times, and compute-sanitizer over the tests. Quick
# and telling parts come first; each has a time limit, and one that fails stops no other. Every test has a process of
# its own: a kernel that faults spoils all that its process asks of the GPU afterwards. Without a GPU it says so, and is
# done.
#
#   tests/gpu.sh [BUILD or BUNDLE] [--logs FOLDER] [--seconds N] [PART...]
#
# PART: tests, verify, faults, record, bench, memcheck, racecheck, initcheck; all if left out. --seconds: nothing begins or goes
# on after so many. FOLDER then holds log.txt, with all that was printed as it was printed, table.txt, what became of
# each part, and demo.shardlens. A bundle has tests if it was made with them (app/bundle.sh --tests); where it has none,
# compute-sanitizer looks at training steps. Exit code: 0 when nothing failed, 1 when something did, 2 for a wrong
# request.
set -u

fail() {
  printf 'gpu: %s\n' "$*" >&2
  exit 2
}

folder=
logs=gpu-logs
most=
wanted=
while [ $# -gt 0 ]; do
  case $1 in
    --logs)
      [ $# -ge 2 ] || fail "--logs needs a folder"
      logs=$2
      shift
      ;;
    --seconds)
      case ${2:-} in
        '' | *[!0-9]*) fail "--seconds needs a number" ;;
      esac
      most=$2
      shift
      ;;
    tests | verify | faults | record | bench | memcheck | racecheck | initcheck) wanted="$wanted $1" ;;
    *)
      if [ -n "$folder" ] || [ ! -d "$1" ]; then
        fail "\"$1\" is no folder and no part; parts are tests, verify, faults, record, bench, memcheck, racecheck, initcheck"
      fi
      folder=$1
      ;;
  esac
  shift
done
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$folder" ]; then
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
    why=$(printf '%s\n' "$found" | sed -n 's/^cuda  not usable: //p')
    if command -v nvidia-smi >/dev/null && nvidia-smi -L; then
      printf 'gpu: there is a GPU, and it cannot be used: %s\n' "$why" >&2
      exit 1
    fi
    printf 'skipped: no CUDA device (%s)\n' "$why"
    exit 0
    ;;
esac
mkdir -p "$logs" || fail "cannot make the folder $logs"
logs=$(cd "$logs" && pwd)
log=$logs/log.txt
table=$logs/table.txt
: >"$table"
printf '%s\n' "$found" | tee "$log"

failed=0
begun=$(date +%s)

note() {
  printf '%-40s %-10s %6s  %s\n' "$1" "$2" "$3" "$4" | tee -a "$table"
}

wants() {
  case "$wanted " in
    " " | *" $1 "*) ;;
    *) false ;;
  esac
}

# Whether ranks may share a GPU by the NCCL that is here.
nccl_shares() {
  case $found in
    *"NCCL 2.30."[3-9]* | *"NCCL 2.3"[1-9]* | *"NCCL 2."[4-9][0-9]* | *"NCCL "[3-9].*) ;;
    *) false ;;
  esac
}

# NAME SECONDS COMMAND...; its part is the name's first word.
part() {
  name=$1
  limit=$2
  shift 2
  wants "${name%%-*}" || return
  if [ -z "$1" ]; then
    note "$name" skipped - "needs $2"
    return
  fi
  begin=$(date +%s)
  if [ -n "$most" ]; then
    left=$((most - (begin - begun)))
    if [ "$left" -le 5 ]; then
      note "$name" "LEFT OUT" - "$most s are over"
      failed=1
      return
    fi
    [ "$left" -ge "$limit" ] || limit=$left
  fi
  printf '\n=== %s: %s\n' "$name" "$*" >>"$log"
  before=$(wc -c <"$log")
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1
  code=$?
  seconds=$(($(date +%s) - begin))s
  worst=$(tail -c "+$((before + 1))" "$log" |
    sed -n 's/.*\(worst relative error .*\)\.$/\1/p; s/.*\(first at tensor .*\)/\1/p
      s/.*"of_gemm_ceiling": *\([0-9.]*\).*/\1 of the ceiling/p; s/.*\([0-9.]* % of the ceiling\).*/\1/p' | tail -1)
  case $code in
    0)
      if tail -c "+$((before + 1))" "$log" | grep -q '^\[  SKIPPED \]'; then
        note "$name" skipped "$seconds" "see its place in $log"
      else
        note "$name" ok "$seconds" "$worst"
      fi
      ;;
    124 | 137)
      failed=1
      note "$name" "TIMED OUT" "$seconds" "after $limit s"
      ;;
    *)
      failed=1
      note "$name" FAILED "$seconds" "exit code $code: ${worst:-see its place in $log}"
      ;;
  esac
}

# Only what runs on the GPU; the CPU's own tests are not what is asked here. FILTER; a name a line: Suite.Test/Gpu.
gpu_tests() {
  "$tests" --gtest_list_tests "--gtest_filter=$1" |
    sed -n 's/ *#.*//; /^[^ ].*\.$/h; /^  /{G; s/^  \(.*\)\n\(.*\)$/\2\1/p;}'
}
if [ -n "$tests" ]; then
  part tests-the-comparison 30 "$tests" '--gtest_filter=DeviceComparison.*'
  for test in $(gpu_tests 'GpuGroups.*:GpuParity.*:*EveryDevice*/Gpu'); do
    short=${test#Devices/}
    part "tests-${short%/Gpu}" 90 "$tests" "--gtest_filter=$test"
  done
else
  part tests 60 "" "engine_tests, which a bundle has if it was made with them"
fi

# --timeout: a rank that hangs is named before its part's time is up. An error little above fp32's bound may be the
# library's own: of a narrower product it may sum in another order. What is wrong is wrong by far more.
part verify-tiny 30 "$cli" verify --model gpt2-tiny --tp 1 --batch 1 --seq 16 --backend cuda --gpu 0 --timeout 20
for tp in 2 4 8; do
  part "verify-tp$tp" 90 "$cli" verify --model gpt2 --heads-policy uneven --tp "$tp" --batch 1 --seq 64 --backend cuda \
    --gpu 0 --comm local_cuda --timeout 20
done
if nccl_shares; then
  part verify-nccl-tp2 90 "$cli" verify --model gpt2 --tp 2 --batch 1 --seq 64 --backend cuda --gpu 0 --comm nccl \
    --timeout 20
else
  part verify-nccl 90 "" "NCCL 2.30.3 or newer, by which ranks may share a GPU"
fi

for dtype in fp64 fp16 bf16; do
  part "verify-$dtype" 60 "$cli" verify --model gpt2-tiny --tp 2 --batch 1 --seq 64 --dtype "$dtype" --backend cuda \
    --gpu 0 --comm local_cuda --timeout 20
done
part verify-tf32 60 "$cli" verify --model gpt2-tiny --tp 2 --batch 1 --seq 64 --tf32 --backend cuda --gpu 0 \
  --comm local_cuda --timeout 20
if command -v mpirun >/dev/null; then
  part verify-mpi 90 mpirun --oversubscribe --allow-run-as-root -n 2 "$cli" verify --model gpt2-tiny --tp 2 --batch 1 \
    --seq 64 --backend auto --comm mpi --timeout 20
else
  part verify-mpi 90 "" mpirun
fi

# A rank that comes too late is lost, and the run ends with exit code 3 and names it.
late() {
  comm=$1
  # shellcheck disable=SC2016 # they are that shell's
  part "faults-late-$comm" 60 sh -c '
    said=$("$@" 2>&1)
    code=$?
    printf "%s\n" "$said"
    case $code,$said in 3,*"rank 1 is lost: not come to step "*) ;; *) exit 1 ;; esac' \
    sh "$cli" step --model gpt2 --layer --tp 2 --backend cuda --gpu 0 --comm "$comm" --delay 1:mlp.fc:20000 --timeout 2
}
late local_cuda
if nccl_shares; then
  late nccl
else
  part faults-late-nccl 60 "" "NCCL 2.30.3 or newer, by which ranks may share a GPU"
fi

rm -f "$logs/demo.shardlens"
# Pictures of the gallery's size: its recordings are small.
part record 90 "$cli" step --model gpt2 --tp 4 --backend cuda --gpu 0 --comm local_cuda --timeout 20 \
  --record "$logs/demo.shardlens" --record-picture-size 16

# Selective: the attention's probabilities are made again in the backward pass and never kept, as in PyTorch's, which
# it is set beside.
part bench-step-tp1 200 "$cli" bench step --model megatron-1.2b --dtype bf16 --tp 1 --batch 8 --seq 1024 \
  --recompute selective --backend cuda --gpu 0 --timeout 20 --json
speed=$here/peers/speed.py
[ -r "$speed" ] || speed=$folder/tests/speed.py
if wants bench && [ -r "$speed" ] &&
  python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  part bench-pytorch 240 python3 -u "$speed" --model megatron-1.2b --device cuda --dtype bf16 --batch 8 --seq 1024
else
  part bench-pytorch 240 "" "a python3 with PyTorch for CUDA, and tests/peers/speed.py"
fi
for tp in 2 4 8; do
  part "bench-step-tp$tp" 90 "$cli" bench step --model gpt2-medium --dtype bf16 --tp "$tp" --batch 8 --seq 1024 \
    --backend cuda --gpu 0 --comm local_cuda --timeout 20 --json
done
part bench-trace 90 "$cli" bench trace --model gpt2-medium --dtype bf16 --tp 1 --batch 8 --seq 1024 --backend cuda \
  --gpu 0 --timeout 20 --json
for tp in 2 4 8; do
  part "bench-allreduce-tp$tp" $((30 * tp)) "$cli" bench allreduce --tp "$tp" --backend cuda --gpu 0 \
    --comm local_cuda --timeout 20
done
# The definitions are nccl-tests': where it is there, its own figures stand beside ours.
gpus=$(printf '%s\n' "$found" | grep -c '^cuda  GPU [0-9]')
if command -v all_reduce_perf >/dev/null && [ "$gpus" -gt 1 ]; then
  part bench-allreduce-nccl 60 "$cli" bench allreduce --tp "$gpus" --backend cuda --comm nccl --timeout 20
  part bench-nccl-tests 60 all_reduce_perf -b 4K -e 64M -f 16 -g "$gpus"
else
  part bench-nccl-tests 60 "" "two GPUs, and nccl-tests' all_reduce_perf in PATH"
fi
part bench-generate 60 "$cli" bench generate --model gpt2 --dtype bf16 --tp 1 --backend cuda --gpu 0 --timeout 20 \
  --json
part bench-record 90 "$cli" bench record --model gpt2-medium --dtype bf16 --tp 2 --backend cuda --gpu 0 \
  --comm local_cuda --timeout 20 --json

# Our kernels; the library's products take the tools many times as long, and their results are the tests' matter.
# initcheck must see who writes, so it looks at all, and there no product is asked for.
ours=
if [ -n "$sanitizer" ] && "$sanitizer" --help 2>&1 | grep -q -e --kernel-name; then
  ours='--kernel-name kernel_substring=shardlens'
fi
# TOOL FILTER OPTION...: of tests, each for itself, so that what the first ones show is there whatever becomes of the
# last.
checked() {
  tool=$1
  filter=$2
  shift 2
  wants "$tool" || return
  if [ -z "$sanitizer" ]; then
    part "$tool" 180 "" "compute-sanitizer of CUDA's toolkit"
  elif [ -n "$tests" ]; then
    for test in $(gpu_tests "$filter"); do
      short=${test#Devices/}
      part "$tool-${short%/Gpu}" 90 "$sanitizer" --tool "$tool" --error-exitcode 9 "$@" "$tests" "--gtest_filter=$test"
    done
  else
    part "$tool" 180 "$sanitizer" --tool "$tool" --error-exitcode 9 "$@" "$cli" step --model gpt2-tiny --tp 2 \
      --seq 16 --updates 2 --lr 1e-3 --backend cuda --comm local_cuda
  fi
}
# What is refused on purpose, such as more memory than there is, is no finding of memcheck's.
# shellcheck disable=SC2086 # options may be none or several
checked memcheck '*EveryDevice*/Gpu:GpuParity.Layers:-*Product*' --report-api-errors no $ours
# shellcheck disable=SC2086
checked racecheck '*EveryDevice*/Gpu:GpuGroups.*:-*Product*' $ours
checked initcheck '*EveryDevice*/Gpu:GpuGroups.*:-*Product*'

printf '\n'
cat "$table"
printf '\nin %s: log.txt, table.txt%s\n' "$logs" "$([ ! -e "$logs/demo.shardlens" ] || printf ', demo.shardlens')"
exit $failed
