// Runs the settings of a recording again here and records that run, to compare the two.
#pragma once

#include <stop_token>
#include <string>

#include "engine/io/temporary_folder.h"
#include "engine/record/recording.h"

namespace shardlens {

class RunAgain {
 public:
  /// Runs and records as many passes as `recording` has, at most sixteen. Throws a request Error if the
  /// settings alone are not enough: the text of a training run is not in its recording. Throws a Cancelled
  /// Error if `stop` is requested.
  RunAgain(const Recording& recording, const std::string& name, std::stop_token stop = {});

  std::string path() const;

 private:
  void run(const Recording& recording, const std::string& name, const std::stop_token& stop);

  TemporaryFolder folder_;
};

}  // namespace shardlens
