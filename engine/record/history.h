// A recording read by time: what its tracks did in a stretch of it, however long, and where in it the next
// thing of a kind is. It reads what is shown and no more: buckets of the overview, and the events themselves
// where few are in view. A file without an overview (its writer was killed) gets one, built a little at a
// time, and keeps it where it can be written. Of a file that is still being written it is built beside it, in
// a database that is forgotten, and grows with it.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/io/sqlite.h"
#include "engine/record/overview.h"
#include "engine/record/recording.h"
#include "engine/record/recording_file.h"

namespace shardlens {

/// Times in nanoseconds from the beginning of the recording.
struct HistoryPass {
  int64_t pass = 0;
  int64_t begin_ns = 0, ns = 0;
  std::optional<double> loss;                   ///< nats a token; none: the run has none
  std::vector<std::vector<EventTimes>> events;  ///< [rank, replica by replica][step]; empty: not read

  int64_t end_ns() const { return begin_ns + ns; }
  bool has_events() const { return !events.empty(); }
};

/// A stretch of the recording.
struct HistorySlice {
  int level = 0;                                  ///< of the overview
  int64_t first_bucket = 0;                       ///< at `first_bucket` · bucket_ns(level) it begins
  std::vector<std::vector<TrackBucket>> buckets;  ///< [rank, replica by replica]; all equally many
  bool has_passes = false;                        ///< false: there are too many to name them
  std::vector<std::shared_ptr<const HistoryPass>> passes;  ///< that touch it, in the order of time
  bool has_events = false;                                 ///< all of them have their events

  int64_t count() const { return buckets.empty() ? 0 : static_cast<int64_t>(buckets.front().size()); }
  int64_t begin_ns() const { return first_bucket << bucket_shift(level); }
  int64_t end_ns() const { return (first_bucket + count()) << bucket_shift(level); }
};

/// What is looked for.
enum class HistoryFind {
  Step,        ///< the next step whose name or equation holds the text
  Collective,  ///< the next one
  SlowPass,    ///< the slowest pass; the second slowest; …
  LongWait     ///< the longest wait of all ranks; the second longest; …
};
struct HistoryQuestion {
  HistoryFind find = HistoryFind::Collective;
  std::string text{};  ///< of Step
  int rank = 0;        ///< of Step and Collective: whose times are meant
  int64_t pass = 0;    ///< they are looked for behind this step of this pass,
  StepId step = -1;    ///< and from the beginning where none is behind it
  int64_t number = 0;  ///< of SlowPass and LongWait, from 0; begins anew behind the last
};
struct HistoryPlace {
  int64_t pass = 0;
  int rank = -1;     ///< -1: all
  StepId step = -1;  ///< -1: the whole pass
  int64_t begin_ns = 0, end_ns = 0;
  int64_t number = 0;    ///< of SlowPass and LongWait: which one it is
  bool wrapped = false;  ///< it stands before the place it was looked for from
};

inline constexpr int64_t kMostSlicePasses = 512;
inline constexpr int64_t kMostSliceEvents = 60'000;
inline constexpr int64_t kMostSliceBuckets = int64_t{1} << 20;  ///< of all tracks together

/// Every function throws a request Error that names the file where its content is not what a recording holds.
class History {
 public:
  /// `program` is that of the recording, which Recording has found to be one.
  History(const std::string& path, std::shared_ptr<const Program> program);
  ~History();

  int64_t end_ns() const { return end_ns_; }  ///< of the last pass
  int64_t passes() const { return passes_; }
  int ranks() const { return program_->ranks() * program_->replicas(); }

  /// Takes in what was committed since. False: its writer is gone; a History made anew is that of the file as
  /// it stays.
  bool follow();
  bool is_live() const { return live_; }  ///< it was being written when this was made
  bool is_behind() const { return live_ && built_passes_ < passes_; }  ///< of what it took in

  bool ready() const { return finest_.has_value(); }
  /// Builds the overview for about `seconds`, where there is none yet or it is_behind(); the share that is
  /// done.
  double build_for(double seconds);

  /// [begin_ns, end_ns) of the recording in buckets not wider than `bucket`, unless the finest are, or they
  /// would be too many; the events too, where it holds few. Once it is ready().
  HistorySlice slice(int64_t begin_ns, int64_t end_ns, int64_t bucket) const;

  std::optional<HistoryPlace> find(const HistoryQuestion& question) const;

 private:
  void read_bounds();
  /// Passes from this number on were committed after the last look, and are not there yet.
  int64_t end_pass() const { return live_ ? passes_ : std::numeric_limits<int64_t>::max(); }
  Database& tables() const;
  void begin_building();
  bool build_more();
  [[noreturn]] void damaged(const std::string& what) const;
  std::shared_ptr<HistoryPass> pass_of(Statement& row) const;
  std::vector<std::vector<TrackBucket>> buckets(int level, int64_t first, int64_t count) const;
  void add_passes(HistorySlice& slice) const;
  std::optional<double> loss_of(int64_t pass) const;
  std::vector<std::vector<EventTimes>> read_events(const HistoryPass& pass, int64_t most) const;
  std::optional<HistoryPlace> place_of(Database& database, int64_t pass, int rank, StepId step) const;
  std::optional<HistoryPlace> next_of(Database& database, const HistoryQuestion& question,
                                      const std::vector<StepId>& steps) const;
  std::optional<HistoryPlace> slow_pass(const HistoryQuestion& question) const;
  std::optional<HistoryPlace> long_wait(const HistoryQuestion& question) const;

  const std::unique_ptr<RecordingFile> file_;
  const bool live_;                ///< it was being written when this was made
  std::unique_ptr<Database> own_;  ///< with the overview of such a file; null: it is in the file
  const std::shared_ptr<const Program> program_;
  int64_t end_ns_ = 0, longest_pass_ns_ = 0, passes_ = 0;
  std::optional<int> finest_;

  std::unique_ptr<OverviewBuilder> builder_;
  int64_t built_pass_ = -1, built_rank_ = -1, built_step_ = -1;  ///< the last event that is in it
  int64_t built_passes_ = 0;                                     ///< that were there when it was complete

  /// The passes of the newest slice, so that the next one reads only what came into view.
  mutable std::vector<std::shared_ptr<const HistoryPass>> known_;
};

}  // namespace shardlens
