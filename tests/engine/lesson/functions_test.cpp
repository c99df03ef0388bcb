// Expressions yield what the plan and the run hold.
#include "engine/lesson/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/cost/figures.h"
#include "engine/cost/memory_wall.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/lesson.h"
#include "engine/planner/parameters.h"
#include "engine/planner/planner.h"
#include "tests/engine/small_layer.h"

namespace shardlens {
namespace lesson_functions_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::small_layer;

class LessonFunctions : public ::testing::Test {
 protected:
  Value of(const std::string& text, std::optional<Fault> mistake = {}) {
    const ExpressionPtr expression = parse_expression(text, {});
    return evaluate(*expression, {store_, store_.of(settings_, mistake), drawn_});
  }
  double number(const std::string& text, std::optional<Fault> mistake = {}) {
    return std::get<LessonNumber>(of(text, mistake)).value;
  }
  std::string text(const std::string& expression, std::optional<Fault> mistake = {}) {
    return to_text(of(expression, mistake));
  }
  std::string refusal(const std::string& expression) {
    try {
      return "accepted: " + text(expression);
    } catch (const Error& error) {
      return error.what();
    }
  }

  Settings settings_ = small_layer(4);
  EvidenceStore store_;
  Drawn drawn_;
};

TEST_F(LessonFunctions, ArithmeticAndComparison) {
  EXPECT_EQ(number("1 + 2 * 3 - 4 / 8"), 6.5);
  EXPECT_EQ(number("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(number("-2 ^ 2 + (1 + 1)"), 6);
  EXPECT_EQ(number("max(1, 7, 3) - min(4, 2)"), 5);
  EXPECT_EQ(number("10 - 3 - 2"), 5);
  EXPECT_EQ(text("1 < 2 and not 2 <= 1 or no"), "yes");
  EXPECT_EQ(text("if(ranks == 4, 'four', 'other')"), "four");
  EXPECT_EQ(text("'a' + 1 + 'b'"), "a1b");
  EXPECT_EQ(text("percent(0.25)"), "25 %");
  EXPECT_EQ(text("round(2.346, 2)"), "2.35");
  EXPECT_THAT(refusal("1 / 0"), HasSubstr("divides by zero"));
  EXPECT_THAT(refusal("1 == 'a'"), HasSubstr("cannot be compared"));
  EXPECT_THAT(refusal("'a' * 2"), HasSubstr("needs numbers"));
  EXPECT_THAT(refusal("1 and yes"), HasSubstr("needs a yes or no"));
}

TEST_F(LessonFunctions, AValueThatIsNoFiniteNumberIsRefusedByName) {
  for (const char* const formula :
       {"1e308 * 10", "exactly(1e308*10)", "-(1e308 * 10)", "2 ^ 5000", "(-8) ^ 0.5", "1e308 + 1e308",
        "1e308 * 10 > 1", "'a' + 1e308 * 10", "max(1, 1e308 * 10)", "if(yes, 1e308 * 10, 1)",
        "1 / 1e-309 / 1e-9", "bytes() ^ 99", "digits(1e308 * 10, 3)", "percent(1e308)", "round(1e308, 9)",
        "plain(1e308 * 10)"}) {
    const std::string words = refusal(formula);
    EXPECT_THAT(words, AnyOf(HasSubstr("(infinite)"), HasSubstr("(NaN)"), HasSubstr("too large"))) << formula;
    EXPECT_THAT(words, Not(HasSubstr("accepted"))) << formula;
  }
  EXPECT_THAT(refusal("1 + (1e308 * 10)"), HasSubstr("`1e+308 * 10` is larger than any number (infinite)"));
  EXPECT_EQ(text("exactly(1e15)"), "1000000000000000");
}

TEST_F(LessonFunctions, OneLateRankIsAText) {
  EXPECT_EQ(number("with('delays', '2:mlp.proj:5', late_rank())"), 2);
  EXPECT_EQ(number("with('tp', 2, 'delays', '1:mlp.proj:5', waiting_ranks())"), 1);
  EXPECT_THAT(refusal("with('delays', '2:mlp.proj', late_rank())"), HasSubstr("delays"));
}

TEST_F(LessonFunctions, ReadThePlan) {
  const Program program = plan_program(settings_);
  int forward = 0;
  int64_t sent = 0;
  StepId first = -1;
  for (const Step& step : program.steps) {
    if (!is_collective(step.op)) continue;
    if (first < 0) first = step.id;
    if (step.phase == Phase::Forward) ++forward, sent += sent_bytes(program, step.id);
  }
  EXPECT_EQ(number("collectives(forward)"), forward);
  EXPECT_EQ(number("sent_bytes(forward)"), static_cast<double>(sent));
  EXPECT_EQ(text("collective(1)"), program.step(first).name);
  EXPECT_EQ(text("explain(collective(1))"), explain(program, first));
  EXPECT_EQ(text("shape('mlp.fc.weight')"), "[96, 384]");
  EXPECT_EQ(text("local_shape('mlp.fc.weight')"), "[96, 96]");
  EXPECT_EQ(number("local_shape('mlp.fc.weight', 1, 3)"), 96);
  EXPECT_EQ(text("layout('mlp.fc.out')"), "Sharded(1)");
  EXPECT_EQ(text("layout('mlp.proj.sum@partial')"), "Partial");
  EXPECT_EQ(text("shape('Wfc')"), text("shape('mlp.fc.weight')"));
  EXPECT_EQ(number("bytes('weights')"),
            static_cast<double>(
                store_.of(settings_)->plan().memory[0].arena_bytes[static_cast<size_t>(MemoryKind::Weight)]));
  EXPECT_EQ(number("bytes()"),
            static_cast<double>(total_bytes(store_.of(settings_)->plan().memory[0].arena_bytes)));
  EXPECT_EQ(number("hops(collective(1))"), 6);
  EXPECT_EQ(number("heads_on(3)"), 3);
  EXPECT_EQ(text("in_order('mlp.proj', 'attn.proj', 'mlp.fc')"), "attn.proj, mlp.fc, mlp.proj");
  EXPECT_THAT(text("explain('mlp.gelu')"), Not(HasSubstr("all-reduce is")));
  EXPECT_THAT(refusal("shape('mlp.fcc.out')"), HasSubstr("did you mean \"mlp.fc.out\"?"));
  EXPECT_THAT(refusal("sent_bytes('mlp.prj')"), HasSubstr("did you mean \"mlp.proj\"?"));
  EXPECT_THAT(refusal("bytes('wieghts')"), HasSubstr("did you mean \"weights\"?"));
  EXPECT_THAT(refusal("collectives('forwrd')"), HasSubstr("did you mean \"forward\"?"));
  EXPECT_THAT(refusal("collective(9)"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("local_shape('X', 0, 4)"), HasSubstr("from 0 to 3"));
}

TEST_F(LessonFunctions, OtherSettingsForOneExpression) {
  EXPECT_EQ(number("with('split', 'reversed', sent_bytes(forward))"), [&] {
    const Program program = plan_program([&] {
      Settings reversed = settings_;
      reversed.split = named_split("reversed");
      return reversed;
    }());
    int64_t sent = 0;
    for (const Step& step : program.steps)
      if (step.phase == Phase::Forward) sent += sent_bytes(program, step.id);
    return static_cast<double>(sent);
  }());
  EXPECT_EQ(number("with('tp', 2, 'split', 'reversed', ranks)"), 2);
  EXPECT_EQ(number("ranks"), 4);
  EXPECT_THAT(refusal("with('tq', 2, ranks)"), HasSubstr("did you mean \"tp\"?"));
}

TEST_F(LessonFunctions, ReadTheWallAndTheFigures) {
  const Model model = model_preset("megatron-8.3b");
  EXPECT_EQ(number("wall_bytes('megatron-8.3b', 8)"),
            wall_bytes(static_cast<double>(parameter_count(model)), 8).total());
  EXPECT_EQ(text("fits('megatron-8.3b', 1, 'v100-32gb')"), "no");
  EXPECT_EQ(text("fits('megatron-8.3b', 8, 'v100-32gb')"), "yes");
  EXPECT_EQ(number("smallest_tp('megatron-8.3b', 'v100-32gb')"),
            smallest_degree(static_cast<double>(parameter_count(model)), 32e9));
  EXPECT_EQ(number("parameter_bytes('all')"), 16);
  const WorkedFigure figure = worked_figures().front();
  EXPECT_EQ(number("figure('" + figure.what + "')"), figure.exact);
  EXPECT_EQ(text("printed('" + figure.what + "')"), figure.printed);
  EXPECT_THAT(refusal("figure('sent by each rank')"), HasSubstr("unknown figure"));
}

TEST_F(LessonFunctions, ReadTheRun) {
  double sum = 0;
  for (int rank = 0; rank < 4; ++rank)
    sum += number("value('mlp.proj.sum@partial', 3, 5, " + std::to_string(rank) + ")");
  EXPECT_NEAR(sum, number("value('mlp.proj.sum', 3, 5)"), 1e-5);
  EXPECT_NEAR(number("right_value('mlp.proj.sum', 3, 5)"), sum, 1e-5);
  EXPECT_LE(number("error('Y')"), 3e-6);
  EXPECT_EQ(text("agrees()"), "yes");
  EXPECT_EQ(number("wrong()"), 0);
  EXPECT_GT(number("compared(forward)"), 5);
  EXPECT_GT(number("time('mlp.fc')"), 0);
  EXPECT_GE(number("pass_time()"), number("time('mlp.fc')"));
  EXPECT_EQ(text("ranks_agree('mlp.proj.sum')"), "yes");
  EXPECT_EQ(text("ranks_agree('mlp.proj.sum@partial')"), "no");
  EXPECT_THAT(refusal("first_wrong()"), HasSubstr("every tensor is right"));
  EXPECT_THAT(refusal("value('Y', 48, 0)"), HasSubstr("from 0 to 47"));
  EXPECT_THAT(refusal("loss(1)"), HasSubstr("only a whole model has a loss"));
  EXPECT_THAT(refusal("with('model', 'gpt3-175b', 'tp', 8, 'batch', 64, 'seq', 2048, agrees())"),
              HasSubstr("too many to run in a lesson"));
}

TEST_F(LessonFunctions, ReadAPlantedMistake) {
  EXPECT_EQ(text("agrees()", Fault::SkipF), "no");
  EXPECT_EQ(number("wrong(forward)", Fault::SkipF), 0);
  EXPECT_GT(number("wrong(backward)", Fault::SkipF), 0);
  EXPECT_THAT(text("first_wrong()", Fault::SkipF), HasSubstr("grad."));
  EXPECT_GT(number("error('grad.ln2.out')", Fault::SkipF), 0.1);
  EXPECT_EQ(text("sees('gradients against a right run')", Fault::SkipF), "yes");
  EXPECT_EQ(text("with('mistake', 'skip-g', wrong(forward) > 0)"), "yes");
}

TEST_F(LessonFunctions, EveryFunctionHasItsSentence) {
  const std::string page = functions_as_markdown();
  for (const Function& one : functions()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(one.name) + "("));
    EXPECT_EQ(find_known_name(one.name), nullptr) << one.name;
    EXPECT_LE(one.least, one.most) << one.name;
    EXPECT_STRNE(one.sentence, "");
  }
}

}  // namespace lesson_functions_test
}  // namespace shardlens
