// Recording in the studio: while it is on, every run goes into a file, one file for each plan, with a name
// made from date and model. A problem with the disk never stops a run; the state reports it.
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

  /// From now on records into files in `folder`, which is made if it does not exist. An empty folder ends all
  /// files and switches recording off.
  void set_folder(const std::string& folder);
  bool is_on() const { return !folder_.empty(); }

  /// Returns the recorder of the plan's file, which is made if there is none yet. Returns null while
  /// recording is off, and if no file can be made, which switches it off.
  Recorder* open(const std::shared_ptr<const Plan>& plan, const CommunicatorInfo& communicator,
                 const PictureOptions& pictures);
  /// Ends all files, because the next run has another plan.
  void close();

  RecordingState state() const;
  /// True if all that was handed over has been written, or never will be: state() no longer changes.
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

/// "2026-11-21_18-30-05_gpt2-layer_T4.shardlens": local time, model, and split.
std::string recording_name(const Settings& settings, double unix_seconds);

}  // namespace shardlens
