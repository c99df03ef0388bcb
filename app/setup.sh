#!/bin/sh
# Installs what the build needs and does not have yet: Debian packages, and the GUI libraries' source package, pinned by
# its hash. A second run changes nothing, needs no network and takes well under a second.
#
#   SHARDLENS_THIRD_PARTY   where the GUI sources are unpacked (default: build/third_party)
set -eu
cd "$(dirname "$0")/.."
third_party=${SHARDLENS_THIRD_PARTY:-$PWD/build/third_party}

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# --- Debian packages ------------------------------------------------------------------------------------------
packages="
  g++ cmake ninja-build ccache pkg-config ca-certificates
  libdnnl-dev libblis-serial-dev libeigen3-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev
  libicu-dev libsentencepiece-dev libsqlite3-dev libxxhash-dev libcmark-dev libtomlplusplus-dev bible-kjv
  libgtest-dev libgmock-dev zlib1g-dev libopenmpi-dev openmpi-bin
  libpng-dev libcairo2-dev libfontconfig-dev libharfbuzz-dev ffmpeg libgl1 libegl-dev libgl1-mesa-dri libegl-mesa0
  libx11-dev libxext-dev libxrandr-dev libxinerama-dev libxcursor-dev libxi-dev
  iproute2 xvfb xauth python3 python3-pip python3-jsonschema poppler-utils valgrind"

. app/packages.sh
# shellcheck disable=SC2086 # one word a package
install_packages setup $packages

# --- GUI sources ----------------------------------------------------------------------------------------------
name=imgui-bundle
version=1.93.0
sha256=10ad1dab8258a6787b4f07bb926b08d0efc648a7906242568c8dd778c5e719bf
bundle=$third_party/$name-$version
# Only what is built, and every licence that goes with it.
wanted="
  LICENSE
  bindings/imgui_bundle/assets/fonts/Inconsolata-LICENSE-OFL.txt
  bindings/imgui_bundle/assets/fonts/Inconsolata-Medium.ttf
  bindings/imgui_bundle/assets/fonts/Roboto
  bindings/imgui_bundle/assets/fonts/fontawesome-webfont.ttf
  external/glfw/glfw
  external/hello_imgui/hello_imgui/hello_imgui_assets/fonts/LICENSE-FontAwesome.txt
  external/hello_imgui/hello_imgui/LICENSE
  external/hello_imgui/hello_imgui/src/hello_imgui/icons_font_awesome_4.h
  external/imgui/imgui
  external/imgui-command-palette/imgui-command-palette
  external/imgui_test_engine/imgui_test_engine/imgui_test_engine
  external/implot/implot"

# The unpacked files are up to date if they came from this archive with this choice of files.
stamp=$(printf '%s\n' "$sha256" "$wanted" | sha256sum)

unpack_gui_sources() {
  [ ! -e "$bundle" ] || [ -f "$bundle/stamp" ] ||
    fail "$bundle is there, and this script did not unpack it: remove it, or set SHARDLENS_THIRD_PARTY"
  mkdir -p "$third_party"
  temporary=$(mktemp -d "$third_party/.unpacking.XXXXXX")
  trap 'rm -rf "$temporary"' EXIT
  say "fetching $name $version (54 MB)"
  printf '%s==%s --hash=sha256:%s\n' "$name" "$version" "$sha256" >"$temporary/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "$name" --require-hashes \
    -r "$temporary/requirements.txt" -d "$temporary/download" ||
    fail "could not fetch $name $version; is there a network? If the archive has changed, do not use it:
setup: only the archive with SHA-256 $sha256 is accepted"
  archive=$(find "$temporary/download" -name '*.tar.gz')
  echo "$sha256  $archive" | sha256sum --check --quiet - || fail "$archive is not the pinned archive; delete it"
  say "unpacking into $bundle"
  mkdir "$temporary/unpacked"
  top=$(basename "$archive" .tar.gz)
  # shellcheck disable=SC2086 # one word a path
  tar -xzf "$archive" -C "$temporary/unpacked" --strip-components=1 $(printf "$top/%s " $wanted)
  echo "$stamp" >"$temporary/unpacked/stamp"
  rm -rf "$bundle"
  mv "$temporary/unpacked" "$bundle"
}

[ "$(cat "$bundle/stamp" 2>/dev/null)" = "$stamp" ] || unpack_gui_sources
say "ready"
