// The writer's worker: writes the waiting passes a few times a second, in one transaction.
#include <fmt/format.h>
#include <time.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/io/json_text.h"
#include "engine/io/sqlite.h"
#include "engine/program/program_json.h"
#include "engine/record/live_link.h"
#include "engine/record/overview.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"
#include "engine/record/recording_pictures.h"

namespace shardlens {
namespace {

constexpr double kCommitEverySeconds = 0.25, kBeatEverySeconds = 0.5;
constexpr int64_t kNoSpillPages = 1 << 30;  // more pages than a batch can have

int64_t nanoseconds(double seconds) {
  return std::isfinite(seconds) ? std::llround(seconds * 1e9) : 0;
}

// The processor time of this thread.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t bytes_of(const RecordedPass& pass) {
  int64_t bytes = 0;
  for (const auto& events : pass.events) bytes += static_cast<int64_t>(events.size() * sizeof(StepEvent));
  std::set<const void*> counted;  // ranks with equal content share one sample
  for (const auto& rank : pass.samples)
    for (const auto& sample : rank)
      if (sample && counted.insert(sample.get()).second)
        bytes += static_cast<int64_t>(sizeof(TensorSample) + sample->exact.size() +
                                      sample->picture.values.size() * sizeof(float));
  for (const auto& parity : pass.parity)
    if (parity)
      bytes += static_cast<int64_t>(sizeof(TensorParity) + parity->difference.values.size() * sizeof(float));
  return bytes;
}

void add(RecordingTotals& to, const RecordingTotals& added) {
  to.passes += added.passes;
  to.events += added.events;
  to.samples += added.samples;
  to.pictures += added.pictures;
  to.dropped_pictures += added.dropped_pictures;
}

// Counts the pictures of a pass that are different objects, to count a drop.
int64_t pictures_of(const RecordedPass& pass) {
  std::set<const void*> counted;
  for (const auto& rank : pass.samples)
    for (const auto& sample : rank)
      if (sample && !sample->picture.values.empty()) counted.insert(sample.get());
  for (const auto& parity : pass.parity)
    if (parity && !parity->difference.values.empty()) counted.insert(parity.get());
  return static_cast<int64_t>(counted.size());
}

void bind_row(Statement& insert, int at, std::optional<int64_t> picture) {
  if (picture)
    insert.bind(at, *picture);
  else
    insert.bind_null(at);
}

// Makes room for a new recording at `path`, if the one that is there may be replaced. Returns the path.
const std::string& freed(const std::string& path) {
  require_replaceable(path, kRecordingFile);
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return path;  // or whoever makes it says what it is
  if (LiveWatch(path).state() != WriterState::Gone)
    throw request_error(fmt::format(
        "another run is writing to {} now: wait until it ends, or give this run another path", path));
  open_database(
      path);  // SQLite removes what a killed writer left beside it, and refuses a person's file there
  std::filesystem::remove(path, unknown);
  return path;
}

}  // namespace

std::string free_recording_path(const std::filesystem::path& wanted) {
  std::filesystem::path path = wanted;
  for (int copy = 2; std::filesystem::exists(path); ++copy)
    path.replace_filename(fmt::format("{}-{}{}", wanted.stem().string(), copy, wanted.extension().string()));
  return path.string();
}

std::vector<std::string> files_of_recording(const std::string& recording) {
  return {recording, recording + "-journal"};
}

RecordingWriter::RecordingWriter(const std::string& path, const RecordingHeader& header,
                                 RecordingLimits limits)
    : ranks_(header.program.tp()),
      replicas_(header.program.dp()),
      limits_(limits),
      program_(header.program),
      link_(std::make_unique<LiveLink>(freed(path))),
      database_(std::make_unique<Database>(path, Database::Access::Create)) {
  try {
    write_header(header);
    overview_ = std::make_unique<OverviewBuilder>(*database_, program_);
    pictures_ = std::make_unique<Pictures>(*database_, limits_.file_bytes / 2);
    link_->made();
    worker_.start("the writer of a recording", [this] { return turn(); });
  } catch (...) {  // for example on a full disk: removes the empty file, which would block the next run
    pictures_.reset();
    overview_.reset();
    database_.reset();
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    throw;
  }
}

RecordingWriter::~RecordingWriter() {
  finish();
}

void RecordingWriter::write_header(const RecordingHeader& header) {
  Database& db = *database_;
  // Data that was handed to the operating system outlives a kill, so a commit need not wait for the disk. On
  // a busy disk that would take more than the second that a kill may cost. finish() waits.
  db.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; "
                  "PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE;"
                  // Pages change only in a commit, so that readers have time between two commits.
                  "PRAGMA main.cache_spill = {};",
                  kRecordingId, kRecordingVersion, kNoSpillPages));
  db.run("BEGIN");
  db.run(
      "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
      "CREATE TABLE costs(rank INTEGER, step INTEGER, flops INTEGER, sent_bytes INTEGER,"
      " PRIMARY KEY(rank, step)) WITHOUT ROWID;"
      "CREATE TABLE memory(rank INTEGER, kind TEXT, planned_bytes INTEGER, high_water_bytes INTEGER,"
      " PRIMARY KEY(rank, kind)) WITHOUT ROWID;"
      "CREATE TABLE passes(pass INTEGER PRIMARY KEY, begin_ns INTEGER, ns INTEGER);"
      "CREATE INDEX passes_by_time ON passes(begin_ns);"
      "CREATE TABLE events(pass INTEGER, rank INTEGER, step INTEGER, begin_ns INTEGER, end_ns INTEGER,"
      " arrival_ns INTEGER, met_ns INTEGER, sent_bytes INTEGER, PRIMARY KEY(pass, rank, step)) WITHOUT ROWID;"
      "CREATE TABLE holds(pass INTEGER, rank INTEGER, step INTEGER, ns INTEGER,"
      " PRIMARY KEY(pass, rank, step)) WITHOUT ROWID;"
      "CREATE TABLE together(pass INTEGER, rank INTEGER, step INTEGER, steps INTEGER,"
      " PRIMARY KEY(pass, rank, step)) WITHOUT ROWID;"
      "CREATE TABLE untraced(pass INTEGER PRIMARY KEY);"
      "CREATE TABLE metrics(pass INTEGER, name TEXT, value REAL, PRIMARY KEY(pass, name)) WITHOUT ROWID;"
      // The columns of samples have no type, so that SQLite keeps every bit.
      "CREATE TABLE samples(pass INTEGER, rank INTEGER, tensor INTEGER, min, max, mean, rms,"
      " not_finite INTEGER, hash INTEGER, picture INTEGER, PRIMARY KEY(pass, rank, tensor)) WITHOUT ROWID;"
      "CREATE TABLE parity(pass INTEGER, tensor INTEGER, relative_error, max_abs_error, bound,"
      " ranks_identical INTEGER, picture INTEGER, to_terms INTEGER, replica INTEGER, rank INTEGER,"
      " PRIMARY KEY(pass, tensor)) WITHOUT ROWID;"
      "CREATE TABLE pictures(picture INTEGER PRIMARY KEY, rows INTEGER, cols INTEGER, exact INTEGER,"
      " data BLOB);"
      "CREATE TABLE notes(id INTEGER PRIMARY KEY, ns INTEGER, rank INTEGER, step INTEGER, text TEXT);" +
      overview_tables("main"));
  Statement meta = db.prepare("INSERT INTO meta VALUES(?, ?)");
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  meta.bind(1, std::string_view("started_unix_seconds")).bind(2, now).run();
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"verb", header.verb},
                                   {"machine", header.machine},
                                   {"communicator", header.communicator},
                                   {"communicator_reason", header.communicator_reason},
                                   {"pictures", header.pictures},
                                   {"program", program_text(header.program)}})
    meta.bind(1, std::string_view(key)).bind(2, std::string_view(value)).run();
  if (header.clock_step_seconds > 0)
    meta.bind(1, std::string_view("clock_step_seconds")).bind(2, header.clock_step_seconds).run();
  meta.bind(1, std::string_view("finished")).bind(2, int64_t{0}).run();
  Statement costs = db.prepare("INSERT INTO costs VALUES(?, ?, ?, ?)");
  for (size_t rank = 0; rank < header.step_flops.size(); ++rank)
    for (const Step& step : header.program.steps)
      costs.bind(1, static_cast<int64_t>(rank))
          .bind(2, int64_t{step.id})
          .bind(3, header.step_flops[rank][static_cast<size_t>(step.id)])
          .bind(4, sent_bytes(header.program, step.id))
          .run();
  Statement memory = db.prepare("INSERT INTO memory VALUES(?, ?, ?, 0)");
  for (int rank = 0; rank < ranks_ * replicas_; ++rank)
    for (int kind = 0; kind < kMemoryKinds; ++kind) {
      const auto of_replica = static_cast<size_t>(rank % ranks_);
      if (of_replica >= header.memory.size()) continue;
      const std::string name = to_string(static_cast<MemoryKind>(kind));
      memory.bind(1, int64_t{rank})
          .bind(2, std::string_view(name))
          .bind(3, header.memory[of_replica].arena_bytes[static_cast<size_t>(kind)])
          .run();
    }
  db.run("COMMIT");
}

void RecordingWriter::offer(RecordedPass pass) {
  int64_t bytes = bytes_of(pass);
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    // If only the disk is slow, there can be room again later. Pictures are dropped first.
    if (waiting_bytes_ + bytes > limits_.waiting_bytes) {
      totals_.dropped_pictures += pictures_of(pass);
      pass.samples.clear();
      pass.parity.clear();
      bytes = bytes_of(pass);
    }
    if (!totals_.problem.empty() || waiting_bytes_ + bytes > limits_.waiting_bytes) {
      ++totals_.dropped_passes;
      return;
    }
    waiting_bytes_ += bytes;
    waiting_.push_back(std::move(pass));
  }
  worker_.wake();
}

double seconds_of(const RecordedPass& pass) {
  double seconds = pass.untraced_seconds.value_or(0);
  for (const std::vector<StepEvent>& track : pass.events)
    for (const StepEvent& event : track) seconds = std::max(seconds, event.end_seconds);
  return seconds;
}

RecordingTotals RecordingWriter::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

bool RecordingWriter::is_settled() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ == 0;
}

double RecordingWriter::worked_seconds() const {
  const std::lock_guard lock(mutex_);
  return worked_seconds_;
}

double RecordingWriter::seconds_per_sample() const {
  const std::lock_guard lock(mutex_);
  return totals_.samples > 0 ? worked_seconds_ / static_cast<double>(totals_.samples) : 0;
}

int64_t RecordingWriter::file_bytes() const {
  const std::lock_guard lock(mutex_);
  return file_bytes_;
}

void RecordingWriter::write(const RecordedPass& pass, RecordingTotals& added) {
  Database& db = *database_;
  const int64_t number = next_pass_++;
  add_to_overview(number, pass);
  Statement insert = db.prepare("INSERT INTO events VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  Statement hold = db.prepare("INSERT INTO holds VALUES(?, ?, ?, ?)");
  Statement together = db.prepare("INSERT INTO together VALUES(?, ?, ?, ?)");
  for (size_t rank = 0; rank < pass.events.size(); ++rank) {
    added.events += static_cast<int64_t>(pass.events[rank].size());
    size_t told = 0;  // the first step of which it is not yet known with which it was timed
    for (size_t step = 0; step < pass.events[rank].size(); ++step) {
      const StepEvent& event = pass.events[rank][step];
      insert.bind(1, number)
          .bind(2, static_cast<int64_t>(rank))
          .bind(3, static_cast<int64_t>(step))
          .bind(4, nanoseconds(event.begin_seconds))
          .bind(5, nanoseconds(event.end_seconds))
          .bind(6, nanoseconds(event.arrival_seconds))
          .bind(7, nanoseconds(event.all_arrived_seconds))
          .bind(8, event.sent_bytes)
          .run();
      if (event.held_seconds > 0)
        hold.bind(1, number)
            .bind(2, static_cast<int64_t>(rank))
            .bind(3, static_cast<int64_t>(step))
            .bind(4, nanoseconds(event.held_seconds))
            .run();
      if (event.timed_together > 1 && step >= told) {
        together.bind(1, number)
            .bind(2, static_cast<int64_t>(rank))
            .bind(3, static_cast<int64_t>(step))
            .bind(4, int64_t{event.timed_together})
            .run();
        told = step + static_cast<size_t>(event.timed_together);
      }
    }
  }
  db.prepare("INSERT INTO passes VALUES(?, ?, ?)")
      .bind(1, number)
      .bind(2, nanoseconds(pass.begin_seconds))
      .bind(3, nanoseconds(seconds_of(pass)))
      .run();
  if (pass.untraced_seconds) db.prepare("INSERT INTO untraced VALUES(?)").bind(1, number).run();
  Statement metric = db.prepare("INSERT OR REPLACE INTO metrics VALUES(?, ?, ?)");
  for (const auto& [name, value] : pass.metrics)
    metric.bind(1, number).bind(2, std::string_view(name)).bind(3, value).run();
  Statement memory =
      db.prepare("UPDATE memory SET high_water_bytes = max(high_water_bytes, ?) WHERE rank = ? AND kind = ?");
  for (size_t rank = 0; rank < pass.high_water_bytes.size(); ++rank)
    for (int kind = 0; kind < kMemoryKinds; ++kind) {
      const std::string name = to_string(static_cast<MemoryKind>(kind));
      memory.bind(1, pass.high_water_bytes[rank][static_cast<size_t>(kind)])
          .bind(2, static_cast<int64_t>(rank))
          .bind(3, std::string_view(name))
          .run();
    }
  write_samples(pass, number, added);
  write_parity(pass, number, added);
  pictures_->next_pass();
  ++added.passes;
}

void RecordingWriter::write_samples(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  Statement insert = database_->prepare("INSERT INTO samples VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t rank = 0; rank < pass.samples.size(); ++rank)
    for (size_t tensor = 0; tensor < pass.samples[rank].size(); ++tensor) {
      const TensorSample* sample = pass.samples[rank][tensor].get();
      if (sample == nullptr) continue;
      ++added.samples;
      insert.bind(1, number)
          .bind(2, static_cast<int64_t>(rank))
          .bind(3, static_cast<int64_t>(tensor))
          .bind(4, sample->stats.min)
          .bind(5, sample->stats.max)
          .bind(6, sample->stats.mean)
          .bind(7, sample->stats.rms)
          .bind(8, sample->stats.nan_count)
          .bind(9, static_cast<int64_t>(sample->hash));
      bind_row(insert, 10, pictures_->store(*sample, added));
      insert.run();
    }
}

void RecordingWriter::write_parity(const RecordedPass& pass, int64_t number, RecordingTotals& added) {
  Statement insert = database_->prepare("INSERT INTO parity VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (size_t tensor = 0; tensor < pass.parity.size(); ++tensor) {
    const TensorParity* parity = pass.parity[tensor].get();
    if (parity == nullptr || !parity->compared) continue;
    std::optional<int64_t> picture;
    if (!parity->difference.values.empty()) picture = pictures_->store(parity->difference, added);
    insert.bind(1, number)
        .bind(2, static_cast<int64_t>(tensor))
        .bind(3, parity->relative_error)
        .bind(4, parity->max_abs_error)
        .bind(5, parity->bound)
        .bind(6, int64_t{parity->ranks_identical})
        .bind(8, int64_t{parity->relative_to_terms})
        .bind(9, int64_t{parity->replica})
        .bind(10, int64_t{parity->rank});
    bind_row(insert, 7, picture);
    insert.run();
  }
}

// Adds the pass to the overview, in the transaction that writes the pass.
void RecordingWriter::add_to_overview(int64_t number, const RecordedPass& pass) {
  if (!overview_) return;
  if (number == 0) {
    int64_t most = 0;
    for (const std::vector<StepEvent>& track : pass.events)
      most = std::max(most, static_cast<int64_t>(track.size()));
    overview_->set_grain(nanoseconds(seconds_of(pass)), most);
  }
  const int64_t begin_ns = nanoseconds(pass.begin_seconds);
  for (size_t rank = 0; rank < pass.events.size(); ++rank)
    for (size_t step = 0; step < pass.events[rank].size(); ++step) {
      const StepEvent& event = pass.events[rank][step];
      overview_->add(number, begin_ns, static_cast<int>(rank), static_cast<StepId>(step),
                     {nanoseconds(event.begin_seconds), nanoseconds(event.end_seconds),
                      nanoseconds(event.arrival_seconds), nanoseconds(event.all_arrived_seconds)});
    }
}

NextTurn RecordingWriter::turn() {
  if (!batch_) {
    const double now = now_seconds();
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) {
      if (ending_) return kEnds;
      lock.unlock();
      link_->beat();
      return {kBeatEverySeconds};
    }
    if (batch_due_seconds_ == 0) batch_due_seconds_ = now + kCommitEverySeconds;
    if (!ending_ && now < batch_due_seconds_) return {batch_due_seconds_ - now};  // collects a batch
    begin_batch();
  }
  piece_began_seconds_ = processor_seconds();
  const bool done = batch_->go_on();
  working_seconds_ += processor_seconds() - piece_began_seconds_;
  if (done) batch_.reset();
  return kAtOnce;
}

// Takes all passes that wait; under the lock.
void RecordingWriter::begin_batch() {
  std::deque<RecordedPass> batch = std::exchange(waiting_, {});
  batch_due_seconds_ = 0;
  batch_ = write_batch(std::move(batch), waiting_bytes_, totals_);
}

// Writes them in one transaction, in pieces of a pass. `reached`: what was written before.
Job<> RecordingWriter::write_batch(std::deque<RecordedPass> batch, int64_t bytes, RecordingTotals reached) {
  RecordingTotals added;
  std::string problem;
  int64_t file_bytes = -1;  // of a file that holds the batch
  const int64_t first = next_pass_;
  try {
    database_->run("BEGIN");
    pictures_->begin();
    for (const RecordedPass& pass : batch) {
      write(pass, added);
      link_->beat();
      co_await GiveWay();
    }
    add(reached, added);
    write_totals(reached);
    commit();
    file_bytes = database_->integer("PRAGMA page_count") * database_->integer("PRAGMA page_size");
    if (file_bytes > limits_.file_bytes)
      problem = fmt::format("{} has reached its limit of {} bytes", database_->path(), limits_.file_bytes);
  } catch (const std::exception& error) {
    problem = message_of(error);
    try {
      database_->run("ROLLBACK");
    } catch (const std::exception&) {  // SQLite may have rolled it back itself
    }
    overview_.reset();  // it holds passes that the file lacks; a reader of the file builds a new overview
    next_pass_ = first;
    pictures_->undo();
    file_bytes = -1;
  }
  const std::lock_guard lock(mutex_);
  if (file_bytes >= 0) {
    add(totals_, added);
    file_bytes_ = file_bytes;
  } else {
    totals_.dropped_passes += static_cast<int64_t>(batch.size());
  }
  waiting_bytes_ -= bytes;
  worked_seconds_ = working_seconds_ + processor_seconds() - piece_began_seconds_;
  if (!problem.empty()) totals_.problem = problem;
}

// Commits. If that fails, the changed pages are restored before readers may read.
void RecordingWriter::commit() {
  const LiveLink::Change change(*link_);
  try {
    database_->run("COMMIT");
  } catch (...) {
    try {
      database_->run("ROLLBACK");
    } catch (const std::exception&) {  // SQLite may have rolled it back itself
    }
    throw;
  }
}

void RecordingWriter::write_totals(const RecordingTotals& totals) {
  Statement meta = database_->prepare("INSERT OR REPLACE INTO meta VALUES(?, ?)");
  for (const auto& [key, number] : {std::pair<const char*, int64_t>{"events", totals.events},
                                    {"samples", totals.samples},
                                    {"pictures_stored", totals.pictures},
                                    {"dropped_passes", totals.dropped_passes},
                                    {"dropped_pictures", totals.dropped_pictures}})
    meta.bind(1, std::string_view(key)).bind(2, number).run();
  meta.bind(1, std::string_view("problem")).bind(2, std::string_view(totals.problem)).run();
}

RecordingTotals RecordingWriter::finish(const std::string& failure) {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  worker_.wake();
  if (worker_.is_started()) {
    worker_.join();
    if (totals_.problem.empty() && totals_.dropped_passes > 0)
      totals_.problem = "the disk was slower than the run";
    try {
      // Handed to the operating system at once: mpirun kills the other processes a second after it has lost
      // one, and the disk can take longer.
      database_->run("BEGIN");
      write_totals(totals_);
      database_->prepare("INSERT INTO meta VALUES('failure', ?)").bind(1, std::string_view(failure)).run();
      constexpr const char* kFinish = "UPDATE meta SET value = 1 WHERE key = 'finished'";
      database_->run(kFinish);
      commit();
      const LiveLink::Change change(*link_);
      database_->run("PRAGMA synchronous = FULL");
      overview_ ? overview_->keep(next_pass_) : database_->run(kFinish);  // now all of it is on the disk
      file_bytes_ = database_->integer("PRAGMA page_count") * database_->integer("PRAGMA page_size");
    } catch (const std::exception& error) {
      if (totals_.problem.empty()) totals_.problem = message_of(error);
    }
    if (database_->is_gone()) {
      totals_.dropped_passes += std::exchange(totals_.passes, 0);
      totals_.problem =
          fmt::format("{} was deleted, moved or replaced while it was written", database_->path());
    }
    overview_.reset();
    pictures_.reset();
    database_.reset();
    link_.reset();
  }
  return totals_;
}

}  // namespace shardlens
