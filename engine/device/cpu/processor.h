// Whether this machine has the instructions that the CPU kernels were compiled for: a program that was built
// for one machine may have been carried to another.
#pragma once

namespace shardlens::cpu {

/// Throws a run Error that names the missing instructions. Cheap: whoever runs code of a kernel calls it
/// first.
void require_processor();

}  // namespace shardlens::cpu
