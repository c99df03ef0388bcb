#!/bin/sh
# Fetches the NVIDIA libraries that a bundle does not contain: cuBLASLt (550 MB), NVRTC (150 MB), with which cuBLASLt
# compiles further kernels, and NCCL (340 MB). It uses pip, needs no root, and puts them into the bundle's lib/, where
# shardlens-cli looks first. For servers with a driver, but without the CUDA toolkit or a PyTorch for CUDA 13.
# `bin/shardlens-cli info --backends` prints what is missing. One GPU needs no NCCL: use `gpu-libraries.sh cublas`.
#
#   ./gpu-libraries.sh [cublas] [nccl]
set -euf
cd "$(dirname "$0")"
lib=$PWD/lib
fetched_mb=1700 # size after pip has unpacked them; half of it is kept

fail() {
  printf 'gpu-libraries: %s\n' "$*" >&2
  exit 1
}
elsewhere="or fetch it where there is a network and copy it to $lib, or set SHARDLENS_CUDA_LIBRARIES to a folder that has it"

[ -x bin/shardlens-cli ] || fail "there is no bin/shardlens-cli in $PWD: start the copy of this script in the bundle"
[ $# -gt 0 ] || set -- cublas nccl
packages='' files=''

# PACKAGE FILE [OTHER]: adds a package if its FILE is missing. OTHER is moved before FILE, so FILE marks a whole package.
need() {
  if [ -e "$lib/$2" ]; then
    echo "gpu-libraries: $2 is there"
  else
    packages="$packages $1" files="$files${3:+ $3} $2"
  fi
}
for what; do
  case $what in
    cublas)
      # 13.6 offers algorithms for fp32 operands of 2^31 elements that it then fails on.
      need 'nvidia-cublas>=13,<14,!=13.6.*' libcublasLt.so.13
      need 'nvidia-cuda-nvrtc>=13,<14' libnvrtc.so.13 'libnvrtc-builtins.so.13.*'
      ;;
    nccl) need nvidia-nccl-cu13 libnccl.so.2 ;;
    *) fail "\"$what\" cannot be fetched: choose cublas or nccl, or leave it out for both" ;;
  esac
done
[ -n "$files" ] || exit 0

command -v python3 >/dev/null || fail "there is no python3 to fetch$files with; install one (Debian: python3-pip), $elsewhere"
python3 -m pip --version >/dev/null 2>&1 ||
  fail "python3 has no pip to fetch$files with; try python3 -m ensurepip --user, $elsewhere"
free_mb=$(df -Pm . | awk 'NR == 2 { print $4 }')
[ "$free_mb" -ge "$fetched_mb" ] || fail "$PWD has $free_mb MB free, but fetching$files needs $fetched_mb MB for a while"

# A folder next to lib/, so that files are moved and not copied. It is removed at the end, also after a failure.
made=$PWD/.gpu-libraries.$$
mkdir "$made" || fail "cannot make the folder $made, $elsewhere"
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM
# shellcheck disable=SC2086 # one word a package
python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --no-cache-dir \
  --target "$made" $packages || fail "pip could not fetch$packages; check the network, $elsewhere"
for file in $files; do
  found=$(find "$made" -name "$file" -type f | head -n 1)
  [ -n "$found" ] || fail "pip fetched a package without $file; $elsewhere"
  name=${found##*/}
  mv "$found" "$lib/$name"
  echo "gpu-libraries: lib/$name, $(($(stat -c %s "$lib/$name") / 1000000)) MB"
done
