// Implements buckets, their blobs, and the growing levels.
#include "engine/record/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/error.h"
#include "engine/io/sqlite.h"

namespace shardlens {
namespace {

constexpr size_t kMostOpenChunks = 512;  // per level, in memory

constexpr int64_t TrackBucket::*kShares[] = {&TrackBucket::forward_ns, &TrackBucket::backward_ns,
                                             &TrackBucket::wait_ns, &TrackBucket::transfer_ns,
                                             &TrackBucket::events};
constexpr size_t kShareCount = std::size(kShares);

bool waits_longer(const LongWait& a, const LongWait& b) {
  return a.ns > b.ns;
}

}  // namespace

// Both sides are at most kMostRecordedNs, so the sum does not overflow. Larger values from a file are cut to
// that.
TrackBucket& TrackBucket::operator+=(const TrackBucket& other) {
  for (const auto share : kShares) this->*share = std::min(this->*share + other.*share, kMostRecordedNs);
  return *this;
}

EventParts parts_of(const Step& step, const EventTimes& event) {
  const int64_t end = std::max(event.begin_ns, event.end_ns);
  if (!is_collective(step.op)) return {event.begin_ns, end, end, end};
  const int64_t arrived = std::clamp(event.arrival_ns, event.begin_ns, end);
  return {event.begin_ns, arrived, std::clamp(event.met_ns, arrived, end), end};
}

EventTimes placed(EventTimes times, int64_t pass_begin_ns) {
  const int64_t from = std::clamp<int64_t>(pass_begin_ns, 0, kMostRecordedNs);
  for (int64_t* time : {&times.begin_ns, &times.end_ns, &times.arrival_ns, &times.met_ns})
    *time = std::clamp<int64_t>(*time, 0, kMostRecordedNs - from) + from;
  return times;
}

std::string overview_tables(const std::string& schema) {
  return fmt::format(
      "CREATE TABLE {0}.overview(level INTEGER, track INTEGER, chunk INTEGER, buckets BLOB,"
      " PRIMARY KEY(level, track, chunk)) WITHOUT ROWID;"
      "CREATE TABLE {0}.waits(place INTEGER PRIMARY KEY, pass INTEGER, rank INTEGER, step INTEGER,"
      " ns INTEGER);",
      schema);
}

int suitable_level(int64_t ns, int64_t events_of_a_track) {
  const int64_t wanted = std::max<int64_t>(1, ns) / std::max<int64_t>(1, events_of_a_track);
  int level = 0;
  while (level + 1 < kOverviewLevels && bucket_ns(level) < wanted) ++level;
  return level;
}

std::string packed(const TrackBucket* buckets) {
  std::string blob;
  for (int i = 0; i < kChunkBuckets; ++i) {
    // One byte flags the shares that are not zero. Their values follow, seven bits per byte, the lowest
    // first.
    const size_t flags_at = blob.size();
    blob.push_back(0);
    for (size_t share = 0; share < kShareCount; ++share) {
      auto value = static_cast<uint64_t>(buckets[i].*kShares[share]);
      if (value == 0) continue;
      blob[flags_at] = static_cast<char>(blob[flags_at] | (1 << share));
      for (; value >= 128; value >>= 7) blob.push_back(static_cast<char>(value | 128));
      blob.push_back(static_cast<char>(value));
    }
  }
  return blob;
}

void unpack(std::string_view blob, TrackBucket* buckets, const std::string& where) {
  size_t at = 0;
  const auto next = [&] {
    if (at >= blob.size()) throw request_error(where + " is damaged: a chunk of its overview is too short");
    return static_cast<unsigned char>(blob[at++]);
  };
  for (int i = 0; i < kChunkBuckets; ++i) {
    const unsigned flags = next();
    for (size_t share = 0; share < kShareCount; ++share) {
      uint64_t value = 0;
      if (flags & (1u << share)) {
        unsigned byte = 128;
        for (int shift = 0; byte >= 128; shift += 7) {
          byte = next();
          if (shift > 56) throw request_error(where + " is damaged: its overview has an absurd figure");
          value |= static_cast<uint64_t>(byte & 127) << shift;
        }
      }
      if (value > static_cast<uint64_t>(kMostRecordedNs))
        throw request_error(where + " is damaged: its overview has an absurd figure");
      buckets[i].*kShares[share] = static_cast<int64_t>(value);
    }
  }
  if (at != blob.size()) throw request_error(where + " is damaged: a chunk of its overview is too long");
}

std::optional<int> kept_overview(Database& database) {
  Statement row = database.prepare(
      "SELECT finest.value, passes.value FROM meta AS finest, meta AS passes WHERE finest.key = "
      "'overview_finest' AND passes.key = 'overview_passes'");
  if (!row.step()) return std::nullopt;
  const int64_t finest = row.integer(0);
  if (finest < 0 || finest >= kOverviewLevels) return std::nullopt;
  if (row.integer(1) != database.integer("SELECT count(*) FROM passes")) return std::nullopt;
  return static_cast<int>(finest);
}

OverviewBuilder::OverviewBuilder(Database& database, const Program& program)
    : database_(database), program_(program) {
  database_.run(overview_tables("temp"));
}

void OverviewBuilder::set_grain(int64_t ns, int64_t events_of_a_track) {
  finest_ = suitable_level(ns, events_of_a_track);
}

void OverviewBuilder::add(int64_t pass, int64_t pass_begin_ns, int rank, StepId step, EventTimes times) {
  const Step& what = program_.step(step);
  const EventParts parts = parts_of(what, placed(times, pass_begin_ns));
  while ((parts.end_ns >> bucket_shift(finest_)) >= kMostBuckets) coarsen();
  const auto own = what.phase == Phase::Forward ? &TrackBucket::forward_ns : &TrackBucket::backward_ns;
  add_stretch(rank, parts.begin_ns, parts.arrived_ns, own);
  add_stretch(rank, parts.arrived_ns, parts.met_ns, &TrackBucket::wait_ns);
  add_stretch(rank, parts.met_ns, parts.end_ns, &TrackBucket::transfer_ns);
  const int64_t bucket = parts.begin_ns >> bucket_shift(finest_);
  TrackBucket one;
  one.events = 1;
  chunk(finest_, {rank, bucket / kChunkBuckets})[static_cast<size_t>(bucket % kChunkBuckets)] += one;
  if (parts.met_ns > parts.arrived_ns) remember_wait({pass, rank, step, parts.met_ns - parts.arrived_ns});
}

void OverviewBuilder::add_stretch(int track, int64_t begin_ns, int64_t end_ns, int64_t TrackBucket::*share) {
  const int shift = bucket_shift(finest_);
  while (begin_ns < end_ns) {
    const int64_t bucket = begin_ns >> shift;
    const int64_t until = std::min(end_ns, (bucket + 1) << shift);
    TrackBucket part;
    part.*share = until - begin_ns;
    chunk(finest_, {track, bucket / kChunkBuckets})[static_cast<size_t>(bucket % kChunkBuckets)] += part;
    begin_ns = until;
  }
}

OverviewBuilder::Chunk& OverviewBuilder::chunk(int level, ChunkPlace place) {
  auto& open = open_[static_cast<size_t>(level)];
  const auto known = open.find(place);
  if (known != open.end()) return known->second;
  if (open.size() >= kMostOpenChunks) store(level);
  return open[place];
}

// Stores all open chunks of a level: adds them to what the table already holds of them, and to the next
// level.
void OverviewBuilder::store(int level) {
  auto& open = open_[static_cast<size_t>(level)];
  if (open.empty()) return;
  Statement known =
      database_.prepare("SELECT buckets FROM temp.overview WHERE level = ? AND track = ? AND chunk = ?");
  Statement insert = database_.prepare("INSERT OR REPLACE INTO temp.overview VALUES(?, ?, ?, ?)");
  for (auto& [place, buckets] : open) {
    const auto& [track, number] = place;
    if (level + 1 < kOverviewLevels) {
      const int64_t first = number * kChunkBuckets / 4;  // the bucket of the next level that these begin with
      Chunk& above = chunk(level + 1, {track, first / kChunkBuckets});
      for (size_t i = 0; i < buckets.size(); ++i)
        above[static_cast<size_t>(first % kChunkBuckets) + i / 4] += buckets[i];
    }
    known.bind(1, int64_t{level}).bind(2, int64_t{track}).bind(3, number);
    if (known.step()) {
      Chunk before;
      unpack(known.blob(0), before.data(), database_.path());
      for (size_t i = 0; i < buckets.size(); ++i) buckets[i] += before[i];
    }
    known.reset();
    const std::string blob = packed(buckets.data());
    insert.bind(1, int64_t{level}).bind(2, int64_t{track}).bind(3, number);
    insert.bind_blob(4, blob.data(), blob.size()).run();
  }
  open.clear();
}

// Drops the finest level, which has too many buckets. The next level becomes the finest.
void OverviewBuilder::coarsen() {
  store(finest_);
  database_.run(fmt::format("DELETE FROM temp.overview WHERE level = {}", finest_));
  ++finest_;
}

void OverviewBuilder::remember_wait(const LongWait& wait) {
  if (waits_.size() == kLongestWaits) {
    if (wait.ns <= waits_.front().ns) return;
    std::pop_heap(waits_.begin(), waits_.end(), waits_longer);
    waits_.pop_back();
  }
  waits_.push_back(wait);
  std::push_heap(waits_.begin(), waits_.end(), waits_longer);
}

void OverviewBuilder::flush() {
  for (int level = finest_; level < kOverviewLevels; ++level) store(level);
  std::vector<LongWait> longest = waits_;
  std::sort(longest.begin(), longest.end(), waits_longer);
  Statement insert = database_.prepare("INSERT OR REPLACE INTO temp.waits VALUES(?, ?, ?, ?, ?)");
  for (size_t place = 0; place < longest.size(); ++place)
    insert.bind(1, static_cast<int64_t>(place))
        .bind(2, longest[place].pass)
        .bind(3, int64_t{longest[place].rank})
        .bind(4, int64_t{longest[place].step})
        .bind(5, longest[place].ns)
        .run();
}

void OverviewBuilder::finish() {
  if (!finished_) flush();
  finished_ = true;
  waits_.clear();
}

void OverviewBuilder::keep(int64_t passes) {
  database_.run("BEGIN");
  finish();
  database_.run("COMMIT");
  try {
    database_.run(
        "BEGIN;"
        "DELETE FROM main.overview; INSERT INTO main.overview SELECT * FROM temp.overview;"
        "DELETE FROM main.waits; INSERT INTO main.waits SELECT * FROM temp.waits;");
    Statement meta = database_.prepare("INSERT OR REPLACE INTO main.meta VALUES(?, ?)");
    meta.bind(1, std::string_view("overview_finest")).bind(2, int64_t{finest_}).run();
    meta.bind(1, std::string_view("overview_passes")).bind(2, passes).run();
    database_.run("DROP TABLE temp.overview; DROP TABLE temp.waits; COMMIT");
  } catch (...) {
    try {
      database_.run("ROLLBACK");
    } catch (const std::exception&) {  // SQLite may have rolled it back itself
    }
    throw;
  }
}

}  // namespace shardlens
