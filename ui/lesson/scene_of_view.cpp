#include "ui/lesson/scene_of_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/config/splits.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/marking.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/views.h"
#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/collective/inside.h"
#include "ui/frame/side_panels.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/pages.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/stage_light.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace {

constexpr float kLeastZoom = 0.25f, kMostZoom = 4;  ///< that a scene can state

/// A piece of the gallery has another path on every machine.
std::string recording_name(const std::string& path) {
  if (!path.starts_with(gallery_folder())) return path;
  return "gallery:" + std::filesystem::path(path).stem().string();
}

/// The page that is shown; empty: the first of its view.
std::string page_of(const Context& c, const std::string& view) {
  if (is_inside_collective(c)) return c.view.of<CollectiveView>().price_first ? "price" : "collective";
  std::string page = shown_page(c.view);
  if (c.view.tab == Tab::Stage && !shows_open_row(c)) page = "";  // a step that has nothing to open
  for (const StudioView& row : lesson_views())
    if (view == row.name && !row.pages.empty() && row.pages.front() == page) return "";
  return page;
}

/// True if the page opens the selected step: the scene then names the step, whichever of its tensors is
/// selected.
bool opens_a_step(const std::string& view, const std::string& page) {
  return view == names_of(Tab::Stage).word && !page.empty();
}

/// The name of what is selected; empty: nothing is.
std::string selected(const Context& c, bool is_opened) {
  const std::shared_ptr<const Plan> plan = shared_shown_plan(c.snapshot);
  if (!plan) return {};
  const Program& program = plan->program;
  const StepId id = c.view.selected_step;
  const TensorId tensor = c.view.selected_tensor;
  const bool is_tensor = tensor >= 0 && static_cast<size_t>(tensor) < program.tensors.size();
  if (id >= 0 && static_cast<size_t>(id) < program.steps.size()) {
    const Step& step = program.step(id);
    const bool is_whole_step =
        is_opened || !is_tensor || step.outputs.empty() || tensor == step.outputs.front();
    if (is_whole_step && find_step(program, step.name) == id) return step.name;
  }
  return is_tensor ? program.tensor(tensor).name : "";
}

/// Lit places and callouts. A callout's words are those of the lesson's scene, so that its numbers stay
/// expressions.
void take_light(const Context& c, SceneState& scene) {
  const StageLight& light = c.view.of<StageLight>();
  scene.spotlight = light.lit;
  const ShownScene* const made = made_scene(c);
  for (const StageCallout& callout : light.callouts) {
    Callout saved{callout.at, {}, 0};
    saved.text.pieces.push_back({callout.text, nullptr});
    for (size_t i = 0; made != nullptr && i < made->callouts.size(); ++i)
      if (made->callouts[i].at == callout.at && made->callouts[i].text == callout.text)
        saved.text = made->scene->state.callouts[i].text;
    scene.callouts.push_back(std::move(saved));
  }
}

void take_recording(const Context& c, SceneState& scene) {
  if (!c.replay.is_open()) return;
  scene.recording = recording_name(c.replay.recording->path);
  scene.moment = c.replay.seconds;
  scene.play = c.replay.playing;
}

void take_mistake(const Context& c, SceneState& scene) {
  if (!is_switched_on(c)) return;
  scene.mistake = c.breaks.planted;
  const auto& planted = c.view.of<BreakView>().planted;
  if (planted && planted->steps != break_command::Start{}.steps) scene.training_steps = planted->steps;
}

void take_comparison(const Context& c, SceneState& scene) {
  if (c.view.tab != Tab::Compare) return;
  const auto& compare = c.view.of<CompareView>();
  const auto& diff = c.view.of<DiffView>();
  SceneComparison saved;
  if (compare.page == ComparePage::Recordings) {
    if (diff.a.empty()) return;
    // A scene holds a recording against another one, or against its own run.
    saved.recording = recording_name(diff.b_here ? diff.a : diff.b);
    if (saved.recording.empty()) return;
    if (!diff.b_here) scene.recording = recording_name(diff.a);
  } else {
    const std::string own = shown_settings(c).split.name;
    for (const std::string& split : compare.splits)
      if (!split.empty()) saved.splits.push_back(split == kOwnSplit ? own : split);
    const std::vector<std::string> known = split_names();
    std::erase_if(saved.splits, [&](const std::string& split) {  // a table of cuts has no name
      return std::find(known.begin(), known.end(), split) == known.end();
    });
    if (saved.splits.empty()) return;
  }
  scene.compare = std::move(saved);
}

/// A training of the lesson's scene. What a person trains by the form has no words in a lesson.
void take_training(const Context& c, SceneState& scene) {
  const ShownScene* const made = made_scene(c);
  if (made == nullptr || scene.view != "train" || scene.page != "curves") return;
  scene.train = made->scene->state.train;
  if (scene.train) scene.training_steps = made->scene->state.training_steps;
}

/// What the opened product, collective or laboratory shows.
void take_page(const Context& c, SceneState& scene) {
  if (scene.page == "number") {
    const auto& product = c.view.of<ProductView>();
    scene.number = SceneNumber{product.row, product.col};
  } else if (scene.page == "collective") {
    const auto& collective = c.view.of<CollectiveView>();
    scene.hop = collective.hop;
    scene.play = collective.playing;
  } else if (scene.page == "algebra") {
    const auto& algebra = c.view.of<AlgebraView>();
    scene.operation = algebra.shown_experiment().name;
    scene.way = static_cast<int>(algebra.way);
  } else if (scene.page == "by-hand") {
    scene.by_hand = c.view.of<ByHandView>().form;
  }
}

/// The step after which the run stands still; empty: it is done, or runs.
std::string stopped_after(const Context& c) {
  const Snapshot& run = c.snapshot;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(run);
  const bool stands =
      run.result && !shows_stale(run) && !c.replay.is_open() && run.state != RunState::Running;
  if (!stands || run.position == 0 || run.position >= plan->program.steps.size()) return {};
  return plan->program.steps[run.position - 1].name;
}

}  // namespace

const Settings& shown_settings(const Context& c) {
  const auto& planted = c.view.of<BreakView>().planted;
  return is_switched_on(c) && planted ? planted->settings : c.wanted();
}

SceneState scene_of_view(const Context& c, const Settings& base) {
  const ViewState& view = c.view;
  SceneState scene;
  scene.view = is_inside_collective(c) ? names_of(Tab::Stage).word : names_of(view.tab).word;
  scene.page = page_of(c, scene.view);
  scene.select = selected(c, opens_a_step(scene.view, scene.page));
  if (view.selected_rank >= 0) scene.rank = view.selected_rank;
  scene.fit = view.of<StageView>().fitted;
  const float zoom = std::clamp(view.stage_zoom, kLeastZoom, kMostZoom);
  if (!scene.fit && std::abs(zoom - 1) > 0.005f) scene.zoom = zoom;
  scene.run_to = stopped_after(c);
  scene.play = view.playing;
  take_light(c, scene);
  take_mistake(c, scene);
  take_recording(c, scene);
  take_comparison(c, scene);
  take_training(c, scene);
  take_page(c, scene);
  // Beside a page outside a lesson stands what the page needs. A scene states what a person has brought.
  const SidePanels panels = view.of<LessonView>().open ? side_panels(view) : view.asked_here();
  if (panels.setup) scene.panels.emplace_back("setup");
  if (panels.inspector) scene.panels.emplace_back("inspector");
  if (panels.timeline) scene.panels.emplace_back("timeline");
  if (scene.recording.empty())
    scene.run.table = parse_toml(difference_as_toml(base, shown_settings(c)), "the settings", 1);
  return scene;
}

std::string title_of(const SceneState& scene) {
  std::string title;
  for (const TabNames& names : kTabs)
    if (scene.view == names.word) title = names.window;
  if (!scene.select.empty() && scene.view == names_of(Tab::Stage).word) return title + ": " + scene.select;
  return scene.page.empty() ? title : title + ": " + scene.page;
}

}  // namespace shardlens::ui
