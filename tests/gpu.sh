#!/bin/sh
# Runs everything that needs a GPU, in an order for a short stay on such a machine: tests of operations and whole models
# against the CPU, T = 2, 4, 8 ranks on one GPU against one rank, failures, a recording for the gallery, times, and
# compute-sanitizer on the tests. Without a GPU it says so and ends.
#
#   tests/gpu.sh [BUILD or BUNDLE] [--logs FOLDER] [--seconds N] [--jobs N] [--again] [PART...]
#
# PART, and the maximum seconds of each:
#   tests 150 · verify 120 · faults 60 · record 60 · bench 540 · memcheck 300 · racecheck 300 · initcheck 300
# Without PART all of them run. A part is a list of tasks. Each task is a separate process with its own time limit: a
# task that fails stops no other, and a kernel that faults ends only its own process. Tasks whose time is not measured
# run --jobs (8) at a time; benches run alone.
#
# Resume: FOLDER.parts keeps the result of each task, so the same command continues where the last one stopped. Tasks
# that failed or ran out of time run again. --again forgets all results. --seconds N: everything stops after N seconds.
#
# FOLDER (gpu-logs) holds at most eight files: table.txt, the result of every task, complete after every task;
# machine.txt; tests.txt, verify.txt, faults.txt, bench.txt and sanitizer.txt, the tasks' output; demo.shardlens.
# A bundle has tests if it was made with app/bundle.sh --tests; without tests, compute-sanitizer runs training steps.
# Exit code: 0 if nothing failed, 1 if a task failed or was left out, 2 for a wrong request.
# shellcheck disable=SC2086 # lists of options are words, and may be empty
set -u

fail() {
  printf 'gpu: %s\n' "$*" >&2
  exit 2
}

seconds_of() {
  case $1 in
    tests) echo 150 ;;
    verify) echo 120 ;;
    faults | record) echo 60 ;;
    bench) echo 540 ;;
    memcheck | racecheck | initcheck) echo 300 ;;
  esac
}

# The table: the tasks in their order, with what became of each.
write_table() {
  while read -r name _; do
    if [ -e "$parts/$name.row" ]; then
      cat "$parts/$name.row"
    else
      printf '%-44s %-10s\n' "$name" "not yet"
    fi
  done <"$parts/plan" >"$parts/table.$1" && mv "$parts/table.$1" "$logs/table.txt"
}

# What a task showed, from what it printed.
remark() {
  sed -n 's/.*\(worst relative error .*\)\.$/\1/p; s/.*\(first at tensor .*\)/\1/p
    s/.*"of_gemm_ceiling": *\([0-9.]*\).*/\1 of the ceiling/p; s/.*\([0-9.]* % of .*FLOP\/s\).*/\1/p
    s/.*\(ERROR SUMMARY.*\)/\1/p; s/.*\(RACECHECK SUMMARY.*\)/\1/p; s/^\[  SKIPPED \] \(.*\)/\1/p
    s/^\[  FAILED  \] \([^,]*\).*/\1/p' "$1" | tail -1 | cut -c1-120
}

# --task NAME LIMIT COMMAND...: runs one task of a part. Called by xargs, by itself.
if [ "${1:-}" = --task ]; then
  name=$2 limit=$3
  shift 3
  left=$((deadline - $(date +%s)))
  begin=$(date +%s)
  if [ "$left" -le 2 ]; then
    printf '%-44s %-10s %6s  %s\n' "$name" "LEFT OUT" - "its part's time is over" >"$parts/$name.row"
  else
    [ "$left" -ge "$limit" ] || limit=$left
    printf '=== %s: %s\n' "$name" "$*" >"$parts/$name.log"
    timeout -k 5 "$limit" "$@" >>"$parts/$name.log" 2>&1
    code=$?
    state=FAILED what="exit code $code: $(remark "$parts/$name.log")"
    case $name,$code in
      faults-*,3) # a rank that comes too late is lost, and the run ends and names it
        if grep -q 'rank 1 is lost: did not reach step ' "$parts/$name.log"; then
          state=ok what=$(grep -o 'rank 1 is lost: did not reach step [^,;]*' "$parts/$name.log" | head -1)
        fi
        ;;
      faults-*,0) what="no rank was lost" ;;
      *,0)
        state=ok what=$(remark "$parts/$name.log")
        ! grep -q '^\[  SKIPPED \]' "$parts/$name.log" || state=skipped
        ;;
      *,124 | *,137) state="TIMED OUT" what="after $limit s" ;;
    esac
    printf '%-44s %-10s %5ss  %s\n' "$name" "$state" "$(($(date +%s) - begin))" "$what" >"$parts/$name.row"
  fi
  cat "$parts/$name.row"
  write_table "$name"
  exit 0
fi

folder="" logs=gpu-logs most=86400 jobs=8 again="" wanted=""
while [ $# -gt 0 ]; do
  case $1 in
    --logs | --seconds | --jobs)
      [ $# -ge 2 ] || fail "$1 needs a value"
      case $1,$2 in
        --logs,*) logs=$2 ;;
        *,'' | *,*[!0-9]* | *,0) fail "$1 needs a number above 0, not \"$2\"" ;;
        --seconds,*) most=$2 ;;
        *) jobs=$2 ;;
      esac
      shift
      ;;
    --again) again=1 ;;
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
begun=$(date +%s)
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
tests=$(first_of "$folder/release/tests/gpu/engine_tests" "$folder/release/tests/engine_tests" "$folder/tests/engine_tests")
sanitizer=$(first_of "$(command -v compute-sanitizer)" /usr/local/cuda/bin/compute-sanitizer)
speed=$here/peers/speed.py
[ -r "$speed" ] || speed=$folder/tests/speed.py
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
parts=$logs.parts
mark=$parts/.shardlens-parts
[ ! -e "$parts" ] || [ -f "$mark" ] || fail "$parts is there, and this script did not make it: give other --logs"
[ -z "$again" ] || rm -rf "$parts"
mkdir -p "$parts" && : >"$mark" || fail "cannot make the folder $parts"
{
  printf '%s\n' "$found"
  nproc
  ! command -v nvidia-smi >/dev/null || nvidia-smi
} >"$logs/machine.txt" 2>&1
printf '%s\n' "$found"

# --- The tasks ------------------------------------------------------------------------------------------------
wants() {
  case "$wanted " in
    " " | *" $1 "*) ;;
    *) false ;;
  esac
}

# NAME SECONDS COMMAND...: no word may hold a space. A task's part is the first word of its name.
task() {
  ! wants "${1%%-*}" || printf '%s\n' "$*"
}

# NAME WHAT: a task that cannot be run here, for want of WHAT.
cannot() {
  wants "${1%%-*}" || return 0
  printf '%-44s %-10s %6s  %s\n' "$1" skipped - "needs $2" >"$parts/$1.row"
  printf '%s\n' "$1"
}

# Only what runs on the GPU; the CPU's own tests are not what is asked here. FILTER; a name a line: Suite.Test/Gpu.
gpu_tests() {
  "$tests" --gtest_list_tests "--gtest_filter=$1" |
    sed -n 's/ *#.*//; /^[^ ].*\.$/h; /^  /{G; s/^  \(.*\)\n\(.*\)$/\2\1/p;}'
}
short() {
  name=${1#Devices/}
  printf '%s' "${name%/Gpu}" | tr / _
}

# Whether ranks may share a GPU by the NCCL that is here.
nccl_shares() {
  case $found in
    *"NCCL 2.30."[3-9]* | *"NCCL 2.3"[1-9]* | *"NCCL 2."[4-9][0-9]* | *"NCCL "[3-9].*) ;;
    *) false ;;
  esac
}
nccl="NCCL 2.30.3 or newer, by which ranks may share a GPU"
on_gpu="--backend cuda --gpu 0 --timeout 20"
shared="$on_gpu --comm local_cuda"

# A context's size is what the GPU has less of afterwards: nobody else may be on it.
context=GpuParity.AContextTakesNoMoreThanIsSetAsideForIt
list_tests() {
  if [ -z "$tests" ]; then
    cannot tests "engine_tests, which a bundle has if it was made with them"
    return
  fi
  for test in $(gpu_tests "GpuGroups.*:GpuParity.*:*EveryDevice*/Gpu:-$context"); do
    task "tests-$(short "$test")" 90 "$tests" "--gtest_filter=$test"
  done
}

# --timeout: a rank that hangs is named before its task's time is up.
list_verify() {
  task verify-tiny 30 "$cli" verify --model gpt2-tiny --tp 1 --batch 1 --seq 16 $on_gpu
  for tp in 2 4 8; do
    task "verify-tp$tp" 90 "$cli" verify --model gpt2 --heads-policy uneven --tp "$tp" --batch 1 --seq 64 $shared
  done
  for dtype in fp64 fp16 bf16; do
    for tp in 2 4 8; do
      task "verify-$dtype-tp$tp" 60 "$cli" verify --model gpt2-tiny --heads-policy uneven --tp "$tp" --batch 1 --seq 64 \
        --dtype "$dtype" $shared
    done
  done
  for tp in 2 4 8; do
    task "verify-tf32-tp$tp" 60 "$cli" verify --model gpt2-tiny --heads-policy uneven --tp "$tp" --batch 1 --seq 64 \
      --tf32 $shared
  done
  if nccl_shares; then
    task verify-nccl-tp2 90 "$cli" verify --model gpt2 --tp 2 --batch 1 --seq 64 $on_gpu --comm nccl
  else
    cannot verify-nccl-tp2 "$nccl"
  fi
  if command -v mpirun >/dev/null; then
    task verify-mpi 90 mpirun --oversubscribe --allow-run-as-root -n 2 "$cli" verify --model gpt2-tiny --tp 2 --batch 1 \
      --seq 64 --backend auto --comm mpi --timeout 20
  else
    cannot verify-mpi mpirun
  fi
}

list_faults() {
  late="step --model gpt2 --layer --tp 2 --backend cuda --gpu 0 --delay 1:mlp.fc:20000 --timeout 2"
  task faults-late-local_cuda 50 "$cli" $late --comm local_cuda
  if nccl_shares; then task faults-late-nccl 50 "$cli" $late --comm nccl; else cannot faults-late-nccl "$nccl"; fi
}

# Selective: attention's probabilities are made again in the backward pass and never kept, as in PyTorch's, which it
# is set beside.
list_benches() {
  big="--model megatron-1.2b --dtype bf16 --batch 8 --seq 1024"
  medium="--model gpt2-medium --dtype bf16 --batch 8 --seq 1024"
  task bench-step-1.2b 150 "$cli" bench step $big --tp 1 --recompute selective $on_gpu --json
  if [ -r "$speed" ] && python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    task bench-pytorch-eager 70 python3 -u "$speed" $big --device cuda --only eager
    task bench-pytorch-compiled 130 python3 -u "$speed" $big --device cuda --only compiled
  else
    cannot bench-pytorch "a python3 with PyTorch for CUDA, and tests/peers/speed.py"
  fi
  task bench-trace 60 "$cli" bench trace $medium --tp 1 $on_gpu --json
  task bench-trace-1.2b 60 "$cli" bench trace $big --tp 1 --recompute selective $on_gpu --json
  for model in gpt2 megatron-1.2b; do
    task "bench-generate-$model" 60 "$cli" bench generate --model "$model" --dtype bf16 --tp 1 $on_gpu --json
  done
  for tp in 2 4 8; do
    task "bench-allreduce-tp$tp" 60 "$cli" bench allreduce --tp "$tp" $shared
  done
  for tp in 2 4 8; do
    task "bench-step-tp$tp" 45 "$cli" bench step $medium --tp "$tp" --repetitions 3 $shared --json
  done
  # The definitions are nccl-tests': where it is there, its own figures stand beside ours.
  gpus=$(printf '%s\n' "$found" | grep -c '^cuda  GPU [0-9]')
  if command -v all_reduce_perf >/dev/null && [ "$gpus" -gt 1 ]; then
    task bench-allreduce-nccl 60 "$cli" bench allreduce --tp "$gpus" --backend cuda --comm nccl --timeout 20
    task bench-nccl-tests 60 all_reduce_perf -b 4K -e 64M -f 16 -g "$gpus"
  else
    cannot bench-nccl-tests "two GPUs, and nccl-tests' all_reduce_perf in PATH"
  fi
  # All pictures of a step are gigabytes, which the host reads: a few rounds of a small step are enough.
  task bench-record 120 "$cli" bench record --model gpt2 --dtype bf16 --batch 1 --seq 256 --repetitions 3 --tp 2 $shared \
    --json
}

# Our kernels; the library's products take the tools many times as long, and their results are the tests' matter.
# initcheck must see who writes, so it looks at all, and there no product is asked for. What is refused on purpose,
# such as more memory than there is, is no finding of memcheck's. Each process has ports of its own: the tool speaks
# to its program through them. TOOL FIRST_PORT OPTION...
list_checks() {
  tool=$1 port=$2
  shift 2
  wants "$tool" || return 0
  if [ -z "$sanitizer" ]; then
    cannot "$tool" "compute-sanitizer of CUDA's toolkit"
  elif [ -n "$tests" ]; then
    for test in $(gpu_tests '*EveryDevice*/Gpu:GpuGroups.RanksThatShare*:-*Product*'); do
      task "$tool-$(short "$test")" 280 "$sanitizer" --tool "$tool" --port "$port" --error-exitcode 9 "$@" \
        "$tests" "--gtest_filter=$test"
      port=$((port + 20))
    done
  else
    task "$tool-step" 240 "$sanitizer" --tool "$tool" --error-exitcode 9 "$@" "$cli" step --model gpt2-tiny --tp 2 \
      --seq 16 --updates 2 --lr 1e-3 --backend cuda --comm local_cuda
  fi
}
ours=
if [ -n "$sanitizer" ] && "$sanitizer" --help 2>&1 | grep -q -e --kernel-name; then
  ours='--kernel-name kernel_substring=shardlens'
fi

{
  [ -z "$tests" ] || task tests-context 60 "$tests" "--gtest_filter=$context"
  list_tests
  list_verify
  list_faults
  # Pictures of the gallery's size: its recordings are small.
  task record-demo 55 "$cli" step --model gpt2 --tp 4 $shared --record "$parts/demo.shardlens" --record-picture-size 16
  list_benches
  list_checks memcheck 50000 --report-api-errors no $ours
  list_checks racecheck 54000 $ours
  list_checks initcheck 58000
} >"$parts/plan"

# --- Running them ---------------------------------------------------------------------------------------------
# AT_A_TIME PATTERN: the plan's tasks of that name that have a command and are not done.
run_tasks() {
  grep -E "^$2.* " "$parts/plan" | while read -r name rest; do
    case $(cut -c46-55 "$parts/$name.row" 2>/dev/null) in
      ok*) ;;
      *) printf '%s %s\n' "$name" "$rest" ;;
    esac
  done >"$parts/now"
  [ ! -s "$parts/now" ] || xargs -P "$1" -L 1 sh "$0" --task <"$parts/now"
}

# What the tasks of some parts printed, in one file. FILE PART...
gather() {
  file=$logs/$1.txt
  shift
  : >"$file"
  for part; do
    for log in "$parts/$part"*.log; do
      [ -e "$log" ] || continue
      tail -c 20000 "$log" >>"$file"
      printf '\n' >>"$file"
    done
  done
  [ -s "$file" ] || rm -f "$file"
}

export parts logs deadline
write_table all
for part in tests verify faults record bench memcheck racecheck initcheck; do
  wants "$part" || continue
  now=$(date +%s)
  deadline=$((now + $(seconds_of "$part")))
  [ "$deadline" -le $((begun + most)) ] || deadline=$((begun + most))
  case $part in
    tests)
      run_tasks 1 'tests-context '
      run_tasks "$jobs" 'tests'
      ;;
    verify) run_tasks $(((jobs + 1) / 2)) verify ;;
    faults | record | bench) run_tasks 1 "$part" ;;
    *) run_tasks "$jobs" "$part" ;;
  esac
  case $part in
    *check) gather sanitizer memcheck racecheck initcheck ;;
    record) [ ! -e "$parts/demo.shardlens" ] || cp "$parts/demo.shardlens" "$logs/" ;;
    *) gather "$part" "$part" ;;
  esac
done

printf '\n'
cat "$logs/table.txt"
printf '\nin %s: %s\n' "$logs" "$(ls "$logs" | tr '\n' ' ')"
! grep -Eq '^.{45}(FAILED|TIMED OUT|LEFT OUT)' "$logs/table.txt"
