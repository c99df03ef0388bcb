// Reads slices of a recording, builds its overview if the file has none, and finds the next step of a name,
// the next collective, the slowest pass or the longest wait.
#include "engine/record/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace shardlens {
namespace {

constexpr int64_t kEventsAtOnce = 20'000;  // events read at once while building

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool holds(const std::string& text, const std::string& words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same_letter) != text.end();
}

}  // namespace

History::~History() = default;

History::History(const std::string& path, std::shared_ptr<const Program> program)
    : file_(std::make_unique<RecordingFile>(path)),
      live_(file_->writer() != WriterState::Gone),
      own_(live_ ? std::make_unique<Database>("", Database::Access::Forgotten) : nullptr),
      program_(std::move(program)) {
  read_bounds();
  if (!live_) finest_ = kept_overview(file_->own());
}

void History::read_bounds() {
  struct Bounds {
    int64_t passes, first_begin, shortest, last_begin, longest, end;
  };
  const Bounds bounds = file_->read([](Database& database) {
    Statement all = database.prepare(
        "SELECT count(*), ifnull(min(begin_ns), 0), ifnull(min(ns), 0), ifnull(max(begin_ns), 0),"
        " ifnull(max(ns), 0), ifnull(max(begin_ns + ns), 0) AS last_ns FROM passes");
    all.step();
    return Bounds{all.integer(0), all.integer(1), all.integer(2),
                  all.integer(3), all.integer(4), all.integer(5)};
  });
  const bool sound = bounds.first_begin >= 0 && bounds.shortest >= 0 &&
                     bounds.last_begin <= kMostRecordedNs && bounds.longest <= kMostRecordedNs &&
                     bounds.end >= 0 && bounds.end <= kMostRecordedNs;
  if (!sound) file_->damaged("its passes have absurd times");
  passes_ = bounds.passes;
  longest_pass_ns_ = bounds.longest;
  end_ns_ = bounds.end;
}

bool History::follow() {
  if (!live_ || file_->writer() == WriterState::Gone) return false;
  read_bounds();
  return true;
}

// The database that holds the overview or in which it grows.
Database& History::tables() const {
  return own_ ? *own_ : file_->own();
}

void History::begin_building() {
  builder_ = std::make_unique<OverviewBuilder>(tables(), *program_);
  const auto [ns, events] = file_->read([](Database& database) {
    Statement first = database.prepare("SELECT pass, ns FROM passes ORDER BY pass LIMIT 1");
    first.step();
    Statement count = database.prepare("SELECT count(*) FROM events WHERE pass = ?");
    count.bind(1, first.integer(0)).step();
    return std::pair(first.integer(1), count.integer(0));
  });
  builder_->set_grain(ns, events / world_size());
}

double History::build_for(double seconds) {
  if (passes_ == 0 && !ready() && !live_) finest_ = 0;  // there is nothing to build
  if (passes_ == 0 || (ready() && !is_behind())) return 1;
  const double until = now_seconds() + seconds;
  if (!builder_) begin_building();
  bool more = true;
  tables().run("BEGIN");
  try {
    while (more && now_seconds() < until) more = build_more();
    if (!more) builder_->flush();
    tables().run("COMMIT");
  } catch (...) {
    if (!live_) builder_.reset();
    tables().run("ROLLBACK");
    throw;
  }
  if (more) return static_cast<double>(built_pass_) / static_cast<double>(passes_);
  finest_ = builder_->finest();
  built_passes_ = passes_;
  if (live_) return 1;
  try {
    builder_->keep(passes_);
  } catch (const Error&) {  // the file cannot be written now: the overview stays in memory
  }
  builder_.reset();
  return 1;
}

/// Adds the next events to the overview. Returns false if there are no more.
bool History::build_more() {
  struct Event {
    int64_t pass, pass_begin_ns, rank, step;
    EventTimes times;
  };
  const std::vector<Event> events = file_->read([this](Database& database) {
    Statement rows = database.prepare(
        "SELECT events.pass, passes.begin_ns, rank, step, events.begin_ns, end_ns, arrival_ns, met_ns "
        "FROM events CROSS JOIN passes ON passes.pass = events.pass "
        "WHERE (events.pass, rank, step) > (?, ?, ?) AND events.pass < ? "
        "ORDER BY events.pass, rank, step LIMIT ?");
    rows.bind(1, built_pass_).bind(2, built_rank_).bind(3, built_step_).bind(4, end_pass());
    rows.bind(5, kEventsAtOnce);
    std::vector<Event> read;
    while (rows.step()) {
      const Event event{rows.integer(0),
                        rows.integer(1),
                        rows.integer(2),
                        rows.integer(3),
                        {rows.integer(4), rows.integer(5), rows.integer(6), rows.integer(7)}};
      if (event.rank < 0 || event.rank >= world_size() || event.step < 0 ||
          event.step >= static_cast<int64_t>(program_->steps.size()))
        file_->damaged(
            fmt::format("pass {} has an event of step {} on rank {}", event.pass, event.step, event.rank));
      read.push_back(event);
    }
    return read;
  });
  for (const Event& event : events) {
    built_pass_ = event.pass, built_rank_ = event.rank, built_step_ = event.step;
    builder_->add(event.pass, event.pass_begin_ns, static_cast<int>(event.rank),
                  static_cast<StepId>(event.step), event.times);
  }
  return static_cast<int64_t>(events.size()) == kEventsAtOnce;
}

std::vector<std::vector<TrackBucket>> History::buckets(int level, int64_t first, int64_t count) const {
  std::vector<std::vector<TrackBucket>> tracks(static_cast<size_t>(world_size()));
  Statement rows = tables().prepare(
      "SELECT chunk, buckets FROM overview WHERE level = ? AND track = ? AND chunk BETWEEN ? AND ?");
  for (size_t rank = 0; rank < tracks.size(); ++rank) {
    tracks[rank].resize(static_cast<size_t>(count));
    rows.bind(1, int64_t{level}).bind(2, static_cast<int64_t>(rank));
    rows.bind(3, first / kChunkBuckets).bind(4, (first + count - 1) / kChunkBuckets);
    while (rows.step()) {
      std::array<TrackBucket, kChunkBuckets> chunk;
      unpack(rows.blob(1), chunk.data(), file_->path());
      const int64_t begin = rows.integer(0) * kChunkBuckets - first;
      for (int64_t i = 0; i < kChunkBuckets; ++i)
        if (begin + i >= 0 && begin + i < count)
          tracks[rank][static_cast<size_t>(begin + i)] = chunk[static_cast<size_t>(i)];
    }
    rows.reset();
  }
  return tracks;
}

HistorySlice History::slice(int64_t begin_ns, int64_t end_ns, int64_t bucket) const {
  HistorySlice slice;
  slice.level = *finest_;
  begin_ns = std::clamp<int64_t>(begin_ns, 0, end_ns_);
  end_ns = std::clamp<int64_t>(end_ns, begin_ns + 1, end_ns_ + 1);
  const auto count = [&](int level) {
    return ((end_ns - 1) >> bucket_shift(level)) - (begin_ns >> bucket_shift(level)) + 1;
  };
  while (slice.level + 1 < kOverviewLevels &&
         (bucket_ns(slice.level + 1) <= bucket || count(slice.level) * world_size() > kMostSliceBuckets))
    ++slice.level;
  slice.first_bucket = begin_ns >> bucket_shift(slice.level);
  slice.buckets = buckets(slice.level, slice.first_bucket, count(slice.level));
  add_passes(slice);
  return slice;
}

void History::add_passes(HistorySlice& slice) const {
  const auto passes = file_->read([&](Database& database) {
    Statement rows = database.prepare(
        "SELECT pass, begin_ns, ns FROM passes WHERE begin_ns < ? AND begin_ns >= ? AND begin_ns + ns > ? "
        "AND pass < ? ORDER BY begin_ns, pass LIMIT ?");
    rows.bind(1, slice.end_ns()).bind(2, slice.begin_ns() - longest_pass_ns_);
    rows.bind(3, slice.begin_ns()).bind(4, end_pass()).bind(5, kMostSlicePasses + 1);
    std::vector<std::shared_ptr<HistoryPass>> read;
    while (rows.step()) read.push_back(pass_of(rows));
    return read;
  });
  slice.has_passes = static_cast<int64_t>(passes.size()) <= kMostSlicePasses;
  if (!slice.has_passes) return;
  int64_t events = 0;
  for (const auto& track : slice.buckets)
    for (const TrackBucket& bucket : track) events = std::min(events + bucket.events, kMostSliceEvents + 1);
  slice.has_events = events <= kMostSliceEvents;
  int64_t room = 4 * kMostSliceEvents;  // passes are read whole, even if only a part of one is in view
  for (const std::shared_ptr<HistoryPass>& pass : passes) {
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& other) { return other->pass == pass->pass; });
    if (known != known_.end() && (*known)->has_events() == slice.has_events) {
      slice.passes.push_back(*known);
      for (const auto& track : (*known)->events) room -= static_cast<int64_t>(track.size());
      continue;
    }
    pass->loss = loss_of(pass->pass);
    if (slice.has_events) {
      pass->events = read_events(*pass, room);
      slice.has_events = pass->has_events();
      for (const auto& track : pass->events) room -= static_cast<int64_t>(track.size());
    }
    slice.passes.push_back(pass);
  }
  known_ = slice.passes;
}

std::shared_ptr<HistoryPass> History::pass_of(Statement& row) const {
  auto pass = std::make_shared<HistoryPass>();
  pass->pass = row.integer(0);
  pass->begin_ns = row.integer(1);
  pass->ns = row.integer(2);
  if (pass->begin_ns < 0 || pass->ns < 0 || pass->begin_ns > end_ns_ || pass->ns > end_ns_ - pass->begin_ns)
    file_->damaged(fmt::format("pass {} has absurd times", pass->pass));
  return pass;
}

std::optional<double> History::loss_of(int64_t pass) const {
  return file_->read([pass](Database& database) -> std::optional<double> {
    Statement row = database.prepare("SELECT value FROM metrics WHERE pass = ? AND name = 'loss'");
    row.bind(1, pass);
    if (!row.step() || row.is_null(0)) return std::nullopt;
    return row.number(0);
  });
}

/// [rank][step]; empty if there are more than `most`.
std::vector<std::vector<EventTimes>> History::read_events(const HistoryPass& pass, int64_t most) const {
  using Tracks = std::vector<std::vector<EventTimes>>;
  return file_->read([&](Database& database) -> Tracks {
    Statement rows = database.prepare(
        "SELECT rank, step, begin_ns, end_ns, arrival_ns, met_ns FROM events WHERE pass = ? ORDER BY rank, "
        "step LIMIT ?");
    rows.bind(1, pass.pass).bind(2, std::max<int64_t>(0, most) + 1);
    Tracks tracks(static_cast<size_t>(world_size()));
    for (int64_t count = 0; rows.step(); ++count) {
      if (count >= most) return {};
      const int64_t rank = rows.integer(0), step = rows.integer(1);
      if (rank < 0 || rank >= world_size())
        file_->damaged(fmt::format("pass {} has events of rank {}", pass.pass, rank));
      std::vector<EventTimes>& track = tracks[static_cast<size_t>(rank)];
      const auto next = static_cast<int64_t>(track.size());
      if (step != next || step >= static_cast<int64_t>(program_->steps.size()))
        file_->damaged(
            fmt::format("pass {}, rank {}: step {} where {} is expected", pass.pass, rank, step, next));
      track.push_back(
          placed({rows.integer(2), rows.integer(3), rows.integer(4), rows.integer(5)}, pass.begin_ns));
    }
    return tracks;
  });
}

std::optional<HistoryPlace> History::place_of(Database& database, int64_t pass, int rank, StepId step) const {
  if (rank < 0 || rank >= world_size() || step < 0 || step >= static_cast<StepId>(program_->steps.size()))
    return std::nullopt;
  Statement row = database.prepare(
      "SELECT passes.begin_ns, events.begin_ns, end_ns, arrival_ns, met_ns FROM events JOIN passes ON "
      "passes.pass = events.pass WHERE events.pass = ? AND rank = ? AND step = ?");
  row.bind(1, pass).bind(2, int64_t{rank}).bind(3, int64_t{step});
  if (!row.step()) return std::nullopt;
  const EventTimes event =
      placed({row.integer(1), row.integer(2), row.integer(3), row.integer(4)}, row.integer(0));
  const EventParts parts = parts_of(program_->step(step), event);
  return HistoryPlace{pass, rank, step, parts.begin_ns, parts.end_ns, 0, false};
}

/// `steps` are the ids of the matching steps, ascending.
std::optional<HistoryPlace> History::next_of(Database& database, const HistoryQuestion& question,
                                             const std::vector<StepId>& steps) const {
  if (steps.empty()) return std::nullopt;
  const auto behind = std::upper_bound(steps.begin(), steps.end(), question.step);
  if (behind != steps.end())
    if (auto found = place_of(database, question.pass, question.rank, *behind)) return found;
  // In another pass it is the first of `steps`, because a rank has all steps up to its last.
  const auto first_in = [&](const char* which) -> std::optional<HistoryPlace> {
    Statement rows = database.prepare(which);
    rows.bind(1, question.pass);
    while (rows.step())
      if (auto found = place_of(database, rows.integer(0), question.rank, steps.front())) return found;
    return std::nullopt;
  };
  if (auto found = first_in("SELECT pass FROM passes WHERE pass > ? ORDER BY pass")) return found;
  auto found = first_in("SELECT pass FROM passes WHERE pass <= ? ORDER BY pass");
  if (found) found->wrapped = true;
  return found;
}

std::optional<HistoryPlace> History::slow_pass(const HistoryQuestion& question) const {
  if (passes_ == 0) return std::nullopt;
  const int64_t number = question.number % passes_;
  return file_->read([&](Database& database) -> std::optional<HistoryPlace> {
    Statement row = database.prepare(
        "SELECT pass, begin_ns, ns FROM passes WHERE pass < ? ORDER BY ns DESC, pass LIMIT 1 OFFSET ?");
    row.bind(1, end_pass()).bind(2, number);
    if (!row.step()) return std::nullopt;
    const auto pass = pass_of(row);
    return HistoryPlace{
        pass->pass, -1, -1, pass->begin_ns, pass->end_ns(), number, question.number >= passes_};
  });
}

std::optional<HistoryPlace> History::long_wait(const HistoryQuestion& question) const {
  if (!ready()) return std::nullopt;
  const int64_t count = tables().integer("SELECT count(*) FROM waits");
  if (count == 0) return std::nullopt;
  Statement row = tables().prepare("SELECT pass, rank, step FROM waits WHERE place = ?");
  row.bind(1, question.number % count);
  if (!row.step()) return std::nullopt;
  const int64_t pass = row.integer(0), rank = row.integer(1), step = row.integer(2);
  if (rank < 0 || rank >= world_size() || step < 0 || step >= static_cast<int64_t>(program_->steps.size()))
    file_->damaged("its longest waits name ranks or steps that do not exist");
  auto found = file_->read([&](Database& database) {
    return place_of(database, pass, static_cast<int>(rank), static_cast<StepId>(step));
  });
  if (!found) return std::nullopt;
  found->number = question.number % count;
  found->wrapped = question.number >= count;
  return found;
}

std::optional<HistoryPlace> History::find(const HistoryQuestion& question) const {
  if (question.find == HistoryFind::SlowPass) return slow_pass(question);
  if (question.find == HistoryFind::LongWait) return long_wait(question);
  std::vector<StepId> steps;
  for (const Step& step : program_->steps) {
    const bool meant = question.find == HistoryFind::Collective
                           ? is_collective(step.op)
                           : holds(step.name, question.text) || holds(step.equation, question.text);
    if (meant) steps.push_back(step.id);
  }
  return file_->read([&](Database& database) { return next_of(database, question, steps); });
}

}  // namespace shardlens
