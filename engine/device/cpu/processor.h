// What the kernels ask about the processor: whether it has the instructions that they were compiled for (the
// program may have been built on another machine), and how it reads memory best. x86/processor.cpp and
// portable/processor.cpp answer.
#pragma once

namespace shardlens::cpu {

/// Throws a run Error that names the missing instructions, if there are any. Cheap. Must be called before
/// code of a kernel.
void require_processor();

/// The best way to prefetch a stream that is read once, as measured (TRIED.md). gemv.cpp has the distances.
enum class Prefetching {
  Near,           ///< close to the processor's own prefetches: AMD up to Zen 4
  Far,            ///< into the first cache: AMD since Zen 5
  FarIntoSecond,  ///< into the second cache: others
};
/// This processor's.
Prefetching best_prefetching();

}  // namespace shardlens::cpu
