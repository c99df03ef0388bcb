// A recording's tables as CSV, for a spreadsheet: names and units in the header line.
#pragma once

#include <string>

#include "engine/record/recording.h"

namespace shardlens {

enum class RecordedTable { Steps, Collectives, Memory, Metrics };
std::string to_string(RecordedTable table);  ///< "steps", "collectives", "memory", "metrics"
/// Throws a request Error that lists the words.
RecordedTable parse_recorded_table(const std::string& text);

/// Passes [first, last) (memory: of the whole recording), written to `path` at once or not at all.
void write_csv(const Recording& recording, RecordedTable table, int64_t first, int64_t last,
               const std::string& path);

}  // namespace shardlens
