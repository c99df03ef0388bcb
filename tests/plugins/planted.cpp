// A library that somebody put where a program must not look for its own: it tells when it is loaded.
#include <cstdio>

namespace {

struct Loaded {
  Loaded() { std::fputs("planted code runs\n", stderr); }
} loaded;

}  // namespace
