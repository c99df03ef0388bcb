// Groups of ranks on real or simulated GPUs. The collectives work on the host's memory, and the caller waits
// for the result.
#pragma once

#include "engine/device/device.h"
#include "engine/device/work_behind.h"
#include "tests/engine/comm/drawn_collectives.h"
#include "tests/engine/comm/group_of_ranks.h"
#include "tests/engine/counts.h"

namespace shardlens {

/// A rank's communicator whose calls return when they are done, or throw what became of them. They take
/// copies of the caller's memory along to the GPU, and bring back what was written.
class Waiting final : public Communicator {
 public:
  Waiting(Communicator& comm, Device& device) : comm_(comm), device_(device) {
    comm_.attach(device_);
    device_.behind()->provide_marks(1);
  }

  int rank() const override { return comm_.rank(); }
  int ranks() const override { return comm_.ranks(); }
  CommunicatorInfo info() const override { return comm_.info(); }
  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    Copy copy(device_, data, count * element_bytes(dtype));
    device_.behind()->begin_collective();
    return copy.back(data, done(comm_.all_reduce(dtype, count, copy.at(), reduction)));
  }
  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    const Copy from(device_, full, full_count(slicing) * element_bytes(dtype));
    Copy to(device_, shard, shard_count(slicing, ranks(), rank()) * element_bytes(dtype));
    device_.behind()->begin_collective();
    return to.back(shard, done(comm_.reduce_scatter(dtype, slicing, from.at(), to.at())));
  }
  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    const Copy from(device_, shard, shard_count(slicing, ranks(), rank()) * element_bytes(dtype));
    Copy to(device_, full, full_count(slicing) * element_bytes(dtype));
    device_.behind()->begin_collective();
    return to.back(full, done(comm_.all_gather(dtype, slicing, from.at(), to.at())));
  }
  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const auto slice_bytes = [&](int dim) {
      const int64_t extent = shape[static_cast<size_t>(dim)];
      return element_count(shape) / extent * shard_range(extent, ranks(), rank()).size() *
             element_bytes(dtype);
    };
    const Copy in(device_, from, slice_bytes(from_dim));
    Copy out(device_, to, slice_bytes(to_dim));
    device_.behind()->begin_collective();
    return out.back(to, done(comm_.all_to_all(dtype, shape, from_dim, to_dim, in.at(), out.at())));
  }
  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    Copy copy(device_, data, count * element_bytes(dtype));
    device_.behind()->begin_collective();
    return copy.back(data, done(comm_.broadcast(dtype, count, root, copy.at())));
  }
  void barrier() override { comm_.barrier(); }
  void abort(const std::string& why) override { comm_.abort(why); }

 private:
  class Copy {
   public:
    Copy(Device& device, const void* host, int64_t bytes)
        : device_(device), bytes_(static_cast<size_t>(bytes)), memory_(device.allocate(bytes_)) {
      device_.copy_to_device(memory_, host, bytes_);
    }
    ~Copy() { device_.release(memory_); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    void* at() const { return memory_; }
    CollectiveTimes back(void* host, CollectiveTimes times) {
      device_.copy_to_host(host, memory_, bytes_);
      return times;
    }

   private:
    Device& device_;
    const size_t bytes_;
    void* const memory_;
  };

  CollectiveTimes done(CollectiveTimes times) {
    device_.behind()->mark(0, WorkOrder::Collectives);
    device_.behind()->wait_for_mark(0);
    return times;
  }

  Communicator& comm_;
  Device& device_;
};

/// Of the rank's GPU.
using DeviceOf = std::function<std::unique_ptr<Device>(int rank)>;

/// As run_ranks(), each rank on a device.
inline Failures run_on_gpus(std::vector<std::unique_ptr<Communicator>>& group, const DeviceOf& device_of,
                            const std::function<void(Communicator&)>& body) {
  std::vector<std::unique_ptr<Device>> devices;
  for (const auto& comm : group) devices.push_back(device_of(comm->rank()));
  Failures failures = run_ranks(group, [&](Communicator& comm) {
    for (size_t place = 0; place < group.size(); ++place) {
      if (group[place].get() != &comm) continue;
      Waiting waiting(comm, *devices[place]);
      body(waiting);
    }
  });
  group.clear();  // before the devices
  return failures;
}

/// What drawn collectives left on each rank, and the bytes it counted.
struct Outcome {
  explicit Outcome(int ranks) : left(static_cast<size_t>(ranks)), sent(static_cast<size_t>(ranks)) {}
  std::vector<std::vector<char>> left;
  std::vector<int64_t> sent;
  bool operator==(const Outcome&) const = default;
};

inline std::function<void(Communicator&)> all_of(const std::vector<DrawnCollective>& collectives,
                                                 Outcome& outcome) {
  return [&](Communicator& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    for (const DrawnCollective& drawn : collectives) {
      int64_t sent = 0;
      const std::vector<char> left = call_drawn(drawn, comm, sent);
      outcome.left[rank].insert(outcome.left[rank].end(), left.begin(), left.end());
      outcome.sent[rank] += sent;
    }
  };
}

/// Drawn collectives, and what the local communicator makes of them.
struct DrawnAndDone {
  DrawnAndDone(std::mt19937& random, int ranks, int count) : expected(ranks) {
    for (int i = 0; i < count; ++i) collectives.push_back(draw_collective(random, ranks));
    auto local = make_local_group(ranks);
    for (const auto& failure : run_ranks(local, all_of(collectives, expected))) EXPECT_FALSE(failure);
  }

  /// Whether the same leave the same bits, and count the same bytes, on GPUs.
  void expect_the_same(std::vector<std::unique_ptr<Communicator>>& group, const DeviceOf& device_of,
                       const std::string& what) const {
    Outcome found(static_cast<int>(expected.left.size()));
    for (const auto& failure : run_on_gpus(group, device_of, all_of(collectives, found)))
      EXPECT_FALSE(failure) << failure->what();
    EXPECT_TRUE(found == expected) << found.left.size() << " ranks, " << what;
  }

  std::vector<DrawnCollective> collectives;
  Outcome expected;
};

}  // namespace shardlens
