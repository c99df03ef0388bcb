// The words that the processes of a run exchange; what follows each is written and read in process_world.cpp
// and process_server.cpp.
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
  Alive,  ///< nothing is wanted, but the first process goes on
  Finish
};
enum class ProcessReport : int {
  Standing,
  Failed,
  Seen,
  Piece,
  Alive,
  Told,  ///< it was told to end by who started it
  Ends
};

/// Tags of messages. Groups of ranks have three each from kGroupTag on, by the number of their executor.
inline constexpr int kHelloTag = 1, kCommandTag = 2, kReportTag = 3, kPingTag = 4, kGroupTag = 16;
inline constexpr int kExecutorTags = 4000;

}  // namespace shardlens
