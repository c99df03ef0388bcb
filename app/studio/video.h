// A video of the studio, drawn without a display: frame k shows exactly what stands at k / fps * speed,
// however long drawing it takes.
#pragma once

#include "app/studio/options.h"

namespace shardlens {

/// Walks through the steps from --from to --to, each held as long as the studio's own Play holds it; of a
/// recording it plays the seconds from --from to --to.
/// Throws a request Error for a stretch that is not there.
void write_video(const Options& options);

}  // namespace shardlens
