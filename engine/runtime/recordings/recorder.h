// Records a run: copies what the ranks' tracks hold between two passes. That copy is all that a run pays for
// its recording.
#pragma once

#include <optional>

#include "engine/record/recording.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/recordings/picture_taker.h"

namespace shardlens {

class Recorder {
 public:
  /// Creates the file; `verb` is what is run ("train"). Throws what RecordingWriter throws.
  Recorder(const std::string& path, const std::string& verb, const Plan& plan,
           const CommunicatorInfo& communicator, RecordingLimits limits = {},
           const PictureOptions& pictures = {.taken = PictureOptions::Taken::Off});

  /// The observer that takes the pictures; it must observe every pass that is recorded, from its start. Null
  /// if no pictures are taken.
  std::shared_ptr<StepObserver> pictures() const { return pictures_; }
  /// Records the pass that `executor` has just ended, with the pictures taken since the last one. Call while
  /// it stands still. Only of a pass that was not traced `pass_seconds` is recorded: no event tells its time.
  void take(const Executor& executor, std::vector<Metric> metrics = {}, ParityTable parity = {},
            double pass_seconds = 0);
  /// Records a run as it is shown: times, samples and comparison, also if they are from different passes.
  void take(const Result& result, std::vector<Metric> metrics = {});

  RecordingTotals totals() const { return writer_.totals(); }
  int64_t file_bytes() const { return writer_.file_bytes(); }
  bool is_settled() const { return writer_.is_settled(); }
  /// The picture time of the last pass, of the rank with the most; and the time that all passes so far have
  /// taken on the writer's thread.
  double sampling_seconds() const { return pictures_ ? pictures_->seconds() : 0; }
  double writing_seconds() const { return writer_.worked_seconds(); }
  /// `failure`: what ended the run before it was done.
  RecordingTotals finish(const std::string& failure = {}) { return writer_.finish(failure); }

 private:
  void offer(RecordedPass pass);

  const int ranks_;
  std::shared_ptr<PictureTaker> pictures_;
  RecordingWriter writer_;
  std::optional<double> begin_seconds_;  ///< when the first pass began; what was prepared before is no part
  double taken_until_seconds_ = 0;       ///< end of the pass taken last
};

}  // namespace shardlens
