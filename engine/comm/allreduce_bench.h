// Measures how fast collectives (mainly all-reduce) are, compared with what the ranks' memory allows. The
// reference is a pass: the same ranks, in the same run, read and write the same buffers in place. An
// all-reduce must read and write each buffer too. The collective and the pass are timed in turn, round by
// round, so that a noisy machine disturbs both.
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

/// The devices and communicators of the ranks, if they are not threads on the CPU. The devices live longer
/// than the group.
struct BenchRanks {
  std::function<std::unique_ptr<Device>(int rank)> make_device;  ///< in the rank's own thread
  std::function<std::vector<std::unique_ptr<Communicator>>(int ranks)> make_group;
};

/// One number of ranks at one size. Bandwidths are defined as nccl-tests defines them.
struct AllReducePoint {
  int ranks = 0;
  int64_t bytes = 0;           ///< S: whole elements, at most the requested size
  bool core_per_rank = false;  ///< each rank was bound to a core of its own

  // Seconds of one all-reduce, over the rounds: the median, the tenth and the ninetieth percentile, the best.
  double median_seconds = 0;
  double p10_seconds = 0;
  double p90_seconds = 0;
  double best_seconds = 0;

  // The pass: every rank reads and writes its own S bytes in place, all ranks at the same time. This is T*S
  // bytes each way, the least that an all-reduce moves too. Median and best of the rounds.
  double pass_seconds = 0;
  double pass_best_seconds = 0;

  /// Pass time / all-reduce time, round by round: the median, the tenth and the ninetieth percentile. For
  /// small tensors, synchronization takes most of the time, and this ratio means nothing.
  double of_pass = 0, of_pass_p10 = 0, of_pass_p90 = 0;

  double algorithm_bytes_per_second = 0;  ///< S / t; for an all-to-all, S is what each rank holds
  double bus_bytes_per_second = 0;        ///< from bandwidth(): what each rank's link would carry in a ring

  std::string communicator = {};  ///< "local"
  std::string device = {};        ///< rank 0's device, which holds the buffers; empty: host memory
};

/// Alpha and beta of t = hops * alpha + sent / beta, fitted to the points of one collective and one number of
/// ranks: least squares of the relative error of their best times.
LinkRate fit_alpha_beta(Collective collective, const std::vector<AllReducePoint>& points);

/// Returns one point per number of ranks and size, in that order. On the CPU, buffers are in host memory, and
/// each rank has its own core if there are enough. If `on` gives a rank a device, its buffers are on that
/// device. Throws a request Error for ranks or rounds below 1, a size below one element, or a dtype that the
/// ranks do not compute in. Throws a run Error when there is not enough memory, and passes on what the ranks'
/// devices and group throw.
std::vector<AllReducePoint> bench_all_reduce(const AllReduceBench& bench, const BenchRanks& on = {});

/// Returns one point, for ranks that are processes. Every rank of the group calls it with the same `bench`,
/// one of its sizes, and the device that its communicator is attached to (null: the buffers are in host
/// memory). Only rank 0's result is valid.
AllReducePoint bench_rank(Communicator& communicator, Device* device, const AllReduceBench& bench,
                          int64_t bytes);

}  // namespace shardlens
