// The optimizer's passes on every device there is: the gradients' norm, the factor that clips it and AdamW,
// against the CPU in fp64 on the same numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/device/on_device.h"
#include "tests/engine/device/subjects.h"

namespace shardlens {
namespace {

constexpr DType kDTypes[] = {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16};

class EveryDeviceOptimizer : public SubjectTest {};
INSTANTIATE_TEST_SUITE_P(Devices, EveryDeviceOptimizer, testing::ValuesIn(subjects()), subject_name);

TEST_P(EveryDeviceOptimizer, NormsAndTheirFactor) {
  for (const DType dtype : {DType::Fp32, DType::Fp64})
    for (const int64_t count : {0, 1, 3, 257, 70'001}) {
      const Numbers x = normal_in(dtype, count, 1), whole = integers(count, 2);
      EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
        on.device.square_sum(on.dtype, count, on.in(whole),
                             static_cast<double*>(on.out_as(DType::Fp64, "of integers", 1)), false);
        on.device.square_sum(on.dtype, count, on.in(whole),
                             static_cast<double*>(on.in_out(DType::Fp64, "and more", {17})), true);
      })) << count;
      EXPECT_TRUE(agree(DType::Fp64, Tolerance::of_sum(count), [&](OnDevice& on) {
        on.device.square_sum(on.dtype, count, on.in(x),
                             static_cast<double*>(on.out_as(DType::Fp64, "sum", 1)), false);
      })) << count;
    }
  for (const double squares : {0.0, 4.0, 1e30, static_cast<double>(INFINITY)})
    for (const double clip : {0.0, 1.0})
      for (const int sums : {1, 3, 150})
        EXPECT_TRUE(agree(DType::Fp64, {4, 0, squares > 1e31},
                          [&](OnDevice& on) {
                            std::vector<const double*> list;
                            for (int i = 0; i < sums; ++i) list.push_back(on.in_doubles({squares / sums}));
                            on.device.clip_factor(sums, list.data(), clip, on.wide(), on.in_wide({256}),
                                                  static_cast<double*>(on.out_as(DType::Fp64, "factor", 2)));
                          }))
            << squares << " " << clip << " " << sums;
}

TEST_P(EveryDeviceOptimizer, AdamWMovesAsItShould) {
  for (const DType dtype : kDTypes)
    for (const int64_t count : {0, 1, 3, 17, 257, 5001})
      for (const double factor : {0.0, 0.37}) {
        const Numbers p = normal_in(dtype, count, 1), g = normal_in(wide_of(dtype), count, 2),
                      m = normal_in(wide_of(dtype), count, 3, 0.1);
        Numbers v = normal_in(wide_of(dtype), count, 4);
        for (double& value : v) value = std::abs(value);
        const Tolerance tolerance = factor == 0 ? Tolerance{0, 0, true} : Tolerance{16, 1, false};
        EXPECT_TRUE(agree(dtype, tolerance,
                          [&](OnDevice& on) {
                            AdamWStep step;
                            step.dtype = on.dtype;
                            step.count = count;
                            step.parameter = on.in_out(on.dtype, "p", p);
                            step.gradient = on.in_wide(g);
                            step.first_moment = on.in_out(on.wide(), "m", m);
                            step.second_moment = on.in_out(on.wide(), "v", v);
                            void* master = on.in_out(on.wide(), "master", p);
                            if (is_half(dtype)) step.master = master;
                            step.factor = on.in_doubles({factor});
                            step.learning_rate = 1e-2;
                            step.weight_decay = 0.01;
                            step.beta1 = 0.9;
                            step.beta2 = 0.95;
                            step.epsilon = 1e-8;
                            step.iteration = 3;
                            on.device.adamw(step);
                          }))
            << to_string(dtype) << " " << count << " factor " << factor;
      }
}

}  // namespace
}  // namespace shardlens
