// Writes a recording's tables as CSV for a spreadsheet, with names and units in the header line.
#pragma once

#include <string>

#include "engine/record/recording.h"

namespace shardlens {

enum class RecordedTable { Steps, Collectives, Memory, Metrics };
std::string to_string(RecordedTable table);  ///< "steps", "collectives", "memory", "metrics"
/// Throws a request Error that lists the known words.
RecordedTable parse_recorded_table(const std::string& text);

/// Writes passes [first, last) (memory: of the whole recording) to `path`. The file is written completely or
/// not at all.
void write_csv(const Recording& recording, RecordedTable table, int64_t first, int64_t last,
               const std::string& path);

}  // namespace shardlens
