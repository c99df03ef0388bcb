// Calls the readers of lessons and answers. They may plan, and they run nothing: what needs a run is left
// out.
#include <algorithm>
#include <filesystem>

#include "engine/io/json_text.h"
#include "engine/lesson/check.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/parse.h"
#include "tests/fuzz/readers.h"

namespace shardlens::fuzz {
namespace {

bool needs_run(const Template& text) {
  return std::any_of(text.pieces.begin(), text.pieces.end(), [](const Template::Piece& piece) {
    return piece.expression && shardlens::needs_run(*piece.expression);
  });
}

bool needs_run(const LessonText& text) {
  for (const LessonParagraph& paragraph : text.paragraphs)
    for (const LessonSpan& span : paragraph.spans)
      if (needs_run(span.text)) return true;
  return false;
}

bool needs_run(const std::vector<ExpressionPtr>& answers) {
  return std::any_of(answers.begin(), answers.end(),
                     [](const ExpressionPtr& one) { return shardlens::needs_run(*one); });
}

bool shows_run(const Question& question) {
  return needs_run(question.ask) ||
         (question.kind == QuestionKind::Order && needs_run(question.answers)) ||  // its items are shuffled
         std::any_of(question.choices.begin(), question.choices.end(),
                     [](const LessonChoice& choice) { return needs_run(choice.text); });
}

bool asks_for_run(const Question& question) {
  return question.kind == QuestionKind::Cut || shows_run(question) || needs_run(question.because) ||
         needs_run(question.answers) ||
         std::any_of(
             question.hints.begin(), question.hints.end(),
             [](const LessonHint& hint) { return shardlens::needs_run(*hint.at) || needs_run(hint.text); }) ||
         std::any_of(question.choices.begin(), question.choices.end(), [](const LessonChoice& choice) {
           return choice.right && shardlens::needs_run(*choice.right);
         });
}

bool needs_run(const Scene& scene) {
  const auto& callouts = scene.state.callouts;
  return needs_run(scene.text) || needs_run(scene.notes) ||
         std::any_of(scene.questions.begin(), scene.questions.end(), shows_run) ||
         std::any_of(callouts.begin(), callouts.end(),
                     [](const Callout& one) { return needs_run(one.text); });
}

std::string only_file_in(const std::string& folder, const char* name) {
  const std::filesystem::directory_iterator first(folder);
  return first == std::filesystem::directory_iterator() ? folder + "/" + name : first->path().string();
}

}  // namespace

void read_lesson_file(const std::string& folder) {
  const Lesson lesson = read_lesson(only_file_in(folder, "lesson.md"));
  for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(1)}) {
    LessonRun run(lesson, seed);
    for (const Scene& scene : lesson.scenes) {
      if (!needs_run(scene)) run.show(scene);
      for (const Question& question : scene.questions)
        if (!asks_for_run(question)) run.right_answer(scene, question);
    }
  }
}

const char* answered_lesson() {
  return R"lesson(+++
title = "T"
asks = "?"
minutes = 5
[run]
hidden = 96
heads = 12
block = "mlp"
tp = 4
batch = 1
seq = 8
+++
## A
```question
ask = "How often?"
choices = ["0", "1", "{{ranks}}"]
answer = "collectives(forward)"
because = "explain(collective(1))"
```
```question
ask = "How many?"
unit = "KiB"
tolerance = 0.01
answer = ["tensor_bytes('mlp.fc.weight')", "tensor_bytes('mlp.proj.weight') * 2"]
hints = [{ at = "local_bytes('mlp.fc.weight')", text = "A rank holds {{local_bytes('mlp.fc.weight')}}." }]
because = "{{shape('mlp.fc.weight')}}"
```
```question
ask = "Which step?"
at = "step"
answer = "output('mlp.gelu')"
hints = [{ at = "'mlp.proj'", text = "That is a product." }]
because = "equation('mlp.gelu')"
```
```question
ask = "Which rank?"
at = "rank"
answer = "ranks - 1"
because = "{{ranks}}"
```
```question
ask = "Which bar?"
at = "bar"
answer = "layout('mlp.fc.weight')"
because = "{{ranks}}"
```
```question
ask = "In which order?"
items = ["mlp.gelu", "mlp.fc", "mlp.proj"]
answer = "in_order('mlp.gelu', 'mlp.fc', 'mlp.proj')"
because = "{{ranks}}"
```
## B
```scene
mistake = "skip-f"
```
```question
ask = "Cut so that the ranks meet once forward."
kind = "cut"
answer = "collectives(forward) == 1"
because = "{{layout('mlp.fc.weight')}}"
```
)lesson";
}

void read_answers_file(const std::string& folder) {
  static const Lesson lesson = parse_lesson(answered_lesson(), "answered.md");
  static LessonRun run(lesson, {});
  const std::string path = only_file_in(folder, "answers.json");
  const Marks marks = run.mark(read_answers(path), path);
  json_text(marks_as_json(marks));
  json_text(marks_for_gradescope(marks));
}

}  // namespace shardlens::fuzz
