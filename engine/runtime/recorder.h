// A run on its way into a recording: copies what the ranks' tracks hold between two passes, which is all a
// run pays for being recorded.
#pragma once

#include <chrono>

#include "engine/record/recording.h"
#include "engine/runtime/executor.h"

namespace shardlens {

class Recorder {
 public:
  /// Creates the file; `verb` is what is run ("train"). Throws what RecordingWriter throws.
  Recorder(const std::string& path, const std::string& verb, const Plan& plan,
           const CommunicatorInfo& communicator, RecordingLimits limits = {});

  /// The pass that `executor` has just ended. Call while it stands still.
  void take(const Executor& executor, std::vector<Metric> metrics = {});
  RecordingTotals finish() { return writer_.finish(); }

 private:
  const int ranks_;
  RecordingWriter writer_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace shardlens
