// Every operation on every device of this machine, in every dtype and in awkward shapes, against the CPU in
// fp64 on the same numbers. The CPU with two threads is always tested and must have the same bits as one
// thread; a GPU is tested if there is one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "tests/engine/counts.h"
#include "tests/engine/device/on_device.h"
#include "tests/engine/device/subjects.h"
#include "tests/engine/device/token_steps.h"

namespace shardlens {
namespace every_device_test {

constexpr DType kDTypes[] = {DType::Fp32, DType::Fp64, DType::Bf16, DType::Fp16};
constexpr int64_t kExtents[] = {0, 1, 3, 17, 257};

class EveryDevice : public SubjectTest {};
INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice, ::testing::ValuesIn(subjects()), subject_name);

// The comparison itself: whatever is wrong is found.
TEST(DeviceComparison, FindsWhatIsWrong) {
  const auto cpu = make_cpu_device(1);
  const Numbers x = normal_in(DType::Fp32, 1000, 1);
  const auto with = [&](DType dtype, const std::function<void(OnDevice&, char*)>& spoil) {
    return agrees(*cpu, false, dtype, {}, [&](OnDevice& on) {
      auto* y = static_cast<char*>(on.out("y", 1000));
      on.device.add(on.dtype, 1000, on.in(x), on.in(x), y);
      if (on.dtype == dtype) spoil(on, y);
    });
  };
  int runs = 0;
  const auto put = [](OnDevice&, char* at, float value) { std::memcpy(at, &value, sizeof value); };
  EXPECT_TRUE(with(DType::Fp32, [](OnDevice&, char*) {}));
  EXPECT_FALSE(with(DType::Fp32, [&](OnDevice& on, char* y) { put(on, y + 4 * 999, NAN); })) << "unwritten";
  EXPECT_FALSE(with(DType::Fp32, [&](OnDevice& on, char* y) { put(on, y + 4 * 500, 0.0f); })) << "wrong";
  EXPECT_FALSE(with(DType::Fp32, [&](OnDevice& on, char* y) { put(on, y + 4 * 1000, 0.0f); }))
      << "past the end";
  EXPECT_FALSE(with(DType::Fp32, [&](OnDevice&, char* y) { y[0] = static_cast<char>(++runs % 2); }))
      << "changing";
  // Rounding the result to bf16 is more than fp32 may be off by.
  EXPECT_FALSE(agrees(*cpu, false, DType::Fp32, {}, [&](OnDevice& on) {
    const Numbers sums = on.dtype == DType::Fp32 ? rounded_to(DType::Bf16, x) : x;
    on.in_out(on.dtype, "y", sums);
  }));
  EXPECT_FALSE(agrees(*cpu, false, DType::Fp32, {1, 1, true}, [&](OnDevice& on) {
    Numbers sums = x;
    if (on.dtype == DType::Fp32) sums[7] = std::nextafter(static_cast<float>(sums[7]), 9.0f);
    on.in_out(on.dtype, "y", sums);
  })) << "one unit in the last place";
}

Gemm shape_of(const OnDevice& on, bool ta, bool tb, int64_t m, int64_t n, int64_t k, int64_t pad) {
  Gemm gemm;
  gemm.dtype = on.dtype;
  gemm.transpose_a = ta;
  gemm.transpose_b = tb;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.lda = (ta ? m : k) + pad;
  gemm.ldb = (tb ? k : n) + pad;
  gemm.ldc = n;
  return gemm;
}

TEST_P(EveryDevice, Products) {
  for (const DType dtype : kDTypes)
    for (const int64_t m : kExtents)
      for (const int64_t n : {0, 1, 17, 257})
        for (const int64_t k : {0, 1, 3, 257})
          for (int form = 0; form < 4; ++form) {
            const bool ta = form & 1, tb = form & 2;
            const int64_t pad = form == 3 ? 5 : 0;
            const Numbers a = normal_in(dtype, (ta ? k : m) * ((ta ? m : k) + pad), 1),
                          b = normal_in(dtype, (tb ? n : k) * ((tb ? k : n) + pad), 2),
                          bias = normal_in(dtype, n, 3);
            EXPECT_TRUE(agree(dtype, Tolerance::of_sum(k),
                              [&](OnDevice& on) {
                                Gemm gemm = shape_of(on, ta, tb, m, n, k, pad);
                                gemm.a = on.in(a);
                                gemm.b = on.in(b);
                                gemm.c = on.out("C", m * n);
                                if (form == 0 || form == 3) gemm.bias = on.in(bias);
                                on.device.gemm(gemm);
                              }))
                << m << " " << n << " " << k << " form " << form;
          }
}

TEST_P(EveryDevice, ProductsOfIntegersAreExactAndAddUp) {
  for (const DType dtype : kDTypes)
    for (const int64_t extent : kExtents)
      for (const bool wide : {false, true})
        for (const bool accumulate : {false, true}) {
          const int64_t m = extent, n = 33, k = 65;
          const Numbers a = integers(k * m, 1), b = integers(k * n, 2), c = integers(m * n, 3),
                        bias = integers(n, 4);
          EXPECT_TRUE(agree(dtype, {0, 0, true},
                            [&](OnDevice& on) {
                              Gemm gemm = shape_of(on, true, false, m, n, k, 0);
                              gemm.a = on.in(a);
                              gemm.b = on.in(b);
                              gemm.c = on.in_out(wide ? on.wide() : on.dtype, "C", c);
                              gemm.accumulate = accumulate;
                              gemm.wide_result = wide;
                              if (!accumulate) gemm.bias = on.in(bias);
                              on.device.gemm(gemm);
                            }))
              << extent << wide << accumulate;
        }
}

// Of a weight and of the bias of the same product, from the same dY: of no tokens too.
TEST_P(EveryDevice, WeightAndBiasGradientsInOne) {
  for (const DType dtype : kDTypes)
    for (const int64_t tokens : {0, 1, 65})
      for (const int64_t n : {24, 33})
        for (const bool added : {false, true}) {
          const int64_t m = 17;
          const Numbers x = integers(tokens * m, 1), dy = integers(tokens * n, 2), before = integers(n, 3);
          EXPECT_TRUE(agree(dtype, {0, 0, true},
                            [&](OnDevice& on) {
                              Gemm gemm = shape_of(on, true, false, m, n, tokens, 0);
                              gemm.a = on.in(x);
                              gemm.b = on.in(dy);
                              gemm.c = on.out_wide("dW", m * n);
                              gemm.wide_result = true;
                              gemm.sums = {n, on.in_out(on.wide(), "db", before), added};
                              on.device.gemm(gemm);
                            }))
              << to_string(dtype) << ", " << tokens << " tokens, " << n << " columns, added " << added;
        }
}

TEST_P(EveryDevice, ProductsOfFewRowsHaveTheBitsOfTheirParts) {
  for (const DType dtype : kDTypes)
    for (const TokenSteps& steps : kTokenSteps)
      for (const auto& [rows, cols, shift] : {std::array<int64_t, 3>{1, 72, 0}, {3, 24, 0}, {8, 9, 1}})
        EXPECT_TRUE(same(multiply_tokens(device(), dtype, shift, rows, cols, steps, true),
                         multiply_tokens(device(), dtype, shift, rows, cols, steps, false)))
            << to_string(dtype) << " " << ::testing::PrintToString(steps) << ", " << rows << " rows";
}

// GeLU of a product, what it was of beside it, and its gradient of one, with the sums of that: by whatever
// the device has for it. Rows of 24 are ones that libraries can have, rows of 17 are not.
TEST_P(EveryDevice, ProductsWithGelu) {
  for (const DType dtype : kDTypes)
    for (const Activation form : {Activation::GeluTanh, Activation::GeluErf})
      for (const auto& [m, n, k] :
           {std::array<int64_t, 3>{40, 24, 32}, {5, 17, 3}, {1, 8, 16}, {0, 8, 8}, {3, 0, 8}, {3, 8, 0}}) {
        const Numbers a = normal_in(dtype, m * k, 1), b = normal_in(dtype, k * n, 2),
                      bias = normal_in(dtype, n, 3);
        const Numbers h = normal_in(dtype, m * n, 4), db = normal_in(wide_of(dtype), n, 5);
        // What lies between a product and the pass over it is rounded to the dtype, or not.
        Tolerance tolerance = Tolerance::of_sum(std::max(k, m));
        tolerance.computed += 32 + 4 * unit_of(dtype) / unit_of(wide_of(dtype));
        tolerance.magnitude = 1;
        EXPECT_TRUE(agree(dtype, tolerance,
                          [&](OnDevice& on) {
                            Gemm gemm = shape_of(on, false, false, m, n, k, 0);
                            gemm.a = on.in(a);
                            gemm.b = on.in(b);
                            gemm.bias = on.in(bias);
                            gemm.c = on.out("GeLU", m * n);
                            gemm.after = AfterProduct::Gelu;
                            gemm.form = form;
                            gemm.before = on.out("what it is of", m * n);
                            on.device.gemm(gemm);
                          }))
            << m << " " << n << " " << k;
        for (const bool accumulate : {false, true})
          EXPECT_TRUE(agree(dtype, tolerance,
                            [&](OnDevice& on) {
                              Gemm gemm = shape_of(on, false, true, m, n, k, 0);
                              gemm.a = on.in(a);
                              gemm.b = on.in(b);
                              gemm.c = on.out("its gradient", m * n);
                              gemm.after = AfterProduct::GeluGrad;
                              gemm.form = form;
                              gemm.before = on.in(h);
                              gemm.sums = {n, on.in_out(on.wide(), "its sums", db), accumulate};
                              on.device.gemm(gemm);
                            }))
              << m << " " << n << " " << k << " " << accumulate;
      }
}

TEST_P(EveryDevice, PassesOverElements) {
  for (const DType dtype : kDTypes)
    for (const int64_t count : {0, 1, 3, 17, 257, 5000}) {
      const Numbers x = normal_in(dtype, count, 1, 2), dy = normal_in(dtype, count, 2);
      Numbers tanhs = x;
      for (double& value : tanhs) value = std::tanh(value);
      tanhs = rounded_to(dtype, tanhs);
      EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
        void* y = on.out("a + b", count);
        on.device.add(on.dtype, count, on.in(x), on.in(dy), y);
        void* in_place = on.in_out(on.dtype, "a + b in place", x);
        on.device.add(on.dtype, count, in_place, on.in(dy), in_place);
      })) << count;
      for (const Activation form : {Activation::GeluTanh, Activation::GeluErf})
        EXPECT_TRUE(agree(dtype, {32, 1, false, 1}, [&](OnDevice& on) {
          on.device.gelu(on.dtype, form, count, on.in(x), on.out("GeLU", count));
          on.device.gelu_grad({.dtype = on.dtype,
                               .form = form,
                               .count = count,
                               .x = on.in(x),
                               .dy = on.in(dy),
                               .dx = on.out("its gradient", count)});
        })) << count;
      EXPECT_TRUE(agree(dtype, {8, 1, false, 1}, [&](OnDevice& on) {
        on.device.tanh(on.dtype, count, on.in(x), on.out("tanh", count));
        on.device.tanh_grad({.dtype = on.dtype,
                             .count = count,
                             .y = on.in(tanhs),
                             .dy = on.in(dy),
                             .dx = on.out("its gradient", count)});
      })) << count;
      if (is_half(dtype)) continue;
      EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
        on.device.round(on.dtype, count, 2, on.in(x), on.out("round", count));
      })) << count;
    }
}

TEST_P(EveryDevice, BiasesAndTheirGradients) {
  for (const DType dtype : kDTypes)
    for (const int64_t rows : {0, 1, 3, 130, 1100})
      for (const int64_t cols : {0, 1, 17, 257, 264}) {
        if (rows * cols > 285'000) continue;
        const Numbers x = normal_in(dtype, rows * cols, 1), bias = normal_in(dtype, cols, 2),
                      whole = integers(rows * cols, 3), before = integers(cols, 4);
        EXPECT_TRUE(agree(dtype, {0, 0, true},
                          [&](OnDevice& on) {
                            on.device.bias_add({.dtype = on.dtype,
                                                .rows = rows,
                                                .cols = cols,
                                                .x = on.in(x),
                                                .bias = on.in(bias),
                                                .y = on.out("x + b", rows * cols)});
                            on.device.bias_add({.dtype = on.dtype,
                                                .rows = rows,
                                                .cols = cols,
                                                .x = on.in(whole),
                                                .bias = on.in(before),
                                                .y = on.out("whole + (whole + b)", rows * cols),
                                                .addend = on.in(whole)});
                            on.device.bias_grad(on.dtype, rows, cols, on.in(whole),
                                                on.out_wide("db of integers", cols));
                            on.device.bias_grad(on.dtype, rows, cols, on.in(whole),
                                                on.in_out(on.wide(), "and more", before), true);
                          }))
            << rows << " x " << cols;
        EXPECT_TRUE(agree(dtype, Tolerance::of_sum(rows),
                          [&](OnDevice& on) {
                            on.device.bias_grad(on.dtype, rows, cols, on.in(x), on.out_wide("db", cols));
                          }))
            << rows << " x " << cols;
      }
}

// A column's bits are the same whatever other columns there are.
TEST_P(EveryDevice, AColumnsSumDependsOnNoOtherColumn) {
  for (const DType dtype : kDTypes) {
    const int64_t rows = 333, cols = 70, part = 23;
    const Numbers x = normal_in(dtype, rows * cols, 1);
    Numbers left;
    for (int64_t row = 0; row < rows; ++row)
      left.insert(left.end(), x.begin() + row * cols, x.begin() + row * cols + part);
    const auto sums = [&](const Numbers& matrix, int64_t width) {
      return operate(device(), dtype, 0,
                     [&](OnDevice& on) {
                       on.device.bias_grad(on.dtype, rows, width, on.in(matrix), on.out_wide("db", width));
                     })[0]
          .numbers();
    };
    const Numbers whole = sums(x, cols), some = sums(left, part);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), whole.begin())) << to_string(dtype);
  }
}

TEST_P(EveryDevice, MasksHaveTheCpusBits) {
  const auto cpu = make_cpu_device(1);
  for (const DType dtype : kDTypes)
    for (const RowRuns place : {RowRuns{0, 1, 0, 0}, RowRuns{7, 1, 1, 0}, RowRuns{5, 3, 17, 40},
                                RowRuns{1021, 1, 10'000, 0}, RowRuns{4'294'967'290, 9, 64, 100}}) {
      const Numbers x = normal_in(dtype, place.rows * place.run, 1);
      const Operate drop = [&](OnDevice& on) {
        on.device.dropout(on.dtype, {0.3, 11, 0xABCDEF}, place, on.in(x),
                          on.out("y", place.rows * place.run));
      };
      for (const int64_t shift : {0, 1})
        EXPECT_TRUE(same(operate(device(), dtype, shift, drop), operate(*cpu, dtype, shift, drop)))
            << to_string(dtype) << " " << place.run;
    }
}

TEST_P(EveryDevice, Slices) {
  for (const DType dtype : kDTypes)
    for (const Slicing& slicing :
         {Slicing{1, 7, 1}, Slicing{5, 7, 3}, Slicing{700, 11, 2}, Slicing{3, 64, 16}})
      for (const Range range : {Range{0, 0}, Range{0, 7}, Range{2, 5}, Range{6, 7}}) {
        const Numbers full = normal_in(dtype, full_count(slicing), 1);
        EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
          on.device.slice(on.dtype, slicing, range, on.in(full),
                          on.out("shard", slicing.outer * range.size() * slicing.inner));
        }));
      }
}

TEST_P(EveryDevice, LayerNorms) {
  for (const DType dtype : kDTypes)
    for (const int64_t rows : {0, 1, 3, 130})
      for (const int64_t cols : {1, 3, 17, 257, 1600, 3000, 5000}) {
        if (rows * cols > 100'000) continue;
        // Neighbours differ: of a row of nearly equal numbers no format holds the variance.
        Numbers x = normal_in(dtype, rows * cols, 1, 1, 0.5);
        for (size_t i = 0; i < x.size(); i += 2) x[i] += 6;
        x = rounded_to(dtype, x);
        const Numbers gamma = normal_in(dtype, cols, 2, 0.1, 1), beta = normal_in(dtype, cols, 3),
                      dy = normal_in(dtype, rows * cols, 4), before = normal_in(wide_of(dtype), cols, 5),
                      whole = integers(rows * cols, 6), other = integers(rows * cols, 7),
                      bias = integers(cols, 8);
        const Tolerance tolerance{64 + 4 * std::sqrt(static_cast<double>(std::max(rows, cols))), 2, false, 1};
        EXPECT_TRUE(agree(dtype, tolerance,
                          [&](OnDevice& on) {
                            void* stats = on.out_wide("stats", 2 * rows);
                            on.device.layer_norm({.dtype = on.dtype,
                                                  .rows = rows,
                                                  .cols = cols,
                                                  .epsilon = 1e-5,
                                                  .x = on.in(x),
                                                  .gamma = on.in(gamma),
                                                  .beta = on.in(beta),
                                                  .y = on.out("y", rows * cols),
                                                  .stats = stats});
                            void* in_place = on.in_out(on.dtype, "dx", dy);
                            on.device.layer_norm_grad({.dtype = on.dtype,
                                                       .rows = rows,
                                                       .cols = cols,
                                                       .x = on.in(x),
                                                       .gamma = on.in(gamma),
                                                       .stats = stats,
                                                       .dy = in_place,
                                                       .dx = in_place,
                                                       .dgamma = on.in_out(on.wide(), "dgamma", before),
                                                       .dbeta = on.in_out(on.wide(), "dbeta", before),
                                                       .accumulate = true});
                            on.device.layer_norm_grad({.dtype = on.dtype,
                                                       .rows = rows,
                                                       .cols = cols,
                                                       .x = on.in(x),
                                                       .gamma = on.in(gamma),
                                                       .stats = stats,
                                                       .dy = on.in(dy),
                                                       .dx = on.out("dx and more", rows * cols),
                                                       .dgamma = on.out_wide("dgamma alone", cols),
                                                       .dbeta = on.out_wide("dbeta alone", cols),
                                                       .addend = on.in(x)});
                            // Of integers, whose sum no format rounds.
                            on.device.layer_norm({.dtype = on.dtype,
                                                  .rows = rows,
                                                  .cols = cols,
                                                  .epsilon = 1e-5,
                                                  .x = on.in(whole),
                                                  .gamma = on.in(gamma),
                                                  .beta = on.in(beta),
                                                  .y = on.out("y of a sum", rows * cols),
                                                  .stats = on.out_wide("stats of a sum", 2 * rows),
                                                  .a = on.in(other),
                                                  .bias = on.in(bias),
                                                  .sum = on.out("the sum", rows * cols)});
                          }))
            << rows << " x " << cols;
      }
}

// More chunks of rows than are fetched together, of two sums.
TEST_P(EveryDevice, GainsOverManyRows) {
  const int64_t rows = 1100, cols = 3;
  const Numbers x = normal_in(DType::Fp32, rows * cols, 1), dy = normal_in(DType::Fp32, rows * cols, 2),
                gamma = normal_in(DType::Fp32, cols, 3), stats(2 * rows, 0.5);
  EXPECT_TRUE(agree(DType::Fp32, Tolerance::of_sum(rows), [&](OnDevice& on) {
    on.device.layer_norm_grad({.dtype = on.dtype,
                               .rows = rows,
                               .cols = cols,
                               .x = on.in(x),
                               .gamma = on.in(gamma),
                               .stats = on.in_wide(stats),
                               .dy = on.in(dy),
                               .dx = on.out("dx", rows * cols),
                               .dgamma = on.out_wide("dgamma", cols),
                               .dbeta = on.out_wide("dbeta", cols)});
  }));
}

// A row may be kept and read in other ways where it is aligned, and by how wide it is: never with other bits.
TEST_P(EveryDevice, BitsDependOnNoAddress) {
  const auto depends_on_none = [&](DType dtype, const Operate& operation) {
    return same(operate(device(), dtype, 0, operation), operate(device(), dtype, 1, operation));
  };
  for (const DType dtype : kDTypes) {
    for (const int64_t rows : {3, 130, 1100}) {
      const int64_t cols = 24;
      const Numbers x = normal_in(dtype, rows * cols, 1);
      EXPECT_TRUE(depends_on_none(dtype,
                                  [&](OnDevice& on) {
                                    on.device.bias_grad(on.dtype, rows, cols, on.in(x),
                                                        on.out_wide("db", cols));
                                  }))
          << to_string(dtype) << " " << rows << " rows";
    }
    for (const int64_t cols : {24, 256, 1024, 1600, 4096, 8192, 8200}) {
      const int64_t rows = cols == 24 ? 70 : 2;
      const Numbers x = normal_in(dtype, rows * cols, 1), dy = normal_in(dtype, rows * cols, 2),
                    gamma = normal_in(dtype, cols, 3), beta = normal_in(dtype, cols, 4);
      EXPECT_TRUE(depends_on_none(
          dtype,
          [&](OnDevice& on) {
            void* const stats = on.out_wide("stats", 2 * rows);
            const void *const in = on.in(x), *const gains = on.in(gamma), *const grads = on.in(dy);
            on.device.layer_norm({.dtype = on.dtype,
                                  .rows = rows,
                                  .cols = cols,
                                  .epsilon = 1e-5,
                                  .x = in,
                                  .gamma = gains,
                                  .beta = on.in(beta),
                                  .y = on.out("y", rows * cols),
                                  .stats = stats});
            on.device.layer_norm({.dtype = on.dtype,
                                  .rows = rows,
                                  .cols = cols,
                                  .epsilon = 1e-5,
                                  .x = in,
                                  .gamma = gains,
                                  .beta = on.in(beta),
                                  .y = on.out("y of a sum", rows * cols),
                                  .stats = on.out_wide("stats of a sum", 2 * rows),
                                  .a = grads,
                                  .bias = on.in(beta),
                                  .sum = on.out("the sum", rows * cols)});
            on.device.layer_norm_grad({.dtype = on.dtype,
                                       .rows = rows,
                                       .cols = cols,
                                       .x = in,
                                       .gamma = gains,
                                       .stats = stats,
                                       .dy = grads,
                                       .dx = on.out("dx", rows * cols),
                                       .dgamma = on.out_wide("dgamma", cols),
                                       .dbeta = on.out_wide("dbeta", cols),
                                       .addend = in});
          }))
          << to_string(dtype) << " rows of " << cols;
    }
  }
}

TEST_P(EveryDevice, LayerNormsOfCutRows) {
  for (const DType dtype : kDTypes)
    for (const int64_t rows : {0, 1, 130})
      for (const int64_t cols : {0, 1, 17, 257}) {
        const int64_t hidden = 2 * std::max<int64_t>(cols, 1) + 1;  // as if three ranks had nearly as many
        const Numbers x = normal_in(dtype, rows * cols, 1), gamma = normal_in(dtype, cols, 2, 0.1, 1),
                      beta = normal_in(dtype, cols, 3), dy = normal_in(dtype, rows * cols, 4);
        Numbers sums, stats, dsums;
        for (int64_t row = 0; row < rows; ++row) {
          for (int rank = 0; rank < 3; ++rank) {
            sums.push_back(0.1 * (rank + 1) * static_cast<double>(hidden));
            sums.push_back(0.4 * static_cast<double>(hidden));
          }
          stats.push_back(0.1);
          stats.push_back(0.9);
          dsums.push_back(0.2 * static_cast<double>(hidden));
          dsums.push_back(-0.1 * static_cast<double>(hidden));
        }
        sums = rounded_to(wide_of(dtype), sums);
        stats = rounded_to(wide_of(dtype), stats);
        dsums = rounded_to(wide_of(dtype), dsums);
        const Tolerance tolerance{32 + 4 * std::sqrt(static_cast<double>(std::max(rows, cols))), 2, false, 1};
        EXPECT_TRUE(agree(dtype, tolerance,
                          [&](OnDevice& on) {
                            const CutNorm norm{on.dtype, rows, cols, hidden};
                            void *in = on.in(x), *gains = on.in(gamma), *moments = on.in_wide(stats),
                                 *grads = on.in(dy);
                            on.device.layer_norm_sums(norm, in, on.out_wide("sums", 2 * rows));
                            on.device.layer_norm_apply({.norm = norm,
                                                        .epsilon = 1e-5,
                                                        .ranks = 3,
                                                        .x = in,
                                                        .gamma = gains,
                                                        .beta = on.in(beta),
                                                        .sums = on.in_wide(sums),
                                                        .y = on.out("y", rows * cols),
                                                        .stats = on.out_wide("stats", 2 * rows)});
                            on.device.layer_norm_grad_sums({.norm = norm,
                                                            .x = in,
                                                            .gamma = gains,
                                                            .stats = moments,
                                                            .dy = grads,
                                                            .dsums = on.out_wide("dsums", 2 * rows),
                                                            .dgamma = on.out_wide("dgamma", cols),
                                                            .dbeta = on.out_wide("dbeta", cols)});
                            on.device.layer_norm_grad_apply({.norm = norm,
                                                             .x = in,
                                                             .gamma = gains,
                                                             .stats = moments,
                                                             .dy = grads,
                                                             .dsums = on.in_wide(dsums),
                                                             .dx = on.out("dx", rows * cols)});
                          }))
            << rows << " x " << cols;
      }
}

// Sums by id are in the order of the tokens: not near the CPU's, but the same.
TEST_P(EveryDevice, Embeddings) {
  const auto cpu = make_cpu_device(1);
  const Range held{10, 40};
  for (const DType dtype : kDTypes)
    for (const int64_t tokens : {0, 1, 3, 257, 1500})
      for (const int64_t width : {1, 16, 17, 257, 1024}) {
        if (tokens * width > 100'000) continue;
        std::vector<int32_t> ids;
        for (int64_t t = 0; t < tokens; ++t) ids.push_back(static_cast<int32_t>((t * t * 31 + t) % 53));
        const Numbers table = normal_in(dtype, held.size() * width, 1),
                      dy = normal_in(dtype, tokens * width, 2),
                      before = normal_in(wide_of(dtype), held.size() * width, 3);
        const Operate embed = [&](OnDevice& on) {
          int32_t* which = on.in_ids(ids);
          on.device.embedding({.dtype = on.dtype,
                               .tokens = tokens,
                               .width = width,
                               .rows = held,
                               .ids = which,
                               .table = on.in(table),
                               .y = on.out("y", tokens * width)});
          on.device.embedding_grad({.dtype = on.dtype,
                                    .tokens = tokens,
                                    .width = width,
                                    .rows = held,
                                    .ids = which,
                                    .dy = on.in(dy),
                                    .dtable = on.out_wide("dtable", held.size() * width),
                                    .no_gradient_id = 12});
          on.device.embedding_grad({.dtype = on.dtype,
                                    .tokens = tokens,
                                    .width = width,
                                    .rows = held,
                                    .ids = which,
                                    .dy = on.in(dy),
                                    .dtable = on.in_out(on.wide(), "and more", before),
                                    .accumulate = true});
        };
        EXPECT_TRUE(agree(dtype, Tolerance::of_sum(tokens / 50), embed)) << tokens << " x " << width;
        EXPECT_TRUE(same(operate(device(), dtype, 0, embed), operate(*cpu, dtype, 0, embed)))
            << tokens << " x " << width;
      }
}

TEST_P(EveryDevice, FirstTokens) {
  for (const DType dtype : kDTypes)
    for (const int64_t batch : {0, 1, 3})
      for (const int64_t width : {1, 17, 256}) {
        const int64_t seq = 5;
        const Numbers x = normal_in(dtype, batch * seq * width, 1), dy = normal_in(dtype, batch * width, 2);
        EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
          on.device.first_token(on.dtype, batch, seq, width, on.in(x), on.out("y", batch * width));
          on.device.first_token_grad(on.dtype, batch, seq, width, on.in(dy),
                                     on.out("dx", batch * seq * width));
        }));
      }
}

TEST_P(EveryDevice, Losses) {
  for (const DType dtype : kDTypes)
    for (const Range columns : {Range{0, 1}, Range{0, 17}, Range{17, 34}, Range{257, 600}, Range{600, 640}})
      for (const int64_t tokens : {0, 1, 3, 130}) {
        const int64_t vocab = 590, width = columns.size();
        const Numbers logits = normal_in(dtype, tokens * width, 1, 3);
        std::vector<int32_t> labels;
        Numbers max, sum, target, weights;
        for (int64_t t = 0; t < tokens; ++t) {
          labels.push_back(static_cast<int32_t>(t % 5 == 4 ? -100 : (t * 7) % vocab));
          weights.push_back(t % 5 == 4 ? 0 : 0.25);
          max.push_back(8);
          sum.push_back(3 + static_cast<double>(t % 3));
          target.push_back(0.5 * static_cast<double>(t % 7));
        }
        EXPECT_TRUE(
            agree(dtype, {64, 2, false, 0.1},
                  [&](OnDevice& on) {
                    const VocabShard shard{on.dtype, tokens, columns, vocab};
                    void* in = on.in(logits);
                    int32_t* which = on.in_ids(labels);
                    on.device.target_logit(shard, in, which, on.out_wide("target", tokens));
                    void *tops = on.in_wide(max), *sums = on.in_wide(sum), *shares = on.in_wide(weights);
                    on.device.sum_exp(
                        {.shard = shard, .logits = in, .max = tops, .sum = on.out_wide("sum", tokens)});
                    on.device.cross_entropy({.dtype = on.wide(),
                                             .tokens = tokens,
                                             .max = tops,
                                             .target = on.in_wide(target),
                                             .sum = sums,
                                             .weights = shares,
                                             .loss = on.out_wide("loss", 1)});
                    on.device.cross_entropy_grad({.shard = shard,
                                                  .logits = in,
                                                  .labels = which,
                                                  .max = tops,
                                                  .sum = sums,
                                                  .weights = shares,
                                                  .dlogits = on.out("dlogits", tokens * width)});
                    void* in_place = on.in_out(on.dtype, "scaled, in place", logits);
                    on.device.cross_entropy_grad({.shard = shard,
                                                  .logits = in_place,
                                                  .labels = which,
                                                  .max = tops,
                                                  .sum = sums,
                                                  .weights = shares,
                                                  .scale = on.in_wide({64}),
                                                  .dlogits = in_place});
                  }))
            << tokens << " x " << columns.begin << "-" << columns.end;
        if (columns.begin >= vocab) continue;  // the lowest number there is differs between formats
        EXPECT_TRUE(agree(dtype, {0, 0, true}, [&](OnDevice& on) {
          on.device.vocab_max({on.dtype, tokens, columns, vocab}, on.in(logits), on.out_wide("max", tokens));
        }));
      }
}

TEST_P(EveryDevice, ARankOfPaddingAloneHasTheLowestMaximum) {
  for (const DType dtype : kDTypes) {
    const Outputs outputs = operate(device(), dtype, 0, [&](OnDevice& on) {
      on.device.vocab_max({on.dtype, 2, {600, 640}, 590}, on.in(normal_in(dtype, 80, 1)),
                          on.out_wide("max", 2));
    });
    const double lowest = dtype == DType::Fp64 ? std::numeric_limits<double>::lowest()
                                               : static_cast<double>(std::numeric_limits<float>::lowest());
    EXPECT_EQ(outputs[0].numbers(), (Numbers{lowest, lowest}));
  }
}

TEST_P(EveryDevice, BytesComeBackAsTheyWent) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4097}, size_t{3} << 20}) {
    std::vector<unsigned char> sent(bytes), back(bytes);
    for (size_t i = 0; i < bytes; ++i) sent[i] = static_cast<unsigned char>(i * 31 + i / 256);
    void* memory = device().allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    device().copy_to_device(memory, sent.data(), bytes);
    device().copy_to_host(back.data(), memory, bytes);
    device().release(memory);
    EXPECT_EQ(sent, back);
  }
  EXPECT_THROW(device().allocate(size_t{1} << 55), Error);
}

TEST_P(EveryDevice, SetsBytesToZeroAndNoOthers) {
  const size_t room = (size_t{9} << 20) + 5;  // more than one thread's piece
  const std::vector<unsigned char> full(room, 0xFF);
  auto* memory = static_cast<unsigned char*>(device().allocate(room));
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4099}, room - 2}) {
    device().copy_to_device(memory, full.data(), room);
    device().set_zero(memory + 1, bytes);
    std::vector<unsigned char> wanted = full, back(room);
    std::fill_n(wanted.begin() + 1, bytes, 0);
    device().copy_to_host(back.data(), memory, room);
    EXPECT_EQ(back, wanted) << bytes;
  }
  device().release(memory);
}

}  // namespace every_device_test
}  // namespace shardlens
