// How fast collectives are, the all-reduce above all, against what the ranks' memory allows: one pass over
// the very same buffers that reads and writes them in place, by the same ranks in the same run. An all-reduce
// must read and write each of them too. Both are timed in turn, round by round, so that a noisy machine
// disturbs both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/dtype.h"
#include "engine/config/hardware.h"
#include "engine/program/layout.h"

namespace shardlens {

class Communicator;
class Device;

struct AllReduceBench {
  Collective collective = Collective::AllReduce;  ///< or reduce-scatter, all-gather, all-to-all
  std::vector<int> ranks = {2};
  std::vector<int64_t> sizes_bytes = {4 << 10, 64 << 10, 1 << 20, 16 << 20};  ///< of the tensor on each rank
  DType dtype = DType::Fp32;
  int rounds = 40;  ///< each round times a batch of all-reduces and a batch of passes
};

/// What the ranks compute on and meet through, where that is not threads on the CPU. Their devices live
/// longer than their group.
struct BenchRanks {
  std::function<std::unique_ptr<Device>(int rank)> make_device;  ///< in the rank's own thread
  std::function<std::vector<std::unique_ptr<Communicator>>(int ranks)> make_group;
};

/// One number of ranks at one size. Bandwidths are defined as nccl-tests defines them.
struct AllReducePoint {
  int ranks = 0;
  int64_t bytes = 0;           ///< S: whole elements, at most the size asked for
  bool core_per_rank = false;  ///< each rank was bound to a core of its own

  // Seconds of one all-reduce: over the rounds the middle one, the tenth and the ninetieth percentile, the
  // best.
  double median_seconds = 0;
  double p10_seconds = 0;
  double p90_seconds = 0;
  double best_seconds = 0;

  // The pass: every rank reads and writes its own S bytes in place, all ranks at the same time: T*S bytes
  // each way, as the all-reduce at least. Middle one and best of the rounds.
  double pass_seconds = 0;
  double pass_best_seconds = 0;

  /// Pass / all-reduce, round by round: the middle one, the tenth and the ninetieth percentile. Of small
  /// tensors the meeting is what takes time, and of them it says nothing.
  double of_pass = 0, of_pass_p10 = 0, of_pass_p90 = 0;

  double algorithm_bytes_per_second = 0;  ///< S / t; of an all-to-all S is what each rank holds
  double bus_bytes_per_second = 0;        ///< bandwidth() of it: what each rank's link would carry in a ring

  std::string communicator = {};  ///< "local"
  std::string device = {};        ///< rank 0's, whose memory it is; empty: host memory
};

/// Alpha and beta of t = hops * alpha + sent / beta, fitted to points of one collective and number of ranks:
/// least squares of the relative error of their best times.
LinkRate fit_alpha_beta(Collective collective, const std::vector<AllReducePoint>& points);

/// One point per number of ranks and size, in that order. On the CPU buffers are in host memory, and each
/// rank has a core of its own where there are enough; ranks that `on` gives a device have theirs there.
/// Throws a request Error for ranks or rounds below 1, a size below one element, or a dtype the ranks do not
/// compute in; a run Error when there is no memory for it, and what the ranks' devices and group throw.
std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench, const BenchRanks& on = {});

/// One point, of ranks that are processes: every rank of the group calls it with the same `bench` and one of
/// its sizes, and the device its communicator is attached to; null: the buffers are in host memory. The
/// result is rank 0's to use.
AllReducePoint bench_rank(Communicator& communicator, Device* device, const AllReduceBench& bench,
                          int64_t bytes);

}  // namespace shardlens
