# The plug-in that computes on GPUs, libshardlens_cuda.so: built where CUDA's toolkit is, opened by the program when
# GPUs are asked for. It brings CUDA's runtime along (1 MB). cuBLASLt (540 MB) and NCCL (220 MB) it takes from the
# machine it runs on, where they are with the toolkit or with a Python that has PyTorch (engine/device/gpu_libraries.h):
# the archives that could be linked for one kind of GPU alone are not part of every toolkit.
option(SHARDLENS_CUDA "Build the GPU plug-in where CUDA's toolkit is found" ON)
# On a machine with a GPU and for a bundle: machine code for A100, H100 and H200, and the form that newer GPUs translate
# when they load it. Elsewhere that form alone, for A100 and newer, which compiles in a third of the time.
set(cuda_architectures "80-real;90-real;90-virtual")
if(NOT EXISTS /dev/nvidiactl)
  set(cuda_architectures "80-virtual")
endif()
set(SHARDLENS_CUDA_ARCHITECTURES "${cuda_architectures}" CACHE STRING "GPUs to compile for")

if(NOT SHARDLENS_CUDA OR SHARDLENS_SANITIZE)
  message(STATUS "CUDA: not asked for, built without")
  return()
endif()
find_program(SHARDLENS_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(SHARDLENS_NVCC)
if(NOT SHARDLENS_NVCC)
  message(STATUS "CUDA: not found, built without (nvcc of CUDA 13 is looked for in PATH, CUDA_HOME and /usr/local/cuda)")
  return()
endif()
execute_process(COMMAND "${SHARDLENS_NVCC}" --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
if(NOT nvcc_version MATCHES "release 1[3-9]")
  message(STATUS "CUDA: ${SHARDLENS_NVCC} is not that of CUDA 13 or newer, built without")
  return()
endif()
get_filename_component(nvcc_folder "${SHARDLENS_NVCC}" REALPATH)
get_filename_component(nvcc_folder "${nvcc_folder}" DIRECTORY)
get_filename_component(cuda_home "${nvcc_folder}" DIRECTORY)
find_library(SHARDLENS_CUBLASLT cublasLt HINTS "${cuda_home}" PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib)
find_path(SHARDLENS_CUBLASLT_INCLUDE cublasLt.h HINTS "${cuda_home}" PATH_SUFFIXES include targets/x86_64-linux/include)
find_path(SHARDLENS_NCCL_INCLUDE nccl.h HINTS "${cuda_home}" PATH_SUFFIXES include targets/x86_64-linux/include)
mark_as_advanced(SHARDLENS_CUBLASLT SHARDLENS_CUBLASLT_INCLUDE SHARDLENS_NCCL_INCLUDE)
foreach(needed SHARDLENS_CUBLASLT SHARDLENS_CUBLASLT_INCLUDE SHARDLENS_NCCL_INCLUDE)
  if(NOT ${needed})
    message(STATUS "CUDA: ${SHARDLENS_NVCC} without ${needed} (cuBLASLt and NCCL's header), built without")
    return()
  endif()
endforeach()

set(CMAKE_CUDA_COMPILER "${SHARDLENS_NVCC}")
set(CMAKE_CUDA_ARCHITECTURES "${SHARDLENS_CUDA_ARCHITECTURES}")
if(SHARDLENS_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${SHARDLENS_CCACHE}")
endif()
enable_language(CUDA)
# CMake 3.25 does not know yet that nvcc speaks it.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")

file(GLOB cuda_sources CONFIGURE_DEPENDS "device/cuda/*.cu" "comm/local_cuda*.cu" "comm/nccl*.cu")
add_library(shardlens_cuda MODULE ${cuda_sources} ${plugin_shared_sources})
target_include_directories(shardlens_cuda PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(shardlens_cuda SYSTEM PRIVATE "${SHARDLENS_CUBLASLT_INCLUDE}" "${SHARDLENS_NCCL_INCLUDE}")
# No contraction into fused multiply-adds, as in the CPU's kernels: an element's bits may not depend on its place.
target_compile_options(shardlens_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-O3;-fmad=false;-Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")
target_link_libraries(shardlens_cuda PRIVATE shardlens_plugin_version fmt::fmt Threads::Threads "${SHARDLENS_CUBLASLT}" ${CMAKE_DL_LIBS})
set_target_properties(shardlens_cuda PROPERTIES
  CUDA_STANDARD 20 CUDA_RUNTIME_LIBRARY Static CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY "${SHARDLENS_PROGRAM_DIR}")
# Programs find it beside themselves or in ../lib: so do the tests', which are built elsewhere.
add_custom_command(TARGET shardlens_cuda POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/lib"
  COMMAND ${CMAKE_COMMAND} -E create_symlink "$<TARGET_FILE:shardlens_cuda>" "${CMAKE_BINARY_DIR}/lib/$<TARGET_FILE_NAME:shardlens_cuda>")
