// Puts the right checksums into damaged files, so that the damage reaches what is behind them.
#pragma once

#include "tests/fuzz/sound_files.h"

namespace shardlens::fuzz {

/// Of token files, and of a checkpoint's files; others stay as they are.
void seal(SoundFiles& files);

}  // namespace shardlens::fuzz
