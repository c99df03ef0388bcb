// `lesson`: lists lessons, prints their questions, marks answers and checks that every scene and answer still
// holds.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/table.h"
#include "app/cli/verbs.h"
#include "app/command_line/messages.h"
#include "app/command_line/request.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/io/json_text.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/check.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/run_keys.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

// The seeds that --check draws besides the lesson as it stands.
const std::vector<uint64_t> kCheckedSeeds = {1, 2, 3};

struct LessonOptions {
  std::string name;
  bool questions = false, check = false, json = false, gradescope = false, functions = false;
  bool lists_answers = false;  ///< --answers without a file: with --check
  std::string answers;
  std::optional<uint64_t> seed;
};

int list(bool as_json) {
  const std::vector<LessonEntry> entries = list_lessons();
  if (as_json) {
    ordered_json lessons = ordered_json::array();
    for (const LessonEntry& one : entries) {
      ordered_json lesson = {{"name", one.name},       {"title", one.title},   {"asks", one.asks},
                             {"minutes", one.minutes}, {"scenes", one.scenes}, {"questions", one.questions}};
      if (!one.path.empty()) lesson["file"] = one.path;
      if (!one.problem.empty()) lesson["problem"] = one.problem;
      lessons.push_back(std::move(lesson));
    }
    fmt::print("{}\n", json_text(ordered_json{{"lessons", lessons}}));
    return 0;
  }
  Table table({{"lesson", Table::Holds::Name},
               {"asks", Table::Holds::Text},
               {"minutes", Table::Holds::Number},
               {"questions", Table::Holds::Number}});
  for (const LessonEntry& one : entries)
    if (one.problem.empty())
      table.add({one.name, one.asks, std::to_string(one.minutes), std::to_string(one.questions)});
  fmt::print("{}", table.text());
  for (const LessonEntry& one : entries)
    if (!one.problem.empty()) fmt::print("\n{} cannot be read: {}\n", one.name, one.problem);
  return 0;
}

int print_questions(LessonRun& run, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json_text(questions_as_json(run)));
    return 0;
  }
  const Lesson& lesson = run.lesson();
  fmt::print("{}: {}\n", lesson.title, lesson.asks);
  for (const auto& [name, value] : run.drawn().values) fmt::print("{} = {}\n", name, to_text(value));
  for (const Scene& scene : lesson.scenes)
    for (const Question& question : scene.questions) {
      const ShownQuestion shown = run.show(scene, question);
      fmt::print("\n{} ({})\n", question.id, to_string(question.kind));
      print_hanging("  ", shown.ask + (question.unit.empty() ? "" : " In " + question.unit + "."));
      for (const std::string& choice : shown.choices) print_hanging("  - ", choice);
      for (const std::string& item : shown.items) print_hanging("  - ", item);
    }
  return 0;
}

int print_marks(const Marks& marks, const LessonOptions& options) {
  if (options.json || options.gradescope) {
    fmt::print("{}\n", json_text(options.gradescope ? marks_for_gradescope(marks) : marks_as_json(marks)));
    // The form is fixed, and what an answer lacks is no part of it.
    for (const Marked& one : marks.questions)
      for (const std::string& words : {one.message, one.hint})
        if (!words.empty()) say(one.id + ": " + words);
  } else {
    for (const Marked& one : marks.questions) {
      fmt::print("{} {}\n", one.right ? "right" : "wrong", one.id);
      if (!one.answered.empty()) print_hanging("  answered: ", one.answered);
      if (!one.message.empty()) print_hanging("  ", one.message);
      if (!one.hint.empty()) print_hanging("  hint:     ", one.hint);
      print_hanging("  right is: ", one.correct);
      print_hanging("  because:  ", one.because);
      fmt::print("\n");
    }
    fmt::print("{:g} of {:g} points\n", marks.points, marks.of);
  }
  for (const std::string& message : marks.messages) say("an answer to no question: " + message);
  return marks.all_right() ? 0 : 1;
}

void print_right_answers(const ordered_json& questions) {
  const auto quoted = [](const ordered_json& words) {
    std::string all;
    for (const ordered_json& word : words)
      all += (all.empty() ? "\"" : ", \"") + word.get<std::string>() + '"';
    return all;
  };
  for (const ordered_json& one : questions) {
    fmt::print("\n{} ({})\n", one["id"].get<std::string>(), one["kind"].get<std::string>());
    print_hanging("  ", one["ask"].get<std::string>());
    print_hanging("  right is: ", one["right"].get<std::string>());
    if (const double tolerance = one.value("tolerance", 0.0); tolerance > 0)
      fmt::print("  and {:g} % more or less\n", tolerance * 100);
    for (const ordered_json& words : one["accepted"]) print_hanging("  accepted: ", quoted(words));
    for (const ordered_json& holds : one.value("conditions", ordered_json::array()))
      print_hanging("  must hold: ", holds.get<std::string>());
    for (const ordered_json& hint : one.value("hints", ordered_json::array()))
      print_hanging(fmt::format("  hint for {}: ", hint[0].get<std::string>()), hint[1].get<std::string>());
  }
}

int print_check(const Lesson& lesson, const LessonOptions& options) {
  ordered_json answers;
  if (options.lists_answers) {
    LessonRun run(lesson, options.seed);
    answers = right_answers_as_json(run);
  }
  const LessonCheck check =
      check_lesson(lesson, options.seed ? std::vector<uint64_t>{*options.seed} : kCheckedSeeds);
  if (options.json) {
    ordered_json problems = ordered_json::array(), scenes = ordered_json::array();
    for (const LessonProblem& one : check.problems)
      problems.push_back({{"where", one.where}, {"what", one.what}});
    for (const SceneTime& one : check.scenes)
      scenes.push_back({{"scene", one.scene}, {"seconds", one.seconds}});
    ordered_json out = {{"lesson", lesson.name},
                        {"holds", check.holds()},
                        {"questions", check.questions},
                        {"problems", problems},
                        {"scenes", scenes}};
    if (options.lists_answers) out["answers"] = std::move(answers);
    fmt::print("{}\n", json_text(out));
  } else {
    for (const SceneTime& one : check.scenes)
      fmt::print("{:>7.2f} s  {}{}\n", one.seconds, one.scene,
                 one.seconds > kMostSecondsOfAScene
                     ? ": long for who waits; choose a smaller model, batch or seq"
                     : "");
    for (const LessonProblem& one : check.problems) print_hanging(one.where + ": ", one.what);
    if (check.holds())
      fmt::print("{} holds: {} and {} were planned, run and marked.\n", lesson.name,
                 counted(static_cast<int64_t>(lesson.scenes.size()), "scene"),
                 counted(check.questions, "question"));
    if (options.lists_answers) print_right_answers(answers);
  }
  return check.holds() ? 0 : 1;
}

int mark(LessonRun& run, const LessonOptions& options) {
  try {
    return print_marks(run.mark(read_answers(options.answers), options.answers), options);
  } catch (const Error& error) {
    // Gradescope shows what is on stdout; without it a student would see that the autograder failed.
    if (options.gradescope) fmt::print("{}\n", json_text(no_marks_for_gradescope(error.what())));
    throw;
  }
}

int run_lesson(const LessonOptions& options) {
  const int wanted = options.questions + options.check + !options.answers.empty();
  if (options.lists_answers && !options.check)
    throw request_error(
        "--answers needs a file: --answers FILE.json marks it; --check --answers lists what is right");
  if (options.functions) {
    fmt::print("{}\n{}", run_keys_as_markdown(), functions_as_markdown());
    return 0;
  }
  if (options.name == "list" || options.name.empty()) {
    if (wanted > 0)
      throw request_error("name the lesson: shardlens-cli lesson NAME --questions; `lesson list` lists them");
    return list(options.json);
  }
  if (options.check && !options.answers.empty())
    throw request_error(
        "--check --answers lists what is right and takes no file; to mark one, leave out --check");
  if (wanted != 1)
    throw request_error("say what to do with the lesson, one of: --questions, --answers FILE, --check");
  if (options.gradescope && options.answers.empty())
    throw request_error("--gradescope is a form of marks: add --answers FILE");
  const std::shared_ptr<const Lesson> lesson = find_lesson(options.name);
  if (options.check) return print_check(*lesson, options);
  LessonRun run(*lesson, options.seed);
  if (options.questions) return print_questions(run, options.json);
  return mark(run, options);
}

}  // namespace

Verb add_lesson(CLI::App& app) {
  auto options = std::make_shared<LessonOptions>();
  app.add_option("name", options->name, "list, a lesson's name, or a lesson file of your own (FILE.md)");
  app.add_flag("--questions", options->questions, "Prints the questions, without their answers");
  CLI::Option* const answers =
      app.add_option(
             "--answers", options->answers,
             "Marks the answers in a file: {\"answers\": {\"ID\": value}}. With --check and no file: lists "
             "all that is right")
          ->type_name("[FILE.json]")
          ->expected(0, 1);
  app.add_flag("--check", options->check, "Plans and runs every scene, and checks that every answer holds");
  app.add_option("--seed", options->seed, "Draws the numbers of [draw] from this: one sheet a student");
  app.add_flag("--json", options->json, "One JSON object on stdout, nothing else");
  app.add_flag("--gradescope", options->gradescope, "With --answers: the marks as Gradescope's results.json");
  app.add_flag("--functions", options->functions,
               "Lists what a lesson can set and its expressions can use, for authors");
  app.footer(
      "\n"
      "Marking plans and runs the lesson again, so there is no key, and nothing in the answers is trusted.\n"
      "A choice is answered by its words, a number with or without its unit, a step or tensor by any word "
      "that a "
      "page has for it, an order as a list, a cut as a split file's object.\n"
      "Exit code 0: all right; 1: not all, or the lesson does not hold; 2: the answers cannot be read.\n"
      "\n"
      "Examples\n"
      "  shardlens-cli lesson list\n"
      "  shardlens-cli lesson column-then-row --questions --seed 20231142 --json\n"
      "  shardlens-cli lesson column-then-row --answers answers.json --seed 20231142\n"
      "  shardlens-cli lesson my-lesson.md --check\n"
      "  shardlens-cli lesson my-lesson.md --check --answers\n");
  return [options, answers] {
    options->lists_answers = answers->count() > 0 && options->answers.empty();
    return run_lesson(*options);
  };
}

}  // namespace shardlens::cli
