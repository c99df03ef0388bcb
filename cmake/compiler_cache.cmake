# Compiles through ccache where there is one.
find_program(SHARDLENS_CCACHE ccache)
mark_as_advanced(SHARDLENS_CCACHE)
if(SHARDLENS_CCACHE)
  # - Sloppiness: without these words ccache keeps nothing of what is compiled with a precompiled header, which the
  #   tests are.
  # - Depend mode: a precompiled header holds a hash of each of its headers, comments included. Without this mode, ccache
  #   compares preprocessed text, where comments are gone. It would bring a precompiled header that does not know its
  #   headers any more, and every class would be there twice. (tests/compiler/precompiled_header_test.cmake)
  # - Namespace: a precompiled header names its files by their full paths. One that another checkout left in the cache
  #   would bring every class a second time too, so each checkout has entries of its own. What was kept without the
  #   depend mode is not found either.
  set(ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
    "CCACHE_NAMESPACE=depend:${PROJECT_SOURCE_DIR}" "${SHARDLENS_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
endif()
