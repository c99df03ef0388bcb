# The hash of the plug-ins' interface changes if a header that declares their objects changes, also one that is included
# indirectly. It stays the same if anything else changes:
#
#   cmake -D root=FOLDER -D folder=SCRATCH -P interface_test.cmake
cmake_minimum_required(VERSION 3.25)
include("${root}/cmake/plugin_interface.cmake")

file(REMOVE_RECURSE "${folder}")
file(WRITE "${folder}/engine/plugin.h" "#include <vector>\n#include \"engine/types/far.h\"\n")
file(WRITE "${folder}/engine/types/far.h" "#include \"engine/plugin.h\"  // of each other\n")
file(WRITE "${folder}/engine/types/far.cu" "#include \"engine/types/far.h\"\n")

function(expect_hash what same)
  plugin_interface_files("${folder}" "engine/plugin.h" files)
  hash_files("${folder}" "${files}" hash)
  if(NOT files STREQUAL "engine/plugin.h;engine/types/far.h")
    message(SEND_ERROR "${what}: the files are ${files}")
  endif()
  if(DEFINED last AND same AND NOT hash STREQUAL last)
    message(SEND_ERROR "${what}: another hash")
  elseif(DEFINED last AND NOT same AND hash STREQUAL last)
    message(SEND_ERROR "${what}: the same hash")
  endif()
  set(last "${hash}" PARENT_SCOPE)
endfunction()

expect_hash("at the begin" TRUE)
expect_hash("nothing changed" TRUE)
file(APPEND "${folder}/engine/types/far.cu" "// a kernel mended\n")
expect_hash("a kernel changed" TRUE)
file(APPEND "${folder}/engine/types/far.h" "struct Far {};\n")
expect_hash("a header that is included by another changed" FALSE)
file(APPEND "${folder}/engine/plugin.h" "struct Near {};\n")
expect_hash("the plug-in's header changed" FALSE)
