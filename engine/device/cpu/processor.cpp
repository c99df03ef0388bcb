// This file is compiled with the kernels' options, so the compiler's macros give the needed instructions.
#include "engine/device/cpu/processor.h"

#include <string>

#include "engine/base/error.h"

namespace shardlens::cpu {

namespace {

#if defined(__AVX512F__)
constexpr const char* kNeeded = "AVX-512";
bool machine_suffices() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}
#elif defined(__AVX2__)
constexpr const char* kNeeded = "AVX2";
bool machine_suffices() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
constexpr const char* kNeeded = "";
bool machine_suffices() {
  return true;
}
#endif

}  // namespace

void require_processor() {
  if (!machine_suffices())
    throw run_error(std::string("this program was built for CPUs with ") + kNeeded +
                    ", and this CPU does not have it: build the program on this machine");
}

}  // namespace shardlens::cpu
