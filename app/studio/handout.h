// Lessons on paper, in the web, as slides and as a video: without a display, from the studio's own scenes.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Runs every scene of Options::lesson and writes it as one .pdf or .html. Throws a request Error if a scene
/// cannot be planned or an expression of it fails, with the lesson's file and line.
void write_handout(const Options& options);

}  // namespace shardlens
