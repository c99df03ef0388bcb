// What a person who records is told: is it on, where does it go, how much is there, and what went wrong.
#pragma once

#include <cstdint>
#include <string>

namespace shardlens {

struct RecordingState {
  bool on = false;
  std::string path;  ///< of the newest file; empty: nothing has run since it was switched on
  int64_t files = 0;
  int64_t passes = 0, bytes = 0;  ///< in all files together
  int64_t dropped_passes = 0, dropped_pictures = 0;
  std::string problem;  ///< why something was dropped, or no file could be made; empty: nothing

  bool operator==(const RecordingState&) const = default;
};

}  // namespace shardlens
