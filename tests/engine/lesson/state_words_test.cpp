// A state as words of a command line: the same state again, and a sentence for each wrong word.
#include "engine/lesson/state_words.h"

#include <gmock/gmock.h>

#include "engine/base/error.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/read_blocks.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace state_words_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refused(const std::vector<std::string>& words) {
  try {
    state_of_words(words);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is refused";
}

/// What an expression gives, words cannot say; a link is made of what is shown.
bool has_expressions(const SceneState& state) {
  for (const auto& [key, value] : state.run.table.entries())
    if (!drawn_name(value).empty()) return true;
  return false;
}

TEST(StateWords, EverySceneOfTheLessonsIsTheSameAgain) {
  int states = 0;
  for (const auto& lesson : built_in_lessons())
    for (const Scene& scene : lesson->scenes) {
      if (has_expressions(scene.state)) continue;
      const std::vector<std::string> words = state_as_words(scene.state);
      EXPECT_EQ(scene_as_toml(state_of_words(words)), scene_as_toml(scene.state)) << scene.id;
      ++states;
    }
  EXPECT_GT(states, 40);
}

TEST(StateWords, AreShortAndAsAPersonTypesThem) {
  const std::vector<std::string> words = {"tp=8", "hidden=1024", "view=memory", "page=layer"};
  EXPECT_EQ(state_as_words(state_of_words(words)), words);
  EXPECT_THAT(state_as_words(state_of_words({"number={ row = 3, column = 5 }", "view=stage", "page=number",
                                             "select=all-reduce mlp.proj.sum"})),
              ElementsAre("view=stage", "page=number", "select=all-reduce mlp.proj.sum", ::testing::_));
}

TEST(StateWords, ATextThatLooksLikeAnotherValueKeepsItsQuotes) {
  for (const std::string text : {"7", "true", "1.5", "[1]", "{}", "\"quoted\"", "", "2020-01-01", "a = 1",
                                 "two\nlines", "# no remark", "é", "nan"}) {
    SceneState state;
    state.select = text.empty() ? "x" : text;
    state.spotlight = {text};
    EXPECT_EQ(scene_as_toml(state_of_words(state_as_words(state))), scene_as_toml(state)) << text;
  }
}

TEST(StateWords, EveryKeyIsOfTheSceneOrOfItsRun) {
  const std::string file = "a scene";
  const Names none;
  const BlockPlace place{file, 1, none};
  for (const RunKey& key : run_keys())
    EXPECT_THROW(read_scene(std::string(key.name) + " = 1", place), Error)
        << key.name << ": a scene has this key too";
}

TEST(StateWords, AWrongOneIsNamedWithWhatWouldWork) {
  EXPECT_THAT(refused({"memory"}), HasSubstr("KEY=VALUE, such as view=memory"));
  EXPECT_THAT(refused({"=3"}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused({"tp=2", "tp=4"}), HasSubstr("tp stands twice"));
  EXPECT_THAT(refused({"view=memry"}), HasSubstr("memory"));
  EXPECT_THAT(refused({"veiw=memory"}), HasSubstr("view"));
  EXPECT_THAT(refused({"tp=many"}), HasSubstr("tp"));
  EXPECT_THAT(refused({"recording=gallery:late"}), HasSubstr("late-rank"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"view=memry"}, {"tp=many"}})
    EXPECT_EQ(refused(words).find(":1:"), std::string::npos) << "words have no lines: " << refused(words);
}

}  // namespace state_words_test
}  // namespace shardlens
