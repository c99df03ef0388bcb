// What ThreadSanitizer asks these tests for before they begin. The software OpenGL driver takes more locks at
// a time than its search for deadlocks has room for, which would end the program; races are looked for as
// everywhere. Options given in TSAN_OPTIONS come after this.
extern "C" const char* __tsan_default_options();

extern "C" const char* __tsan_default_options() {
  return "detect_deadlocks=0";
}
