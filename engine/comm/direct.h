// What a rank does in a collective among ranks of one process, which read and write each other's buffers
// directly. When it may do so is the communicator's matter: threads that wait for one another (local.cpp), or
// ranks that take turns (lockstep.cpp). Both move the same bytes in the same order, so both give the same
// bits.
#pragma once

#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/local_kernels.h"
#include "engine/comm/request.h"

namespace shardlens {

/// `Meeting` has `CollectiveTimes collective(const Request&, const void* in, void* out, const Work& work)`.
/// It calls `work` when `ins_` and `outs_` hold what every rank has brought, and not for an empty request.
/// `work` only moves memory, never throws, and returns the bytes it carried between this rank's buffers and
/// the others'. It may be called after the call that brought it has returned, so it owns what it uses.
template <class Meeting>
class DirectCommunicator : public Communicator {
 public:
  DirectCommunicator(int rank, int ranks)
      : rank_(rank), ins_(static_cast<size_t>(ranks)), outs_(static_cast<size_t>(ranks)) {}

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(ins_.size()); }

  CollectiveTimes all_reduce(DType dtype, int64_t count, void* data, Reduction reduction) override {
    const bool max = reduction == Reduction::Max;
    return meet(all_reduce_request(dtype, count, reduction), data, data, [=, this]() -> int64_t {
      if (ranks() == 1) return 0;
      const Range mine = reduced_range(dtype, count, ranks(), rank_);
      (max ? max_in_order : sum_in_order)(dtype, ins_, mine.begin, outs_, mine.begin, mine.size());
      return 2 * others() * mine.size() *
             element_bytes(dtype);  // fetched from each other rank, and written back
    });
  }

  CollectiveTimes reduce_scatter(DType dtype, const Slicing& slicing, const void* full,
                                 void* shard) override {
    return meet(sliced_request(Call::ReduceScatter, dtype, slicing), full, shard, [=, this] {
      const Range mine = shard_range(slicing.extent, ranks(), rank_);
      const int64_t row = mine.size() * slicing.inner;
      void* const to[] = {shard};
      int64_t fetched = 0;
      for (int64_t o = 0; o < slicing.outer; ++o) {
        const int64_t from = (o * slicing.extent + mine.begin) * slicing.inner;
        sum_in_order(dtype, ins_, from, to, o * row, row);
        fetched += others() * row * element_bytes(dtype);
      }
      return fetched;
    });
  }

  CollectiveTimes all_gather(DType dtype, const Slicing& slicing, const void* shard, void* full) override {
    return meet(sliced_request(Call::AllGather, dtype, slicing), shard, full, [=, this] {
      const int64_t element = slicing.inner * element_bytes(dtype);
      int64_t fetched = 0;
      for_each_rank([&](int other) {
        const Range theirs = shard_range(slicing.extent, ranks(), other);
        const int64_t row = theirs.size() * element;
        copy_rows(slicing.outer, row, in_of(other), row, at(full, theirs.begin * element),
                  slicing.extent * element);
        if (other != rank_) fetched += slicing.outer * row;
      });
      return fetched;
    });
  }

  CollectiveTimes all_to_all(DType dtype, const Shape& shape, int from_dim, int to_dim, const void* from,
                             void* to) override {
    const Request request = exchange_request(dtype, shape, from_dim, to_dim);
    return meet(request, from, to, [=, this] {
      int64_t fetched = 0;
      for_each_rank([&](int other) {
        const ExchangedBlock block(request, ranks(), other, rank_);
        if (block.bytes() == 0) return;
        if (other != rank_) fetched += block.bytes();
        for (int64_t o = 0; o < block.outer; ++o) {
          const auto source = block.in_source(o), target = block.in_target(o);
          copy_rows(block.rows, block.row_bytes, at(in_of(other), source.begin_bytes), source.stride_bytes,
                    at(to, target.begin_bytes), target.stride_bytes);
        }
      });
      return fetched;
    });
  }

  CollectiveTimes broadcast(DType dtype, int64_t count, int root, void* data) override {
    return meet(broadcast_request(dtype, count, root, ranks()), data, data, [=, this] {
      const int64_t bytes = count * element_bytes(dtype);
      if (rank_ == root) return int64_t{0};
      copy_rows(1, bytes, in_of(root), bytes, data, bytes);
      return bytes;
    });
  }

  void barrier() override {
    meet({}, nullptr, nullptr, [] { return int64_t{0}; });
  }

 protected:
  const int rank_;
  // The pointers of all ranks during a collective. They are members so that a call allocates nothing.
  std::vector<const void*> ins_;
  std::vector<void*> outs_;

 private:
  template <class Work>
  CollectiveTimes meet(const Request& request, const void* in, void* out, const Work& work) {
    return static_cast<Meeting*>(this)->collective(request, in, out, work);
  }

  int64_t others() const { return ranks() - 1; }
  const void* in_of(int rank) const { return ins_[static_cast<size_t>(rank)]; }

  // Visits all ranks, beginning with this one, so that ranks do not all read the same memory at the same
  // time.
  template <typename Visit>
  void for_each_rank(const Visit& visit) const {
    for (int step = 0; step < ranks(); ++step) visit((rank_ + step) % ranks());
  }
};

}  // namespace shardlens
