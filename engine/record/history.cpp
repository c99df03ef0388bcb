// Slices of a recording, and its overview where the file has none.
#include "engine/record/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/clock.h"
#include "engine/config/error.h"

namespace shardlens {
namespace {

constexpr int64_t kEventsAtOnce = 20'000;  // of building

}  // namespace

History::~History() = default;

History::History(const std::string& path, std::shared_ptr<const Program> program)
    : database_(open_database(path)), program_(std::move(program)) {
  Statement all = database_->prepare(
      "SELECT count(*), ifnull(min(begin_ns), 0), ifnull(min(ns), 0), ifnull(max(begin_ns), 0),"
      " ifnull(max(ns), 0), ifnull(max(begin_ns + ns), 0) AS last_ns FROM passes");
  all.step();
  passes_ = all.integer(0);
  longest_pass_ns_ = all.integer(4);
  end_ns_ = all.integer(5);
  const bool sound = all.integer(1) >= 0 && all.integer(2) >= 0 && all.integer(3) <= kMostRecordedNs &&
                     longest_pass_ns_ <= kMostRecordedNs && end_ns_ >= 0 && end_ns_ <= kMostRecordedNs;
  if (!sound) damaged("its passes have absurd times");
  finest_ = kept_overview(*database_);
}

void History::damaged(const std::string& what) const {
  throw request_error(fmt::format("{} is damaged: {}", database_->path(), what));
}

double History::build_for(double seconds) {
  if (passes_ == 0 && !ready()) finest_ = 0;  // there is nothing to build
  if (ready()) return 1;
  const double until = now_seconds() + seconds;
  if (!builder_) {
    builder_ = std::make_unique<OverviewBuilder>(*database_, *program_);
    Statement first = database_->prepare("SELECT pass, ns FROM passes ORDER BY pass LIMIT 1");
    first.step();
    Statement count = database_->prepare("SELECT count(*) FROM events WHERE pass = ?");
    count.bind(1, first.integer(0)).step();
    builder_->set_grain(first.integer(1), count.integer(0) / ranks());
  }
  bool more = true;
  database_->run("BEGIN");
  try {
    while (more && now_seconds() < until) more = build_more();
    if (!more) builder_->finish();
    database_->run("COMMIT");
  } catch (...) {
    builder_.reset();
    database_->run("ROLLBACK");
    throw;
  }
  if (more) return static_cast<double>(built_pass_) / static_cast<double>(passes_);
  finest_ = builder_->finest();
  try {
    builder_->keep(passes_);
  } catch (
      const Error&) {  // it may not be written, or somebody else does; it is there for as long as this is
  }
  builder_.reset();
  return 1;
}

/// The next events into the overview; false: there are no more.
bool History::build_more() {
  Statement rows = database_->prepare(
      "SELECT events.pass, passes.begin_ns, rank, step, events.begin_ns, end_ns, arrival_ns, met_ns "
      "FROM events CROSS JOIN passes ON passes.pass = events.pass "
      "WHERE (events.pass, rank, step) > (?, ?, ?) ORDER BY events.pass, rank, step LIMIT ?");
  rows.bind(1, built_pass_).bind(2, built_rank_).bind(3, built_step_).bind(4, kEventsAtOnce);
  int64_t count = 0;
  for (; rows.step(); ++count) {
    const int64_t pass = rows.integer(0), rank = rows.integer(2), step = rows.integer(3);
    if (rank < 0 || rank >= ranks() || step < 0 || step >= static_cast<int64_t>(program_->steps.size()))
      damaged(fmt::format("pass {} has an event of step {} on rank {}", pass, step, rank));
    built_pass_ = pass, built_rank_ = rank, built_step_ = step;
    builder_->add(pass, rows.integer(1), static_cast<int>(rank), static_cast<StepId>(step),
                  {rows.integer(4), rows.integer(5), rows.integer(6), rows.integer(7)});
  }
  return count == kEventsAtOnce;
}

std::vector<std::vector<TrackBucket>> History::buckets(int level, int64_t first, int64_t count) const {
  std::vector<std::vector<TrackBucket>> tracks(static_cast<size_t>(ranks()));
  Statement rows = database_->prepare(
      "SELECT chunk, buckets FROM overview WHERE level = ? AND track = ? AND chunk BETWEEN ? AND ?");
  for (size_t rank = 0; rank < tracks.size(); ++rank) {
    tracks[rank].resize(static_cast<size_t>(count));
    rows.bind(1, int64_t{level}).bind(2, static_cast<int64_t>(rank));
    rows.bind(3, first / kChunkBuckets).bind(4, (first + count - 1) / kChunkBuckets);
    while (rows.step()) {
      std::array<TrackBucket, kChunkBuckets> chunk;
      unpack(rows.blob(1), chunk.data(), database_->path());
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
         (bucket_ns(slice.level + 1) <= bucket || count(slice.level) * ranks() > kMostSliceBuckets))
    ++slice.level;
  slice.first_bucket = begin_ns >> bucket_shift(slice.level);
  slice.buckets = buckets(slice.level, slice.first_bucket, count(slice.level));
  add_passes(slice);
  return slice;
}

void History::add_passes(HistorySlice& slice) const {
  Statement rows = database_->prepare(
      "SELECT pass, begin_ns, ns FROM passes WHERE begin_ns < ? AND begin_ns >= ? AND begin_ns + ns > ? "
      "ORDER BY begin_ns, pass LIMIT ?");
  rows.bind(1, slice.end_ns()).bind(2, slice.begin_ns() - longest_pass_ns_);
  rows.bind(3, slice.begin_ns()).bind(4, kMostSlicePasses + 1);
  std::vector<std::shared_ptr<HistoryPass>> passes;
  while (rows.step()) passes.push_back(pass_of(rows));
  slice.has_passes = static_cast<int64_t>(passes.size()) <= kMostSlicePasses;
  if (!slice.has_passes) return;
  int64_t events = 0;
  for (const auto& track : slice.buckets)
    for (const TrackBucket& bucket : track) events = std::min(events + bucket.events, kMostSliceEvents + 1);
  slice.has_events = events <= kMostSliceEvents;
  Statement metrics = database_->prepare(
      "SELECT substr(name, 1, 64), value FROM metrics WHERE pass = ? ORDER BY name LIMIT ?");
  int64_t room = 4 * kMostSliceEvents;  // passes are read whole, also where little of one is in view
  for (const std::shared_ptr<HistoryPass>& pass : passes) {
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& other) { return other->pass == pass->pass; });
    if (known != known_.end() && (*known)->has_events() == slice.has_events) {
      slice.passes.push_back(*known);
      for (const auto& track : (*known)->events) room -= static_cast<int64_t>(track.size());
      continue;
    }
    metrics.bind(1, pass->pass).bind(2, kMostMetrics);
    while (metrics.step())
      if (!metrics.is_null(1)) pass->metrics.emplace_back(metrics.text(0), metrics.number(1));
    metrics.reset();
    if (slice.has_events) {
      slice.has_events = read_events(*pass, room);
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
    damaged(fmt::format("pass {} has absurd times", pass->pass));
  return pass;
}

/// False, and none, where there are more than `most`.
bool History::read_events(HistoryPass& pass, int64_t most) const {
  Statement rows = database_->prepare(
      "SELECT rank, step, begin_ns, end_ns, arrival_ns, met_ns FROM events WHERE pass = ? ORDER BY rank, "
      "step LIMIT ?");
  rows.bind(1, pass.pass).bind(2, std::max<int64_t>(0, most) + 1);
  pass.events.resize(static_cast<size_t>(ranks()));
  while (rows.step()) {
    if (most-- <= 0) {
      pass.events.clear();
      return false;
    }
    const int64_t rank = rows.integer(0), step = rows.integer(1);
    if (rank < 0 || rank >= ranks()) damaged(fmt::format("pass {} has events of rank {}", pass.pass, rank));
    std::vector<EventTimes>& track = pass.events[static_cast<size_t>(rank)];
    const auto next = static_cast<int64_t>(track.size());
    if (step != next || step >= static_cast<int64_t>(program_->steps.size()))
      damaged(fmt::format("pass {}, rank {}: step {} where {} is expected", pass.pass, rank, step, next));
    track.push_back(
        placed({rows.integer(2), rows.integer(3), rows.integer(4), rows.integer(5)}, pass.begin_ns));
  }
  return true;
}

}  // namespace shardlens
