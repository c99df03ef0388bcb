// What a recording holds, run again here and recorded, to be compared with it.
#pragma once

#include <stop_token>
#include <string>

#include "engine/io/temporary_folder.h"
#include "engine/record/recording.h"

namespace shardlens {

class RunAgain {
 public:
  /// Runs and records as many passes as `recording` has, sixteen at most. Throws a request Error where its
  /// settings alone do not say what was run: a training's text is not in its recording; a Cancelled Error
  /// when `stop` asks for it.
  RunAgain(const Recording& recording, const std::string& name, std::stop_token stop = {});

  std::string path() const;

 private:
  void run(const Recording& recording, const std::string& name, const std::stop_token& stop);

  TemporaryFolder folder_;
};

}  // namespace shardlens
