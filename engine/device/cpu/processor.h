// Checks that this machine has the instructions that the CPU kernels were compiled for. The program may have
// been built on another machine.
#pragma once

namespace shardlens::cpu {

/// Throws a run Error that names the missing instructions, if there are any. Cheap. Must be called before
/// code of a kernel.
void require_processor();

}  // namespace shardlens::cpu
