// Measures what a recording costs a run: runs the same step without a recorder and with one, in turn, so that
// noise on the machine disturbs both alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/recordings/picture_taker.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// One way of recording, compared with no recording.
struct RecordedWay {
  std::string pictures;  ///< "off", "0.75 % of step time", "all"
  double seconds = 0;    ///< median step, until the next may begin
  double ratio = 1, lowest_ratio = 1,
         highest_ratio = 1;     ///< to the plain step beside it; median and spread
  double take_seconds = 0;      ///< median time that the run stood still to be copied
  double sampling_seconds = 0;  ///< median time of the rank that took longest to sample its tensors
  double writing_seconds = 0;   ///< processor time of the writer's thread, for each step
  int64_t events = 0;           ///< for each step, all ranks
  double samples = 0;           ///< of tensors, for each step
  double file_bytes = 0;        ///< of the recording, for each step
};

struct RecordBench {
  double plain_seconds = 0;       ///< median step
  std::vector<RecordedWay> ways;  ///< without pictures, under the budget, of every tensor
};

/// Runs `rounds` pairs for each way: a recorded step and a plain step, whose order changes from round to
/// round. A step counts while the step before it, recorded in the same way, is being written. The recordings
/// are `path` with the way's number added; they are made and stay. Throws what check_runnable(), the run and
/// RecordingWriter throw.
RecordBench bench_record(const std::shared_ptr<const Plan>& plan, const std::string& path, int rounds,
                         const PictureOptions& pictures);

/// The paths of the recordings.
std::vector<std::string> record_bench_paths(const std::string& path);

}  // namespace shardlens
