// A recording's level of detail: what every track did in buckets of time, at widths of 2^10, 2^12, … ns, each
// level four times as coarse as the one below it. A timeline of any length is drawn from a few thousand
// buckets of the level that suits its zoom; the events themselves are read only where few are in view.
//
// A bucket is a sum, so a level is exactly the sum of the level below, and the sums over any level are those
// over the events. Levels grow from the bottom while passes come in, a bounded part of each in memory, in
// tables that SQLite forgets with the connection; keep() copies them into the file at once or not at all.
//
// Tables: overview(level, track, chunk, buckets): kChunkBuckets neighbours in one blob, none where nothing
// happened; waits(place, pass, rank, step, ns): the longest waits, longest first. In meta:
// overview_finest, the finest level there is, and overview_passes, how many passes it was made of.
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
inline constexpr int64_t kMostBuckets = int64_t{1} << 20;     ///< of a track at the finest level there is
inline constexpr int64_t kMostRecordedNs = int64_t{1} << 53;  ///< 104 days; a double holds each exactly
inline constexpr int kLongestWaits = 64;                      ///< kept

constexpr int bucket_shift(int level) {
  return 10 + 2 * level;
}
constexpr int64_t bucket_ns(int level) {
  return int64_t{1} << bucket_shift(level);
}

/// What one track did in one bucket, in nanoseconds. Steps that go on beside the rank's own may add up to
/// more than the bucket is wide.
struct TrackBucket {
  int64_t forward_ns = 0, backward_ns = 0;  ///< computing, by phase; an update counts as backward
  int64_t wait_ns = 0, transfer_ns = 0;     ///< of collectives
  int64_t events = 0;                       ///< that begin in it

  TrackBucket& operator+=(const TrackBucket& other);
  bool operator==(const TrackBucket&) const = default;
};

/// One event, in nanoseconds; the last two of collectives only.
struct EventTimes {
  int64_t begin_ns = 0, end_ns = 0, arrival_ns = 0, met_ns = 0;
  bool operator==(const EventTimes&) const = default;
};

/// What a step's event is made of, so that the overview, the timeline and its tests divide it alike: own work
/// in [begin, arrived), waiting in [arrived, met), transfer in [met, end).
struct EventParts {
  int64_t begin_ns = 0, arrived_ns = 0, met_ns = 0, end_ns = 0;
};
EventParts parts_of(const Step& step, const EventTimes& event);

/// Times from the beginning of a pass, as times from the beginning of the recording, all within
/// [0, kMostRecordedNs].
EventTimes placed(EventTimes times, int64_t pass_begin_ns);

struct LongWait {
  int64_t pass = 0;
  int rank = 0;
  StepId step = 0;
  int64_t ns = 0;
};

/// The statements that make the tables in `schema`, "main" or "temp".
std::string overview_tables(const std::string& schema);

/// The level that the file's own overview begins with; none where it has none, or one of another number of
/// passes than it holds.
std::optional<int> kept_overview(Database& database);

/// The finest level at which a bucket holds an event or more on the average.
int suitable_level(int64_t ns, int64_t events_of_a_track);

/// Fills tables of its connection while passes come in, in whatever order; best inside a transaction of the
/// caller's. Throws what the database throws.
class OverviewBuilder {
 public:
  OverviewBuilder(Database& database, const Program& program);

  /// How long the first pass took and how many events a track has in it, before the first add().
  void set_grain(int64_t ns, int64_t events_of_a_track);
  /// An event of `rank` (counted through all replicas), times from the beginning of the pass.
  void add(int64_t pass, int64_t pass_begin_ns, int rank, StepId step, EventTimes times);
  /// Stores what is still in memory: the tables hold all that was added.
  void flush();
  /// The same; nothing is added afterwards.
  void finish();
  /// finish(), and the tables' content becomes the file's own, in a transaction of its own.
  void keep(int64_t passes);
  /// The finest level there is; it rises where a recording grows too long for the one it began with.
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

/// The blob of kChunkBuckets buckets; and the way back, which throws a request Error that names `where` for
/// what is none.
std::string packed(const TrackBucket* buckets);
void unpack(std::string_view blob, TrackBucket* buckets, const std::string& where);

}  // namespace shardlens
