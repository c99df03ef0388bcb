// The script of a handout, run by node where it is installed: what it says to the same words as the engine.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/io/json_text.h"
#include "engine/lesson/answer_key.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/written_answer.h"
#include "tests/data_folder.h"

namespace shardlens::testing {

/// A word for a question, and what the engine says to it.
struct Said {
  std::shared_ptr<const AnswerKey> key;
  nlohmann::json given;
};

inline bool has_node() {
  return std::system("node --version >/dev/null 2>&1") == 0;
}

/// What the script of a handout says to the same words.
inline nlohmann::json judged_by_script(const std::vector<Said>& all) {
  const std::string script =
      (std::filesystem::path(test_data_folder()).parent_path().parent_path() / "assets/handout/answers.js")
          .string();
  const std::string cases = ::testing::TempDir() + "answers_" + std::to_string(getpid()) + ".json";
  nlohmann::ordered_json input = {{"rules", rules_of_writing()},
                                  {"keys", nlohmann::ordered_json::array()},
                                  {"said", nlohmann::ordered_json::array()}};
  std::map<const AnswerKey*, size_t> known;
  for (const Said& one : all) {
    const auto [place, is_new] = known.try_emplace(one.key.get(), known.size());
    if (is_new) input["keys"].push_back(key_as_json(*one.key));
    input["said"].push_back({place->second, one.given});
  }
  std::ofstream(cases) << json_text(input);
  const std::string command =
      "node -e 'const a = JSON.parse(require(\"fs\").readFileSync(\"" + cases + "\"));" +
      "const { judge } = require(\"" + script + "\").answersBy(a.rules);" +
      "console.log(JSON.stringify(a.said.map(([key, given]) => judge(a.keys[key], given))))'";
  std::string out;
  FILE* const pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.append(buffer.data(), n);
  pclose(pipe);
  std::filesystem::remove(cases);
  return nlohmann::json::parse(out);
}

inline void expect_same_in_script(const std::vector<Said>& all) {
  if (!has_node()) GTEST_SKIP() << "no node";
  const nlohmann::json script = judged_by_script(all);
  ASSERT_EQ(script.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Judged engine = judge(*all[i].key, all[i].given);
    EXPECT_EQ(script[i]["right"], engine.right) << all[i].given;
    EXPECT_EQ(script[i]["problem"], engine.problem) << all[i].given;
    EXPECT_EQ(script[i]["hint"], engine.hint) << all[i].given;
  }
}

/// Of a lesson with one question.
inline RightAnswer right_of(const Lesson& lesson, std::optional<uint64_t> seed = {}) {
  LessonRun run(lesson, seed);
  return run.right_answer(lesson.scenes[0], lesson.scenes[0].questions[0]);
}

}  // namespace shardlens::testing
