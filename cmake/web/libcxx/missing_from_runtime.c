// What the C++ library needs of its surroundings and emscripten 3.1.6 has in its own C++ library alone.

// The tag of C++ exceptions.
__asm__(
    ".tagtype __cpp_exception i32\n"
    ".globl __cpp_exception\n"
    "__cpp_exception:\n");

// The page's one thread never ends, so the destructors of its thread-local objects are never called.
int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
  (void)destroy, (void)object, (void)library;
  return 0;
}
