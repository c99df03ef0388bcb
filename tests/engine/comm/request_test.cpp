// What ranks compare before a collective, and the positions of an all-to-all's blocks.
#include "engine/comm/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace shardlens {
namespace request_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

// This rank's slice, along `dim`, of a tensor whose elements are numbered in order.
std::vector<double> slice(const Shape& shape, int dim, int ranks, int rank) {
  const Range range = shard_range(shape[static_cast<size_t>(dim)], ranks, rank);
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < shape.size(); ++d) inner *= shape[d];
  const int64_t extent = shape[static_cast<size_t>(dim)];
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i / inner % extent;
    if (at >= range.begin && at < range.end) numbers.push_back(static_cast<double>(i));
  }
  return numbers;
}

TEST(ExchangedBlock, AllBlocksTogetherTurnSlicesOfOneDimensionIntoSlicesOfTheOther) {
  const std::pair<Shape, int> cases[] = {
      {{6, 8}, 2}, {{7, 5}, 3}, {{2, 7, 3, 5, 2}, 3}, {{3, 2, 4}, 4}, {{4, 1, 3, 2}, 2}};
  for (const auto& [shape, ranks] : cases) {
    const int dims = static_cast<int>(shape.size());
    for (int from_dim = 0; from_dim < dims; ++from_dim) {
      for (int to_dim = 0; to_dim < dims; ++to_dim) {
        if (from_dim == to_dim) continue;
        SCOPED_TRACE(::testing::Message() << to_string(shape) << " from " << from_dim << " to " << to_dim);
        const Request request = exchange_request(DType::Fp64, shape, from_dim, to_dim);
        for (int receiver = 0; receiver < ranks; ++receiver) {
          const std::vector<double> wanted = slice(shape, to_dim, ranks, receiver);
          std::vector<double> got(wanted.size(), -1);
          int64_t bytes = 0;
          for (int sender = 0; sender < ranks; ++sender) {
            const std::vector<double> given = slice(shape, from_dim, ranks, sender);
            const ExchangedBlock block(request, ranks, sender, receiver);
            bytes += block.bytes();
            for (int64_t o = 0; o < block.outer && block.bytes() > 0; ++o) {
              const auto source = block.in_source(o), target = block.in_target(o);
              for (int64_t row = 0; row < block.rows; ++row) {
                for (int64_t byte = 0; byte < block.row_bytes; byte += 8) {
                  const auto from = (source.begin_bytes + row * source.stride_bytes + byte) / 8;
                  const auto to = (target.begin_bytes + row * target.stride_bytes + byte) / 8;
                  got.at(static_cast<size_t>(to)) = given.at(static_cast<size_t>(from));
                }
              }
            }
          }
          EXPECT_EQ(got, wanted) << "rank " << receiver;
          EXPECT_EQ(bytes, static_cast<int64_t>(8 * wanted.size()));
        }
      }
    }
  }
}

TEST(Disagreement, NamesTheFirstRankAndOneThatCallsSomethingElse) {
  std::vector<Request> requests(4, all_reduce_request(DType::Fp32, 12, Reduction::Sum));
  const auto request_of = [&](int rank) -> const Request& { return requests[static_cast<size_t>(rank)]; };
  EXPECT_FALSE(disagreement(4, request_of));
  requests[2] = broadcast_request(DType::Fp32, 12, 1, 4);
  const auto error = disagreement(4, request_of);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::Run);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("rank 0 called all-reduce of 12 fp32"),
                                   HasSubstr("rank 2 called broadcast of 12 fp32 from rank 1")));
}

}  // namespace request_test
}  // namespace shardlens
