// What libc++ takes from the C library and emscripten 3.1.6 does not declare.
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C"
#endif
    int
    getentropy(void* buffer, size_t bytes);
