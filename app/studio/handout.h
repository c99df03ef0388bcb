// Lessons on paper, in the web and as slides: without a display, from the studio's own scenes. A lesson's
// video is in video.h.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Runs every scene of Options::lesson and writes it as one .pdf or .html. Throws a request Error if a scene
/// cannot be planned or an expression of it fails, with the lesson's file and line.
void write_handout(const Options& options);

/// Writes what a class is shown, each question before and after its answer, as pictures into a folder that is
/// made if it is not there; prints the path of each.
void write_slides(const Options& options);

}  // namespace shardlens
