// Every step of every Program has a derivation, and each of its lines is true of the plan: the matrices
// multiply, blocks tile the whole, and both sides have one shape.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/derivation/derivation.h"
#include "engine/program/fault.h"
#include "tests/engine/derivation/every_program.h"
#include "tests/engine/derivation/line_shapes.h"

namespace shardlens {
namespace every_step_test {

using testing::every_program;
using ::testing::HasSubstr;
using testing::held;
using testing::NamedProgram;
using testing::untruth_of;

bool is_part_line(const DerivationLine& line, TensorId of, MathKind kind) {
  const Math* right = &line.right;
  if (right->kind != kind) return false;
  while (!right->parts.empty()) right = &right->parts.front();
  return right->kind == MathKind::Symbol && right->tensor == of;
}

/// Sound Programs: a derivation for each step, its lines true.
class EveryProgram : public ::testing::Test {
 protected:
  static const std::vector<NamedProgram>& programs() {
    static const std::vector<NamedProgram> all = every_program();
    return all;
  }
  template <class Check>
  static void for_every_step(Check check) {
    for (const NamedProgram& named : programs())
      for (const Step& step : named.program.steps) {
        SCOPED_TRACE(fmt::format("{}: step {} {}: {}", named.name, step.id, step.name, step.equation));
        check(named.program, step, derive(named.program, step.id));
        if (::testing::Test::HasFailure()) return;  // one is enough to read
      }
  }
};

TEST_F(EveryProgram, TheyHaveEveryOperation) {
  std::set<Op> seen;
  for (const NamedProgram& named : programs())
    for (const Step& step : named.program.steps) seen.insert(step.op);
  for (const Operation& row : operations()) EXPECT_TRUE(seen.contains(row.op)) << row.name;
}

TEST_F(EveryProgram, EachStepHasADerivation) {
  for_every_step([](const Program&, const Step&, const Derivation& derivation) {
    ASSERT_FALSE(derivation.lines.empty());
    EXPECT_FALSE(derivation.title.empty());
    EXPECT_FALSE(derivation.lines.front().left.empty()) << "the first line has nothing to go on from";
    for (const DerivationLine& line : derivation.lines) {
      EXPECT_FALSE(to_text(line.right).empty());
      EXPECT_LE(line.left.size(), 1u);
    }
  });
}

TEST_F(EveryProgram, EachLineHasTheShapesOfThePlan) {
  for_every_step([](const Program& program, const Step&, const Derivation& derivation) {
    EXPECT_EQ(untruth_of(program, derivation), "") << to_text(derivation);
  });
}

TEST_F(EveryProgram, NothingIsUnequalButWhatWouldBeDoneOnTerms) {
  for_every_step([](const Program&, const Step& step, const Derivation& derivation) {
    for (const DerivationLine& line : derivation.lines)
      if (line.relation == Relation::NotEqual) {
        EXPECT_TRUE(step.op == Op::Gelu || step.op == Op::Tanh) << to_text(derivation);
        EXPECT_THAT(line.remark, HasSubstr("the terms are added before"));
      }
  });
}

// The last line of a product says how the ranks hold it: as blocks if it is cut, as terms if it is Partial.
TEST_F(EveryProgram, EachProductEndsInItsLayout) {
  int blocks = 0, terms = 0;
  for_every_step([&](const Program& program, const Step& step, const Derivation& derivation) {
    if (operation(step.op).kind != OpKind::Product) return;
    const Tensor& out = program.tensor(step.outputs[0]);
    const auto has = [&](MathKind kind) {
      return std::any_of(derivation.lines.begin(), derivation.lines.end(),
                         [&](const DerivationLine& line) { return is_part_line(line, out.id, kind); });
    };
    EXPECT_EQ(has(MathKind::Blocks), out.layout.dim >= 0) << to_text(derivation);
    EXPECT_EQ(has(MathKind::RankSum), out.layout == kPartial) << to_text(derivation);
    blocks += out.layout.dim >= 0 ? 1 : 0;
    terms += out.layout == kPartial ? 1 : 0;
  });
  EXPECT_GT(blocks, 100);
  EXPECT_GT(terms, 100);
}

/// "64x3072 · 3072x768 = 64x768", of rank 0's parts or of the full matrices, by the plan's placements.
std::string sizes_of(const Program& program, const Step& step, bool of_rank) {
  const Factors factors = factors_of(step);
  const auto size = [&](TensorId id, bool turned) {
    const Tensor& tensor = program.tensor(id);
    const MatrixShape full = matrix_shape(tensor);
    const bool cuts_rows = tensor.layout.dim >= 0 && tensor.layout.dim < tensor.row_dims;
    const bool cuts_cols = tensor.layout.dim >= tensor.row_dims;
    const int64_t rows = of_rank && cuts_rows ? held(program, tensor, true, 0) : full.rows;
    const int64_t cols = of_rank && cuts_cols ? held(program, tensor, false, 0) : full.cols;
    return turned ? fmt::format("{}×{}", cols, rows) : fmt::format("{}×{}", rows, cols);
  };
  const TensorId bent = output_of(program, step, Operand::GeluInput);
  return fmt::format("{} · {} = {}", size(input_of(program, step, factors.a), factors.a_turned),
                     size(input_of(program, step, factors.b), factors.b_turned),
                     size(bent != kNoTensor ? bent : step.outputs[0], false));
}

TEST_F(EveryProgram, TheSizesBesideAProductAreThePlans) {
  for_every_step([](const Program& program, const Step& step, const Derivation& derivation) {
    if (operation(step.op).kind != OpKind::Product) return;
    std::string remarks;
    for (const DerivationLine& line : derivation.lines) remarks += line.remark + "\n";
    EXPECT_THAT(remarks, HasSubstr(sizes_of(program, step, false)));
    if (program.tensor(step.outputs[0]).layout == kReplicated) return;
    EXPECT_THAT(remarks, HasSubstr(sizes_of(program, step, true))) << to_text(derivation);
  });
}

// It says of the meeting what the plan has: the collective that comes next, or none.
TEST_F(EveryProgram, WhatFollowsIsThePlans) {
  for_every_step([](const Program& program, const Step& step, const Derivation& derivation) {
    if (is_conversion(step.op) || step.outputs.size() != 1) return;
    std::string next;
    for (const StepId reader : consumers_of(program, step.outputs[0])) {
      const Step& follows = program.step(reader);
      if (!is_conversion(follows.op) || !next.empty()) continue;
      next = follows.op != Op::Identity          ? to_string(follows.op)
             : follows.conjugate == Conjugate::F ? "f,"
                                                 : "g,";
    }
    const bool fits = next.empty() ? derivation.then.empty() || derivation.then == "Then no collective."
                                   : derivation.then.starts_with("Then " + next);
    EXPECT_TRUE(fits) << derivation.then << " and not " << next;
  });
}

/// Empty if brackets and environments close in the order in which they open.
std::string unbalanced(const std::string& latex) {
  std::vector<std::string> open;
  const auto name_at = [&](size_t at) { return latex.substr(at, latex.find('}', at) - at + 1); };
  for (size_t at = 0; at < latex.size(); ++at) {
    const std::string_view rest = std::string_view(latex).substr(at);
    if (rest.starts_with("\\begin{"))
      open.push_back(name_at(at + 6)), at += 6 + open.back().size() - 1;
    else if (rest.starts_with("\\end{")) {
      const std::string name = name_at(at + 4);
      if (open.empty() || open.back() != name) return "ends " + name;
      open.pop_back();
      at += 4 + name.size() - 1;
    } else if (rest.starts_with("\\left("))
      open.emplace_back("("), at += 5;
    else if (rest.starts_with("\\right)")) {
      if (open.empty() || open.back() != "(") return "a bracket too many";
      open.pop_back();
      at += 6;
    } else if (rest.front() == '\\')
      ++at;
    else if (rest.front() == '{')
      open.emplace_back("{");
    else if (rest.front() == '}') {
      if (open.empty() || open.back() != "{") return "a brace too many";
      open.pop_back();
    }
  }
  return open.empty() ? "" : "left open: " + open.back();
}

/// True if something has two superscripts or two subscripts, which LaTeX refuses.
bool has_double_script(const std::string& latex) {
  for (size_t at = 0; at < latex.size(); ++at) {
    std::set<char> seen;
    while (at < latex.size() && (latex[at] == '^' || latex[at] == '_')) {
      if (!seen.insert(latex[at]).second) return true;
      int depth = 0;
      do {
        ++at;
        if (at < latex.size()) depth += latex[at] == '{' ? 1 : latex[at] == '}' ? -1 : 0;
      } while (at < latex.size() && depth > 0);
      ++at;
    }
  }
  return false;
}

TEST_F(EveryProgram, LatexIsAsciiAndBalanced) {
  for_every_step([](const Program&, const Step&, const Derivation& derivation) {
    const std::string latex = to_latex(derivation);
    EXPECT_EQ(unbalanced(latex), "") << latex;
    EXPECT_FALSE(has_double_script(latex)) << latex;
    EXPECT_TRUE(latex.starts_with("\\begin{align*}\n")) << latex;
    EXPECT_TRUE(latex.ends_with("\\end{align*}\n")) << latex;
    for (const char c : latex) ASSERT_TRUE(c == '\n' || (c >= 32 && c < 127)) << latex;
    EXPECT_EQ(latex.find('?'), std::string::npos) << "a character without a name: " << latex;
    const auto lines = std::count(latex.begin(), latex.end(), '\n');
    EXPECT_EQ(static_cast<size_t>(lines), derivation.lines.size() + 2) << latex;
  });
}

// A planted mistake is a Program too: its steps are derived, and what is wrong is not called equal.
TEST(DerivationOfMistakes, EachStepHasADerivationAndSomethingIsUnequal) {
  const std::map<Fault, const char*> unequal = {
      {Fault::BiasBeforeReduction, "+ b"}, {Fault::SkipF, "⁽ʳ⁾"},      {Fault::SkipG, "⁽ʳ⁾"},
      {Fault::GeluOnPartial, "GeLU"},      {Fault::ReduceCopy, "⁽ʳ⁾"}, {Fault::LocalStatistics, "a"},
      {Fault::ClipInflated, "elements"}};
  int planted = 0;
  for (const Fault fault : all_faults())
    for (const char* split : {"megatron", "reversed"}) {
      Settings settings = testing::derived_model("gpt2-tiny", 2, split);
      settings.dropout = 0.1;
      settings.fusion = Fusion::Off;
      if (fault == Fault::LocalStatistics) settings.split.norm = NormCut::Parallel;
      std::optional<Program> program;
      try {
        program = plant(plan_program(settings), fault);
      } catch (const std::exception&) {
        continue;  // not in this split
      }
      ++planted;
      std::string wrong;
      for (const Step& step : program->steps) {
        const Derivation derivation = derive(*program, step.id);
        ASSERT_FALSE(derivation.lines.empty()) << to_string(fault) << " " << step.name;
        EXPECT_EQ(unbalanced(to_latex(derivation)), "");
        for (const DerivationLine& line : derivation.lines)
          if (line.relation == Relation::NotEqual && line.remark.find("added before") == std::string::npos)
            wrong += to_text(line.right) + "\n";
      }
      const auto expected = unequal.find(fault);
      if (expected == unequal.end()) continue;
      EXPECT_THAT(wrong, HasSubstr(expected->second)) << to_string(fault) << ", " << split;
    }
  EXPECT_GE(planted, static_cast<int>(all_faults().size()) - 1);
}

}  // namespace every_step_test
}  // namespace shardlens
