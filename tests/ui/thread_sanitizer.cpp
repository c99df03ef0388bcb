// Options of ThreadSanitizer for these tests. The software OpenGL driver takes more locks at a time than the
// search for deadlocks has room for, which would end the program, so that search is off. Races are found as
// everywhere. Options in TSAN_OPTIONS take precedence.
extern "C" const char* __tsan_default_options();

extern "C" const char* __tsan_default_options() {
  return "detect_deadlocks=0";
}
