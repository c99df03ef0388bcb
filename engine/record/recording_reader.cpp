// Opening and reading, with nothing believed that was not looked at: the file may come from anywhere.
#include <fmt/format.h>

#include <optional>

#include "engine/config/error.h"
#include "engine/io/json.h"
#include "engine/io/sqlite.h"
#include "engine/program/program_json.h"
#include "engine/record/recording.h"

namespace shardlens {
namespace {

constexpr double kSeconds = 1e-9;  // of a nanosecond
constexpr int64_t kMostRanks = 4096;

// The place of a kind in BytesByKind; none for a kind of another version.
std::optional<size_t> kind_named(const std::string& name) {
  for (size_t kind = 0; kind < kMemoryKinds; ++kind)
    if (to_string(static_cast<MemoryKind>(kind)) == name) return kind;
  return std::nullopt;
}

}  // namespace

void Recording::damaged(const std::string& what) const {
  throw request_error(fmt::format("{} is damaged: {}", database_->path(), what));
}

std::string Recording::text(const std::string& key) const {
  Statement row = database_->prepare("SELECT value FROM meta WHERE key = ?");
  row.bind(1, std::string_view(key));
  if (!row.step()) damaged(fmt::format("it does not say its {}", key));
  return row.text(0);
}

Recording::Recording(const std::string& path) : database_(open_database(path)) {
  if (database_->integer("PRAGMA application_id") != kRecordingId)
    throw request_error(fmt::format("{} is a database, but no Shardlens recording", path));
  const int64_t version = database_->integer("PRAGMA user_version");
  if (version < 1 || version > kRecordingVersion)
    throw request_error(
        fmt::format("{} is a recording of version {}; this Shardlens reads up to {}. Use a newer one.", path,
                    version, kRecordingVersion));
  header_.verb = text("verb");
  header_.machine = text("machine");
  header_.communicator = text("communicator");
  header_.communicator_reason = text("communicator_reason");
  header_.program = program_from_json(parse_json(text("program"), path), path + ", program");
  const int64_t world = int64_t{header_.program.settings.tp} * header_.program.settings.dp;
  if (header_.program.settings.tp < 1 || header_.program.settings.dp < 1 || world > kMostRanks)
    damaged(fmt::format("it says it ran on {} ranks", world));
  Statement started = database_->prepare("SELECT value FROM meta WHERE key = 'started_unix_seconds'");
  if (started.step()) started_unix_seconds_ = started.number(0);
  finished_ = text("finished") == "1";
  header_.memory.resize(static_cast<size_t>(header_.program.ranks()));
  header_.step_flops.assign(static_cast<size_t>(header_.program.ranks()),
                            std::vector<int64_t>(header_.program.steps.size(), 0));
  Statement costs = database_->prepare("SELECT rank, step, flops FROM costs");
  while (costs.step()) {
    const int64_t rank = costs.integer(0), step = costs.integer(1);
    if (rank < 0 || rank >= header_.program.ranks() || step < 0 ||
        step >= static_cast<int64_t>(header_.program.steps.size()))
      damaged(fmt::format("its costs name step {} on rank {}", step, rank));
    header_.step_flops[static_cast<size_t>(rank)][static_cast<size_t>(step)] = costs.integer(2);
  }
  Statement memory = database_->prepare("SELECT rank, kind, planned_bytes FROM memory");
  while (memory.step()) {
    const int64_t rank = memory.integer(0);
    if (rank < 0 || rank >= ranks()) damaged(fmt::format("its memory is that of rank {}", rank));
    BytesByKind& planned = header_.memory[static_cast<size_t>(rank % header_.program.ranks())].arena_bytes;
    if (const auto kind = kind_named(memory.text(1))) planned[*kind] = memory.integer(2);
  }
}

Recording::~Recording() = default;

RecordingTotals Recording::totals() const {
  RecordingTotals totals = losses();
  totals.passes = database_->integer("SELECT count(*) FROM passes");
  totals.events = database_->integer("SELECT count(*) FROM events");
  return totals;
}

RecordingTotals Recording::losses() const {
  RecordingTotals totals;
  Statement rows =
      database_->prepare("SELECT key, value FROM meta WHERE key IN ('dropped_passes', 'problem')");
  while (rows.step()) {
    if (rows.text(0) == "problem")
      totals.problem = rows.text(1);
    else
      totals.dropped_passes = rows.integer(1);
  }
  return totals;
}

RecordedPass Recording::pass(int64_t index) const {
  Statement row = database_->prepare("SELECT begin_ns FROM passes WHERE pass = ?");
  row.bind(1, index);
  if (!row.step()) throw request_error(fmt::format("{} has no pass {}", database_->path(), index));
  RecordedPass pass;
  pass.begin_seconds = static_cast<double>(row.integer(0)) * kSeconds;
  pass.events.resize(static_cast<size_t>(ranks()));
  Statement events = database_->prepare(
      "SELECT rank, step, begin_ns, end_ns, arrival_ns, met_ns, sent_bytes FROM events WHERE pass = ? "
      "ORDER BY rank, step");
  events.bind(1, index);
  while (events.step()) {
    const int64_t rank = events.integer(0), step = events.integer(1);
    if (rank < 0 || rank >= ranks()) damaged(fmt::format("pass {} has events of rank {}", index, rank));
    std::vector<StepEvent>& track = pass.events[static_cast<size_t>(rank)];
    if (step != static_cast<int64_t>(track.size()) ||
        step >= static_cast<int64_t>(header_.program.steps.size()))
      damaged(fmt::format("pass {}, rank {}: step {} follows step {}", index, rank, step,
                          static_cast<int64_t>(track.size()) - 1));
    StepEvent event;
    event.begin_seconds = static_cast<double>(events.integer(2)) * kSeconds;
    event.end_seconds = static_cast<double>(events.integer(3)) * kSeconds;
    event.arrival_seconds = static_cast<double>(events.integer(4)) * kSeconds;
    event.all_arrived_seconds = static_cast<double>(events.integer(5)) * kSeconds;
    const auto of_replica = static_cast<size_t>(rank % header_.program.ranks());
    event.flops = header_.step_flops[of_replica][static_cast<size_t>(step)];
    event.sent_bytes = events.integer(6);
    track.push_back(event);
  }
  Statement holds = database_->prepare("SELECT rank, step, ns FROM holds WHERE pass = ?");
  holds.bind(1, index);
  while (holds.step()) {
    const int64_t rank = holds.integer(0), step = holds.integer(1);
    if (rank < 0 || rank >= ranks() || step < 0 ||
        step >= static_cast<int64_t>(pass.events[static_cast<size_t>(rank)].size()))
      damaged(fmt::format("pass {}: rank {} is held before step {}", index, rank, step));
    pass.events[static_cast<size_t>(rank)][static_cast<size_t>(step)].held_seconds =
        static_cast<double>(holds.integer(2)) * kSeconds;
  }
  Statement metrics = database_->prepare("SELECT name, value FROM metrics WHERE pass = ? ORDER BY name");
  metrics.bind(1, index);
  while (metrics.step()) pass.metrics.emplace_back(metrics.text(0), metrics.number(1));
  return pass;
}

std::vector<BytesByKind> Recording::high_water_bytes() const {
  std::vector<BytesByKind> bytes(static_cast<size_t>(ranks()));
  Statement rows = database_->prepare("SELECT rank, kind, high_water_bytes FROM memory");
  while (rows.step()) {
    const int64_t rank = rows.integer(0);
    if (rank < 0 || rank >= ranks()) damaged(fmt::format("its memory is that of rank {}", rank));
    if (const auto kind = kind_named(rows.text(1))) bytes[static_cast<size_t>(rank)][*kind] = rows.integer(2);
  }
  return bytes;
}

}  // namespace shardlens
