// Writes one row for each step and rank, for each kind of memory, or for each metric.
#include "engine/record/recording_csv.h"

#include <fmt/format.h>

#include <array>

#include "engine/base/suggest.h"
#include "engine/io/atomic_file.h"
#include "engine/io/csv.h"

namespace shardlens {
namespace {

constexpr std::array<const char*, 4> kTables{"steps", "collectives", "memory", "metrics"};

std::string step_rows(const Program& program, const RecordedPass& pass, int64_t index, bool collectives) {
  std::string rows;
  for (size_t rank = 0; rank < pass.events.size(); ++rank) {
    for (size_t i = 0; i < pass.events[rank].size(); ++i) {
      const Step& step = program.steps[i];
      const StepEvent& event = pass.events[rank][i];
      if (collectives && !is_collective(step.op)) continue;
      const std::string head = fmt::format("{},{},{},{},{},{}", index, rank, i, csv_quoted(step.name),
                                           to_string(step.op), to_string(step.phase));
      rows += collectives ? fmt::format("{},{},{:.9f},{:.9f},{:.9f}\n", head, event.sent_bytes,
                                        event.arrival_seconds, event.wait_seconds(), event.transfer_seconds())
                          : fmt::format("{},{:.9f},{:.9f},{}\n", head, event.begin_seconds, event.end_seconds,
                                        event.flops);
    }
  }
  return rows;
}

}  // namespace

std::string to_string(RecordedTable table) {
  return kTables[static_cast<size_t>(table)];
}

RecordedTable parse_recorded_table(const std::string& text) {
  for (size_t i = 0; i < kTables.size(); ++i)
    if (text == kTables[i]) return static_cast<RecordedTable>(i);
  throw unknown_name("table", text, {kTables.begin(), kTables.end()});
}

void write_csv(const Recording& recording, RecordedTable table, int64_t first, int64_t last,
               const std::string& path) {
  AtomicFile file(path, kRecordedTableFile);
  const auto put = [&](const std::string& text) { file.write(text.data(), text.size()); };
  const Program& program = recording.header().program;
  if (table == RecordedTable::Memory) {
    put(fmt::format("{}\n", kMemoryHead));
    const std::vector<BytesByKind> measured = recording.high_water_bytes();
    for (size_t rank = 0; rank < measured.size(); ++rank) {
      const BytesByKind& planned =
          recording.header().memory[rank % static_cast<size_t>(program.tp())].arena_bytes;
      for (size_t kind = 0; kind < planned.size(); ++kind)
        put(fmt::format("{},{},{},{}\n", rank, to_string(static_cast<MemoryKind>(kind)), planned[kind],
                        measured[rank][kind]));
    }
    return file.commit();
  }
  if (table == RecordedTable::Steps) put(fmt::format("{}begin_seconds,end_seconds,flops\n", kStepsHead));
  if (table == RecordedTable::Collectives)
    put(fmt::format("{}sent_bytes,arrival_seconds,wait_seconds,transfer_seconds\n", kStepsHead));
  if (table == RecordedTable::Metrics) put(fmt::format("{}\n", kMetricsHead));
  for (int64_t index = first; index < last; ++index) {
    const RecordedPass pass = recording.pass(index);
    if (table != RecordedTable::Metrics) {
      put(step_rows(program, pass, index, table == RecordedTable::Collectives));
      continue;
    }
    for (const auto& [name, value] : pass.metrics)
      put(fmt::format("{},{},{}\n", index, csv_quoted(name), value));
  }
  file.commit();
}

}  // namespace shardlens
