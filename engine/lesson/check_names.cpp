// Looks up what scenes and questions name in the Program that is planned for them.
#include <fmt/format.h>

#include <charconv>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/names.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/run_keys.h"

namespace shardlens {
namespace {

bool is_memory_kind(const std::string& name) {
  for (int kind = 0; kind < kMemoryKinds; ++kind)
    if (to_string(static_cast<MemoryKind>(kind)) == name) return true;
  return false;
}

class NameCheck {
 public:
  NameCheck(const Lesson& lesson, const Drawn& drawn, EvidenceStore& store)
      : lesson_(lesson), drawn_(drawn), store_(store) {}

  void check(const SceneState& state) {
    if (!state.recording.empty()) return;  // the Program is the recording's
    Evidence& evidence = store_.of(settings(state), state.mistake);
    const auto places = [&](const std::string& name) { check_place(evidence, state, state.line, name); };
    if (!state.select.empty())
      guarded(state.line, [&] { check_step_or_tensor(evidence.program(), state.select); });
    for (const std::string& name : state.spotlight) places(name);
    for (const Callout& callout : state.callouts) check_place(evidence, state, callout.line, callout.at);
    if (!state.run_to.empty()) guarded(state.line, [&] { step_named(evidence.program(), state.run_to); });
    if (state.rank) guarded(state.line, [&] { check_rank(evidence.program(), *state.rank); });
    if (state.page == "collective")
      guarded(state.line, [&] {
        const Step& step = evidence.program().step(step_named(evidence.program(), state.select));
        if (!is_collective(step.op))
          throw request_error(
              fmt::format("{} is no collective, and the page \"collective\" opens one", step.name));
      });
    if (state.number)
      guarded(state.line, [&] {
        const Program& program = evidence.program();
        const MatrixShape matrix =
            matrix_shape(program.tensor(program.step(step_named(program, state.select)).outputs.front()));
        if (state.number->row >= matrix.rows || state.number->col >= matrix.cols)
          throw request_error(
              fmt::format("the result of {} has {} rows and {} columns, so there is no number at row {}, "
                          "column {}",
                          state.select, matrix.rows, matrix.cols, state.number->row, state.number->col));
      });
    if (state.train && settings(state).block != Block::Model)
      guarded(state.line, [] {
        throw request_error(
            "only a whole model trains: add block = \"model\" and a small model such as gpt2-tiny to `run`");
      });
    // That it can be planned at all.
    guarded(state.line, [&] { evidence.program(); });
  }

  void check(const Scene& scene, const Question& question) {
    if (question.items.empty() || !scene.state.recording.empty()) return;
    Evidence& evidence = store_.of(settings(scene.state), scene.state.mistake);
    for (const std::string& item : question.items)
      guarded(question.line, [&] { check_step_or_tensor(evidence.program(), item); });
  }

 private:
  Settings settings(const SceneState& state) const { return settings_of(lesson_, state, drawn_); }

  template <class Action>
  void guarded(int line, const Action& action) const {
    try {
      action();
    } catch (const Error& error) {
      throw lesson_error(lesson_.source, line, error.what());
    }
  }

  static void check_step_or_tensor(const Program& program, const std::string& name) {
    if (find_step(program, name) >= 0 || find_tensor(program, name) != kNoTensor) return;
    Names known;
    for (const Step& step : program.steps) known.push_back(step.name);
    for (const Tensor& tensor : program.tensors) known.push_back(tensor.name);
    const std::string near = near_name(name, known);
    throw request_error(fmt::format(
        "no step or tensor \"{}\"; {}", shown(name),
        near.empty() ? "shardlens-cli plan lists them" : fmt::format("did you mean \"{}\"?", near)));
  }

  static void check_rank(const Program& program, int rank) {
    if (rank >= program.tp() * program.dp())
      throw request_error(
          fmt::format("there is no rank {}: they are 0 to {}", rank, program.tp() * program.dp() - 1));
  }

  void check_place(Evidence& evidence, const SceneState& state, int line, const std::string& name) const {
    guarded(line, [&] {
      if (const std::optional<int> rank = rank_named(name)) return check_rank(evidence.program(), *rank);
      if (state.view == "memory" && is_memory_kind(name)) return;
      check_step_or_tensor(evidence.program(), name);
    });
  }

  const Lesson& lesson_;
  const Drawn& drawn_;
  EvidenceStore& store_;
};

}  // namespace

std::optional<int> rank_named(const std::string& text) {
  constexpr std::string_view kRank = "rank ";
  if (!text.starts_with(kRank)) return std::nullopt;
  int rank = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + kRank.size(), end, rank);
  return error == std::errc() && stopped == end && rank >= 0 ? std::make_optional(rank) : std::nullopt;
}

void check_names(const Lesson& lesson, const Drawn& drawn, EvidenceStore& store) {
  NameCheck check(lesson, drawn, store);
  for (const Scene& scene : lesson.scenes) {
    check.check(scene.state);
    for (const Question& question : scene.questions) {
      check.check(scene, question);
      if (question.shows) check.check(*question.shows);
      for (const LessonChoice& choice : question.choices)
        if (choice.shows) check.check(*choice.shows);
    }
  }
}

void check_names(const Lesson& lesson) {
  EvidenceStore store;
  check_names(lesson, draw(lesson, {}), store);
}

}  // namespace shardlens
