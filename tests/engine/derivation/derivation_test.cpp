// What the derivations of well-known steps say, as text and as LaTeX.
#include "engine/derivation/derivation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace derivation_test {

using ::testing::HasSubstr;
using ::testing::Not;

/// The derivation of a step of GPT-2's layer as text.
std::string derived_text(const std::string& step_name, int tp, const std::string& split = "megatron") {
  Settings settings;
  settings.model = model_preset("gpt2");
  settings.split = named_split(split);
  settings.tp = tp;
  settings.batch = 1;
  settings.seq = 64;
  const Program program = plan_program(settings);
  for (const Step& step : program.steps)
    if (step.name == step_name) return to_text(derive(program, step.id));
  throw std::runtime_error("no step " + step_name);
}

TEST(Derivation, RowParallelIsASumOfTerms) {
  const std::string text = derived_text("mlp.proj", 4);
  EXPECT_THAT(text, HasSubstr("Z = G · Wproj, row-parallel"));
  EXPECT_THAT(text, HasSubstr("64×3072 · 3072×768 = 64×768"));
  EXPECT_THAT(text, HasSubstr("= [G₀ G₁ G₂ G₃] · [Wproj₀; Wproj₁; Wproj₂; Wproj₃]"));
  EXPECT_THAT(text, HasSubstr("= Σᵣ Gᵣ · Wprojᵣ"));
  EXPECT_THAT(text, HasSubstr("rank r: 64×768 · 768×768 = 64×768"));
  EXPECT_THAT(text, HasSubstr("Then all-reduce Z, that is g: Partial → Replicated."));
}

TEST(Derivation, ColumnParallelIsMadeOfBlocks) {
  const std::string text = derived_text("mlp.fc", 4);
  EXPECT_THAT(text, HasSubstr("= N · [Wfc₀ Wfc₁ Wfc₂ Wfc₃] + [b₀ b₁ b₂ b₃]"));
  EXPECT_THAT(text, HasSubstr("= [H₀ H₁ H₂ H₃]"));
  EXPECT_THAT(text, HasSubstr("Then no collective."));
}

TEST(Derivation, ManyRanksAreTheFirstAndTheLast) {
  EXPECT_THAT(derived_text("mlp.fc", 12), HasSubstr("= [H₀ … H₁₁]"));
  EXPECT_THAT(derived_text("mlp.fc", 1), Not(HasSubstr("₀")));
}

// The gradient of a product is named after the product, and not after the sum that passes it on.
TEST(Derivation, TheChainRuleNamesTheProduct) {
  const std::string text = derived_text("mlp.proj dW", 4);
  EXPECT_THAT(text, HasSubstr("∂L/∂Wproj = Gᵀ · ∂L/∂Z"));
  EXPECT_THAT(text, HasSubstr("chain rule, because Z = G · Wproj"));
  EXPECT_THAT(text, HasSubstr("dY is ∂L/∂Z: sums pass it on"));
  EXPECT_THAT(derived_text("mlp.fc dX", 4), HasSubstr("= Σᵣ dHᵣ · Wfcᵣᵀ"));
}

TEST(Derivation, GeluOfASumIsNotTheSumOfGelus) {
  EXPECT_THAT(derived_text("mlp.gelu", 4, "reversed"), HasSubstr("GeLU(Σᵣ H'⁽ʳ⁾) ≠ Σᵣ GeLU(H'⁽ʳ⁾)"));
  EXPECT_THAT(derived_text("mlp.gelu", 4), Not(HasSubstr("≠")));
}

TEST(Derivation, ABiasOnEachTermWouldCountOnceForEachRank) {
  EXPECT_THAT(derived_text("mlp.proj bias", 4), HasSubstr("Σᵣ (Z⁽ʳ⁾ + b) = (Σᵣ Z⁽ʳ⁾) + 4 · b"));
}

TEST(Derivation, LatexHasBlocksAndSums) {
  Settings settings = testing::small_layer(4);
  const Program program = plan_program(settings);
  std::map<std::string, std::string> latex;
  for (const Step& step : program.steps) latex[step.name] = to_latex(derive(program, step.id));
  EXPECT_THAT(latex["mlp.proj"],
              HasSubstr("\\begin{bmatrix} G_{0} & G_{1} & G_{2} & G_{3} \\end{bmatrix} \\cdot "
                        "\\begin{bmatrix} W_{\\mathrm{proj},0} \\\\ W_{\\mathrm{proj},1}"));
  EXPECT_THAT(latex["mlp.proj"], HasSubstr("\\sum_{r=0}^{3} G_{r} \\cdot W_{\\mathrm{proj},r}"));
  EXPECT_THAT(latex["mlp.gelu"], HasSubstr("\\operatorname{GeLU}\\left(H_{0}\\right)"));
  EXPECT_EQ(
      latex_words("50 % & a_b #1 {x} ~ ^ \\ × r’s"),
      "50 \\% \\& a\\_b \\#1 \\{x\\} \\textasciitilde{} \\textasciicircum{} \\textbackslash{} $\\times$ r's");
}

TEST(Derivation, AStepThatIsNotThereIsRefused) {
  const Program program = plan_program(testing::small_layer(2));
  EXPECT_THROW(derive(program, static_cast<StepId>(program.steps.size())), std::out_of_range);
}

}  // namespace derivation_test
}  // namespace shardlens
