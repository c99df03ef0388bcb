// What a run pays for being recorded: the same step without a recorder and with one, in turn, so that a noisy
// machine disturbs both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/recordings/picture_taker.h"
#include "engine/runtime/snapshot.h"

namespace shardlens {

/// One way of recording against none.
struct RecordedWay {
  std::string pictures;  ///< "off", "0.75 % of step time", "all"
  double seconds = 0;    ///< median step, to the moment the next may begin
  double ratio = 1, lowest_ratio = 1,
         highest_ratio = 1;     ///< to the plain step beside it; median and spread
  double take_seconds = 0;      ///< median time the run stood still to be copied
  double sampling_seconds = 0;  ///< median time of the rank that took longest to look at its tensors
  double writing_seconds = 0;   ///< of a processor that the writer's thread had, a step
  int64_t events = 0;           ///< of a step, all ranks
  double samples = 0;           ///< of tensors, a step
  double file_bytes = 0;        ///< of the recording, a step
};

struct RecordBench {
  double plain_seconds = 0;       ///< median step
  std::vector<RecordedWay> ways;  ///< without pictures, under the budget, of every tensor
};

/// `rounds` times each way beside a plain step, which of the two comes first changing from round to round. A
/// step counts while the one before it, recorded the same way, is being written. The recordings are `path`
/// with the way's number added; they are made and stay. Throws what check_runnable(), the run and
/// RecordingWriter throw.
RecordBench bench_record(const std::shared_ptr<const Plan>& plan, const std::string& path, int rounds,
                         const PictureOptions& pictures);

/// The recordings' names.
std::vector<std::string> record_bench_paths(const std::string& path);

}  // namespace shardlens
