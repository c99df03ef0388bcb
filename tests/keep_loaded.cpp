// Linked into every program that is built with a sanitizer: a loaded library is never unloaded. Mesa's
// drivers are loaded and unloaded with each OpenGL context, and keep a few allocations in their own globals
// until the process ends. After a driver is unloaded, the leak sanitizer finds no pointer to them, and
// neither sanitizer can name the library, so no suppression matches.
extern "C" int dlclose(void*) noexcept {
  return 0;
}
