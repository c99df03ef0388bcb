#!/bin/sh
# Makes build/shardlens-bundle and a .zip of it, for a machine where nothing can be installed: shardlens-cli, the GPU
# plug-in if the CUDA toolkit is here, the studio's page if app/web.sh has built it, and the libraries they need. Prints
# the bundle's size and the system that it needs. cuBLASLt and NCCL (0.9 GB) are not in it: if the other machine has
# none, gpu-libraries.sh in the bundle fetches them.
#
# --tests adds the GPU tests, for tests/gpu.sh on a machine that cannot build them, and packs everything as .tar.xz,
# which keeps the executable bits. In a git checkout, bundle and checkout together must then be smaller than 60 MiB,
# because both are carried to such a machine.
#
#   app/bundle.sh [--tests] [FOLDER]
set -eu
cd "$(dirname "$0")/.."
with_tests=
if [ "${1:-}" = --tests ]; then
  with_tests=1
  shift
fi
folder=${1:-$PWD/build/shardlens-bundle}

fail() {
  printf 'bundle: %s\n' "$*" >&2
  exit 1
}

# Only what this script made is replaced.
mark=.shardlens-bundle
if [ ! -f "$folder/$mark" ]; then
  for there in "$folder" "$folder.zip" "$folder.tar.xz"; do
    [ ! -e "$there" ] || fail "$there is there, and app/bundle.sh did not make it: remove it, or name another folder"
  done
fi
[ -n "$with_tests" ] || command -v zip >/dev/null || fail "zip is not installed; install it (Debian: zip)"
cmake --preset bundle >/dev/null
targets=shardlens-cli
for plugin in shardlens_cuda shardlens_mpi; do
  ! cmake --build build/bundle --target help | grep -q "^$plugin:" || targets="$targets $plugin"
done
[ -z "$with_tests" ] || targets="$targets gpu_tests"
# shellcheck disable=SC2086 # one word a target
cmake --build build/bundle -j "$(nproc)" --target $targets
rm -rf "$folder"
rm -f "$folder.zip" "$folder.tar.xz"
mkdir -p "$folder"
echo "app/bundle.sh made this folder, and removes it when it makes the bundle again" >"$folder/$mark"
cmake --install build/bundle --prefix "$folder" --strip >/dev/null
if [ -n "$with_tests" ]; then
  cmake --install build/bundle --prefix "$folder" --strip --component tests >/dev/null
  packed=$folder.tar.xz
  tar -C "$(dirname "$folder")" --exclude="$mark" -cf - "$(basename "$folder")" | xz -9 -T0 >"$packed"
else
  page=build/shardlens.html
  if [ -f "$page" ]; then
    mkdir -p "$folder/lib"
    cp "$page" "$folder/lib/"
  else
    echo "bundle: without the page that \`shardlens-cli page\` sends: ./app/web.sh builds it; then run this again"
  fi
  packed=$folder.zip
  (cd "$(dirname "$folder")" && zip -q -r -9 "$packed" "$(basename "$folder")" -x "*/$mark")
fi

# Prints bytes as MiB with one decimal.
mib() {
  awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }'
}
newest() {
  find "$folder" -type f \( -name '*.so*' -o -path '*/bin/*' -o -path '*/tests/*' \) -exec objdump -T {} + 2>/dev/null |
    grep -o "$1" | sort -uV | tail -n 1
}
echo "bundle: the files in it, before packing:"
(cd "$folder" && find . -type f -size +200k -printf '%s %P\n') | sort -rn | while read -r bytes name; do
  echo "bundle:   $(mib "$bytes")  $name"
done
bytes=$(stat -c %s "$packed")
echo "bundle: $packed: $(mib "$bytes")"
echo "bundle: runs on x86-64 with AVX2, $(newest 'GLIBC_2\.[0-9]*') and $(newest 'GLIBCXX_3\.4\.[0-9]*') or newer"
most=$((60 * 1048576))
if [ -n "$with_tests" ] && git rev-parse --git-dir >/dev/null 2>&1; then
  tree=$(git ls-files -co --exclude-standard -z | xargs -0 cat | wc -c)
  echo "bundle: the checkout: $(mib "$tree"); together: $(mib $((tree + bytes)))"
  bytes=$((tree + bytes))
fi
[ "$bytes" -lt "$most" ] || fail "it is too large: it must be smaller than $(mib "$most")"
