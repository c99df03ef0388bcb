# The libraries of the engine on a desktop or a server, as Debian packs them.
find_package(Threads REQUIRED)
# xxHash by its header alone: io/hash.cpp compiles it into the program.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc)
find_package(SQLite3 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
# Lessons: Markdown by cmark, TOML by a header.
pkg_check_modules(CMARK REQUIRED IMPORTED_TARGET libcmark)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
