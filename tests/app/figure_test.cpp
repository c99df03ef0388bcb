// Runs --export as a user does. Independent parsers read the figures; their text is text, not outlines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/process.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace figure_test {

using nlohmann::json;
using ::testing::HasSubstr;

class Figures : public TestFolder {
 protected:
  static json read(const std::string& file) {
    const Ended checked = run_program("python3 " + test_data_folder() + "/exports/check_svg.py", file);
    EXPECT_EQ(checked.code, 0) << checked.err;
    return json::parse(checked.out, nullptr, false);
  }
  /// The Program that is drawn.
  static json program() {
    const Ended plan = run_cli(std::string("plan --layer --json") + kTinyModel);
    EXPECT_EQ(plan.code, 0) << plan.err;
    return json::parse(plan.out)["program"];
  }
};

/// Whether one of the texts is `words`, or its beginning where it was shortened.
bool has(const json& texts, const std::string& words) {
  static const std::string kShortened = "…";
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    if (!text.ends_with(kShortened)) return text == words;
    return words.starts_with(text.substr(0, text.size() - kShortened.size()));
  });
}

/// What the Stage says of a step, in the letters that are drawn: two characters are in none of the faces.
std::string first_clause(std::string equation) {
  equation = equation.substr(0, equation.find(",  "));
  for (const auto& [character, letter] : {std::pair<std::string, std::string>{"ᵀ", "T"}, {"∘", "o"}})
    for (size_t at; (at = equation.find(character)) != std::string::npos;)
      equation.replace(at, character.size(), letter);
  return equation;
}

TEST_F(Figures, TheStageIsVectorsWithText) {
  ASSERT_EQ(draw_offscreen("--export " + path("stage.svg") + kTinyModel).code, 0);
  const json found = read(path("stage.svg"));
  EXPECT_EQ(found["ranks"], (json{"rank 0", "rank 1"}));
  EXPECT_EQ(found["width"], 960);
  int64_t pictures = 0, collectives = 0;
  const json drawn = program();
  for (const json& step : drawn["steps"]) {
    const std::string op = step["op"];
    if (op == "all-reduce") ++collectives;
    if (op == "all-reduce" || op == "identity" || op == "slice") continue;
    EXPECT_TRUE(has(found["texts"], first_clause(step["equation"]))) << step["equation"];
    ++pictures;
  }
  EXPECT_EQ(collectives, 4);
  EXPECT_GE(pictures, 20);
  EXPECT_GE(found["images"], 2 * pictures);  // one a rank, and weights
  EXPECT_EQ(std::count_if(found["texts"].begin(), found["texts"].end(),
                          [](const std::string& text) { return text.starts_with("all-reduce"); }),
            collectives);
}

TEST_F(Figures, ThemeAndSizeAreAsAskedFor) {
  ASSERT_EQ(draw_offscreen("--export " + path("light.svg") + kTinyModel).code, 0);
  ASSERT_EQ(
      draw_offscreen("--export " + path("dark.svg") + " --theme dark --size 1280x720" + kTinyModel).code, 0);
  const json light = read(path("light.svg")), dark = read(path("dark.svg"));
  EXPECT_GT(light["ground"], "#c0") << "of paper";
  EXPECT_LT(dark["ground"], "#40");
  EXPECT_EQ(dark["width"], 1280);
  EXPECT_EQ(dark["height"], 720);
}

TEST_F(Figures, TheTimelineHasATrackARank) {
  ASSERT_EQ(draw_offscreen("--export " + path("timeline.svg") + " --view timeline" + kTinyModel).code, 0);
  const json found = read(path("timeline.svg"));
  EXPECT_EQ(found["ranks"], (json{"rank 0", "rank 1"}));
  EXPECT_LT(found["height"], 300);
  EXPECT_EQ(found["images"], 0);
}

TEST_F(Figures, AWholeRecordingHasItsPassesOnOneAxis) {
  const Ended recorded = run_cli("step --updates 3 --record " + path("run.shardlens") + kTinyModel);
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const Ended drawn = draw_offscreen("--export " + path("run.svg") + " --view recording --recording " +
                                     path("run.shardlens"));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const json found = read(path("run.svg"));
  EXPECT_EQ(found["ranks"], (json{"rank 0", "rank 1"}));
  EXPECT_EQ(found["images"], 0);
  EXPECT_LT(found["height"], 300);
  const auto is_named = [&](const std::string& pass) {  // as fully as there is room
    return std::any_of(found["texts"].begin(), found["texts"].end(), [&](const std::string& text) {
      return text == pass || text == "pass " + pass || text.starts_with("pass " + pass + " ");
    });
  };
  EXPECT_TRUE(is_named("0"));
  EXPECT_TRUE(is_named("1")) << "not only the one that is looked at";
  for (const std::string text : found["texts"])
    if (text.starts_with("replayed on ")) {
      const std::string machine = text.substr(12);
      EXPECT_EQ(machine.find(" on "), std::string::npos) << "the machine is named once: " << text;
    }
}

TEST_F(Figures, AWholeModelIsAStripOfLayers) {
  ASSERT_EQ(draw_offscreen("--export " + path("model.svg") + " --block model" + kTinyModel).code, 0);
  const json found = read(path("model.svg"));
  EXPECT_TRUE(has(found["texts"], "layer 0"));
  EXPECT_TRUE(has(found["texts"], "layer 1"));
}

TEST_F(Figures, APdfSaysTheSameAndEmbedsItsFaces) {
  ASSERT_EQ(draw_offscreen("--export " + path("stage.svg") + kTinyModel).code, 0);
  ASSERT_EQ(draw_offscreen("--export " + path("stage.pdf") + kTinyModel).code, 0);
  const Ended facts = run_program("pdfinfo", path("stage.pdf"));
  EXPECT_THAT(facts.out, ::testing::ContainsRegex("Pages: +1\n"));
  EXPECT_THAT(facts.out, ::testing::ContainsRegex("Page size: +720 x "));
  const Ended fonts = run_program("pdffonts", path("stage.pdf") + " | tail -n +3");
  EXPECT_THAT(fonts.out, HasSubstr("Roboto"));
  EXPECT_THAT(fonts.out, HasSubstr("Inconsolata"));
  std::istringstream lines(fonts.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(line, ::testing::ContainsRegex("yes +yes +yes")) << "embedded, cut down, with its characters";
  const std::string said = run_program("pdftotext -layout", path("stage.pdf") + " -").out;
  for (const char* words :
       {"T = 2", "rank 0", "rank 1", "QKV = U · Wqkv + b", "dN = dH · Wfcᵀ", "all-reduce dU"})
    EXPECT_THAT(said, HasSubstr(words));
}

TEST_F(Figures, AWrongRequestNamesTheRemedy) {
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const Ended ended = draw_offscreen(arguments + kTinyModel);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(words));
  };
  refused("--export " + path("stage.png"), "--screenshot");
  refused("--export " + path("stage.svg") + " --view memory", "timeline");
  refused("--export " + path("stage.svg") + " --view recording", "--recording");
  refused("--export " + path("absent/stage.svg"), "folder");
  refused("--export " + path("stage.svg") + " --size 99999x99999", "--size");
  refused("--screenshot " + path("a.png") + " --view timeline", "view");
}

}  // namespace figure_test
}  // namespace shardlens
