# `cmake --install BUILD --prefix FOLDER` makes a folder that runs elsewhere, wherever it is put: the programs that are
# built in bin/, and in lib/ the plug-ins and every library that a bare system does not have. The driver, cuBLASLt and
# NCCL are the other machine's (engine/cuda.cmake); so are OpenGL and X11 for the studio.
#
# Each is built with the search path that it is installed with: CMake would fill up another one with empty entries, and
# an empty entry is the current folder (tests/app/search_path_test.cpp).
set(bundle_programs shardlens shardlens-cli)
set(bundle_plugins shardlens_cuda shardlens_mpi shardlens_chart)
foreach(target IN LISTS bundle_programs)
  if(TARGET ${target})
    # The old kind of search path, which the libraries' own libraries are searched by too.
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON)
    install(TARGETS ${target} RUNTIME DESTINATION bin OPTIONAL)
  endif()
endforeach()
foreach(target IN LISTS bundle_plugins)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
    install(TARGETS ${target} LIBRARY DESTINATION lib OPTIONAL)
  endif()
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" "${PROJECT_SOURCE_DIR}/README.md"
  DESTINATION .)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/app/gpu-libraries.sh" "${PROJECT_SOURCE_DIR}/tests/gpu.sh" DESTINATION .)

install(CODE [[
  set(root "${CMAKE_INSTALL_PREFIX}")
  if(DEFINED ENV{DESTDIR})
    set(root "$ENV{DESTDIR}${root}")
  endif()
  set(programs "")
  foreach(name shardlens shardlens-cli)
    if(EXISTS "${root}/bin/${name}")
      list(APPEND programs "${root}/bin/${name}")
    endif()
  endforeach()
  file(GLOB plugins "${root}/lib/libshardlens_*.so")
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} MODULES ${plugins}
    RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES
      # the system itself, with its C++ library: ours would ask for as new a C library as it was built with
      "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|mvec|anl|stdc\\+\\+|gcc_s)|linux-vdso)\\.so"
      # the machine's own: its driver, what is as large as everything else together, its screen, its MPI
      "^lib(cuda|nvidia.*|cublasLt|cublas|nccl|cudnn.*)\\.so" "^lib(GL|EGL|GLX|GLdispatch|OpenGL|X11|X11-xcb|xcb.*|Xau|Xdmcp|Xext|drm|gbm)\\.so"
      "^lib(mpi|open-rte|open-pal)\\.so" "^libshardlens_"
    POST_EXCLUDE_REGEXES "^${root}/")
  foreach(library IN LISTS found)
    # Under the name it is asked for by, once: an archive may not know links.
    get_filename_component(name "${library}" NAME)
    message(STATUS "Installing: ${root}/lib/${name}")
    file(COPY_FILE "${library}" "${root}/lib/${name}" ONLY_IF_DIFFERENT)
  endforeach()
  if(missing)
    message(STATUS "Not in the folder, the machine must have them: ${missing}")
  endif()
]])
