// Looks up what scenes and questions name in the Program that is planned for them.
#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "engine/base/shown.h"
#include "engine/base/suggest.h"
#include "engine/config/validate.h"
#include "engine/lesson/evidence.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/names.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/price.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/views.h"
#include "engine/program/product.h"
#include "engine/record/gallery.h"
#include "engine/record/recording.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/run_again.h"

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
    if (state.recording.empty()) {
      const std::shared_ptr<Evidence> evidence = store_.of(settings(state), state.mistake);
      guarded(state.line, [&] { evidence->program(); });  // that it can be planned at all
      check_places(evidence->program(), state);
      guarded(state.line, [&] { check_training(evidence->plan(), state); });
    } else {
      std::optional<Recording> recording;
      guarded(state.line, [&] { recording.emplace(recording_path(state.recording)); });
      check_places(recording->header().program, state);
    }
    guarded(state.line, [&] { check_comparison(state); });
  }

  void check(const Scene& scene, const Question& question) {
    if (question.items.empty() || !scene.state.recording.empty()) return;
    const std::shared_ptr<Evidence> evidence = store_.of(settings(scene.state), scene.state.mistake);
    for (const std::string& item : question.items)
      guarded(question.line, [&] { check_step_or_tensor(evidence->program(), item); });
  }

 private:
  Settings settings(const SceneState& state) const { return settings_of(lesson_, state, drawn_); }

  template <class Action>
  void guarded(int line, const Action& action) const {
    try {
      action();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      throw lesson_error(lesson_.source, line, error.what());
    }
  }

  /// Everything that the state names in the Program that it shows.
  void check_places(const Program& program, const SceneState& state) const {
    const auto places = [&](const std::string& name) { check_place(program, state, state.line, name); };
    if (!state.select.empty()) guarded(state.line, [&] { check_step_or_tensor(program, state.select); });
    for (const std::string& name : state.spotlight) places(name);
    for (const Callout& callout : state.callouts) check_place(program, state, callout.line, callout.at);
    if (!state.run_to.empty()) guarded(state.line, [&] { step_named(program, state.run_to); });
    if (state.rank) guarded(state.line, [&] { check_rank(program, *state.rank); });
    guarded(state.line, [&] { check_opened_step(program, state); });
  }

  /// What the studio trains for the state can be trained, in the time that a reader waits.
  static void check_training(const Plan& plan, const SceneState& state) {
    const bool whole = plan.program.settings.block == Block::Model;
    if (state.train || state.mistake) validate_executable(plan.program.settings);
    if (state.train) {
      if (!whole)
        throw request_error(
            "only a whole model trains: add block = \"model\" and a small model such as gpt2-tiny to `run`");
      const int64_t models = *state.train == SceneTraining::Norms ? 2 : 1;
      refuse_long_run(plan, models * state.training_steps.value_or(kSceneTrainingSteps));
    } else if (state.mistake) {  // beside the sound run
      refuse_long_run(plan, whole ? 2 * state.training_steps.value_or(break_command::Start{}.steps) : 0);
    }
  }

  /// What the pages of the Stage open.
  static void check_opened_step(const Program& program, const SceneState& state) {
    if (!opens_selection(state.page)) return;
    const Step& step = program.step(step_named(program, state.select));
    if (state.page == "derivation") return;
    if (state.page == "collective" || state.page == "price") {
      if (!is_collective(step.op) || group_ranks(program, step) < 2)
        throw request_error(fmt::format("{} is no collective of several ranks, and the page \"{}\" opens one",
                                        step.name, state.page));
      return;
    }
    const std::optional<Product> product = product_of(program, step.id);
    if (!product && (state.page == "number" || step.op != Op::Attention))
      throw request_error(
          fmt::format("{} is no matrix product, and the page \"{}\" opens one: select a step "
                      "such as mlp.proj",
                      step.name, state.page));
    if (!state.number) return;
    const MatrixShape matrix = matrix_shape(program.tensor(product->out));
    if (state.number->row >= matrix.rows || state.number->col >= matrix.cols)
      throw request_error(fmt::format(
          "the result of {} has {} rows and {} columns, so there is no number at row {}, column {}",
          state.select, matrix.rows, matrix.cols, state.number->row, state.number->col));
  }

  /// The recording that is compared: with the scene's own, or with its settings run again here.
  static void check_comparison(const SceneState& state) {
    if (!state.compare || state.compare->recording.empty()) return;
    const Recording recording(recording_path(state.compare->recording));
    if (state.recording.empty()) plan_again(recording, state.compare->recording);
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

  void check_place(const Program& program, const SceneState& state, int line, const std::string& name) const {
    guarded(line, [&] {
      if (const std::optional<int> rank = rank_named(name)) return check_rank(program, *rank);
      if (state.view == "memory" && is_memory_kind(name)) return;
      check_step_or_tensor(program, name);
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

void check_names(const Lesson& lesson, std::stop_token stop) {
  EvidenceStore store;
  store.stop_with(std::move(stop));
  check_names(lesson, draw(lesson, {}), store);
}

}  // namespace shardlens
