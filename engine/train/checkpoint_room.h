// Whether a disk has room for a run's checkpoints. Found out before the first step, not at the first save.
#pragma once

#include <cstdint>
#include <string>

#include "engine/program/program.h"

namespace shardlens {

/// The bytes of the tensors in a checkpoint of `program`: weights and the optimizer's state.
int64_t checkpoint_bytes(const Program& program);

/// Throws a request Error if `bytes` do not fit onto the disk of `folder`, with the remedy. `what` says what
/// takes them. Does nothing if the system does not report the disk's free space.
void require_room(const std::string& folder, int64_t bytes, const std::string& what);

/// The same for the checkpoints of a run that saves to `folder` `saves` times. The new checkpoint is written
/// before the old one is removed, so from the second save on the disk holds two.
void require_checkpoint_room(const std::string& folder, const Program& program, int64_t saves);

}  // namespace shardlens
