// What a training step reads: the order, that every token is covered, and that it does not depend on how
// ranks share the rows.
#include "engine/train/data/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace windows_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WindowsTest : public TestFolder {
 protected:
  // Tokens 0, 1, 2, ... modulo 251.
  std::shared_ptr<const TokenFile> counting(int64_t tokens) {
    std::vector<int32_t> ids(static_cast<size_t>(tokens));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i % 251);
    std::filesystem::remove(path("x.tokens"));  // an output replaces no input
    TokenFileWriter writer(path("x.tokens"), BytesTokenizer());
    writer.add(ids);
    writer.commit();
    return std::make_shared<TokenFile>(path("x.tokens"));
  }
};

TEST(Shuffled, IsABijectionForEveryCount) {
  for (uint64_t count = 1; count <= 300; ++count) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t at = shuffled(i, count, 42, 0);
      EXPECT_LT(at, count);
      seen.insert(at);
    }
    EXPECT_EQ(seen.size(), count);
  }
}

TEST(Shuffled, SeedAndRoundEachGiveAnotherOrder) {
  constexpr uint64_t kCount = 1000;
  const auto order = [](uint64_t seed, uint64_t round) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < kCount; ++i) all.push_back(shuffled(i, kCount, seed, round));
    return all;
  };
  const auto first = order(1, 0);
  EXPECT_EQ(order(1, 0), first);
  for (const auto& other : {order(2, 0), order(1, 1), order(uint64_t{1} << 32 | 1, 0)}) {
    int equal = 0;
    for (size_t i = 0; i < kCount; ++i) equal += other[i] == first[i];
    EXPECT_LT(equal, 15);  // one is expected by chance
  }
  // Neighbours do not stay neighbours: a straight line would correlate with its positions.
  double correlation = 0;
  for (size_t i = 0; i < kCount; ++i) {
    correlation += (static_cast<double>(i) - 499.5) * (static_cast<double>(first[i]) - 499.5);
  }
  correlation /= kCount * (kCount * kCount - 1) / 12.0;
  EXPECT_LT(std::abs(correlation), 0.1);
}

TEST_F(WindowsTest, WithoutASeedWindowsFollowTheTextAndOverlapByOne) {
  const Windows windows(counting(101), 10, std::nullopt);
  EXPECT_EQ(windows.count(), 10);
  const std::vector<int32_t> batch = windows.batch(0, 10);
  ASSERT_EQ(batch.size(), 110u);
  for (size_t row = 0; row < 10; ++row) {
    for (size_t i = 0; i < 11; ++i) EXPECT_EQ(batch[row * 11 + i], static_cast<int32_t>(row * 10 + i));
  }
}

TEST_F(WindowsTest, AnEpochReadsEveryWindowOnceAndTheNextInAnotherOrder) {
  const Windows windows(counting(701), 7, 5);
  ASSERT_EQ(windows.count(), 100);
  std::vector<std::vector<int64_t>> epochs;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < 100; ++i) order.push_back(windows.window_of(epoch * 100 + i));
    epochs.push_back(order);
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST_F(WindowsTest, GroupsOfAnyNumberReadTheSameBatch) {
  const Windows windows(counting(1000), 9, 3);
  for (const int64_t step : {0, 1, 17, 1000}) {
    const std::vector<int32_t> whole = windows.batch(step, 12);
    for (const int64_t groups : {2, 3, 4, 6, 12}) {
      std::vector<int32_t> joined;
      for (int64_t group = 0; group < groups; ++group) {
        const auto part = windows.rows(step, 12, group * 12 / groups, 12 / groups);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, whole);
    }
  }
}

TEST_F(WindowsTest, TwoStepsOfHalfABatchAreOneStep) {
  const Windows windows(counting(1000), 9, 3);
  auto halves = windows.batch(4, 6);
  const auto second = windows.batch(5, 6);
  halves.insert(halves.end(), second.begin(), second.end());
  EXPECT_EQ(halves, windows.batch(2, 12));
}

TEST_F(WindowsTest, TooLittleTextSaysWhatWouldDo) {
  EXPECT_THAT(error_of([&] { Windows(counting(57), 256, 1); }),
              AllOf(HasSubstr("x.tokens has 57 tokens"), HasSubstr("needs 257"), HasSubstr("at most 56")));
  EXPECT_EQ(Windows(counting(57), 56, 1).count(), 1);
  EXPECT_THAT(error_of([&] { Windows(counting(1), 8, 1); }), HasSubstr("more text"));
  EXPECT_THAT(error_of([&] { Windows(counting(57), 0, 1); }), HasSubstr("at least 1"));
}

}  // namespace windows_test
}  // namespace shardlens
