// Writes a recording's tables as CSV for a spreadsheet, with names and units in the header line.
#pragma once

#include <string>
#include <string_view>

#include "engine/io/output_file.h"
#include "engine/record/recording.h"

namespace shardlens {

enum class RecordedTable { Steps, Collectives, Memory, Metrics };
std::string to_string(RecordedTable table);  ///< "steps", "collectives", "memory", "metrics"
/// Throws a request Error that lists the known words.
RecordedTable parse_recorded_table(const std::string& text);

// Header lines of the tables, or their beginnings.
inline constexpr std::string_view kStepsHead = "pass,rank,step,name,op,phase,",
                                  kMemoryHead = "rank,kind,planned_bytes,high_water_bytes",
                                  kMetricsHead = "pass,name,value";

inline constexpr OutputKind kRecordedTableFile{
    "a table that export wrote", [](std::string_view beginning, std::string_view) {
      return beginning.starts_with(kStepsHead) || beginning.starts_with(kMemoryHead) ||
             beginning.starts_with(kMetricsHead);
    }};

/// Writes passes [first, last) (memory: of the whole recording) to `path`. The file is written completely or
/// not at all.
void write_csv(const Recording& recording, RecordedTable table, int64_t first, int64_t last,
               const std::string& path);

}  // namespace shardlens
