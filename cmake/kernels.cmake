# The kernels of the CPU device: the files that a build has of what is written more than once, and the options to
# compile them with. A file of one choice is in a folder called like it (engine/device/cpu/x86, tests/engine/device/x86),
# so no file asks which one it is in.
#
#   SHARDLENS_KERNELS           x86: AVX2 or AVX-512, with oneDNN and BLIS. portable: any processor, no library
#   kernel_options              for the kernels of the program
#   least_kernel_target         of these, what chooses the instructions, for the least machine that there are kernels for
#   leave_out_other_kernels(V)  takes the files of the other choices out of the list V
#
# Emscripten calls its processor "x86", so only names of 64-bit ones are taken for it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(kernels_default x86)
else()
  set(kernels_default portable)
endif()
set(SHARDLENS_KERNELS ${kernels_default} CACHE STRING "The CPU device's kernels: x86 or portable")
set_property(CACHE SHARDLENS_KERNELS PROPERTY STRINGS x86 portable)
if(NOT SHARDLENS_KERNELS MATCHES "^(x86|portable)$")
  message(FATAL_ERROR "SHARDLENS_KERNELS is \"${SHARDLENS_KERNELS}\": choose x86 or portable")
endif()

function(leave_out_other_kernels list)
  set(kept ${${list}})
  foreach(kernels x86 portable)
    if(NOT kernels STREQUAL SHARDLENS_KERNELS)
      list(FILTER kept EXCLUDE REGEX "/device/(cpu/)?${kernels}/")
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# Optimised in every build type. No contraction into fused multiply-adds: the compiler could choose it for one copy of a
# loop and not for another, and an element's bits would depend on its position. The vector types never cross a call, so
# their ABI is no matter.
set(kernel_options -O3 -ffp-contract=off -fno-math-errno -Wno-psabi)
if(SHARDLENS_KERNELS STREQUAL "x86")
  set(least_kernel_target -march=x86-64-v3)
  list(APPEND kernel_options -march=$<IF:$<BOOL:${SHARDLENS_NATIVE}>,native,x86-64-v3>)
else()
  set(least_kernel_target -DSHARDLENS_PORTABLE_KERNELS)
  list(APPEND kernel_options ${least_kernel_target})
endif()
if(SHARDLENS_SANITIZE STREQUAL "thread")  # GCC 12 ends with an internal error at gelu.cpp's straight code
  list(APPEND kernel_options -fno-tree-slp-vectorize)
endif()
# Where AddressSanitizer watches for use after return, GCC 12 fills structs by moves that ask for an alignment of 64
# bytes which the sanitizer's stack does not have (its bug 110027).
if(SHARDLENS_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND SHARDLENS_KERNELS STREQUAL "x86")
  list(APPEND kernel_options -mmove-max=256 -mstore-max=256)
endif()
