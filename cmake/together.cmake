# Compiles small files together. Most of a small file's time goes into the headers that its neighbours read as well, so
# the files of a folder are handed to the compiler a few at a time:
#
#   compile_together(target MOST files)
#
# A folder's files make units of at most MOST files, and no unit has files of two folders: an edit compiles its unit
# anew, so MOST is what keeps that quick. A file with compile options or definitions of its own stays by itself, as do
# those that CMake writes. Names in anonymous namespaces meet within a folder: two that are alike do not compile.
#
#   parse_once(target HEADERS...)
#
# Parses headers that most units of a target read once for all of them. GCC 12 then warns of std::string's own copies,
# which are right: so those two warnings are off there.
#
# With SHARDLENS_TOGETHER off, both do nothing: every file is compiled by itself, and one that does not include what it
# uses is found.
option(SHARDLENS_TOGETHER "Compile small files of a folder together" ON)

function(compile_together target most)
  if(NOT SHARDLENS_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(options OR definitions OR NOT name MATCHES "^(app|engine|ui|tests)/.*[.]cpp$")
      continue()
    endif()
    cmake_path(GET name PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(SORT files_${folder})
    list(LENGTH files_${folder} count)
    math(EXPR units "(${count} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(source IN LISTS files_${folder})
      math(EXPR unit "${index} * ${units} / ${count}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${unit}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

function(parse_once target)
  if(NOT SHARDLENS_TOGETHER)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow>")
endfunction()
