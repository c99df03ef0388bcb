// Any model, any split, any T and D: a thousand random ones agree with the serial run in fp64, in every
// tensor on every replica, send and hold the planned bytes, and a fault planted in one of them is found, in
// all replicas or in one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/config/settings_json.h"
#include "engine/program/fault.h"
#include "tests/engine/any_settings.h"
#include "tests/engine/parity_outcome.h"

namespace shardlens {
namespace property_test {

using testing::any_settings;
using testing::compare;
using testing::Outcome;

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
