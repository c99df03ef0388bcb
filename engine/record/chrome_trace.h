// A recorded pass as a Chrome trace, the JSON that Perfetto's UI and chrome://tracing open: ranks are
// processes, steps are slices, and the parts of one collective are joined by flow arrows from who came last
// to the others.
#pragma once

#include <string>

#include "engine/record/recording.h"

namespace shardlens {

/// Passes [first, last) of `recording`, one behind the other as they happened, written to `path` at once or
/// not at all. Throws a request Error for passes that are not there.
void write_chrome_trace(const Recording& recording, int64_t first, int64_t last, const std::string& path);

}  // namespace shardlens
