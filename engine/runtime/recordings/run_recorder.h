// Recording in the studio: switched on, whatever runs goes into a file of its own making, one for each plan,
// named by date and model. What is wrong with the disk never stops a run; the state says it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/record/recording_state.h"
#include "engine/runtime/recordings/recorder.h"

namespace shardlens {

class RunRecorder {
 public:
  explicit RunRecorder(std::string verb) : verb_(std::move(verb)) {}

  /// From now on into files in `folder`, which is made where it is not there; an empty one ends all files and
  /// switches off.
  void set_folder(const std::string& folder);
  bool is_on() const { return !folder_.empty(); }

  /// The file of what `executor` runs, begun where there is none yet; null while it is off, and where no file
  /// can be made, which switches it off.
  Recorder* open(const std::shared_ptr<const Plan>& plan, const CommunicatorInfo& communicator,
                 const PictureOptions& pictures);
  /// Ends all files: what runs from now on has another plan.
  void close();

  RecordingState state() const;
  /// What was handed over has been written, or will never be: state() stays as it is.
  bool is_settled() const;

 private:
  struct File {
    std::shared_ptr<const Plan> plan;
    std::unique_ptr<Recorder> recorder;
  };

  const std::string verb_;
  std::string folder_;
  std::vector<File> open_;
  RecordingState ended_;  ///< of the files that are no longer open, and the newest path
};

/// "2026-11-21_18-30-05_gpt2-layer_T4.shardlens": the local time, what runs, and how it is cut.
std::string recording_name(const Settings& settings, double unix_seconds);

}  // namespace shardlens
