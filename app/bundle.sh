#!/bin/sh
# Makes build/shardlens-bundle and the same as a .zip: shardlens-cli, the GPU module if CUDA's toolkit is here, and
# the libraries they need, to be put on a machine where nothing can be installed. Says how large it is, and which
# system it runs on. cuBLASLt and NCCL, nine tenths of a gigabyte, are the other machine's: gpu-libraries.sh in the
# bundle fetches them where it has none.
#
#   app/bundle.sh [FOLDER]
set -eu
cd "$(dirname "$0")/.."
folder=${1:-$PWD/build/shardlens-bundle}

fail() {
  printf 'bundle: %s\n' "$*" >&2
  exit 1
}

command -v zip >/dev/null || fail "zip is not here; install it (Debian: zip)"
cmake --preset bundle >/dev/null
targets=shardlens-cli
for module in shardlens_cuda shardlens_mpi; do
  ! cmake --build build/bundle --target help | grep -q "^$module:" || targets="$targets $module"
done
# shellcheck disable=SC2086 # one word a target
cmake --build build/bundle -j "$(nproc)" --target $targets
rm -rf "$folder" "$folder.zip"
cmake --install build/bundle --prefix "$folder" --strip >/dev/null
(cd "$(dirname "$folder")" && zip -q -r -9 "$folder.zip" "$(basename "$folder")")

bytes=$(stat -c %s "$folder.zip")
newest() {
  find "$folder" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump -T {} + 2>/dev/null |
    grep -o "$1" | sort -uV | tail -n 1
}
echo "bundle: $folder.zip: $((bytes / 1000000)) MB"
echo "bundle: runs on x86-64 with AVX2, $(newest 'GLIBC_2\.[0-9]*') and $(newest 'GLIBCXX_3\.4\.[0-9]*') or newer"
[ "$bytes" -lt 64000000 ] || fail "it is larger than 64 MB"
