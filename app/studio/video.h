// A video of the studio, drawn without a display: frame k shows the exact state at k / fps * speed, however
// long drawing takes.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Walks through the steps from --from to --to and shows each as long as the studio's Play does. With a
/// recording it plays the seconds from --from to --to. With a lesson it shows what a class is shown, each
/// question before and after its answer, for as long as it takes to read. Throws a request Error if that
/// stretch does not exist.
void write_video(const Options& options);

}  // namespace shardlens
