// Linked into every program that is built with a sanitizer: nothing that was loaded is unloaded again.
// Mesa's drivers are loaded and unloaded with each OpenGL context, and keep a few allocations in their own
// globals until the process ends. Once a driver is gone the leak sanitizer finds nothing that points to them,
// and neither sanitizer can name the library any more, so that no suppression applies to it.
extern "C" int dlclose(void*) noexcept {
  return 0;
}
