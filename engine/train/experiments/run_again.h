// Runs the settings of a recording again here and records that run, to compare the two.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "engine/base/job.h"
#include "engine/io/temporary_folder.h"
#include "engine/record/recording.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// The plan of a recording's settings on this machine. Throws a request Error if its run cannot be made
/// again: the text of a training run is not in its recording, it holds no pass, or this machine cannot run
/// it. `name` stands for the recording in messages.
std::shared_ptr<const Plan> plan_again(const Recording& recording, const std::string& name);

class RunAgain {
 public:
  RunAgain();

  /// Runs and records as many passes as `recording` has, at most sixteen. Throws what plan_again() throws,
  /// and a Cancelled Error if `stop` is requested. `recording` must outlive the Job.
  Job<> run(const Recording& recording, std::string name, std::stop_token stop = {});
  std::string path() const;  ///< of the new recording

 private:
  TemporaryFolder folder_;
};

}  // namespace shardlens
