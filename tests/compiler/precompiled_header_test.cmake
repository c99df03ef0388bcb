# A comment in a header of the precompiled header changes, and the header has been precompiled before: what is compiled
# with it still knows its classes once only (cmake/compiler_cache.cmake).
#
#   cmake -D root=FOLDER -D folder=SCRATCH -P precompiled_header_test.cmake
cmake_minimum_required(VERSION 3.25)

find_program(ccache ccache)
if(NOT ccache)
  message("skipped: there is no ccache, so nothing old can come from it")
  return()
endif()

file(REMOVE_RECURSE "${folder}")
file(WRITE "${folder}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(small CXX)
include(${root}/cmake/compiler_cache.cmake)
add_library(small STATIC first.cpp second.cpp)
target_precompile_headers(small PRIVATE small.h)
")
file(WRITE "${folder}/first.cpp" "#include \"small.h\"\nint first() { return Small{}.number; }\n")
set(ENV{CCACHE_DIR} "${folder}/cache")
unset(ENV{CCACHE_DISABLE})

# A new build folder each time, as a clone has. A new second source each time, so that it is really compiled.
function(build comment)
  file(WRITE "${folder}/small.h" "#pragma once\nstruct Small {\n  int number = 1;  // ${comment}\n};\n")
  file(WRITE "${folder}/second.cpp" "#include \"small.h\"\nint second() { return Small{}.number; }  // ${comment}\n")
  file(REMOVE_RECURSE "${folder}/build")
  # ccache keeps nothing of a file that was written in the second of its compilation.
  execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 1.1)
  foreach(command "-G;Ninja;-S;${folder};-B;${folder}/build" "--build;${folder}/build")
    execute_process(COMMAND ${CMAKE_COMMAND} ${command} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(failed)
      message(FATAL_ERROR "with the comment \"${comment}\": ${out}")
    endif()
  endforeach()
endfunction()

build("a number a token")
build("one number per token")
build("a number a token")
