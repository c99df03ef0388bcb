// Writes recorded passes as a Chrome trace, the JSON that Perfetto's UI and chrome://tracing open. Ranks are
// processes and steps are slices. Flow arrows join the parts of one collective: from the rank that arrived
// last to the others.
#pragma once

#include <string>
#include <string_view>

#include "engine/io/output_file.h"
#include "engine/record/recording.h"

namespace shardlens {

inline constexpr std::string_view kTraceBeginning = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";

inline constexpr OutputKind kTraceFile{
    "a trace that export wrote",
    [](std::string_view beginning, std::string_view) { return beginning.starts_with(kTraceBeginning); }};

/// Writes passes [first, last) of `recording` to `path`, one behind the other as they happened. The file is
/// written completely or not at all. Throws a request Error for passes that do not exist.
void write_chrome_trace(const Recording& recording, int64_t first, int64_t last, const std::string& path);

}  // namespace shardlens
