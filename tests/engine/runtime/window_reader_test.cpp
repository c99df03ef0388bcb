// Windows of tensors: what a pass shows, what samples kept, and the serial run's numbers, against whole
// tensors.
#include "engine/runtime/window_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/planner/planner.h"
#include "engine/runtime/gather.h"
#include "engine/runtime/sampler.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace window_reader_test {

using testing::run;
using testing::small_layer;

std::shared_ptr<const Plan> plan_of(Settings settings) {
  return make_plan(settings);
}

/// A window in the middle of every tensor that a step shows.
std::vector<TensorWindow> windows_of(const Program& program) {
  std::vector<TensorWindow> windows;
  for (const Tensor& tensor : program.tensors) {
    const bool fed = tensor.kind == MemoryKind::Input || tensor.kind == MemoryKind::Weight;
    if (tensor.kind == MemoryKind::Workspace || tensor.dtype == DType::Int32) continue;
    if (producer_of(program, tensor.id) < 0 && !fed) continue;
    const MatrixShape full = matrix_shape(tensor);
    windows.push_back({tensor.id,
                       {full.rows / 3, full.rows / 3 + (full.rows + 2) / 3},
                       {full.cols / 4, full.cols / 4 + (full.cols + 1) / 2}});
  }
  return windows;
}

class EveryWindow : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryWindow, OfAPassEqualsThatOfTheWholeTensor) {
  const auto plan = plan_of(small_layer(4, GetParam()));
  const Program& program = plan->program;
  const std::vector<TensorWindow> windows = windows_of(program);
  const auto reader = std::make_shared<WindowReader>(program, windows);
  const auto whole = std::make_shared<Gather>(4, [](const Tensor&) { return true; });
  const auto sampler = std::make_shared<Sampler>(program);
  run(plan, {reader, whole, sampler});
  const auto values = reader->values(nullptr);
  ASSERT_EQ(values.size(), windows.size());
  for (const auto& read : values) {
    const Tensor& tensor = program.tensor(read->window.tensor);
    const auto found = whole->tensors().find(tensor.name);
    if (found == whole->tensors().end()) continue;
    const int64_t cols = matrix_shape(tensor).cols;
    for (int64_t row = read->window.rows.begin; row < read->window.rows.end; ++row)
      for (int64_t col = read->window.cols.begin; col < read->window.cols.end; ++col) {
        double sum = 0;
        int holders = 0;
        for (int rank = 0; rank < 4; ++rank) {
          const double value = read->ranks[static_cast<size_t>(rank)][read->at(row, col)];
          if (holds(tensor, 4, rank, row, col))
            ++holders;
          else
            ASSERT_EQ(value, 0) << tensor.name;
          sum += value;
        }
        ASSERT_GE(holders, 1) << tensor.name;
        const double expected = element_of(tensor.dtype, found->second.bytes.data(), row * cols + col);
        const bool terms = tensor.layout.kind == LayoutKind::Partial;
        ASSERT_NEAR(terms ? sum : sum / holders, expected, 1e-5 * (1 + std::abs(expected))) << tensor.name;
      }
    const auto kept = kept_values(program, sampler->samples(), read->window);
    ASSERT_NE(kept, nullptr) << tensor.name;
    EXPECT_EQ(kept->ranks, read->ranks) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, EveryWindow, ::testing::Values("megatron", "megatron-sp", "reversed"));

TEST(WindowReader, TheSerialRunHasNumbersOfTheSamePlaces) {
  const auto plan = plan_of(small_layer(4));
  const auto serial_plan = make_plan(plan_serial(plan->program.settings));
  const auto serial = std::make_shared<SerialReference>();
  run(serial_plan, {serial});
  const auto reader = std::make_shared<WindowReader>(plan->program, windows_of(plan->program));
  run(plan, {reader});
  int compared = 0;
  for (const auto& read : reader->values(serial.get())) {
    if (read->serial.empty()) continue;
    ++compared;
    const Tensor& tensor = plan->program.tensor(read->window.tensor);
    for (size_t i = 0; i < read->serial.size(); ++i) {
      double sum = 0;
      for (const auto& rank : read->ranks) sum += rank[i];
      if (tensor.layout.kind == LayoutKind::Replicated) sum /= 4;
      ASSERT_NEAR(sum, read->serial[i], 1e-4 * (1 + std::abs(sum))) << tensor.name;
    }
  }
  EXPECT_GT(compared, 20);
}

// The lanes are those of the first replica, which has the first rows.
TEST(WindowReader, ReplicasHaveTheSerialRunsNumbersToo) {
  for (const int parts : {1, 2}) {
    Settings settings = testing::small_model(2, 2);
    settings.micro_batches = parts;
    const auto plan = plan_of(settings);
    const auto serial = std::make_shared<SerialReference>();
    run(make_plan(plan_serial(settings)), {serial});
    const auto reader = std::make_shared<WindowReader>(plan->program, windows_of(plan->program));
    run(plan, {reader});
    int compared = 0;
    for (const auto& read : reader->values(serial.get())) {
      const Tensor& tensor = plan->program.tensor(read->window.tensor);
      if (read->serial.empty() || tensor.layout != kReplicated) continue;
      ++compared;
      for (size_t i = 0; i < read->serial.size(); ++i)
        ASSERT_NEAR(read->ranks[0][i], read->serial[i], 1e-4 * (1 + std::abs(read->serial[i])))
            << tensor.name;
    }
    EXPECT_GT(compared, 60);
  }
}

TEST(WindowReader, LeavesOutWhatCannotBeRead) {
  const auto plan = plan_of(small_layer(2));
  const Program& program = plan->program;
  EXPECT_FALSE(is_readable(program, {-1, {0, 1}, {0, 1}}));
  EXPECT_FALSE(is_readable(program, {0, {0, 0}, {0, 1}}));
  const MatrixShape full = matrix_shape(program.tensor(0));
  EXPECT_FALSE(is_readable(program, {0, {0, full.rows + 1}, {0, 1}}));
  EXPECT_TRUE(is_readable(program, {0, {0, full.rows}, {0, full.cols}}));
  EXPECT_TRUE(WindowReader(program, {{0, {0, 0}, {0, 1}}}).values(nullptr).empty());
  EXPECT_EQ(kept_values(program, SampleTable(2), {0, {0, 1}, {0, 1}}), nullptr) << "nothing was sampled";
}

}  // namespace window_reader_test
}  // namespace shardlens
