# The C++ library of the page, from its sources (app/web-setup.sh): libc++, libc++abi and the unwinder of version 22.1.8.
file(GLOB_RECURSE libcxx_sources "${SHARDLENS_WEB_THIRD_PARTY}/libcxx/src/*.cpp")
list(FILTER libcxx_sources EXCLUDE REGEX
  "/support/|/pstl/|int128_builtins|experimental/(tzdb|time_zone|chrono_exception|log)")
set(libcxxabi_sources
  abort_message cxa_aux_runtime cxa_default_handlers cxa_demangle cxa_exception cxa_exception_storage cxa_guard
  cxa_handlers cxa_personality cxa_vector cxa_virtual fallback_malloc private_typeinfo stdlib_exception
  stdlib_new_delete stdlib_stdexcept stdlib_typeinfo)
list(TRANSFORM libcxxabi_sources REPLACE "(.+)" "${SHARDLENS_WEB_THIRD_PARTY}/libcxxabi/src/\\1.cpp")

add_library(shardlens_libcxx STATIC ${libcxx_sources} ${libcxxabi_sources}
  "${SHARDLENS_WEB_THIRD_PARTY}/libunwind/src/Unwind-wasm.c"
  "${CMAKE_CURRENT_LIST_DIR}/libcxx/missing_from_runtime.c")
set(cxx_alone "$<COMPILE_LANGUAGE:CXX>")
target_compile_options(shardlens_libcxx PRIVATE -Oz -w "$<$<COMPILE_LANGUAGE:C>:-fdeclspec>"
  "$<${cxx_alone}:SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/libcxx/missing_from_libc.h>")
target_compile_features(shardlens_libcxx PRIVATE cxx_std_23)
target_compile_definitions(shardlens_libcxx PRIVATE NDEBUG _LIBCPP_BUILDING_LIBRARY
  LIBC_NAMESPACE=__llvm_libc_common_utils _LIBCPP_REMOVE_TRANSITIVE_INCLUDES _LIBUNWIND_DISABLE_VISIBILITY_ANNOTATIONS)
set_source_files_properties(${libcxx_sources} PROPERTIES COMPILE_DEFINITIONS LIBCXX_BUILDING_LIBCXXABI=1)
set_source_files_properties(${libcxxabi_sources} PROPERTIES
  COMPILE_DEFINITIONS "_LIBCXXABI_BUILDING_LIBRARY;LIBCXXABI_NON_DEMANGLING_TERMINATE")
target_include_directories(shardlens_libcxx PRIVATE
  "${SHARDLENS_WEB_THIRD_PARTY}/libcxxabi/include" "${SHARDLENS_WEB_THIRD_PARTY}/libunwind/include"
  "${SHARDLENS_WEB_THIRD_PARTY}/libcxx/src" "${SHARDLENS_WEB_THIRD_PARTY}/libcxx/src/include"
  "${SHARDLENS_WEB_THIRD_PARTY}/libcxx" "${SHARDLENS_WEB_THIRD_PARTY}/libcxx/libc")
target_sources(shardlens_libcxx INTERFACE
  "$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${CMAKE_CURRENT_LIST_DIR}/libcxx/main.c>")
