// Reads a recording by time: what its tracks did in a stretch of any length, and where the next thing of a
// kind is. It reads only what is shown: buckets of the overview, and the events themselves if few are in
// view. If a file has no overview (its writer was killed), it is built in small parts and then kept in the
// file if the file can be written. If a file is still being written, its overview is built in a temporary
// database and grows with the file.
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
  std::optional<double> loss;                   ///< nats per token; none: the run has no loss
  std::vector<std::vector<EventTimes>> events;  ///< [rank, replica by replica][step]; empty: not read

  int64_t end_ns() const { return begin_ns + ns; }
  bool has_events() const { return !events.empty(); }
};

/// A stretch of time in the recording.
struct HistorySlice {
  int level = 0;                                  ///< level of the overview
  int64_t first_bucket = 0;                       ///< it begins at `first_bucket` · bucket_ns(level)
  std::vector<std::vector<TrackBucket>> buckets;  ///< [world rank]; the same number for each
  bool has_passes = false;                        ///< false: there are too many to list them
  std::vector<std::shared_ptr<const HistoryPass>> passes;  ///< passes that overlap it, in the order of time
  bool has_events = false;                                 ///< true if all passes have their events

  int64_t count() const { return buckets.empty() ? 0 : static_cast<int64_t>(buckets.front().size()); }
  int64_t begin_ns() const { return first_bucket << bucket_shift(level); }
  int64_t end_ns() const { return (first_bucket + count()) << bucket_shift(level); }
};

/// What to find.
enum class HistoryFind {
  Step,        ///< the next step whose name or equation contains the text
  Collective,  ///< the next collective
  SlowPass,    ///< the slowest pass; the second slowest; …
  LongWait     ///< the longest wait of all ranks; the second longest; …
};
struct HistoryQuestion {
  HistoryFind find = HistoryFind::Collective;
  std::string text{};  ///< for Step
  int rank = 0;        ///< for Step and Collective: the rank whose times are meant
  int64_t pass = 0;    ///< the search begins after this step of this pass
  StepId step = -1;    ///< and continues from the beginning if it finds none
  int64_t number = 0;  ///< for SlowPass and LongWait: from 0; after the last it begins again
};
struct HistoryPlace {
  int64_t pass = 0;
  int rank = -1;     ///< -1: all
  StepId step = -1;  ///< -1: the whole pass
  int64_t begin_ns = 0, end_ns = 0;
  int64_t number = 0;    ///< for SlowPass and LongWait: which one it is
  bool wrapped = false;  ///< true if it is before the place where the search began
};

inline constexpr int64_t kMostSlicePasses = 512;
inline constexpr int64_t kMostSliceEvents = 60'000;
inline constexpr int64_t kMostSliceBuckets = int64_t{1} << 20;  ///< over all tracks

/// Reads the history of one recording. Every function throws a request Error that names the file if its
/// content is not that of a recording.
class History {
 public:
  /// `program` is that of the recording. Recording has checked it.
  History(const std::string& path, std::shared_ptr<const Program> program);
  ~History();

  int64_t end_ns() const { return end_ns_; }  ///< the end of the last pass
  int64_t passes() const { return passes_; }
  int world_size() const { return program_->tp() * program_->dp(); }

  /// Reads what was committed since the last call. Returns false if the writer is gone: then a new History
  /// reads the file in its final state.
  bool follow();
  bool is_live() const { return live_; }  ///< the file was being written when this object was made
  bool is_behind() const { return live_ && built_passes_ < passes_; }  ///< the overview lacks passes

  bool ready() const { return finest_.has_value(); }
  /// Builds the overview for about `seconds`, if there is none yet or it is_behind(). Returns the share that
  /// is done.
  double build_for(double seconds);

  /// [begin_ns, end_ns) of the recording in buckets that are at most `bucket` wide. They are wider if the
  /// finest ones are, or if there would be too many. Includes the events if there are few. Call only when
  /// ready().
  HistorySlice slice(int64_t begin_ns, int64_t end_ns, int64_t bucket) const;

  std::optional<HistoryPlace> find(const HistoryQuestion& question) const;

 private:
  void read_bounds();
  /// The end of the passes to read. Passes from this number on were committed after the last look and are not
  /// read yet.
  int64_t end_pass() const { return live_ ? passes_ : std::numeric_limits<int64_t>::max(); }
  Database& tables() const;
  void begin_building();
  bool build_more();
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
  const bool live_;                ///< is_live()
  std::unique_ptr<Database> own_;  ///< holds the overview of such a file; null: it is in the file
  const std::shared_ptr<const Program> program_;
  int64_t end_ns_ = 0, longest_pass_ns_ = 0, passes_ = 0;
  std::optional<int> finest_;

  std::unique_ptr<OverviewBuilder> builder_;
  int64_t built_pass_ = -1, built_rank_ = -1, built_step_ = -1;  ///< the last event in the overview
  int64_t built_passes_ = 0;  ///< the passes that existed when it was last complete

  /// The passes of the newest slice, so that the next slice reads only new ones.
  mutable std::vector<std::shared_ptr<const HistoryPass>> known_;
};

}  // namespace shardlens
