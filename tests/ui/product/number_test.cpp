// One number of every product, forward and backward, made of the run's own factors.
#include "ui/product/number.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/config/splits.h"
#include "engine/device/device.h"
#include "engine/program/gelu.h"
#include "engine/runtime/session/session.h"
#include "tests/ui/studio_harness.h"

namespace shardlens::ui {
namespace number_test {

constexpr double kLimitSeconds = 300;

/// A run, and any number of it.
class Numbers {
 public:
  explicit Numbers(const std::string& split, DType dtype = DType::Fp64) : session_(settings(split, dtype)) {
    plan = session_.wait_until_idle(kLimitSeconds)->plan;
  }

  std::shared_ptr<const Number> of(const Product& product, int64_t row, int64_t col,
                                   std::optional<SumCut> cut = std::nullopt) {
    const NumberWindows windows = windows_of_number(plan->program, product, row, col);
    std::vector<TensorWindow> asked;
    for (const TensorWindow& window : {windows.a, windows.b, windows.out, windows.bias, windows.after})
      if (window.tensor != kNoTensor) asked.push_back(window);
    session_.send(command::ReadWindows{plan, asked});
    const auto answer = session_.wait_until_idle(kLimitSeconds)->windows;
    const auto values = [&](const TensorWindow& window) -> std::shared_ptr<const WindowValues> {
      for (const auto& read : answer->values)
        if (read->window == window) return read;
      return nullptr;
    };
    return number_of(plan, product, row, col, cut,
                     {values(windows.a), values(windows.b), values(windows.out), values(windows.bias),
                      values(windows.after)});
  }
  Product product(const std::string& step) const {
    for (const Step& one : plan->program.steps)
      if (one.name == step) return *product_of(plan->program, one.id);
    throw std::logic_error("no step " + step);
  }

  std::shared_ptr<const Plan> plan;

 private:
  static Settings settings(const std::string& split, DType dtype) {
    Settings settings = small_settings();
    settings.split = named_split(split);
    settings.dtype = dtype;
    return settings;
  }
  Session session_;
};

class EverySplit : public ::testing::TestWithParam<const char*> {};

TEST_P(EverySplit, ItsTermsMakeTheRunsNumberAndTheSerialRunHasTheSame) {
  Numbers numbers(GetParam());
  const Program& program = numbers.plan->program;
  int products = 0;
  for (const Step& step : program.steps) {
    const std::optional<Product> product = product_of(program, step.id);
    if (!product) continue;
    ++products;
    const auto number = numbers.of(*product, 5, 17);
    EXPECT_EQ(number->makers(), number->cut == SumCut::Whole ? 1 : 4) << step.name;
    double computed = number->bias.value_or(0);
    for (const NumberPart& part : number->parts) {
      if (!part.makes()) continue;
      computed += part.running.back();
      ASSERT_TRUE(part.held) << step.name;
      if (!number->is_terms()) break;
    }
    const double bound = 1e-12 * (1 + std::abs(computed));
    EXPECT_NEAR(computed, number->value(), bound) << step.name;
    ASSERT_TRUE(number->result) << step.name << ": what the run holds in the end";
    EXPECT_FALSE(number->holders.empty()) << step.name;
    ASSERT_TRUE(number->serial) << step.name;
    EXPECT_NEAR(*number->serial, number->value(), bound) << step.name;
  }
  EXPECT_GE(products, 12);
}

INSTANTIATE_TEST_SUITE_P(Splits, EverySplit,
                         ::testing::Values("megatron", "reversed", "replicated", "row-row"));

TEST(Number, ATermIsWhatTheRunHoldsNotWhatIsComputedAnew) {
  Numbers numbers("megatron", DType::Fp32);
  const auto number = numbers.of(numbers.product("mlp.proj"), 5, 17);
  ASSERT_TRUE(number->is_terms());
  for (const NumberPart& part : number->parts) {
    ASSERT_TRUE(part.held);
    EXPECT_EQ(part.term, *part.held);
    EXPECT_EQ(part.term, static_cast<double>(static_cast<float>(part.term))) << "an fp32 number";
    EXPECT_EQ(part.a.size(), 96u);
    EXPECT_NEAR(part.running.back(), part.term, 1e-5);
  }
  EXPECT_EQ(number->holders.size(), 4u) << "Replicated after the all-reduce";
}

TEST(Number, AnotherCutMakesItOfTheSameFactors) {
  Numbers numbers("megatron");
  const Product proj = numbers.product("mlp.proj"), fc = numbers.product("mlp.fc");
  const auto run = numbers.of(proj, 5, 80), whole = numbers.of(proj, 5, 80, SumCut::Whole);
  EXPECT_EQ(whole->makers(), 1);
  EXPECT_TRUE(whole->parts[3].makes()) << "column 80 of 96 lies in the last quarter";
  EXPECT_EQ(whole->parts[3].a.size(), 384u);
  EXPECT_NEAR(whole->sum, run->sum, 1e-12);
  EXPECT_FALSE(whole->is_run);
  const auto terms = numbers.of(fc, 5, 80, SumCut::Terms);
  EXPECT_EQ(terms->makers(), 4);
  EXPECT_NEAR(terms->value(), numbers.of(fc, 5, 80)->value(), 1e-12) << "bias included";
}

TEST(Number, ItsGeluIsThatOfTheDevice) {
  const std::vector<double> x{-6, -1.5, -0.131, 0, 0.052, 0.7, 3, 12};
  for (const Activation form : {Activation::GeluTanh, Activation::GeluErf}) {
    std::vector<double> y(x.size());
    make_cpu_device(1)->gelu(DType::Fp64, form, static_cast<int64_t>(x.size()), x.data(), y.data());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(gelu(form, x[i]), y[i], 1e-15 * (1 + std::abs(y[i]))) << x[i];
  }
}

// A class adds up what it reads.
TEST(AlikeNumbers, TermsAddUpAsTheyAreShown) {
  const AlikeNumbers more = AlikeNumbers::adding_up({-0.55166, -0.02346}, -0.57512);
  EXPECT_EQ(more.text(-0.55166), "\u22120.55166");
  EXPECT_EQ(more.text(-0.57512), "\u22120.57512");
  const AlikeNumbers enough = AlikeNumbers::adding_up({-0.5516, -0.0235}, -0.5751);
  EXPECT_EQ(enough.text(-0.5751), "\u22120.5751");
  const AlikeNumbers rounded = AlikeNumbers::adding_up({0.25, 0.5}, 0.76);  // as 16 bits may round
  EXPECT_EQ(rounded.text(0.76), "0.7600");
  const AlikeNumbers small = AlikeNumbers::adding_up({3.2e-7, 1.25e-8}, 3.325e-7);
  EXPECT_EQ(small.text(3.325e-7), "3.325e-7");
}

TEST(AlikeNumbers, HaveAsManyDecimals) {
  const AlikeNumbers plain({-0.1312, 0.052, 0.0101}), small({3.2e-7, -1.25e-8}), large({123456.0, 2});
  EXPECT_EQ(plain.text(-0.1312), "\u22120.1312");
  EXPECT_EQ(plain.text(0.052, true), "+0.0520");
  EXPECT_EQ(small.text(-1.25e-8), "\u22120.125e-7");
  EXPECT_EQ(large.text(123456.0), "1.235e5");
  EXPECT_EQ(plain.text(std::nan("")), "NaN");
}

}  // namespace number_test
}  // namespace shardlens::ui
