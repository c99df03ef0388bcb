// Brings the studio into each scene of a lesson, draws what it shows, and hands all to the writers.
#include "app/studio/handout.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/studio/offscreen_parts.h"
#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/run_keys.h"
#include "ui/handout/handout.h"
#include "ui/plan/sections.h"

namespace shardlens {
namespace {

constexpr PixelSize kPageSize{1280, 720};  // of the studio that is drawn, in points
constexpr int kFigureWidth = 680;          // of paper, without its margins

/// The steps that a scene is about: what it selects, lights and calls out.
std::vector<StepId> steps_of(const Program& program, const SceneState& state) {
  std::vector<std::string> names = state.spotlight;
  if (!state.select.empty()) names.push_back(state.select);
  for (const Callout& callout : state.callouts) names.push_back(callout.at);
  std::vector<StepId> steps;
  for (const std::string& name : names) {
    try {
      steps.push_back(step_named(program, name));
    } catch (const Error&) {  // a rank
    }
  }
  return steps;
}

/// The rows around these steps, in their pass, so that a page shows no more than is spoken of.
std::optional<ui::StageStretch> stretch_of(const Program& program, const std::vector<StepId>& steps) {
  constexpr StepId kBeside = 3;
  if (steps.empty()) return {};
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end());
  ui::StageStretch stretch{*first, *last};
  const auto may_have = [&](StepId step, StepId beside) {
    return step >= 0 && step < static_cast<StepId>(program.steps.size()) &&
           program.step(step).phase == program.step(beside).phase;
  };
  for (StepId i = 0; i < kBeside && may_have(stretch.first - 1, stretch.first); ++i) --stretch.first;
  for (StepId i = 0; i < kBeside && may_have(stretch.last + 1, stretch.last); ++i) ++stretch.last;
  return stretch;
}

void show(OffscreenStudio& shown, const Settings& settings, const SceneState& state) {
  ui::Studio& studio = shown.studio();
  studio.session().send(command::SetSettings{settings});
  while (!(studio.snapshot().settings == settings)) shown.draw_frame();
  wait_for_rest(shown.platform(), studio);
  ui::ViewState& view = studio.view();
  const Program& program = studio.snapshot().plan->program;
  view.selected_step = -1;
  view.open_section = ui::kWholeModel;
  const std::vector<StepId> steps = steps_of(program, state);
  if (!state.select.empty()) {
    const StepId step = step_named(program, state.select);
    select_step(view, program, step);
    if (ui::is_whole_model(program))
      view.open_section = ui::make_sections(program).of_step[static_cast<size_t>(step)];
  }
  shown.settle();
}

}  // namespace

void write_handout(const Options& options) {
  ui::require_handout(options.handout);
  require_writable(options.handout.string());
  const std::shared_ptr<const Lesson> lesson = find_lesson(options.lesson);
  LessonRun run(*lesson, options.lesson_seed);
  ui::Handout handout = ui::make_handout(run);

  Options first = options;
  first.settings = settings_of(*lesson, lesson->scenes.front().state, run.drawn());
  OffscreenStudio shown(first, kPageSize);
  for (size_t i = 0; i < lesson->scenes.size(); ++i) {
    const SceneState& state = lesson->scenes[i].state;
    show(shown, settings_of(*lesson, state, run.drawn()), state);
    ui::HandoutScene& scene = handout.scenes[i];
    scene.numbers = ui::numbers_of(shown.studio().snapshot());
    const Program& program = shown.studio().snapshot().plan->program;
    ui::FigureWish wish;
    wish.width = kFigureWidth;
    wish.caption = false;
    if (!state.fit) wish.only = stretch_of(program, steps_of(program, state));
    scene.light = shown.studio().draw_figure(wish);
    if (options.handout.extension() == ".html") {
      wish.theme = ui::ThemeName::Dark;
      scene.dark = shown.studio().draw_figure(wish);
    }
  }
  ui::write_handout(handout, shown.platform().fonts(), options.handout);
}

}  // namespace shardlens
