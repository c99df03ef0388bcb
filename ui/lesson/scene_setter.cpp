#include "ui/lesson/scene_setter.h"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/lesson/evidence.h"
#include "engine/lesson/functions.h"
#include "engine/lesson/price.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/collective/inside.h"
#include "ui/commands/commands.h"
#include "ui/commands/walk.h"
#include "ui/frame/windows.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/pages.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/inspector/inspector_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/algebra_view.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/scaling/scaling_rows.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/train/train_choices.h"
#include "ui/panels/train/train_view.h"
#include "ui/plan/sections.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/stage/plan_change.h"
#include "ui/stage/stage_light.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace {

constexpr double kHeardAfterSeconds = 0.5;  ///< the engine takes settings sooner
constexpr float kRoomy = 1000;  ///< the least width of a window with the Inspector beside a page and the card

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Runs these settings, also where a recording or a frozen step is still shown in their place.
void run(const Context& c, const Settings& settings) {
  c.replay.is_open() || c.train.frozen ? c.ask_for(settings) : c.want(settings);
}

/// The page and what stands beside it begin at their top, whatever was seen before.
void scroll_to_top(const Context& c) {
  for (ImGuiWindow* one : ImGui::GetCurrentContext()->Windows)
    for (const char* const shown : {names_of(c.view.tab).window, "Setup", "Inspector", "Timeline"}) {
      if (shown != std::string_view(one->Name) && !is_within(*one, shown)) continue;
      ImGui::SetScrollX(one, 0);
      ImGui::SetScrollY(one, 0);
    }
  c.view.of<stage::LightSeen>() = {};  // what is lit is brought into view from there
  c.view.fit_timeline = true;
}

/// Compares splits, or a recording with the scene's own.
void compare(const Context& c, const SceneState& state) {
  if (!state.compare) return;
  if (state.compare->recording.empty()) {
    auto& splits = c.view.of<CompareView>().splits;
    for (size_t i = 0; i < splits.size(); ++i)
      splits[i] = i < state.compare->splits.size() ? state.compare->splits[i] : "";
    return;
  }
  auto& diff = c.view.of<DiffView>();
  diff.b_here = state.recording.empty();  // the scene's own run is made here
  diff.a = diff.b_here ? state.compare->recording : state.recording;
  diff.b = diff.b_here ? "" : state.compare->recording;
}

/// Selects a step or tensor by the name that a lesson gives it. What the shown plan does not have stays
/// unselected: check_names() has refused such a lesson, so this is another plan than the scene's.
void select(const Context& c, const Plan& plan, const std::string& name) {
  if (const StepId step = find_step(plan.program, name); step >= 0)
    select_step(c.view, plan.program, step);
  else if (const TensorId tensor = find_tensor(plan.program, name); tensor != kNoTensor)
    select_tensor(c.view, plan.program, tensor);
  else
    return;
  c.view.scroll_to_selection = true;
}

/// The choices of the page Train then say what is trained. The lesson's end brings the person's back.
void show_in_form(TrainView& view, const std::vector<train_command::Model>& models) {
  if (!view.before_lesson) view.before_lesson = view.form();
  view.comparison = models.size() > 1;
  (view.comparison ? view.compared : view.single) = choices_of(models.front().options);
}

/// True if these models were trained, or are.
bool shows(const TrainSnapshot& train, const std::vector<train_command::Model>& models) {
  return std::equal(models.begin(), models.end(), train.curves.begin(), train.curves.end(),
                    [](const train_command::Model& model, const auto& curve) {
                      return model.name == curve->name && model.options.steps == curve->options.steps &&
                             model.options.settings.model == curve->options.settings.model &&
                             model.options.settings.tp == curve->options.settings.tp;
                    });
}

/// What the page "what a sum allows" shows, on as many ranks as the scene has.
void show_operation(const Context& c, const SceneState& state, int tp) {
  const auto experiments = lab::experiments();
  for (size_t i = 0; i < experiments.size(); ++i) {
    if (state.operation != experiments[i].name) continue;
    auto& view = c.view.of<AlgebraView>();
    view.show(i, static_cast<size_t>(state.way.value_or(0)),
              std::clamp(tp, lab::kFewestRanks, lab::kMostRanks));
  }
}

/// The lesson's end brings back what a person typed, and undo does.
void show_by_hand(const Context& c, const lab::HandForm& form) {
  auto& view = c.view.of<ByHandView>();
  if (!view.before_lesson) view.before_lesson = view.form;
  view.changes.chose(view.form, 0);
  view.form = form;
  view.cell.reset();
  view.typed.clear();
  view.refused.clear();
  view.tensor.clear();
}

}  // namespace

void SceneSetter::begin(const Context& c, std::shared_ptr<const ShownState> wanted) {
  wanted_ = std::move(wanted);
  set_ = false;
  differs_since_ = -1;
  messages_before_ = c.replay.messages;
  recording_before_ = c.replay.recording;
  broken_before_ = c.breaks.report ? c.breaks.report->plan : nullptr;
  const SceneState& state = wanted_->state;
  ViewState& view = c.view;
  view.close_covers();
  view.playing = false;
  view.selected_rank = -1;
  view.stage_zoom = 1;
  view.wide_inspector = false;
  view.of<StageView>() = {};
  view.of<InspectorView>() = {};
  view.of<StageLight>() = {};
  view.of<MemoryView>() = {};  // the wall follows the scene's model and hardware
  show_page(view, state.view, state.page);
  tab_ = view.tab;
  // In front of a class a small window has no room for more than the page and the card.
  const bool roomy = ImGui::GetMainViewport()->Size.x >= c.px(kRoomy);
  view.asked_here() = {.setup = has(state.panels, "setup") && (roomy || view.tab == Tab::Stage),
                       .inspector = roomy && has(state.panels, "inspector"),
                       .timeline = has(state.panels, "timeline")};
  compare(c, state);
  if (state.by_hand) show_by_hand(c, *state.by_hand);
  show_operation(c, state, wanted_->settings.tp);
  auto& scaling = view.of<ScalingView>();
  scaling.this_run = true;  // a lesson speaks of its own layer, on its own machine
  const std::vector<std::string> machines = node_machines();
  if (std::find(machines.begin(), machines.end(), wanted_->settings.hardware) != machines.end())
    scaling.crossing = wanted_->settings.hardware;

  const bool is_own = !trained_.empty() && !c.replay.is_open() && shows(c.train, trained_);
  if (!state.train && is_own && c.train.is_active()) c.send(train_command::Stop{});
  if (!state.train) trained_.clear();
  training_due_ = state.train.has_value();
  if (!state.mistake && c.breaks.planted) c.send(break_command::Clear{});
  if (!state.recording.empty()) {
    c.send(replay_command::Open{state.recording});
    return;
  }
  if (c.replay.is_open()) c.send(replay_command::Close{});
  if (state.mistake) {
    const BreakPage page = view.of<BreakView>().page;
    plant(c, wanted_->settings, *state.mistake, state.training_steps.value_or(break_command::Start{}.steps));
    view.of<BreakView>().page = page;
  }
  run(c, wanted_->settings);
}

void SceneSetter::take_back(const Context& c, const std::optional<Settings>& before) {
  if (c.breaks.planted || (wanted_ && wanted_->state.mistake)) c.send(break_command::Clear{});
  if (!trained_.empty() && shows(c.train, trained_) && c.train.is_active()) c.send(train_command::Stop{});
  trained_.clear();
  auto& train = c.view.of<TrainView>();
  if (train.before_lesson) train.take(*std::exchange(train.before_lesson, std::nullopt));
  auto& by_hand = c.view.of<ByHandView>();
  if (by_hand.before_lesson) by_hand.form = *std::exchange(by_hand.before_lesson, std::nullopt);
  const bool opened = wanted_ && !wanted_->state.recording.empty();
  if (opened && c.replay.is_open()) c.send(replay_command::Close{});
  if (before && (opened || !c.replay.is_open())) run(c, *before);
  c.view.of<StageLight>() = {};
  stop();
}

/// Trains what the state wants to see, unless it was trained or a person trains something.
void SceneSetter::begin_training(const Context& c) {
  training_due_ = false;
  const bool is_own = !trained_.empty() && shows(c.train, trained_);
  trained_.clear();
  const SceneState& state = wanted_->state;
  TrainOptions options =
      lesson_training(wanted_->settings, state.training_steps.value_or(kSceneTrainingSteps));
  std::vector<train_command::Model> models =
      *state.train == SceneTraining::Norms
          ? both_norms(std::move(options))
          : std::vector<train_command::Model>{{options.settings.model.title, std::move(options)}};
  const bool is_there = shows(c.train, models) && (c.train.is_active() || c.train.state == TrainState::Done);
  if (!is_there && !is_own && (c.train.is_active() || c.train.state == TrainState::Paused)) {
    c.view.said = {"The curves of this scene are not made, because a training of yours goes on."};
    return;
  }
  show_in_form(c.view.of<TrainView>(), models);
  if (!is_there) c.send(train_command::Start{models, ""});
  trained_ = std::move(models);
}

bool SceneSetter::has_arrived(const Context& c) const {
  const SceneState& state = wanted_->state;
  if (!state.recording.empty())
    return c.replay.messages != messages_before_ ||  // it cannot be read
           (c.replay.is_open() && !same_recording(c.replay.recording.get(), recording_before_.get()));
  if (c.replay.is_open()) return false;
  if (state.mistake) {
    if (c.breaks.state == BreakState::Refused || c.breaks.state == BreakState::Failed) return true;
    const std::shared_ptr<const BreakReport>& report = c.breaks.report;
    const bool is_new = !report || report->plan != broken_before_;
    if (c.breaks.planted != state.mistake || !is_new) return false;
    return c.breaks.state == BreakState::Stopped || (report && c.snapshot.plan == report->plan);
  }
  if (c.breaks.planted || c.snapshot.settings != wanted_->settings) return false;
  const RunState state_of_run = c.snapshot.state;
  if (state_of_run == RunState::Refused || state_of_run == RunState::Failed ||
      state_of_run == RunState::Cancelled)
    return true;
  if (!c.snapshot.plan || c.snapshot.stale()) return false;
  if (training_due_) return false;
  if (trained_.empty()) return true;
  if (c.train.state == TrainState::Refused || c.train.state == TrainState::Failed) return true;
  return shows(c.train, trained_) && !c.train.is_active();
}

bool SceneSetter::shows_its_training(const Context& c) const {
  return !trained_.empty() && !c.replay.is_open() && shows(c.train, trained_);
}

/// True if a person has chosen other settings while the state was on its way: it never arrives. For some
/// frames after begin() the engine may not have heard of the state's.
bool SceneSetter::was_changed(const Context& c) {
  const bool differs = wanted_->state.recording.empty() && !c.replay.is_open() && !c.train.frozen &&
                       c.wanted() == c.snapshot.settings && c.wanted() != wanted_->settings;
  if (!differs) differs_since_ = -1;
  if (differs && differs_since_ < 0) differs_since_ = ImGui::GetTime();
  return differs && ImGui::GetTime() - differs_since_ > kHeardAfterSeconds;
}

void SceneSetter::place(const Context& c) const {
  const SceneState& state = wanted_->state;
  ViewState& view = c.view;
  const std::shared_ptr<const Plan> plan = shared_shown_plan(c.snapshot);
  if (!plan) return;
  // What the scene changed of the plan is not the lesson's subject; what a person changes then is.
  view.of<stage::ChangeView>() = {plan, {}};
  scroll_to_top(c);
  view.of<ByHandView>().scrolls_to_wrong = state.by_hand.has_value();
  // With its questions answered, a mistake's run shows where the error starts.
  if (!state.mistake || keeps_findings_back(c)) select_nothing(view);
  select(c, *plan, state.select);
  if (!state.select.empty()) open_part_of_selection(view);
  if (state.rank) view.selected_rank = *state.rank;
  if (state.zoom) view.stage_zoom = static_cast<float>(*state.zoom);
  view.of<StageView>().fitted = state.fit;
  if (state.page == "product" || state.page == "number" || state.page == "derivation") {
    auto& product = view.of<ProductView>();
    product.open = true;
    product.number = state.page == "number";
    product.derivation = state.page == "derivation";
    if (state.number) {
      product.row = state.number->row;
      product.col = state.number->col;
    }
  }
  if (state.page == "collective" || state.page == "price") {
    look_inside(c);
    auto& collective = view.of<CollectiveView>();
    collective.price_first = state.page == "price";
    collective.stand_at(state.hop.value_or(0));
    collective.playing = state.play;
  } else if (!state.recording.empty()) {
    if (state.moment) c.send(replay_command::Seek{*state.moment});
    if (state.play && !is_playing(c)) find_command("run.play").run(c);
  } else {
    view.playing = state.play;
  }
  if (const StepId last = find_step(plan->program, state.run_to); last >= 0)
    c.send(command::Seek{static_cast<size_t>(last) + 1});
  auto& light = view.of<StageLight>();
  light.lit = state.spotlight;
  for (const ShownCallout& callout : wanted_->callouts) light.callouts.push_back({callout.at, callout.text});
}

void SceneSetter::advance(const Context& c) {
  if (is_set()) return;
  // The settings that the scene has sent switch off the mistake that was shown before them, and not the
  // scene's.
  if (wanted_->state.mistake) c.view.of<BreakView>().left = false;
  if (training_due_ && !c.replay.is_open()) begin_training(c);  // until then it shows the recording's
  if (was_changed(c)) {
    settings_ = wanted_->settings;  // so was_left() says so
    set_ = true;
    return;
  }
  if (!has_arrived(c)) return;
  // A recording that cannot be read shows nothing of the scene; its message says why.
  const bool is_there =
      wanted_->state.recording.empty() ||
      (c.replay.is_open() && !same_recording(c.replay.recording.get(), recording_before_.get()));
  if (is_there) place(c);
  settings_ = c.wanted();
  set_ = true;
}

bool SceneSetter::was_left(const Context& c, bool cut_is_asked) const {
  if (!wanted_ || !set_) return false;
  if (c.view.tab != tab_) return true;
  const SceneState& state = wanted_->state;
  if (!state.recording.empty()) return !c.replay.is_open();
  Settings now = c.wanted();
  if (cut_is_asked) now.split = settings_->split;
  return c.replay.is_open() || c.breaks.planted != state.mistake || now != *settings_;
}

}  // namespace shardlens::ui
