// Compares Shardlens with an independent implementation: runs `step` as a user does on the models of
// tests/data/goldens.
#include "tests/app/golden.h"

namespace shardlens {
namespace golden_test {

/// A case of tests/data/goldens at a tensor-parallel degree.
class Golden : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  std::string name() const { return std::get<0>(GetParam()); }
  int tp() const { return std::get<1>(GetParam()); }
  std::string degrees(int dp) const { return fmt::format("--tp {} --dp {}", tp(), dp); }
};

TEST_P(Golden, OnePassAgreesInLossLogitsAndEveryGradient) {
  const Tensors expected = without_losses(expected_of(name(), "expected"));
  for (const int dp : {1, 2}) {
    for (const auto& [dtype, bound] : {std::pair{"fp64", 1e-11}, {"fp32", 2e-5}}) {
      const std::string options = degrees(dp) + " --dtype " + dtype;
      expect_close(step(name(), options), expected, {bound, bound, 0}, dtype == std::string("fp64"), options);
    }
  }
}

// In fp64 the bounds are far below what leaving out decay or clipping changes: 1e-4 and 7e-4 of a parameter.
TEST_P(Golden, TenUpdatesAgreeInLossesGradientsAndParameters) {
  const bool whole = fs::exists(folder(name()) + "/after_updates_fp64.safetensors");
  Tensors expected = expected_of(name(), whole ? "after_updates" : "expected");
  if (!whole) expected = {{"losses", expected.at("losses")}};
  for (const int dp : {1, 2}) {
    for (const auto& [dtype, bounds] :
         {std::pair{"fp64", Bounds{1e-10, 1e-9, 1e-9}}, {"fp32", Bounds{1e-4, 1e-4, 1e-4}}}) {
      const std::string options = degrees(dp) + " --dtype " + dtype + kOptimizer;
      Tensors dump = step(name(), options);
      if (!whole) dump = dump.empty() ? dump : Tensors{{"losses", dump["losses"]}};
      expect_close(dump, expected, bounds, dtype == std::string("fp64"), options);
    }
  }
}

// Half precision rounds each tensor it stores to relative u: 2^-8 in bf16, 2^-11 in fp16. On the way to the
// logits lie at most 14 stored tensors a layer and 6 around them, on the way back to a gradient as many
// again: 34 and 68 in two layers. With every rounding at its worst and none cancelling, errors stay below 34
// u and 68 u.
TEST_P(Golden, HalfPrecisionStaysWithinItsRoundings) {
  const Tensors expected = without_losses(expected_of(name(), "expected"));
  for (const auto& [dtype, u] : {std::pair{"bf16", 0x1p-8}, {"fp16", 0x1p-11}}) {
    const std::string options = degrees(1) + " --dtype " + dtype;
    expect_close(step(name(), options), expected, {34 * u, 68 * u, 0}, false, options);
  }
}

INSTANTIATE_TEST_SUITE_P(Peers, Golden,
                         ::testing::Combine(::testing::Values("gpt2-3-heads", "gpt2-5-heads", "gpt2-untied",
                                                              "bert-post-3-heads", "bert-pre-5-heads"),
                                            ::testing::Range(1, 6)),
                         [](const auto& test) {
                           std::string text =
                               fmt::format("{}_T{}", std::get<0>(test.param), std::get<1>(test.param));
                           for (char& c : text)
                             if (c == '-') c = '_';
                           return text;
                         });

// What else may be chosen without changing a number: the loss's form, the cuts, what is recomputed, and the
// parts a batch is run in (with unequal numbers of labels).
TEST(GoldenChoices, ChangeNoNumber) {
  for (const char* name : {"gpt2-3-heads", "gpt2-5-heads", "bert-post-3-heads", "bert-pre-5-heads"}) {
    const Tensors expected = without_losses(expected_of(name, "expected"));
    for (const char* choice :
         {"--loss gather", "--split reversed", "--split row-row", "--split column-column",
          "--split replicated", "--recompute selective", "--recompute full", "--micro-batches 2"}) {
      const std::string options = std::string("--tp 3 --dtype fp64 ") + choice;
      expect_close(step(name, options), expected, {1e-11, 1e-11, 0}, true, name + (" " + options));
    }
  }
}

}  // namespace golden_test
}  // namespace shardlens
