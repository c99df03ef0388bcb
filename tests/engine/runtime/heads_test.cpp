// Heads that T does not divide, uneven and padded, against the serial run without them; the padding stays
// zero.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/config/heads.h"
#include "engine/train/model_state.h"
#include "engine/train/model_step.h"
#include "tests/engine/parity_outcome.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace heads_test {

using testing::compare;
using testing::Outcome;
using testing::small_bert;
using testing::small_model;

Settings with_heads(Settings settings, int64_t heads, HeadsPolicy policy) {
  settings.model.heads = heads;
  settings.model.hidden = heads * 4;
  settings.heads_policy = policy;
  settings.dtype = DType::Fp64;
  return settings;
}

std::string words(const Settings& s) {
  return to_string(s.heads_policy) + ", " + to_string(s.model.objective) + ", " +
         std::to_string(s.model.heads) + " heads, T " + std::to_string(s.tp);
}

class Heads : public ::testing::TestWithParam<std::tuple<HeadsPolicy, int>> {
 protected:
  HeadsPolicy policy() const { return std::get<0>(GetParam()); }
  int heads() const { return std::get<1>(GetParam()); }
};

TEST_P(Heads, EveryTensorAgreesWithSerial) {
  for (const auto& model : {small_model, small_bert}) {
    for (int tp = 2; tp <= 6; ++tp) {
      Settings settings = with_heads(model(tp, 1, "megatron"), heads(), policy());
      settings.dropout = tp % 2 == 0 ? 0.2 : 0;
      settings.recompute = tp == 4 ? Recompute::Selective : tp == 5 ? Recompute::Full : Recompute::None;
      settings.micro_batches = tp == 3 ? 2 : 1;
      const Outcome outcome = compare(settings);
      EXPECT_TRUE(outcome.summary.agrees)
          << words(settings) << ": " << outcome.first_broken() << " " << outcome.summary.worst_relative_error;
      for (const char* value : {"loss", "clip", "h.0.attn.qkv.out", "h.0.attn.context"})
        EXPECT_NE(outcome.of(value), nullptr) << words(settings) << ": " << value;
      for (const Tensor& tensor : outcome.program.tensors) {
        if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
        EXPECT_NE(outcome.of("grad." + tensor.name), nullptr) << words(settings) << ": " << tensor.name;
      }
    }
  }
}

// After updates with decay and clipping: the parameters are those of the serial run, in a checkpoint's
// shapes.
TEST_P(Heads, UpdatesEndWhereTheSerialOnesDo) {
  for (const int tp : {2, 4, 5}) {
    Settings settings = with_heads(small_model(tp, tp == 2 ? 2 : 1), heads(), policy());
    settings.dropout = 0.1;
    ModelStepRequest request;
    request.updates = 3;
    request.learning_rate = 1e-2;
    request.dump = true;
    const ModelStepResult sharded = run_model_step(make_plan(settings), request);
    Settings alone = settings;
    alone.tp = alone.dp = 1;
    alone.heads_policy = HeadsPolicy::Strict;
    alone.vocab_ranks = tp;
    const ModelStepResult serial = run_model_step(make_plan(alone), request);
    ASSERT_EQ(sharded.dump.size(), serial.dump.size());
    for (const auto& [name, expected] : serial.dump) {
      const DumpTensor& found = sharded.dump.at(name);
      ASSERT_EQ(found.shape, expected.shape) << name;
      for (int64_t i = 0; i < element_count(expected.shape); ++i) {
        const auto at = static_cast<size_t>(i);
        const double is = element_of(found.dtype, found.bytes.data(), at);
        const double wanted = element_of(expected.dtype, expected.bytes.data(), at);
        ASSERT_NEAR(is, wanted, 1e-9 * (1 + std::abs(wanted))) << words(settings) << ": " << name << " " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Heads,
                         ::testing::Combine(::testing::Values(HeadsPolicy::Uneven, HeadsPolicy::Padded),
                                            ::testing::Values(3, 5, 32)),
                         [](const auto& param) {
                           return to_string(std::get<0>(param.param)) + "_" +
                                  std::to_string(std::get<1>(param.param));
                         });

// The elements of one rank's memory that are no part of the whole tensor.
std::vector<double> padding_of(const Executor& executor, const Program& program, TensorId id, int rank) {
  const Tensor& tensor = program.tensor(id);
  std::vector<std::byte> own(static_cast<size_t>(local_bytes(tensor, program.tp(), rank)));
  executor.read_tensor(rank, id, own.data());
  std::vector<bool> real(own.size() / static_cast<size_t>(element_bytes(tensor.dtype)), false);
  const int64_t cols = local_matrix_shape(tensor, program.tp(), rank).cols;
  for (const Placement& place : placements(tensor, program.tp(), rank))
    for (int64_t row = place.local_rows.begin; row < place.local_rows.end; ++row)
      for (int64_t col = place.local_cols.begin; col < place.local_cols.end; ++col)
        real[static_cast<size_t>(row * cols + col)] = true;
  std::vector<double> padding;
  for (size_t i = 0; i < real.size(); ++i)
    if (!real[i]) padding.push_back(element_of(tensor.dtype, own.data(), i));
  return padding;
}

TEST(PaddedHeads, StayZeroThroughUpdatesAndAreCounted) {
  Settings settings = with_heads(small_model(4), 5, HeadsPolicy::Padded);
  settings.dropout = 0.1;
  const auto plan = make_plan(settings);
  const Program& program = plan->program;
  Executor executor(plan);
  PassInputs inputs;
  inputs.batch = std::make_shared<const Batch>(seeded_batch(settings));
  inputs.numbers.learning_rate = 1e-2;
  for (int pass = 1; pass <= 3; ++pass) {
    executor.next_pass(inputs);
    executor.start(executor.steps());
    executor.wait();
    ++inputs.numbers.iteration;
  }
  int64_t zeros = 0;
  for (const TensorId id : lasting_tensors(program)) {
    if (!program.tensor(id).layout.padded) continue;
    for (int rank = 0; rank < settings.tp; ++rank) {
      for (const double value : padding_of(executor, program, id, rank)) {
        ASSERT_EQ(value, 0) << program.tensor(id).name;
        ++zeros;
      }
    }
  }
  // Three zero heads of 4 in W, b of QKV and W of the projection, in two layers, with two moments each.
  EXPECT_EQ(zeros, 2 * 3 * 3 * 4 * (3 * 20 + 3 + 20));
  const HeadsShare share = heads_share(settings);
  EXPECT_EQ(share.fullest, 2);
  EXPECT_DOUBLE_EQ(share.wasted_share, 3.0 / 8);
}

// Every rank does the same work, zero heads or not.
TEST(PaddedHeads, EveryRankHoldsAsMuch) {
  const auto bytes = [](HeadsPolicy policy, int rank) {
    return make_plan(with_heads(small_model(4), 5, policy))
        ->memory[static_cast<size_t>(rank)]
        .arena_bytes[static_cast<size_t>(MemoryKind::OptimizerState)];
  };
  EXPECT_GT(bytes(HeadsPolicy::Uneven, 0), bytes(HeadsPolicy::Uneven, 3));
  EXPECT_EQ(bytes(HeadsPolicy::Padded, 0), bytes(HeadsPolicy::Padded, 3));
  EXPECT_EQ(bytes(HeadsPolicy::Uneven, 0), bytes(HeadsPolicy::Padded, 0));
}

}  // namespace heads_test
}  // namespace shardlens
