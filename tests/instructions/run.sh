#!/bin/sh
# Counts the instructions of the hot paths and compares them with counts.txt. If a path needs 3 % more, the test fails;
# if it needs 3 % less, the script says so, and the count can be lowered.
#
#   tests/instructions/run.sh            compares
#   tests/instructions/run.sh --write    writes counts.txt again
set -eu
cd "$(dirname "$0")/../.."
counts=tests/instructions/counts.txt

if ! command -v valgrind >/dev/null; then
  echo "instructions: skipped: valgrind is not here (Debian: valgrind)"
  exit 0
fi
if ! grep -qw avx2 /proc/cpuinfo; then
  echo "instructions: skipped: the kernels counted need a processor with AVX2"
  exit 0
fi
./app/build.sh release instruction_paths

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# oneDNN's kernels are chosen by processor; those of AVX2 run on all that are counted on.
if ! OMP_NUM_THREADS=1 DNNL_MAX_CPU_ISA=AVX2 valgrind --tool=callgrind --collect-atstart=no \
    --callgrind-out-file="$folder/counted" build/release/tests/instructions/instruction_paths \
    >"$folder/log" 2>&1; then
  cat "$folder/log" >&2
  exit 1
fi

# "<instructions> <path>", in the order in which they ran.
for file in $(ls "$folder" | grep '^counted\.' | sort -t. -k2n); do
  awk '/^desc: Trigger: Client Request: / { sub(/^desc: Trigger: Client Request: /, ""); name = $0 }
       /^(summary|totals): / { total = $2 }
       END { if (name != "" && total > 0) print total, name }' "$folder/$file"
done >"$folder/now"

if [ "${1:-}" = --write ]; then
  cp "$folder/now" "$counts"
  echo "instructions: wrote $counts"
  exit 0
fi
awk '
  { count = $1; name = $0; sub(/^[0-9]+ /, "", name) }
  FNR == NR { before[name] = count; next }
  !(name in before) { printf "instructions: %s is not in counts.txt\n", name; failed = 1; next }
  {
    change = 100 * (count / before[name] - 1)
    remark = change > 3 ? "  FAILED: more than 3 % above counts.txt" : change < -3 ? "  fewer: lower it in counts.txt" : ""
    printf "instructions: %12d %+7.2f %%  %s%s\n", count, change, name, remark
    if (change > 3) failed = 1
    delete before[name]
  }
  END {
    for (name in before) { printf "instructions: %s was not counted\n", name; failed = 1 }
    exit failed
  }' "$counts" "$folder/now" || {
  echo "instructions: if that is meant, make the counts anew: tests/instructions/run.sh --write" >&2
  exit 1
}
