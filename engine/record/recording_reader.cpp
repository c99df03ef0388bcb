// Opens and reads a recording. The file may come from anywhere, so every value is checked before it is used.
// Notes are the only thing that a reader writes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/io/json.h"
#include "engine/io/sqlite.h"
#include "engine/planner/old_roles.h"
#include "engine/program/check_program.h"
#include "engine/program/program_json.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"
#include "engine/record/sample_reader.h"

namespace shardlens {
namespace {

constexpr double kSeconds = 1e-9;  // the unit of the ns columns
constexpr int64_t kMostRanks = 4096;
constexpr int64_t kPassesAtOnce = 1024;                // passes whose metrics are read at once
constexpr int64_t kMostWorldSteps = int64_t{1} << 25;  // the largest Program on the most ranks that run here
// Limits that keep sums over the kinds of memory, or over a pass, inside 64 bits.
constexpr int64_t kMostBytes = int64_t{1} << 50, kMostFlops = int64_t{1} << 58;
constexpr int64_t kMostNanoseconds = 1'000'000'000'000'000'000;  // thirty years
constexpr double kLongestClockStepSeconds = 1;
constexpr double kLatestUnixSeconds = 253'402'300'799;  // the end of the year 9999

// The index of a kind in BytesByKind; none for a kind of another version.
std::optional<size_t> kind_named(const std::string& name) {
  for (size_t kind = 0; kind < kMemoryKinds; ++kind)
    if (to_string(static_cast<MemoryKind>(kind)) == name) return kind;
  return std::nullopt;
}

int64_t note_nanoseconds(double seconds) {
  constexpr double kMost = 9e9;  // seconds that nanoseconds can count
  return std::isfinite(seconds) ? std::llround(std::clamp(seconds, 0.0, kMost) * 1e9) : 0;
}

std::string cut(const std::string& text) {
  if (text.size() <= kLongestNoteBytes) return text;
  size_t end = kLongestNoteBytes;
  while (end > 0 && is_inside_character(text[end])) --end;
  return text.substr(0, end);
}

// Some tables are newer than the first recordings.
bool has_table(Database& database, const std::string& name) {
  return database.integer("SELECT count(*) FROM sqlite_master WHERE name = '" + name + "'") > 0;
}

}  // namespace

int64_t Recording::within(int64_t value, int64_t most, const char* of) const {
  if (value < 0 || value > most) file_->damaged(fmt::format("{} {} are not possible", value, of));
  return value;
}

double Recording::seconds_of(int64_t nanoseconds) const {
  return static_cast<double>(within(nanoseconds, kMostNanoseconds, "nanoseconds")) * kSeconds;
}

std::string Recording::text(Database& database, const std::string& key) const {
  Statement row = database.prepare("SELECT value FROM meta WHERE key = ?");
  row.bind(1, std::string_view(key));
  if (!row.step()) file_->damaged(fmt::format("its table meta has no {}", key));
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
      if (cost.rank < 0 || cost.rank >= program.tp() || cost.step < 0 ||
          cost.step >= static_cast<int64_t>(program.steps.size()))
        file_->damaged(fmt::format("its costs name step {} on rank {}", cost.step, cost.rank));
      read.push_back(cost);
    }
    return read;
  });
  header_.step_flops.assign(static_cast<size_t>(program.tp()), std::vector<int64_t>(program.steps.size(), 0));
  for (const Cost& cost : costs)
    header_.step_flops[static_cast<size_t>(cost.rank)][static_cast<size_t>(cost.step)] = cost.flops;
  const std::vector<BytesByKind> planned = memory_of("planned_bytes", "planned bytes");
  header_.memory.resize(static_cast<size_t>(program.tp()));
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
      file_->damaged(fmt::format("it is cut off after {} of {} bytes", bytes, whole));
    header_.verb = text(database, "verb");
    header_.machine = text(database, "machine");
    header_.communicator = text(database, "communicator");
    header_.communicator_reason = text(database, "communicator_reason");
    header_.pictures = text(database, "pictures");
    Statement started = database.prepare("SELECT value FROM meta WHERE key = 'started_unix_seconds'");
    if (started.step()) started_unix_seconds_ = started.number(0);
    Statement step = database.prepare("SELECT value FROM meta WHERE key = 'clock_step_seconds'");
    if (step.step()) header_.clock_step_seconds = step.number(0);
    return text(database, "program");
  });
  header_.program = program_from_json(parse_json(program, path), path + ", program");
  const int64_t world = int64_t{header_.program.settings.tp} * header_.program.settings.dp;
  if (header_.program.settings.tp < 1 || header_.program.settings.dp < 1 || world > kMostRanks)
    file_->damaged(fmt::format("its settings give {} ranks", world));
  if (world * static_cast<int64_t>(header_.program.steps.size()) > kMostWorldSteps)
    file_->damaged(fmt::format("its Program has {} steps on {} ranks", header_.program.steps.size(), world));
  check_program(header_.program, path);
  add_old_roles(header_.program);
  if (!(started_unix_seconds_ >= 0 && started_unix_seconds_ <= kLatestUnixSeconds))
    file_->damaged(fmt::format("it claims to begin {} seconds after 1970", started_unix_seconds_));
  if (!(header_.clock_step_seconds >= 0 && header_.clock_step_seconds <= kLongestClockStepSeconds))
    file_->damaged(
        fmt::format("it claims that its clock goes in steps of {} seconds", header_.clock_step_seconds));
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
  Statement row = database.prepare("SELECT begin_ns, ns FROM passes WHERE pass = ?");
  row.bind(1, index);
  if (!row.step()) throw request_error(fmt::format("{} has no pass {}", file_->path(), index));
  RecordedPass pass;
  pass.begin_seconds = seconds_of(row.integer(0));
  if (has_table(database, "untraced")) {
    Statement untraced = database.prepare("SELECT 1 FROM untraced WHERE pass = ?");
    untraced.bind(1, index);
    if (untraced.step()) pass.untraced_seconds = seconds_of(row.integer(1));
  }
  pass.events.resize(static_cast<size_t>(world_size()));
  Statement events = database.prepare(
      "SELECT rank, step, begin_ns, end_ns, arrival_ns, met_ns, sent_bytes FROM events WHERE pass = ? "
      "ORDER BY rank, step");
  events.bind(1, index);
  while (events.step()) {
    const int64_t rank = events.integer(0), step = events.integer(1);
    if (rank < 0 || rank >= world_size())
      file_->damaged(fmt::format("pass {} has events of rank {}", index, rank));
    std::vector<StepEvent>& track = pass.events[static_cast<size_t>(rank)];
    if (step != static_cast<int64_t>(track.size()) ||
        step >= static_cast<int64_t>(header_.program.steps.size()))
      file_->damaged(fmt::format("pass {}, rank {}: step {} follows step {}", index, rank, step,
                                 static_cast<int64_t>(track.size()) - 1));
    StepEvent event;
    event.begin_seconds = seconds_of(events.integer(2));
    event.end_seconds = seconds_of(events.integer(3));
    event.arrival_seconds = seconds_of(events.integer(4));
    event.all_arrived_seconds = seconds_of(events.integer(5));
    if (event.end_seconds < event.begin_seconds)
      file_->damaged(fmt::format("pass {}, rank {}: step {} ends before it begins", index, rank, step));
    const auto of_replica = static_cast<size_t>(rank % header_.program.tp());
    event.flops = header_.step_flops[of_replica][static_cast<size_t>(step)];
    event.sent_bytes = within(events.integer(6), kMostBytes, "bytes sent");
    track.push_back(event);
  }
  Statement holds = database.prepare("SELECT rank, step, ns FROM holds WHERE pass = ?");
  holds.bind(1, index);
  while (holds.step()) {
    const int64_t rank = holds.integer(0), step = holds.integer(1);
    if (rank < 0 || rank >= world_size() || step < 0 ||
        step >= static_cast<int64_t>(pass.events[static_cast<size_t>(rank)].size()))
      file_->damaged(fmt::format("pass {}: rank {} is held before step {}", index, rank, step));
    pass.events[static_cast<size_t>(rank)][static_cast<size_t>(step)].held_seconds =
        seconds_of(holds.integer(2));
  }
  read_together(database, index, pass);
  Statement metrics = database.prepare("SELECT name, value FROM metrics WHERE pass = ? ORDER BY name");
  metrics.bind(1, index);
  while (metrics.step()) pass.metrics.emplace_back(metrics.text(0), metrics.number(1));
  return pass;
}

std::vector<int64_t> Recording::untraced_passes() const {
  return file_->read([&](Database& database) {
    std::vector<int64_t> passes;
    if (!has_table(database, "untraced")) return passes;
    Statement rows = database.prepare("SELECT pass FROM untraced ORDER BY pass");
    while (rows.step()) passes.push_back(rows.integer(0));
    return passes;
  });
}

// Which steps were timed together.
void Recording::read_together(Database& database, int64_t index, RecordedPass& pass) const {
  if (!has_table(database, "together")) return;
  Statement rows = database.prepare("SELECT rank, step, steps FROM together WHERE pass = ?");
  rows.bind(1, index);
  while (rows.step()) {
    const int64_t rank = rows.integer(0), first = rows.integer(1), steps = rows.integer(2);
    const auto all = static_cast<int64_t>(header_.program.steps.size());
    if (rank < 0 || rank >= world_size() || first < 0 || steps < 1 || first > all || steps > all - first)
      file_->damaged(
          fmt::format("pass {}: {} steps of rank {} from step {} on were one", index, steps, rank, first));
    std::vector<StepEvent>& track = pass.events[static_cast<size_t>(rank)];
    const size_t end = std::min(track.size(), static_cast<size_t>(first + steps));
    for (auto step = static_cast<size_t>(first); step < end; ++step)
      track[step].timed_together = static_cast<int32_t>(steps);
  }
}

// Reads a column of the table memory, by rank.
std::vector<BytesByKind> Recording::memory_of(const char* column, const char* what) const {
  return file_->read([&](Database& database) {
    std::vector<BytesByKind> bytes(static_cast<size_t>(world_size()));
    Statement rows = database.prepare(fmt::format("SELECT rank, kind, {} FROM memory", column));
    while (rows.step()) {
      const int64_t rank = rows.integer(0);
      if (rank < 0 || rank >= world_size()) file_->damaged(fmt::format("its memory names rank {}", rank));
      if (const auto kind = kind_named(rows.text(1)))
        bytes[static_cast<size_t>(rank)][*kind] = within(rows.integer(2), kMostBytes, what);
    }
    return bytes;
  });
}

std::vector<BytesByKind> Recording::high_water_bytes() const {
  return memory_of("high_water_bytes", "bytes of memory");
}

SampleTable Recording::samples(int64_t index) const {
  return SampleReader(*file_, header_.program).samples(index);
}

LatestSamples Recording::latest_samples(int64_t index, const std::vector<bool>& wanted,
                                        const LatestSamples& known, int64_t most_bytes) const {
  return SampleReader(*file_, header_.program).latest_samples(index, wanted, known, most_bytes);
}

HashTable Recording::hashes(int64_t index) const {
  return SampleReader(*file_, header_.program).hashes(index);
}

ParityTable Recording::parity(int64_t index) const {
  return parity(index, std::vector<bool>(header_.program.tensors.size(), true));
}

ParityTable Recording::parity(int64_t index, const std::vector<bool>& pictured) const {
  return SampleReader(*file_, header_.program).parity(index, pictured);
}

int64_t Recording::passes() const {
  return file_->read([this](Database& database) -> int64_t {
    const int64_t count = database.integer("SELECT count(*) FROM passes");
    if (count == 0) return 0;
    const int64_t first = database.integer("SELECT min(pass) FROM passes"),
                  last = database.integer("SELECT max(pass) FROM passes");
    if (first != 0 || last != count - 1)
      file_->damaged(fmt::format("it holds {} passes, but they are numbered {} to {}", count, first, last));
    return count;
  });
}

PassTime Recording::pass_time(int64_t index) const {
  return file_->read([&](Database& database) -> PassTime {
    Statement row = database.prepare("SELECT begin_ns, ns FROM passes WHERE pass = ?");
    row.bind(1, index);
    if (!row.step()) throw request_error(fmt::format("{} has no pass {}", file_->path(), index));
    return {seconds_of(row.integer(0)), seconds_of(row.integer(1))};
  });
}

void Recording::metrics(int64_t first, int64_t last, int64_t stride,
                        const std::function<void(int64_t, const std::string&, double)>& take) const {
  struct Value {
    int64_t pass;
    std::string name;
    double value;
  };
  const auto read = [](Statement& rows, std::vector<Value>& values) {
    while (rows.step()) values.push_back({rows.integer(0), rows.text(1), rows.number(2)});
  };
  for (int64_t begin = first; begin < last; begin += kPassesAtOnce * stride) {
    const int64_t end = std::min(last, begin + kPassesAtOnce * stride);
    const std::vector<Value> values = file_->read([&](Database& database) {
      std::vector<Value> found;
      if (stride == 1) {
        Statement rows = database.prepare(
            "SELECT pass, name, value FROM metrics WHERE pass >= ? AND pass < ? ORDER BY pass, name");
        rows.bind(1, begin).bind(2, end);
        read(rows, found);
        return found;
      }
      Statement rows = database.prepare("SELECT pass, name, value FROM metrics WHERE pass = ? ORDER BY name");
      for (int64_t pass = begin; pass < end; pass += stride) {
        rows.bind(1, pass);
        read(rows, found);
        rows.reset();
      }
      return found;
    });
    for (const Value& one : values) take(one.pass, one.name, one.value);
  }
}

std::vector<Note> Recording::notes() const {
  return file_->read([this](Database& database) { return read_notes(database); });
}

std::vector<Note> Recording::read_notes(Database& database) const {
  Statement rows = database.prepare("SELECT id, ns, rank, step, text FROM notes ORDER BY ns, id LIMIT ?");
  rows.bind(1, kMostNotes);
  std::vector<Note> notes;
  const auto steps = static_cast<int64_t>(header_.program.steps.size());
  while (rows.step()) {
    Note note;
    note.id = rows.integer(0);
    note.seconds = std::max(0.0, static_cast<double>(rows.integer(1)) * kSeconds);
    const int64_t rank = rows.integer(2), step = rows.integer(3);
    // A note about a rank or a step that does not exist is still worth reading.
    note.rank = rank >= 0 && rank < world_size() ? static_cast<int>(rank) : -1;
    note.step = step >= 0 && step < steps ? static_cast<StepId>(step) : -1;
    note.text = cut(rows.text(4));
    notes.push_back(std::move(note));
  }
  return notes;
}

Note Recording::add_note(Note note) {
  note.text = cut(note.text);
  Database& database = file_->own();
  database.prepare("INSERT INTO notes(ns, rank, step, text) VALUES(?, ?, ?, ?)")
      .bind(1, note_nanoseconds(note.seconds))
      .bind(2, int64_t{note.rank})
      .bind(3, int64_t{note.step})
      .bind(4, std::string_view(note.text))
      .run();
  note.id = database.integer("SELECT last_insert_rowid()");
  return note;
}

void Recording::edit_note(int64_t id, const std::string& text) {
  const std::string kept = cut(text);
  file_->own()
      .prepare("UPDATE notes SET text = ? WHERE id = ?")
      .bind(1, std::string_view(kept))
      .bind(2, id)
      .run();
}

void Recording::remove_note(int64_t id) {
  file_->own().prepare("DELETE FROM notes WHERE id = ?").bind(1, id).run();
}

}  // namespace shardlens
