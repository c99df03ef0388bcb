#!/bin/sh
# Installs what the page's build needs besides app/setup.sh: a compiler for WebAssembly from Debian, the sources of the
# C++ library from PyPI, and the sources of three libraries from Debian. Each archive is pinned by its hash. A second
# run changes nothing and needs no network.
#
# Debian's emscripten brings the C library, the canvas and the file system. Its own compiler knows too little of C++20,
# so clang 22 compiles, and the C++ library of the same version is built from its sources (cmake/web/libcxx.cmake).
#
#   SHARDLENS_WEB_THIRD_PARTY   where sources are unpacked (default: build/third_party/web)
set -eu
cd "$(dirname "$0")/.."
third_party=${SHARDLENS_WEB_THIRD_PARTY:-$PWD/build/third_party/web}

say() { printf 'web-setup: %s\n' "$*"; }
fail() {
  printf 'web-setup: %s\n' "$*" >&2
  exit 1
}

# --- Debian packages ------------------------------------------------------------------------------------------
packages="emscripten binaryen nodejs node-acorn clang-22 lld-22 llvm-22 libc++-22-dev tcl dpkg-dev unzip xz-utils"
. app/packages.sh
# shellcheck disable=SC2086 # one word a package
install_packages web-setup $packages

# --- Sources --------------------------------------------------------------------------------------------------
# NAME, the archive's file and its SHA-256.
libcxx="ziglang-0.17.1-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl
ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"
cmark="cmark_0.30.2.orig.tar.gz 6c7d2bcaea1433d977d8fed0b55b71c9d045a7cdf616e3cd2dce9007da753db3"
sqlite="sqlite3_3.40.1.orig.tar.xz aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655"
icu="icu_72.1.orig.tar.gz a2d2d38217092a7ed56635e34467f92f976b370e20182ad325edea6681a71d68"

stamp=$(printf '%s\n' "$libcxx" "$cmark" "$sqlite" "$icu" | cat - "$0" | sha256sum)
if [ "$(cat "$third_party/stamp" 2>/dev/null)" = "$stamp" ]; then
  say "ready"
  exit 0
fi

mkdir -p "$(dirname "$third_party")"
temporary=$(mktemp -d "$(dirname "$third_party")/.web.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
mkdir "$temporary/sources" "$temporary/archives" "$temporary/lists" "$temporary/lists/partial"

check() {  # FILE SHA256
  echo "$2  $1" | sha256sum --check --quiet - ||
    fail "$1 is not the pinned archive: only the one with SHA-256 $2 is accepted"
}

say "fetching the C++ library's sources (101 MB)"
printf 'ziglang==0.17.1 --hash=sha256:%s\n' "${libcxx##*
}" >"$temporary/requirements.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r "$temporary/requirements.txt" \
  -d "$temporary/archives" || fail "could not fetch ziglang 0.17.1; is there a network?"
unzip -q "$temporary/archives/"ziglang*.whl 'ziglang/lib/libcxx/*' 'ziglang/lib/libcxxabi/*' 'ziglang/lib/libunwind/*' \
  -d "$temporary/wheel"
mv "$temporary/wheel/ziglang/lib/libcxx" "$temporary/wheel/ziglang/lib/libcxxabi" \
  "$temporary/wheel/ziglang/lib/libunwind" "$temporary/sources/"

say "fetching the sources of cmark, SQLite and ICU"
cat >"$temporary/debian.sources" <<'END'
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
sources() {
  apt-get -qq -o "Dir::Etc::sourcelist=$temporary/debian.sources" -o Dir::Etc::sourceparts=/dev/null \
    -o "Dir::State::lists=$temporary/lists" -o APT::Sandbox::User=root "$@"
}
sources update || fail "apt-get could not read the list of Debian's sources; is there a network?"
(cd "$temporary/archives" && sources source --download-only cmark sqlite3 icu >/dev/null) ||
  fail "apt-get could not fetch the sources of cmark, sqlite3 and icu"
for one in "$cmark" "$sqlite" "$icu"; do
  archive=$temporary/archives/${one% *}
  check "$archive" "${one#* }"
  tar -xf "$archive" -C "$temporary/sources"
done
mv "$temporary/sources"/cmark-* "$temporary/sources/cmark"
mkdir "$temporary/sqlite" "$temporary/sources/sqlite"
# One file of all of SQLite, as its own build makes it.
(cd "$temporary/sqlite" && "$temporary/sources"/sqlite3-*/configure --quiet >/dev/null 2>&1 &&
  make --quiet sqlite3.c >/dev/null 2>&1) || fail "SQLite's sources could not be put together"
mv "$temporary/sqlite/sqlite3.c" "$temporary/sqlite/sqlite3.h" "$temporary/sources/sqlite/"
mv "$temporary/sources/icu" "$temporary/sources/icu-all"
mkdir "$temporary/sources/icu"
mv "$temporary/sources/icu-all/source/common" "$temporary/sources/icu-all/source/stubdata" \
  "$temporary/sources/icu-all/LICENSE" "$temporary/sources/icu/"
rm -rf "$temporary/sources/icu-all" "$temporary/sources"/sqlite3-*

echo "$stamp" >"$temporary/sources/stamp"
rm -rf "$third_party"
mv "$temporary/sources" "$third_party"
say "ready"
