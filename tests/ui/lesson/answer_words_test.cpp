// What the Stage writes beside a row is an answer: it names the row's step, alone or with others whose rows
// are called the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/lesson/answer_key.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/marking.h"
#include "tests/engine/lesson/built_in_names.h"
#include "ui/stage/meeting.h"
#include "ui/stage/rows.h"

namespace shardlens::ui {
namespace answer_words_test {

class AnswersOfTheStage : public ::testing::TestWithParam<std::string> {};

TEST_P(AnswersOfTheStage, ARowsWordsNameItsStepAndItsTensor) {
  const auto lesson = find_lesson(GetParam());
  LessonRun run(*lesson, {});
  int rows = 0;
  for (const Scene& scene : lesson->scenes) {
    if (!scene.state.recording.empty()) continue;
    const Program& program = run.evidence_of(scene.state)->program();
    AnswerKey steps, tensors;
    add_steps(program, steps);
    add_tensors(program, tensors);
    const auto expect_named = [&](const AnswerKey& key, const std::string& words, int candidate) {
      const std::vector<int> named = named_candidates(key, words);
      EXPECT_NE(std::find(named.begin(), named.end(), candidate), named.end()) << scene.id << ": " << words;
    };
    for (const stage::Row& row : stage::rows_of(program)) {
      if (row.kind == stage::RowKind::Input) expect_named(tensors, row.title, row.tensor);
      if (row.step < 0 || row.title.empty()) continue;
      ++rows;
      const Step& step = program.step(row.step);
      const std::string words =
          row.kind == stage::RowKind::Band ? stage::collective_title(program, step) : row.title;
      expect_named(steps, words, row.step);
      if (!step.outputs.empty()) expect_named(tensors, words, step.outputs.front());
    }
  }
  EXPECT_GT(rows, 0);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, AnswersOfTheStage, ::testing::ValuesIn(testing::built_in_names()),
                         testing::test_name);

}  // namespace answer_words_test
}  // namespace shardlens::ui
