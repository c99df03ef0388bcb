# Compiles for WebAssembly: Debian's clang 22 with the C library of Debian's emscripten, whose em++ links. The flags are
# those that emscripten 3.1.6 gives its own compiler, without threads: a page that opens from a file has none.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(llvm /usr/lib/llvm-22/bin)
set(CMAKE_C_COMPILER ${llvm}/clang)
set(CMAKE_CXX_COMPILER ${llvm}/clang++)
set(CMAKE_AR ${llvm}/llvm-ar)
set(CMAKE_RANLIB ${llvm}/llvm-ranlib)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET wasm32-unknown-emscripten)
  # Nothing can be linked before the C++ library is built, and nothing is asked about the target.
  set(CMAKE_${language}_COMPILER_WORKS TRUE)
endforeach()
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Headers and libraries of this machine are not the page's.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)

set(emscripten_sysroot /usr/share/emscripten/cache/sysroot)
string(JOIN " " web_flags
  --sysroot=${emscripten_sysroot}
  -mcpu=mvp -mbulk-memory -mbulk-memory-opt -mnontrapping-fptoint -msign-ext -mmutable-globals -msimd128
  -fwasm-exceptions -fno-math-errno
  -D__EMSCRIPTEN_major__=3 -D__EMSCRIPTEN_minor__=1 -D__EMSCRIPTEN_tiny__=6
  "-mllvm -combiner-global-alias-analysis=false" "-mllvm -disable-lsr")
set(CMAKE_C_FLAGS_INIT "${web_flags}")
# Its own configuration comes before the headers of Debian's libc++, which are made for this machine.
set(CMAKE_CXX_FLAGS_INIT "${web_flags} -nostdinc++ -isystem ${CMAKE_CURRENT_LIST_DIR}/libcxx -isystem /usr/lib/llvm-22/include/c++/v1")

set(CMAKE_CXX_LINK_EXECUTABLE
  "${CMAKE_COMMAND} -E env EM_CONFIG=${CMAKE_CURRENT_LIST_DIR}/emscripten.cfg NODE_PATH=/usr/share/nodejs em++ -Wno-version-check -fwasm-exceptions -Wl,--no-stack-first <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
