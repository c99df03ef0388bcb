// What a run pays for being recorded: the same step with a recorder and without, in turn, so that a noisy
// machine disturbs both.
#pragma once

#include <memory>
#include <string>

#include "engine/runtime/snapshot.h"

namespace shardlens {

struct RecordBench {
  double plain_seconds = 0;     ///< median step, to the moment the next may begin
  double recorded_seconds = 0;  ///< the same with what it did copied out
  double ratio = 1;             ///< median over the rounds of recorded over plain
  double take_seconds = 0;      ///< median time the run stood still to be copied
  int64_t events = 0;           ///< of a step, all ranks
  int64_t file_bytes = 0;       ///< of the recording, for each step in it
};

/// `rounds` pairs of steps after a pair that warms up, recorded into `path`, which is made and stays. Throws
/// what check_runnable(), the run and RecordingWriter throw.
RecordBench bench_record(const std::shared_ptr<const Plan>& plan, const std::string& path, int rounds);

}  // namespace shardlens
