// The lowest free bytes are those that a search through everything that is taken would find.
#include "engine/planner/taken_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace shardlens {
namespace taken_bytes_test {

struct Taken {
  Range bytes;
  StepId first = -1, last = -1;
};

// Tries one offset after the other.
int64_t searched(const std::vector<Taken>& all, int64_t from, int64_t bytes, StepId first, StepId last) {
  for (int64_t offset = from;; ++offset) {
    const bool is_taken = std::any_of(all.begin(), all.end(), [&](const Taken& other) {
      return other.first <= last && first <= other.last && other.bytes.begin < offset + bytes &&
             offset < other.bytes.end;
    });
    if (!is_taken) return offset;
  }
}

TEST(TakenBytes, TheLowestFreeBytesAreFound) {
  std::mt19937 lot(5);
  const auto from_to = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(lot);
  };
  for (int round = 0; round < 60; ++round) {
    const auto steps = static_cast<StepId>(from_to(1, 40));
    TakenBytes index(steps);
    std::vector<Taken> all;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<StepId>(from_to(-1, steps)),
                 last = static_cast<StepId>(from_to(first, steps));
      const int64_t from = from_to(0, 5), bytes = from_to(1, 12);
      const int64_t found = index.lowest_free(from, bytes, first, last);
      ASSERT_EQ(found, searched(all, from, bytes, first, last)) << "round " << round;
      // Some lie where they are placed, some anywhere: over others, and with gaps.
      const int64_t begin = from_to(0, 3) == 0 ? from_to(0, 100) : found;
      all.push_back({{begin, begin + bytes}, first, last});
      index.take(all.back().bytes, first, last);
    }
  }
}

TEST(TakenBytes, BytesAreFreeBeforeAndAfterTheStepsThatTakeThem) {
  TakenBytes index(10);
  index.take({0, 64}, 3, 5);
  EXPECT_EQ(index.lowest_free(0, 64, -1, 2), 0);
  EXPECT_EQ(index.lowest_free(0, 64, 6, 10), 0);
  EXPECT_EQ(index.lowest_free(0, 64, 5, 5), 64);
  EXPECT_EQ(index.lowest_free(0, 64, 2, 3), 64);
}

}  // namespace taken_bytes_test
}  // namespace shardlens
