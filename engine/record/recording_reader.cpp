// Opens and reads a recording. The file may come from anywhere, so every value is checked before it is used.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>

#include "engine/config/error.h"
#include "engine/io/json.h"
#include "engine/io/sqlite.h"
#include "engine/program/program_json.h"
#include "engine/program/sound.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"

namespace shardlens {
namespace {

constexpr double kSeconds = 1e-9;  // the unit of the ns columns
constexpr int64_t kMostRanks = 4096;
constexpr int64_t kMostRankSteps = int64_t{1} << 24;
// Limits that keep sums over the kinds of memory, or over a pass, inside 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 50, kMostFlops = int64_t{1} << 58;
constexpr int64_t kMostNanoseconds = 1'000'000'000'000'000'000;  // thirty years
constexpr double kLatestUnixSeconds = 253'402'300'799;           // the end of the year 9999

// The index of a kind in BytesByKind; none for a kind of another version.
std::optional<size_t> kind_named(const std::string& name) {
  for (size_t kind = 0; kind < kMemoryKinds; ++kind)
    if (to_string(static_cast<MemoryKind>(kind)) == name) return kind;
  return std::nullopt;
}

}  // namespace

void Recording::damaged(const std::string& what) const {
  throw request_error(fmt::format("{} is damaged: {}", file_->path(), what));
}

int64_t Recording::within(int64_t value, int64_t most, const char* of) const {
  if (value < 0 || value > most) damaged(fmt::format("{} {} are not possible", value, of));
  return value;
}

double Recording::seconds_of(int64_t nanoseconds) const {
  return static_cast<double>(within(nanoseconds, kMostNanoseconds, "nanoseconds")) * kSeconds;
}

std::string Recording::text(Database& database, const std::string& key) const {
  Statement row = database.prepare("SELECT value FROM meta WHERE key = ?");
  row.bind(1, std::string_view(key));
  if (!row.step()) damaged(fmt::format("its table meta has no {}", key));
  return row.text(0);
}

Recording::Recording(const std::string& path) : file_(std::make_unique<RecordingFile>(path)) {
  read_header();
  const Program& program = header_.program;
  struct Cost {
    int64_t rank, step, flops;
  };
  const auto costs = file_->read([&](Database& database) {
    std::vector<Cost> read;
    Statement rows = database.prepare("SELECT rank, step, flops FROM costs");
    while (rows.step()) {
      const Cost cost{rows.integer(0), rows.integer(1),
                      within(rows.integer(2), kMostFlops, "FLOPs of a step")};
      if (cost.rank < 0 || cost.rank >= program.ranks() || cost.step < 0 ||
          cost.step >= static_cast<int64_t>(program.steps.size()))
        damaged(fmt::format("its costs name step {} on rank {}", cost.step, cost.rank));
      read.push_back(cost);
    }
    return read;
  });
  header_.step_flops.assign(static_cast<size_t>(program.ranks()),
                            std::vector<int64_t>(program.steps.size(), 0));
  for (const Cost& cost : costs)
    header_.step_flops[static_cast<size_t>(cost.rank)][static_cast<size_t>(cost.step)] = cost.flops;
  const std::vector<BytesByKind> planned = memory_of("planned_bytes", "planned bytes");
  header_.memory.resize(static_cast<size_t>(program.ranks()));
  for (size_t rank = 0; rank < header_.memory.size(); ++rank)
    header_.memory[rank].arena_bytes = planned[rank];
}

// Reads and checks what the run was.
void Recording::read_header() {
  const std::string& path = file_->path();
  const std::string program = file_->read([&](Database& database) {
    if (database.integer("PRAGMA application_id") != kRecordingId)
      throw request_error(
          fmt::format("{} is no Shardlens recording: it is empty, was cut short or is "
                      "another program's database",
                      path));
    const int64_t version = database.integer("PRAGMA user_version");
    if (version < kOldestRecordingVersion)
      throw request_error(
          fmt::format("{} is a recording of version {}, made before the first release; record "
                      "it again",
                      path, version));
    if (version > kRecordingVersion)
      throw request_error(
          fmt::format("{} is a recording of version {}; this Shardlens reads up to {}. Use a newer one.",
                      path, version, kRecordingVersion));
    // SQLite reads the missing part of the last page as zeros.
    const int64_t whole = database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size");
    std::error_code failed;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
    if (!failed && bytes < static_cast<std::uintmax_t>(whole))
      damaged(fmt::format("it is cut off after {} of {} bytes", bytes, whole));
    header_.verb = text(database, "verb");
    header_.machine = text(database, "machine");
    header_.communicator = text(database, "communicator");
    header_.communicator_reason = text(database, "communicator_reason");
    header_.pictures = text(database, "pictures");
    Statement started = database.prepare("SELECT value FROM meta WHERE key = 'started_unix_seconds'");
    if (started.step()) started_unix_seconds_ = started.number(0);
    return text(database, "program");
  });
  header_.program = program_from_json(parse_json(program, path), path + ", program");
  const int64_t world = int64_t{header_.program.settings.tp} * header_.program.settings.dp;
  if (header_.program.settings.tp < 1 || header_.program.settings.dp < 1 || world > kMostRanks)
    damaged(fmt::format("its settings give {} ranks", world));
  if (world * static_cast<int64_t>(header_.program.steps.size()) > kMostRankSteps)
    damaged(fmt::format("its Program has {} steps on {} ranks", header_.program.steps.size(), world));
  require_sound(header_.program, path);
  if (!(started_unix_seconds_ >= 0 && started_unix_seconds_ <= kLatestUnixSeconds))
    damaged(fmt::format("it claims to begin {} seconds after 1970", started_unix_seconds_));
  finished();  // throws if the value is not valid
}

Recording::~Recording() = default;

bool Recording::finished() const {
  return file_->read([](Database& database) {
    Statement finished = database.prepare("SELECT value FROM meta WHERE key = 'finished'");
    return finished.step() && finished.integer(0) == 1;
  });
}

std::string Recording::failure() const {
  return file_->read([](Database& database) {
    Statement failure = database.prepare("SELECT value FROM meta WHERE key = 'failure'");
    return failure.step() ? failure.text(0) : std::string();  // older recordings have no failure
  });
}

WriterState Recording::writer() const {
  return file_->writer();
}
double Recording::committed_seconds() const {
  return file_->committed_seconds();
}
uint64_t Recording::generation() const {
  return file_->generation();
}

RecordingTotals Recording::totals() const {
  return file_->read([this](Database& database) { return read_totals(database); });
}

RecordingTotals Recording::read_totals(Database& database) const {
  RecordingTotals totals;
  totals.passes = database.integer("SELECT count(*) FROM passes");
  const std::map<std::string, int64_t*> numbers{{"events", &totals.events},
                                                {"samples", &totals.samples},
                                                {"pictures_stored", &totals.pictures},
                                                {"dropped_passes", &totals.dropped_passes},
                                                {"dropped_pictures", &totals.dropped_pictures}};
  Statement rows = database.prepare("SELECT key, value FROM meta");
  while (rows.step()) {
    const std::string key = rows.text(0);
    if (key == "problem") totals.problem = rows.text(1);
    if (const auto found = numbers.find(key); found != numbers.end())
      *found->second = within(rows.integer(1), kMostBytes, "totals");
  }
  return totals;
}

RecordedPass Recording::pass(int64_t index) const {
  return file_->read([&](Database& database) { return read_pass(database, index); });
}

RecordedPass Recording::read_pass(Database& database, int64_t index) const {
  Statement row = database.prepare("SELECT begin_ns FROM passes WHERE pass = ?");
  row.bind(1, index);
  if (!row.step()) throw request_error(fmt::format("{} has no pass {}", file_->path(), index));
  RecordedPass pass;
  pass.begin_seconds = seconds_of(row.integer(0));
  pass.events.resize(static_cast<size_t>(ranks()));
  Statement events = database.prepare(
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
    event.begin_seconds = seconds_of(events.integer(2));
    event.end_seconds = seconds_of(events.integer(3));
    event.arrival_seconds = seconds_of(events.integer(4));
    event.all_arrived_seconds = seconds_of(events.integer(5));
    if (event.end_seconds < event.begin_seconds)
      damaged(fmt::format("pass {}, rank {}: step {} ends before it begins", index, rank, step));
    const auto of_replica = static_cast<size_t>(rank % header_.program.ranks());
    event.flops = header_.step_flops[of_replica][static_cast<size_t>(step)];
    event.sent_bytes = within(events.integer(6), kMostBytes, "bytes sent");
    track.push_back(event);
  }
  Statement holds = database.prepare("SELECT rank, step, ns FROM holds WHERE pass = ?");
  holds.bind(1, index);
  while (holds.step()) {
    const int64_t rank = holds.integer(0), step = holds.integer(1);
    if (rank < 0 || rank >= ranks() || step < 0 ||
        step >= static_cast<int64_t>(pass.events[static_cast<size_t>(rank)].size()))
      damaged(fmt::format("pass {}: rank {} is held before step {}", index, rank, step));
    pass.events[static_cast<size_t>(rank)][static_cast<size_t>(step)].held_seconds =
        seconds_of(holds.integer(2));
  }
  Statement metrics = database.prepare("SELECT name, value FROM metrics WHERE pass = ? ORDER BY name");
  metrics.bind(1, index);
  while (metrics.step()) pass.metrics.emplace_back(metrics.text(0), metrics.number(1));
  return pass;
}

// Reads a column of the table memory, by rank.
std::vector<BytesByKind> Recording::memory_of(const char* column, const char* what) const {
  return file_->read([&](Database& database) {
    std::vector<BytesByKind> bytes(static_cast<size_t>(ranks()));
    Statement rows = database.prepare(fmt::format("SELECT rank, kind, {} FROM memory", column));
    while (rows.step()) {
      const int64_t rank = rows.integer(0);
      if (rank < 0 || rank >= ranks()) damaged(fmt::format("its memory names rank {}", rank));
      if (const auto kind = kind_named(rows.text(1)))
        bytes[static_cast<size_t>(rank)][*kind] = within(rows.integer(2), kMostBytes, what);
    }
    return bytes;
  });
}

std::vector<BytesByKind> Recording::high_water_bytes() const {
  return memory_of("high_water_bytes", "bytes of memory");
}

}  // namespace shardlens
