// Any model, any split, any T and D: a thousand random ones agree with the serial run in fp64, in every
// tensor on every replica, send and hold the planned bytes, and a fault planted in one of them is found, in
// all replicas or in one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/error.h"
#include "engine/config/heads.h"
#include "engine/config/settings_json.h"
#include "engine/program/fault.h"
#include "tests/engine/parity_outcome.h"

namespace shardlens {
namespace property_test {

using testing::compare;
using testing::Outcome;

class Draw {
 public:
  explicit Draw(unsigned number) : engine_(number) {}

  int from(int lowest, int highest) { return std::uniform_int_distribution(lowest, highest)(engine_); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[from(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::mt19937 engine_;
};

Settings any_settings(unsigned number) {
  Draw draw(number);
  Settings settings;
  settings.block = Block::Model;
  settings.dtype = DType::Fp64;
  settings.threads_per_rank = 1;
  settings.seed = number;
  Model& model = settings.model;
  model.name = model.title = "any";
  model.layers = draw.from(1, 2);
  model.heads = draw.from(1, 6);
  model.hidden = model.heads * draw.from(4, 8);
  model.ffn = draw.from(5, 40);
  model.vocab = draw.from(3, 300);
  model.positions = draw.from(2, 12);
  model.architecture = draw.one_of({Architecture::Gpt, Architecture::Bert});
  model.causal = model.architecture == Architecture::Gpt;
  model.norm = model.causal ? NormPlacement::Pre : draw.one_of({NormPlacement::Pre, NormPlacement::Post});
  model.gelu = draw.one_of({GeluForm::Tanh, GeluForm::Erf});
  model.tied = draw.from(0, 3) > 0;
  Split& split = settings.split;
  split.name = "any";
  for (Cut* cut : {&split.attn_qkv, &split.attn_proj, &split.mlp_fc, &split.mlp_proj})
    *cut = draw.one_of({Cut::Column, Cut::Row, Cut::Replicated});
  split.embedding = draw.one_of({EmbeddingCut::Vocab, EmbeddingCut::Hidden, EmbeddingCut::Replicated});
  split.norm = draw.one_of({NormCut::Replicated, NormCut::Parallel, NormCut::Sequence});
  split.loss = draw.one_of({LossForm::Fused, LossForm::Gather});
  settings.tp = std::min(draw.from(1, 5), static_cast<int>(model.hidden));
  settings.dp = draw.one_of({1, 1, 2, 3, 4});
  settings.micro_batches = draw.from(1, 3);
  settings.batch = settings.dp * settings.micro_batches * draw.from(1, 2);
  settings.seq = draw.from(1, static_cast<int>(model.positions));
  settings.recompute = draw.one_of({Recompute::None, Recompute::Selective, Recompute::Full});
  settings.dropout = draw.one_of({0.0, 0.25});
  settings.update = draw.from(0, 1) == 1;
  settings.overlap_chunks = draw.one_of({1, 1, 3});
  const int64_t key_heads = draw.from(1, static_cast<int>(model.heads));
  // Of a single token attention is the identity on V: Q has no gradient but rounding, which has no relative
  // error; beside K and V in one matrix it is lost.
  const bool groups = model.heads % key_heads == 0 && settings.seq > 1 && draw.from(0, 1) == 1;
  if (groups) model.kv_heads = key_heads;
  const bool pads =
      split.attn_qkv == Cut::Column && split.attn_proj == Cut::Row && can_pad_heads(model, settings.tp);
  settings.heads_policy = pads ? HeadsPolicy::Padded : HeadsPolicy::Uneven;
  return settings;
}

// Models drawn at random are badly conditioned now and then, such as a norm over 4 nearly equal numbers: what
// is asked is the bound that holds against other implementations.
constexpr double kBound = 1e-11;

// The first tensor that breaks it, or "".
std::string first_beyond(const Outcome& outcome) {
  for (const Step& step : outcome.program.steps) {
    for (const TensorId id : step.outputs) {
      const auto& parity = outcome.parity[static_cast<size_t>(id)];
      if (parity == nullptr || (parity->relative_error <= kBound && parity->ranks_identical)) continue;
      return outcome.program.tensor(id).name + " " + fmt::format("{:.3g}", parity->relative_error);
    }
  }
  return "";
}

// The first tensor that drops out of the comparison without one of the known reasons, or "".
std::string first_left_out(const Outcome& outcome) {
  const Settings& settings = outcome.program.settings;
  for (const LeftOutGroup& group : outcome.summary.coverage.left_out) {
    const bool rows = group.reason == LeftOut::ByRows && settings.overlap_chunks > 1;
    const bool parts = group.reason == LeftOut::PartOfASum && settings.dp > 1 && settings.micro_batches > 1;
    const bool kept = group.reason == LeftOut::Kept && settings.update;
    if (rows || parts || kept || group.reason == LeftOut::Scratch) continue;
    for (const TensorId id : group.tensors) {
      const std::string& name = outcome.program.tensor(id).name;
      // One rank adds up all squares at once, and a norm of whole tokens needs no sums.
      const bool sums = settings.split.norm == NormCut::Parallel && name.find(".sums") != std::string::npos;
      if (group.reason != LeftOut::Unmatched || !(sums || name.starts_with("squares."))) return name;
    }
  }
  return "";
}

constexpr unsigned kCases = 1000;
constexpr unsigned kGroups = 10;  // so that two cores share the work

class AnyModel : public ::testing::TestWithParam<unsigned> {};

TEST_P(AnyModel, AgreesWithSerialAndWithItsPlan) {
  for (unsigned number = GetParam(); number < kCases; number += kGroups) {
    const Settings settings = any_settings(number);
    const Outcome outcome = compare(settings);
    ASSERT_TRUE(outcome.summary.known);
    ASSERT_EQ(first_beyond(outcome), "") << "case " << number << "\n" << settings_to_json(settings).dump(1);
    ASSERT_EQ(first_left_out(outcome), "") << "case " << number << "\n" << settings_to_json(settings).dump(1);
    ASSERT_EQ(outcome.miscounted, "") << "case " << number << "\n" << settings_to_json(settings).dump(1);
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, AnyModel, ::testing::Range(0u, kGroups));

// A collective left out or doubled in any of them does not get past.
TEST(AnyModel, PlantedFaultsAreFound) {
  int planted = 0;
  for (unsigned number = 0; number < 200; ++number) {
    const Settings settings = any_settings(number);
    std::vector<Fault> faults = all_faults();
    // The biases of a whole model start at 0: one in the wrong place shows only once it has learned.
    std::erase(faults, Fault::BiasBeforeReduction);
    // Of so few heads and tokens the masks of two ranks may well be alike.
    std::erase(faults, Fault::OneDropoutStream);
    const Fault fault = faults[number % faults.size()];
    Program program = plan_program(settings);
    try {
      program = plant(std::move(program), fault);
    } catch (const Error&) {
      continue;  // this program gives no opportunity
    }
    ++planted;
    EXPECT_NE(first_beyond(compare(settings, std::move(program))), "")
        << "case " << number << ": " << to_string(fault) << "\n"
        << settings_to_json(settings).dump(1);
  }
  EXPECT_GT(planted, 40);
}

// The same in one replica alone: it is found, and where one rank knows the rows, so is the replica.
TEST(AnyModel, FaultsOfOneReplicaAreFoundAndLocated) {
  int planted = 0;
  for (unsigned number = 0; number < 400; ++number) {
    const Settings settings = any_settings(number);
    if (settings.dp == 1) continue;
    const Fault fault = number % 2 == 0 ? Fault::SkipF : Fault::SkipG;
    const int replica = static_cast<int>(number) % settings.dp;
    Program program = plan_program(settings);
    try {
      program = plant_in_replica(std::move(program), fault, replica);
    } catch (const Error&) {
      continue;
    }
    ++planted;
    const Outcome outcome = compare(settings, std::move(program));
    ASSERT_NE(first_beyond(outcome), "") << "case " << number << ": " << to_string(fault) << "\n"
                                         << settings_to_json(settings).dump(1);
    const TensorParity& parity = *outcome.parity[static_cast<size_t>(outcome.summary.first_broken)];
    EXPECT_EQ(parity.replica, replica) << "case " << number << ": f and g act on rows";
  }
  EXPECT_GT(planted, 20);
}

}  // namespace property_test
}  // namespace shardlens
