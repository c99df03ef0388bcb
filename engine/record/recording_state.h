// The state of recording, as the user sees it: whether it is on, which file is written, how much it holds,
// and what went wrong.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens {

struct RecordingState {
  bool on = false;
  std::string path;  ///< the newest file; empty: nothing has run since recording was switched on
  int64_t files = 0;
  int64_t passes = 0, bytes = 0;  ///< over all files
  int64_t dropped_passes = 0, dropped_pictures = 0;
  std::string problem;  ///< why something was dropped, or why no file could be made; empty: no problem

  bool operator==(const RecordingState&) const = default;
};

}  // namespace shardlens
