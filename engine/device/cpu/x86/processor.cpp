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
#else
constexpr const char* kNeeded = "AVX2";
bool machine_suffices() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

}  // namespace

void require_processor() {
  if (!machine_suffices())
    throw run_error(std::string("this program was built for CPUs with ") + kNeeded +
                    ", and this CPU does not have it: build the program on this machine");
}

Prefetching best_prefetching() {
  if (!__builtin_cpu_is("amd")) return Prefetching::FarIntoSecond;
  const bool up_to_zen4 = __builtin_cpu_is("amdfam17h") || __builtin_cpu_is("amdfam19h");
  return up_to_zen4 ? Prefetching::Near : Prefetching::Far;
}

}  // namespace shardlens::cpu
