// Random collectives and their results: compares two groups.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "engine/comm/comm.h"
#include "tests/engine/counts.h"

namespace shardlens {

/// What every rank of a group must call alike.
struct DrawnCollective {
  int kind = 0;  ///< 0 all-reduce, 1 the maximum, 2 reduce-scatter, 3 all-gather, 4 all-to-all, 5 broadcast
  DType dtype = DType::Fp32;
  Slicing slicing;
  Shape shape;
  int from_dim = 0, to_dim = 1, root = 0;
};

inline DrawnCollective draw_collective(std::mt19937& random, int ranks) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  const DType dtypes[] = {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16};
  DrawnCollective drawn;
  drawn.kind = up_to(5);
  drawn.dtype = dtypes[up_to(3)];
  drawn.slicing = {1 + up_to(3), up_to(40), 1 + up_to(7)};
  for (int dim = 0; dim < 2 + up_to(2); ++dim) drawn.shape.push_back(1 + up_to(9));
  const int dims = static_cast<int>(drawn.shape.size());
  drawn.from_dim = up_to(dims - 1);
  drawn.to_dim = (drawn.from_dim + 1 + up_to(dims - 2)) % dims;
  drawn.root = up_to(ranks - 1);
  return drawn;
}

/// Calls it on `comm` with numbers that follow from the rank; returns the bytes it leaves, then those it
/// counted.
inline std::vector<char> call_drawn(const DrawnCollective& drawn, Communicator& comm, int64_t& sent_bytes) {
  const int64_t element = element_bytes(drawn.dtype);
  const auto numbers = [&](int64_t count) {
    std::mt19937 random(static_cast<unsigned>(31 * comm.rank() + 7));
    std::vector<char> bytes(static_cast<size_t>(count * element));
    for (int64_t i = 0; i < count; ++i) {
      // Halves from 0.5 to 2 in each format, of which sums depend on their order.
      const double value = 0.5 + static_cast<double>(random() % 1000) * 0.0015;
      const auto narrow = static_cast<float>(value);
      uint32_t word = 0;
      std::memcpy(&word, &narrow, sizeof word);
      char* at = bytes.data() + i * element;
      if (drawn.dtype == DType::Fp64) {
        std::memcpy(at, &value, sizeof value);
      } else if (drawn.dtype == DType::Fp32) {
        std::memcpy(at, &narrow, sizeof narrow);
      } else {
        const auto half = drawn.dtype == DType::Bf16
                              ? static_cast<uint16_t>(word >> 16)
                              : static_cast<uint16_t>(((word >> 13) & 0x3ff) | (((word >> 23) - 112) << 10));
        std::memcpy(at, &half, sizeof half);
      }
    }
    return bytes;
  };
  const auto room = [&](int64_t count) { return std::vector<char>(static_cast<size_t>(count * element)); };
  const Slicing& s = drawn.slicing;
  std::vector<char> in, out;
  CollectiveTimes times;
  switch (drawn.kind) {
    case 0:
    case 1:
      out = numbers(full_count(s));
      times = comm.all_reduce(drawn.dtype, full_count(s), out.data(),
                              drawn.kind == 1 ? Reduction::Max : Reduction::Sum);
      break;
    case 2:
      in = numbers(full_count(s));
      out = room(shard_count(s, comm.ranks(), comm.rank()));
      times = comm.reduce_scatter(drawn.dtype, s, in.data(), out.data());
      break;
    case 3:
      in = numbers(shard_count(s, comm.ranks(), comm.rank()));
      out = room(full_count(s));
      times = comm.all_gather(drawn.dtype, s, in.data(), out.data());
      break;
    case 4: {
      const auto slice = [&](int dim) {
        int64_t count = 1;
        for (size_t d = 0; d < drawn.shape.size(); ++d)
          count *= static_cast<int>(d) == dim ? shard_range(drawn.shape[d], comm.ranks(), comm.rank()).size()
                                              : drawn.shape[d];
        return count;
      };
      in = numbers(slice(drawn.from_dim));
      out = room(slice(drawn.to_dim));
      times = comm.all_to_all(drawn.dtype, drawn.shape, drawn.from_dim, drawn.to_dim, in.data(), out.data());
      break;
    }
    default:
      out = numbers(full_count(s));
      times = comm.broadcast(drawn.dtype, full_count(s), drawn.root, out.data());
  }
  EXPECT_LE(times.arrival_seconds, times.all_arrived_seconds);
  EXPECT_LE(times.all_arrived_seconds, times.done_seconds);
  sent_bytes = times.sent_bytes;
  return out;
}

}  // namespace shardlens
