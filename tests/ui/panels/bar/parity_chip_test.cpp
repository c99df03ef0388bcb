// The Bar's chip says how many tensors were compared with one rank; its tooltip says which were not, and why.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/planner/planner.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "tests/engine/small_model.h"
#include "ui/panels/bar/bar_chips.h"

namespace shardlens::ui {
namespace parity_chip_test {

using ::testing::HasSubstr;

// A result in which every tensor that a step writes was compared, and `broken` is wrong on rank 0 of replica
// 1.
Snapshot compared_snapshot(TensorId broken) {
  auto result = std::make_shared<Result>();
  result->plan = make_plan(testing::small_model(2, 2));
  const Program& program = result->plan->program;
  result->parity.resize(program.tensors.size());
  for (const Step& step : program.steps)
    for (const TensorId id : step.outputs) {
      auto parity = std::make_shared<TensorParity>();
      parity->compared = true;
      parity->bound = 1e-6;
      parity->relative_error = id == broken ? 1 : 1e-7;
      parity->replica = 1;
      parity->rank = 0;
      result->parity[static_cast<size_t>(id)] = parity;
    }
  result->parity_summary = summarise(program, result->parity);
  Snapshot snapshot;
  snapshot.plan = result->plan;
  snapshot.settings = program.settings;
  snapshot.state = RunState::Done;
  snapshot.result = std::move(result);
  return snapshot;
}

TEST(ParityChip, CountsWhatWasComparedAndWhatWasLeftOut) {
  const Snapshot snapshot = compared_snapshot(kNoTensor);
  const Coverage& coverage = snapshot.result->parity_summary.coverage;
  ASSERT_GT(coverage.left_out_count(), 0);
  const Chip chip = parity_chip(snapshot, Theme{});
  EXPECT_THAT(chip.text, HasSubstr(fmt::format("{} of {}", coverage.compared, coverage.tensors())));
  EXPECT_THAT(chip.tooltip, HasSubstr("on every rank of every replica"));
  for (const std::string& line : left_out_lines(snapshot.result->plan->program, coverage))
    EXPECT_THAT(chip.tooltip, HasSubstr(line));
}

TEST(ParityChip, NamesTheReplicaOfTheFirstBrokenTensor) {
  const TensorId broken = compared_snapshot(kNoTensor).plan->program.steps.front().outputs.front();
  const Chip chip = parity_chip(compared_snapshot(broken), Theme{});
  EXPECT_THAT(chip.text, HasSubstr("differs from serial"));
  EXPECT_THAT(chip.tooltip, HasSubstr("on rank 0 of replica 1"));
  EXPECT_THAT(chip.tooltip, HasSubstr("left out"));
}

}  // namespace parity_chip_test
}  // namespace shardlens::ui
