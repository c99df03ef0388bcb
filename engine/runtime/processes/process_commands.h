// The commands and reports that the processes of a run exchange. process_world.cpp and process_server.cpp
// write and read what follows each.
#pragma once

namespace shardlens {

enum class ProcessCommand : int {
  Open,
  Start,
  Rewind,
  NextPass,
  Inputs,
  Read,
  Write,
  Cancel,
  Close,
  Align,
  Bench,
  Alive,  ///< no work; it shows that the first process goes on
  Finish
};
enum class ProcessReport : int {
  Standing,
  Failed,
  Seen,
  Piece,
  Alive,
  Told,   ///< its launcher told it to end
  Asked,  ///< somebody else told it to end: the whole run is meant
  Ends
};

/// The tags of messages. Each executor has three tags from kGroupTag on, by its number, for its groups.
inline constexpr int kHelloTag = 1, kCommandTag = 2, kReportTag = 3, kPingTag = 4, kGroupTag = 16;
inline constexpr int kExecutorTags = 4000;

}  // namespace shardlens
