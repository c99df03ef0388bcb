// The optimizer's passes on every device of this machine: the gradients' norm, the factor that clips it, and
// AdamW, against the CPU in fp64 on the same numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/device/on_device.h"
#include "tests/engine/device/subjects.h"

namespace shardlens {
namespace every_device_optimizer_test {

constexpr DType kDTypes[] = {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16};

class EveryDeviceOptimizer : public SubjectTest {};
INSTANTIATE_TEST_SUITE_P(Devices, EveryDeviceOptimizer, ::testing::ValuesIn(subjects()), subject_name);

int64_t sum_of(const std::vector<int64_t>& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

/// How many elements tensors of a list have: none at all, one tensor, empty ones at both ends and inside, and
/// more tensors than a device takes at once.
std::vector<std::vector<int64_t>> lists_of_counts() {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 210; ++i) many.push_back(i % 7);
  many[100] = 40'003;
  return {{}, {0}, {1}, {3}, {257}, {70'001}, {0, 5, 0, 0, 260, 1, 0}, many};
}

/// Tensors that lie one behind the other from `data` on, so that few are aligned.
std::vector<ListedTensor> tensors_in(const OnDevice& on, const void* data,
                                     const std::vector<int64_t>& counts) {
  std::vector<ListedTensor> tensors;
  for (const int64_t count : counts) {
    tensors.push_back({count, count > 0 ? data : nullptr});
    data = static_cast<const std::byte*>(data) + count * element_bytes(on.dtype);
  }
  return tensors;
}

TEST_P(EveryDeviceOptimizer, NormsOfLists) {
  for (const DType dtype : {DType::Fp32, DType::Fp64})
    for (const std::vector<int64_t>& counts : lists_of_counts()) {
      const int64_t count = sum_of(counts);
      const Numbers x = normal_in(dtype, count, 1), whole = integers(count, 2);
      const auto sum = [&](OnDevice& on, const Numbers& of) {
        on.device.square_sum(on.dtype, tensors_in(on, on.in(of), counts),
                             static_cast<double*>(on.out_as(DType::Fp64, "sum", 1)));
      };
      EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) { sum(on, whole); }))
          << counts.size() << " tensors of " << count << " integers";
      EXPECT_TRUE(agree(dtype, Tolerance::of_sum(count), [&](OnDevice& on) { sum(on, x); }))
          << counts.size() << " tensors of " << count;
      EXPECT_TRUE(same(operate(device(), dtype, 0, [&](OnDevice& on) { sum(on, x); }),
                       operate(device(), dtype, 1, [&](OnDevice& on) { sum(on, x); })))
          << "the bits of " << counts.size() << " tensors depend on where they lie";
    }
}

TEST_P(EveryDeviceOptimizer, FactorsOfNorms) {
  for (const double squares : {0.0, 4.0, 1e30, static_cast<double>(INFINITY)})
    for (const double clip : {0.0, 1.0})
      for (const int sums : {1, 3, 150})
        EXPECT_TRUE(agree(DType::Fp64, {4, 0, squares > 1e31},
                          [&](OnDevice& on) {
                            std::vector<const double*> list;
                            for (int i = 0; i < sums; ++i) list.push_back(on.in_doubles({squares / sums}));
                            on.device.clip_factor(
                                {.sums = list,
                                 .clip = clip,
                                 .scale_dtype = on.wide(),
                                 .scale = on.in_wide({256}),
                                 .factor = static_cast<double*>(on.out_as(DType::Fp64, "factor", 2))});
                          }))
            << squares << " " << clip << " " << sums;
}

/// Slices of numbers that `dtype` represents; they lie one behind the other, so that few are aligned, and
/// every other one decays.
std::vector<AdamWStep> steps_in(OnDevice& on, DType dtype, const std::vector<int64_t>& counts,
                                double factor) {
  const int64_t count = sum_of(counts);
  const Numbers p = normal_in(dtype, count, 1), g = normal_in(wide_of(dtype), count, 2),
                m = normal_in(wide_of(dtype), count, 3, 0.1);
  Numbers v = normal_in(wide_of(dtype), count, 4);
  for (double& value : v) value = std::abs(value);
  AdamWStep step;
  step.dtype = on.dtype;
  step.parameter = on.in_out(on.dtype, "p", p);
  step.gradient = on.in_wide(g);
  step.first_moment = on.in_out(on.wide(), "m", m);
  step.second_moment = on.in_out(on.wide(), "v", v);
  void* master = on.in_out(on.wide(), "master", p);
  if (is_half(dtype)) step.master = master;
  step.factor = on.in_doubles({factor});
  step.learning_rate = 1e-2;
  step.beta1 = 0.9;
  step.beta2 = 0.95;
  step.epsilon = 1e-8;
  step.iteration = 3;
  std::vector<AdamWStep> steps;
  for (const int64_t of_slice : counts) {
    step.count = of_slice;
    step.weight_decay = steps.size() % 2 == 0 ? 0.01 : 0;
    steps.push_back(step);
    const int64_t wide_bytes = of_slice * element_bytes(on.wide());
    step.parameter = static_cast<std::byte*>(step.parameter) + of_slice * element_bytes(on.dtype);
    step.gradient = static_cast<const std::byte*>(step.gradient) + wide_bytes;
    step.first_moment = static_cast<std::byte*>(step.first_moment) + wide_bytes;
    step.second_moment = static_cast<std::byte*>(step.second_moment) + wide_bytes;
    if (step.master != nullptr) step.master = static_cast<std::byte*>(step.master) + wide_bytes;
  }
  return steps;
}

TEST_P(EveryDeviceOptimizer, AdamWMovesAsItShould) {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 150; ++i) many.push_back(i % 7);
  many[75] = 5001;
  for (const DType dtype : kDTypes)
    for (const std::vector<int64_t>& counts : std::vector<std::vector<int64_t>>{
             {}, {0}, {1}, {3}, {17}, {257}, {5001}, {0, 8, 0, 2049, 1, 0}, many})
      for (const double factor : {0.0, 0.37}) {
        const Tolerance tolerance = factor == 0 ? Tolerance{0, 0, true} : Tolerance{16, 1, false};
        EXPECT_TRUE(agree(dtype, tolerance,
                          [&](OnDevice& on) { on.device.adamw(steps_in(on, dtype, counts, factor)); }))
            << to_string(dtype) << " " << counts.size() << " of " << sum_of(counts) << " factor " << factor;
      }
}

// One call or many, wherever the slices lie, and whatever numbers they do not have in common.
TEST_P(EveryDeviceOptimizer, AdamWTogetherIsTheSameBitsAsOneByOne) {
  std::vector<int64_t> counts(130, 9);
  counts[7] = 0;
  counts[60] = 3000;
  for (const DType dtype : kDTypes) {
    const auto moved = [&](bool together, int64_t shift) {
      return operate(device(), dtype, shift, [&](OnDevice& on) {
        std::vector<AdamWStep> steps = steps_in(on, dtype, counts, 0.37);
        steps[7].master = nullptr;  // a rank that holds nothing of a tensor has no copy of it
        for (size_t i = 100; i < 110; ++i) steps[i].iteration = 4;
        for (size_t i = 105; i < 115; ++i) steps[i].learning_rate = 1e-3;
        if (together) return on.device.adamw(steps);
        for (const AdamWStep& step : steps) on.device.adamw({&step, 1});
      });
    };
    const Outputs expected = moved(false, 0);
    EXPECT_TRUE(same(moved(true, 0), expected)) << to_string(dtype);
    EXPECT_TRUE(same(moved(true, 1), expected)) << to_string(dtype) << " unaligned";
  }
}

}  // namespace every_device_optimizer_test
}  // namespace shardlens
