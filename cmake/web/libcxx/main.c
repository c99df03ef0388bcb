// Clang 22 names a main() with arguments otherwise than emscripten 3.1.6 looks for it. Part of every program.
int __main_argc_argv(int count, char** arguments);
int entry(int count, char** arguments) __asm__("main");
int entry(int count, char** arguments) {
  return __main_argc_argv(count, arguments);
}
