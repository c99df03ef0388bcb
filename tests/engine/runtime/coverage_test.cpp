// Every tensor of a Program is compared with one rank, or left out for a reason that can be counted: on every
// replica, for every part of the batch, for rows of a tensor too.
#include "engine/runtime/coverage.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace coverage_test {

using testing::compare;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::small_bert;
using testing::small_layer;
using testing::small_model;

using Counts = std::map<LeftOut, size_t>;

Counts counts_of(const Outcome& outcome) {
  Counts counts;
  for (const LeftOutGroup& group : outcome.summary.coverage.left_out)
    counts[group.reason] = group.tensors.size();
  return counts;
}

struct Case {
  int tp, dp, parts, chunks;
  const char* split;
  int64_t compared;
  Counts left_out;
};

class EveryTensor : public ::testing::TestWithParam<Case> {};

// Exact numbers: a tensor that drops out of the comparison changes one of them.
TEST_P(EveryTensor, IsComparedOrLeftOutForAReason) {
  const Case& c = GetParam();
  Settings settings = small_model(c.tp, c.dp, c.split);
  settings.micro_batches = c.parts;
  settings.overlap_chunks = c.chunks;
  const Outcome outcome = compare(settings);
  EXPECT_TRUE(outcome.summary.agrees) << outcome.first_broken();
  const Coverage& coverage = outcome.summary.coverage;
  EXPECT_EQ(coverage.compared, c.compared);
  EXPECT_EQ(coverage.tensors(), static_cast<int64_t>(outcome.program.tensors.size()));
  EXPECT_EQ(counts_of(outcome), c.left_out);
}

constexpr LeftOut kScratch = LeftOut::Scratch, kKept = LeftOut::Kept, kByRows = LeftOut::ByRows,
                  kPartOfASum = LeftOut::PartOfASum, kUnmatched = LeftOut::Unmatched;

INSTANTIATE_TEST_SUITE_P(
    SmallModel, EveryTensor,
    ::testing::Values(
        Case{1, 1, 1, 1, "megatron", 146, {{kScratch, 2}, {kKept, 56}}},
        Case{2, 1, 1, 1, "megatron", 168, {{kScratch, 2}, {kKept, 56}, {kUnmatched, 3}}},
        // 28 gradients and the loss before their sum over the replicas.
        Case{1, 2, 1, 1, "megatron", 146 + 29, {{kScratch, 2}, {kKept, 56}}},
        Case{2, 2, 1, 1, "megatron", 168 + 29, {{kScratch, 2}, {kKept, 56}, {kUnmatched, 3}}},
        Case{2, 4, 1, 1, "megatron", 168 + 29, {{kScratch, 2}, {kKept, 56}, {kUnmatched, 3}}},
        Case{2, 1, 2, 1, "megatron", 280, {{kScratch, 4}, {kKept, 56}, {kUnmatched, 3}}},
        // What a replica adds up of its first part: 27 gradients, the tied one three times, and two losses.
        Case{2,
             2,
             2,
             1,
             "megatron",
             280 + 29 - 32,
             {{kScratch, 4}, {kKept, 56}, {kPartOfASum, 32}, {kUnmatched, 3}}},
        Case{2, 2, 1, 3, "megatron", 217, {{kScratch, 2}, {kKept, 56}, {kByRows, 16}, {kUnmatched, 3}}},
        Case{2, 2, 1, 1, "megatron-sp", 220, {{kScratch, 2}, {kKept, 56}, {kUnmatched, 3}}}),
    [](const auto& param) {
      const Case& c = param.param;
      std::string split = c.split;
      std::replace(split.begin(), split.end(), '-', '_');
      return fmt::format("T{}_D{}_parts{}_chunks{}_{}", c.tp, c.dp, c.parts, c.chunks, split);
    });

// The only values that one rank does not have are the sums of squares of some of the gradients.
TEST(Coverage, OnlySumsOfSquaresAreNotOnOneRank) {
  for (const auto& model : {small_model, small_bert}) {
    for (const int dp : {1, 2}) {
      for (const DType dtype : {DType::Fp32, DType::Fp16}) {
        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
          Settings settings = model(2, dp, "megatron-sp");
          settings.dtype = dtype;
          settings.recompute = recompute;
          settings.dropout = 0.1;
          const Outcome outcome = compare(settings);
          EXPECT_TRUE(outcome.summary.agrees) << outcome.first_broken();
          for (const LeftOutGroup& group : outcome.summary.coverage.left_out) {
            if (group.reason != LeftOut::Unmatched) continue;
            for (const TensorId id : group.tensors)
              EXPECT_EQ(outcome.program.tensor(id).value.substr(0, 8), "squares.")
                  << settings.model.name << " D " << dp << ": " << outcome.program.tensor(id).name;
          }
        }
      }
    }
  }
}

TEST(Coverage, OfALayerIsEverythingButScratch) {
  for (const int chunks : {1, 3}) {
    Settings settings = small_layer(2);
    settings.overlap_chunks = chunks;
    const Outcome outcome = compare(settings);
    EXPECT_TRUE(outcome.summary.agrees) << outcome.first_broken();
    for (const auto& [reason, count] : counts_of(outcome))
      EXPECT_TRUE(reason == LeftOut::Scratch || (chunks > 1 && reason == LeftOut::ByRows))
          << count << " " << to_string(reason);
  }
}

TEST(Coverage, CountsATensorThatOneRankDidNotShow) {
  const Settings settings = small_model(2, 2);
  const auto serial = std::make_shared<SerialReference>();
  testing::run(make_plan(plan_serial(settings)), {serial});
  const Program program = plan_program(settings);
  ParityCheck check(program, serial, false);
  const auto logits = std::find_if(program.tensors.begin(), program.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.name == "logits"; });
  const std::vector<float> zeros(static_cast<size_t>(element_count(logits->shape)));
  check.on_tensor(0, 0, *logits, zeros.data());
  check.on_tensor(1, 0, *logits, zeros.data());
  check.on_replica_tensor(1, 0, 0, *logits, zeros.data());
  EXPECT_EQ(coverage_of(program, check.results()).compared, 0) << "rank 1 of replica 1 is missing";
  check.on_replica_tensor(1, 1, 0, *logits, zeros.data());
  EXPECT_EQ(coverage_of(program, check.results()).compared, 1);
}

TEST(Coverage, IsSaidInLines) {
  const Outcome outcome = compare(small_model(2));
  const Coverage& coverage = outcome.summary.coverage;
  const std::vector<std::string> lines = left_out_lines(outcome.program, coverage);
  ASSERT_EQ(lines.size(), coverage.left_out.size());
  EXPECT_THAT(lines.back(), HasSubstr("squares.sharded"));
  EXPECT_EQ(place_words(1, 0), "rank 0 of replica 1");
  EXPECT_EQ(place_words(1, -1), "the sum over the ranks of replica 1");
}

}  // namespace coverage_test
}  // namespace shardlens
