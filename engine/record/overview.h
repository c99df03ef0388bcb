// A recording's level of detail: what every track did in buckets of time. Buckets are 2^10, 2^12, … ns wide,
// each level four times as coarse as the one below. A timeline of any length is drawn from a few thousand
// buckets of the level that suits its zoom. The events themselves are read only if few are in view.
//
// A bucket is a sum. So each level is exactly the sum of the level below, and the sums over any level equal
// those over the events. Levels grow from the bottom as passes arrive. A bounded part of each level is in
// memory; the rest is in temporary tables, which SQLite deletes with the connection. keep() copies them into
// the file completely or not at all.
//
// Tables: overview(level, track, chunk, buckets): kChunkBuckets neighbours in one blob, none if nothing
// happened; waits(place, pass, rank, step, ns): the longest waits, longest first. In meta: overview_finest,
// the finest level that exists, and overview_passes, the number of passes it was made from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

class Database;

inline constexpr int kOverviewLevels = 22;
inline constexpr int kChunkBuckets = 64;
inline constexpr int64_t kMostBuckets = int64_t{1} << 20;     ///< per track at the finest level that exists
inline constexpr int64_t kMostRecordedNs = int64_t{1} << 53;  ///< 104 days; a double holds each exactly
inline constexpr int kLongestWaits = 64;                      ///< number of waits kept

constexpr int bucket_shift(int level) {
  return 10 + 2 * level;
}
constexpr int64_t bucket_ns(int level) {
  return int64_t{1} << bucket_shift(level);
}

/// What one track did in one bucket, in nanoseconds. With overlapped collectives the sum can exceed the
/// bucket's width.
struct TrackBucket {
  int64_t forward_ns = 0, backward_ns = 0;  ///< computing, by phase; an update counts as backward
  int64_t wait_ns = 0, transfer_ns = 0;     ///< for collectives
  int64_t events = 0;                       ///< events that begin in it

  TrackBucket& operator+=(const TrackBucket& other);
  bool operator==(const TrackBucket&) const = default;
};

/// The times of one event, in nanoseconds. The last two are for collectives only.
struct EventTimes {
  int64_t begin_ns = 0, end_ns = 0, arrival_ns = 0, met_ns = 0;
  bool operator==(const EventTimes&) const = default;
};

/// The parts of a step's event, the same for the overview, the timeline and the tests: own work in [begin,
/// arrived), waiting in [arrived, met), transfer in [met, end).
struct EventParts {
  int64_t begin_ns = 0, arrived_ns = 0, met_ns = 0, end_ns = 0;
};
EventParts parts_of(const Step& step, const EventTimes& event);

/// Converts times from the beginning of a pass to times from the beginning of the recording, all within [0,
/// kMostRecordedNs].
EventTimes placed(EventTimes times, int64_t pass_begin_ns);

struct LongWait {
  int64_t pass = 0;
  int rank = 0;
  StepId step = 0;
  int64_t ns = 0;
};

/// The SQL statements that make the tables in `schema`, "main" or "temp".
std::string overview_tables(const std::string& schema);

/// The finest level of the overview in the file. None if the file has no overview, or one of another number
/// of passes than the file holds.
std::optional<int> kept_overview(Database& database);

/// The finest level whose buckets hold at least one event on average.
int suitable_level(int64_t ns, int64_t events_of_a_track);

/// Fills temporary tables of its connection as passes arrive, in any order. It is fastest inside a
/// transaction of the caller. Throws what the database throws.
class OverviewBuilder {
 public:
  OverviewBuilder(Database& database, const Program& program);

  /// Sets the finest level from the first pass: how long it took, and how many events a track has in it. Call
  /// before the first add().
  void set_grain(int64_t ns, int64_t events_of_a_track);
  /// Adds an event of world rank `rank`, with times from the beginning of the pass.
  void add(int64_t pass, int64_t pass_begin_ns, int rank, StepId step, EventTimes times);
  /// Stores what is still in memory. After it the tables hold all that was added.
  void flush();
  /// flush(), after which nothing is added.
  void finish();
  /// finish(), then copies the tables into the file, in a transaction of its own.
  void keep(int64_t passes);
  /// The finest level that exists. It rises when the recording becomes too long for it.
  int finest() const { return finest_; }

 private:
  using Chunk = std::array<TrackBucket, kChunkBuckets>;
  using ChunkPlace = std::pair<int, int64_t>;  ///< track, chunk

  Chunk& chunk(int level, ChunkPlace place);
  void add_stretch(int track, int64_t begin_ns, int64_t end_ns, int64_t TrackBucket::*share);
  void store(int level);
  void coarsen();
  void remember_wait(const LongWait& wait);

  Database& database_;
  const Program& program_;
  int finest_ = 0;
  bool finished_ = false;
  std::array<std::map<ChunkPlace, Chunk>, kOverviewLevels> open_;
  std::vector<LongWait> waits_;  ///< a heap, the shortest first
};

/// Packs kChunkBuckets buckets into a blob, and unpacks them. unpack() throws a request Error that names
/// `where` if the blob is not valid.
std::string packed(const TrackBucket* buckets);
void unpack(std::string_view blob, TrackBucket* buckets, const std::string& where);

}  // namespace shardlens
