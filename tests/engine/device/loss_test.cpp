// The cross-entropy of a vocabulary that is cut over ranks: the shards together give the whole result,
// whichever shard has the label, and padding changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/philox.h"

namespace shardlens {
namespace loss_test {

constexpr int64_t kVocab = 53;
constexpr int64_t kPadded = 64;

std::vector<double> random_logits(int64_t tokens) {
  std::vector<double> logits(static_cast<size_t>(tokens * kPadded));
  fill_normal(RandomStream(7, "logits"), 0, 3, 0, tokens * kPadded, DType::Fp64, logits.data());
  return logits;
}

struct Losses {
  double loss = 0;
  std::vector<double> dlogits;  // [tokens, kPadded]
};

// The four passes of `ranks` shards, reduced as the collectives would.
Losses sharded(const std::vector<double>& logits, const std::vector<int32_t>& labels,
               const std::vector<double>& weights, int ranks) {
  const auto device = make_cpu_device(1);
  const auto tokens = static_cast<int64_t>(labels.size());
  std::vector<std::vector<double>> shards;
  std::vector<VocabShard> views;
  std::vector<double> max(labels.size(), -1e300), target(labels.size(), 0), sum(labels.size(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const Range columns = shard_range(kPadded, ranks, rank);
    std::vector<double> shard;
    for (int64_t t = 0; t < tokens; ++t)
      shard.insert(shard.end(), logits.begin() + t * kPadded + columns.begin,
                   logits.begin() + t * kPadded + columns.end);
    shards.push_back(shard);
    views.push_back({DType::Fp64, tokens, columns, kVocab});
    std::vector<double> own(labels.size());
    device->vocab_max(views.back(), shard.data(), own.data());
    for (size_t t = 0; t < own.size(); ++t) max[t] = std::max(max[t], own[t]);
  }
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    std::vector<double> own(labels.size());
    device->target_logit(views[rank], shards[rank].data(), labels.data(), own.data());
    for (size_t t = 0; t < own.size(); ++t) target[t] += own[t];
    device->sum_exp(
        {.shard = views[rank], .logits = shards[rank].data(), .max = max.data(), .sum = own.data()});
    for (size_t t = 0; t < own.size(); ++t) sum[t] += own[t];
  }
  Losses losses;
  device->cross_entropy({.dtype = DType::Fp64,
                         .tokens = tokens,
                         .max = max.data(),
                         .target = target.data(),
                         .sum = sum.data(),
                         .weights = weights.data(),
                         .loss = &losses.loss});
  losses.dlogits.assign(logits.size(), 0);
  for (size_t rank = 0; rank < shards.size(); ++rank) {
    std::vector<double> gradient(shards[rank].size(), 99);
    device->cross_entropy_grad({.shard = views[rank],
                                .logits = shards[rank].data(),
                                .labels = labels.data(),
                                .max = max.data(),
                                .sum = sum.data(),
                                .weights = weights.data(),
                                .dlogits = gradient.data()});
    const Range columns = views[rank].columns;
    for (int64_t t = 0; t < tokens; ++t)
      std::copy_n(gradient.begin() + t * columns.size(), columns.size(),
                  losses.dlogits.begin() + t * kPadded + columns.begin);
  }
  return losses;
}

// The definition, over the words that exist.
Losses reference(const std::vector<double>& logits, const std::vector<int32_t>& labels,
                 const std::vector<double>& weights) {
  Losses losses;
  losses.dlogits.assign(logits.size(), 0);
  for (size_t t = 0; t < labels.size(); ++t) {
    const double* row = logits.data() + static_cast<int64_t>(t) * kPadded;
    const double top = *std::max_element(row, row + kVocab);
    double sum = 0;
    for (int64_t c = 0; c < kVocab; ++c) sum += std::exp(row[c] - top);
    if (weights[t] != 0) losses.loss += weights[t] * (top + std::log(sum) - row[labels[t]]);
    for (int64_t c = 0; c < kVocab; ++c) {
      const double onehot = c == labels[t] ? 1 : 0;
      losses.dlogits[t * kPadded + static_cast<size_t>(c)] =
          weights[t] * (std::exp(row[c] - top) / sum - onehot);
    }
  }
  return losses;
}

void expect_equal(const Losses& a, const Losses& b) {
  EXPECT_NEAR(a.loss, b.loss, 1e-13 * std::abs(b.loss));
  for (size_t i = 0; i < b.dlogits.size(); ++i) ASSERT_NEAR(a.dlogits[i], b.dlogits[i], 1e-15) << i;
}

// Labels at the first and last column of every shard there is, and at the last word before the padding.
// Of a vocabulary of one word the sum is its exponential.
template <class T>
std::vector<T> exponentials(DType dtype, const std::vector<T>& x) {
  std::vector<T> sums(x.size()), zeros(x.size(), T(0));
  make_cpu_device(1)->sum_exp({.shard = {dtype, static_cast<int64_t>(x.size()), {0, 1}, 1},
                               .logits = x.data(),
                               .max = zeros.data(),
                               .sum = sums.data()});
  return sums;
}

template <class T>
void expect_two_ulp(DType dtype, T lowest, T highest) {
  std::vector<T> x;
  constexpr int kSteps = 200'000;
  for (int i = 0; i <= kSteps; ++i) x.push_back(lowest + (highest - lowest) * (T(i) / kSteps));
  const std::vector<T> results = exponentials(dtype, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(static_cast<long double>(x[i]));
    const T near = static_cast<T>(exact);
    const long double ulp = std::nextafter(near, std::numeric_limits<T>::infinity()) - near;
    ASSERT_LE(std::abs(static_cast<long double>(results[i]) - exact), 2 * ulp) << "e^" << x[i];
  }
}

TEST(Exponential, IsWithinTwoUnitsOfTheLastPlaceFromEndToEnd) {
  expect_two_ulp<float>(DType::Fp32, -86.98f, 88.7f);
  expect_two_ulp<double>(DType::Fp64, -708.04, 709.7);
}

TEST(Exponential, KeepsWhatIsNoNumberAndEndsInZeroAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto results =
      exponentials<float>(DType::Fp32, {-kInfinity, -1e30f, -87.0f, 0.0f, 88.8f, kInfinity, std::nanf("")});
  EXPECT_EQ(std::vector<float>(results.begin(), results.end() - 1),
            (std::vector<float>{0, 0, 0, 1, kInfinity, kInfinity}));
  EXPECT_TRUE(std::isnan(results.back()));
}

TEST(LossTest, LabelsAtTheBordersOfShardsAreFoundByExactlyOneRank) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    std::vector<int32_t> labels{static_cast<int32_t>(kVocab - 1)};
    for (int rank = 0; rank < ranks; ++rank) {
      const Range columns = shard_range(kPadded, ranks, rank);
      for (const int64_t label : {columns.begin, columns.end - 1})
        if (label < kVocab) labels.push_back(static_cast<int32_t>(label));
    }
    const std::vector<double> logits = random_logits(static_cast<int64_t>(labels.size()));
    const std::vector<double> weights(labels.size(), 1.0 / static_cast<double>(labels.size()));
    expect_equal(sharded(logits, labels, weights, ranks), reference(logits, labels, weights));
  }
}

// Nothing can be learned about the only class there is.
TEST(LossTest, OneClassHasNoLossAndNoGradient) {
  const auto device = make_cpu_device(1);
  const std::vector<float> logits{3.7f, -1e4f, 0.1f}, weights{0.3f, 0.3f, 0.3f};
  const std::vector<int32_t> labels{0, 0, 0};
  const VocabShard shard{DType::Fp32, 3, {0, 1}, 1};
  std::vector<float> max(3), target(3), sum(3), loss(1), dlogits(3, NAN);
  device->vocab_max(shard, logits.data(), max.data());
  device->target_logit(shard, logits.data(), labels.data(), target.data());
  device->sum_exp({.shard = shard, .logits = logits.data(), .max = max.data(), .sum = sum.data()});
  device->cross_entropy({.tokens = 3,
                         .max = max.data(),
                         .target = target.data(),
                         .sum = sum.data(),
                         .weights = weights.data(),
                         .loss = loss.data()});
  device->cross_entropy_grad({.shard = shard,
                              .logits = logits.data(),
                              .labels = labels.data(),
                              .max = max.data(),
                              .sum = sum.data(),
                              .weights = weights.data(),
                              .dlogits = dlogits.data()});
  EXPECT_EQ(loss[0], 0.0f);
  for (const float gradient : dlogits) EXPECT_EQ(gradient, 0.0f);
}

TEST(LossTest, IgnoredLabelsCountForNothing) {
  const std::vector<int32_t> labels{3, -100, 17, -100};
  const std::vector<double> weights{0.5, 0, 0.5, 0};
  const std::vector<double> logits = random_logits(4);
  const Losses losses = sharded(logits, labels, weights, 3);
  expect_equal(losses, reference(logits, {3, 0, 17, 0}, weights));
  for (int64_t c = 0; c < kPadded; ++c) EXPECT_EQ(losses.dlogits[static_cast<size_t>(kPadded + c)], 0);
}

TEST(LossTest, PaddingMayHoldAnything) {
  const std::vector<int32_t> labels{3, 52};
  const std::vector<double> weights{0.5, 0.5};
  std::vector<double> logits = random_logits(2);
  const Losses before = sharded(logits, labels, weights, 4);
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t c = kVocab; c < kPadded; ++c) logits[static_cast<size_t>(t * kPadded + c)] = 1e6;
  const Losses after = sharded(logits, labels, weights, 4);
  EXPECT_EQ(before.loss, after.loss);
  EXPECT_EQ(before.dlogits, after.dlogits);
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t c = kVocab; c < kPadded; ++c)
      EXPECT_EQ(after.dlogits[static_cast<size_t>(t * kPadded + c)], 0);
}

TEST(LossTest, LargeLogitsNeitherOverflowNorLoseTheLoss) {
  const std::vector<int32_t> labels{5};
  std::vector<double> logits(kPadded, -4000.0);
  logits[5] = 4000;
  logits[6] = 4000;
  const Losses losses = sharded(logits, labels, {1.0}, 2);
  EXPECT_NEAR(losses.loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(losses.dlogits[5], -0.5, 1e-12);
}

}  // namespace loss_test
}  // namespace shardlens
