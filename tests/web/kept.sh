# Where a page is kept that was built from these sources, so that it is not built again where only they are to be
# checked: the folder `kept`, named after all that the page is made of. Empty if something of that is not committed.
# To be sourced in the root folder.
sources="app assets cmake engine shaders ui CMakeLists.txt CMakePresets.json"
kept=
# shellcheck disable=SC2086  # a list of words
if [ -z "$(git status --porcelain -- $sources)" ]; then
  kept=${XDG_CACHE_HOME:-$HOME/.cache}/shardlens/page/$(git ls-files -s -- $sources | sha256sum | cut -c1-16)
fi
# Of a page: itself, and the command line for node.
made="shardlens.html web/shardlens-cli.js web/shardlens-cli.wasm"
