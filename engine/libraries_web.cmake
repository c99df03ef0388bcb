# The libraries of the page's engine, under the names that find_package() gives them on a desktop. Libraries of headers
# are those that Debian has installed; this machine's other headers must not be found, so each has a link of its own in a
# folder. cmark, SQLite and ICU are compiled from the sources that app/web-setup.sh has unpacked.
set(web_headers "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${web_headers}")
foreach(name IN ITEMS fmt spdlog nlohmann CLI toml++ xxhash.h)
  get_filename_component(link "${name}" NAME)
  if(NOT EXISTS "/usr/include/${name}")
    message(FATAL_ERROR "/usr/include/${name} is missing: run app/setup.sh and app/web-setup.sh")
  endif()
  file(CREATE_LINK "/usr/include/${name}" "${web_headers}/${link}" SYMBOLIC)
endforeach()

function(add_headers target)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE "${web_headers}")
  target_compile_definitions(${target} INTERFACE ${ARGN})
endfunction()
add_headers(fmt::fmt FMT_HEADER_ONLY)
add_headers(spdlog::spdlog FMT_HEADER_ONLY SPDLOG_FMT_EXTERNAL)
add_headers(nlohmann_json::nlohmann_json)
add_headers(CLI11::CLI11)
add_headers(Threads::Threads)
add_headers(PkgConfig::SENTENCEPIECE)  # a page has none (cmake/platform.cmake)
set(XXHASH_INCLUDE_DIR "${web_headers}")
set(TOMLPLUSPLUS_INCLUDE_DIR "${web_headers}")

# SQLite, one file. No threads ever meet in it.
set(sqlite "${SHARDLENS_WEB_THIRD_PARTY}/sqlite")
add_library(web_sqlite STATIC "${sqlite}/sqlite3.c")
target_include_directories(web_sqlite SYSTEM PUBLIC "${sqlite}")
target_compile_definitions(web_sqlite PRIVATE SQLITE_THREADSAFE=0 SQLITE_OMIT_LOAD_EXTENSION SQLITE_DEFAULT_MEMSTATUS=0)
target_compile_options(web_sqlite PRIVATE -O2 -w)
add_library(SQLite::SQLite3 ALIAS web_sqlite)

# cmark, without its program. Two headers are what its own build makes of them.
set(cmark "${SHARDLENS_WEB_THIRD_PARTY}/cmark/src")
set(cmark_made "${CMAKE_BINARY_DIR}/cmark")
set(PROJECT_VERSION_MAJOR 0)
set(PROJECT_VERSION_MINOR 30)
set(PROJECT_VERSION_PATCH 2)
configure_file("${cmark}/cmark_version.h.in" "${cmark_made}/cmark_version.h" @ONLY)
file(CONFIGURE OUTPUT "${cmark_made}/cmark_export.h" CONTENT "#define CMARK_EXPORT\n#define CMARK_NO_EXPORT\n")
file(CONFIGURE OUTPUT "${cmark_made}/config.h"
  CONTENT "#define HAVE_STDBOOL_H\n#include <stdbool.h>\n#define HAVE___BUILTIN_EXPECT\n#define HAVE___ATTRIBUTE__\n#define CMARK_ATTRIBUTE(list) __attribute__(list)\n#ifndef CMARK_INLINE\n#define CMARK_INLINE inline\n#endif\n")
file(GLOB cmark_sources "${cmark}/*.c")
list(FILTER cmark_sources EXCLUDE REGEX "/main[.]c$")
add_library(web_cmark STATIC ${cmark_sources})
target_include_directories(web_cmark SYSTEM PUBLIC "${cmark}" "${cmark_made}")
target_compile_options(web_cmark PRIVATE -O2 -w)
add_library(PkgConfig::CMARK ALIAS web_cmark)

# ICU's common library, with no data but what is in its code: properties of characters and normal forms.
file(GLOB icu_sources "${SHARDLENS_WEB_THIRD_PARTY}/icu/common/*.cpp" "${SHARDLENS_WEB_THIRD_PARTY}/icu/stubdata/*.cpp")
add_library(web_icu STATIC ${icu_sources})
target_include_directories(web_icu SYSTEM PUBLIC "${SHARDLENS_WEB_THIRD_PARTY}/icu/common")
target_compile_definitions(web_icu PRIVATE U_COMMON_IMPLEMENTATION PUBLIC U_STATIC_IMPLEMENTATION)
target_compile_options(web_icu PRIVATE -Os -w
  "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/web/libcxx/missing_from_libc.h")
add_library(ICU::uc ALIAS web_icu)
