// A video of the studio, drawn without a display: frame k shows the exact state at k / fps * speed, however
// long drawing takes.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Walks through the steps from --from to --to and shows each as long as the studio's Play does. With a
/// recording it plays the seconds from --from to --to. Throws a request Error if that stretch does not exist.
void write_video(const Options& options);

}  // namespace shardlens
