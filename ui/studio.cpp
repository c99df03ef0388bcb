// One frame of the studio, and what happens between frames.
#include "ui/studio.h"

#include <fmt/format.h>
#include <imgui.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/config/hardware_file.h"
#include "ui/commands/commands.h"
#include "ui/commands/keys_of_controls.h"
#include "ui/panels/faults/fault_bar.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/train/replayed_training.h"
#include "ui/plan/sections.h"

namespace shardlens::ui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kBarHeight = 48;
constexpr float kReplayBarHeight = 44;
constexpr double kBusyFrameSeconds = 1.0 / 30;
constexpr double kComputingFrameSeconds = 1.0 / 20;  ///< frames take from the cores that compute
constexpr double kIdleSeconds = 1;
constexpr double kLiveFrameSeconds = 0.2;        ///< a run that is followed: what came, and how long ago
constexpr double kMeasuringFrameSeconds = 0.25;  ///< frames take from the cores that are measured
constexpr double kSettleSeconds = 0.8;           ///< tooltips and hovers need frames after the last event
constexpr int kFindFrames = 6;
constexpr double kRememberEverySeconds = 5;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

bool is_busy(const Snapshot& snapshot) {
  return snapshot.state == RunState::Planning || snapshot.state == RunState::Running ||
         !snapshot.activity.empty();
}

/// Something a person did arrived with this frame.
bool has_input() {
  const ImGuiIO& io = ImGui::GetIO();
  const bool moved =
      io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 || io.MouseWheelH != 0;
  if (moved || ImGui::IsAnyMouseDown() || !io.InputQueueCharacters.empty()) return true;
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    if (ImGui::IsKeyDown(static_cast<ImGuiKey>(key))) return true;
  }
  return false;
}

/// What to look at first: the product whose Partial result the first collective sums, where the idea shows.
StepId first_look(const Program& program) {
  for (const Step& step : program.steps) {
    if (!is_collective(step.op)) continue;
    const StepId producer = step.inputs.empty() ? -1 : producer_of(program, step.inputs.front());
    return producer >= 0 ? producer : step.id;
  }
  return program.steps.empty() ? -1 : 0;
}

StepId step_like(const Program& program, const Step& wanted) {
  for (const Step& step : program.steps) {
    if (step.name == wanted.name && step.phase == wanted.phase && step.layer == wanted.layer) return step.id;
  }
  return -1;
}

/// An open part stays open in another program that has it too.
int section_like(const Sections& sections, const std::string& title) {
  for (size_t i = 0; i < sections.list.size(); ++i) {
    if (sections.list[i].title == title) return static_cast<int>(i);
  }
  return kWholeModel;
}

/// What computes on every core, and so would be measured together with this machine.
bool computes(const Command& command) {
  return std::holds_alternative<command::SetSettings>(command) ||
         std::holds_alternative<command::Run>(command) ||
         std::holds_alternative<command::CompareLosses>(command);
}

/// What the centre's tab strip says at its right: how the panels come back beside a page that has their room,
/// else where in the run the selected step stands.
std::string centre_hint(const Context& context) {
  const SidePanels beside = side_panels(context.view, ImGui::GetMainViewport()->Size);
  if (!beside.inspector) return "T shows the Timeline";
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr || stands_beside_the_run(context.view.tab)) return {};
  const Program& program = plan->program;
  const StepId selected = context.view.selected_step;
  if (selected < 0 || static_cast<size_t>(selected) >= program.steps.size()) return {};
  const std::string part = sections_of(shared_shown_plan(context.snapshot)).of(selected).title;
  const std::string& block = program.step(selected).block;
  const std::string where = part == block ? part : part + ", " + block + " block";
  if (context.view.tab == Tab::Stage && is_whole_model(program) && context.view.open_section == kWholeModel)
    return "click a part to open it";
  return context.view.tab == Tab::Stage ? where + " \u00B7 drag to pan, Ctrl+wheel to zoom, F fits" : where;
}

}  // namespace

Studio::Studio(const Settings& settings, const Fonts& fonts, std::filesystem::path state_path,
               Session::Begin begin)
    : fonts_(fonts),
      state_path_(std::move(state_path)),
      session_(settings, begin),
      first_settings_(settings),
      session_asked_(begin == Session::Begin::AtOnce),
      snapshot_(session_.snapshot()),
      replayed_(replay_.snapshot()),
      read_(history_.snapshot()),
      watched_(machine_.facts()),
      scaled_(scaling_.snapshot()),
      train_(training_.snapshot()),
      broken_(breaks_.snapshot()),
      compared_(comparison_.snapshot()),
      differing_(diff_.snapshot()),
      last_change_(Clock::now()),
      last_touch_(Clock::now() - std::chrono::hours(1)),
      last_remembered_(Clock::now()) {
  view_.changes.ran(settings, 0);
  view_.recordings = default_recordings_folder().string();
  view_.train.checkpoints = default_checkpoints_folder().string();
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigDockingAlwaysTabBar = false;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  if (state_path_.empty()) return;
  remembered_ = read_state(state_path_, message_.words);
  if (!message_.empty()) spdlog::warn("{}", message_.words);
  view_.theme = remembered_.theme;
  view_.scale = remembered_.scale;
  view_.set_lecture(remembered_.lecture);
  view_.tab = remembered_.tab;
  view_.recent = remembered_.recent;
  view_.memory.this_layer = remembered_.memory_this_layer;
  view_.program_filter = remembered_.program_filter;
  view_.train.single = remembered_.train;
  view_.train.compared = remembered_.compared;
  view_.train.writing = remembered_.writing;
  view_.traffic_times = remembered_.traffic_times;
  view_.scaling = remembered_.scaling;
  view_.compare.page = remembered_.compare_page;
  view_.compare.splits = remembered_.compare_splits;
  layout_.restore(remembered_.layout);
}

Studio::~Studio() {
  remember();
}

Context Studio::context() {
  return {*snapshot_,         recorded_,      *train_,         *broken_,
          *scaled_,           *compared_,     *differing_,     *replayed_,
          beside_.get(),      *read_,         *watched_,       view_,
          theme(view_.theme), fonts_,         heatmaps_,       outbox_,
          train_outbox_,      break_outbox_,  scaling_outbox_, comparison_outbox_,
          diff_outbox_,       replay_outbox_, history_outbox_};
}

void Studio::prepare_style() {
  if (view_.theme == styled_theme_ && view_.ui_scale() == styled_scale_) return;
  apply(theme(view_.theme), view_.ui_scale());
  if (view_.ui_scale() != styled_scale_) find_frames_ = kFindFrames;
  styled_theme_ = view_.theme;
  styled_scale_ = view_.ui_scale();
}

/// Keeps the selection on the same step when another program is shown: by name, else where the idea shows.
void Studio::follow_program() {
  std::shared_ptr<const Plan> plan = shared_shown_plan(*snapshot_);
  if (plan == followed_) return follow_selection();
  StepId step = -1;
  if (plan && followed_ && view_.selected_step >= 0) {
    step = step_like(plan->program, followed_->program.step(view_.selected_step));
  }
  std::string open;
  if (followed_ && is_whole_model(followed_->program) && view_.open_section != kWholeModel)
    open = sections_of(followed_).list[static_cast<size_t>(view_.open_section)].title;
  view_.open_section =
      plan && is_whole_model(plan->program) ? section_like(sections_of(plan), open) : kWholeModel;
  followed_ = plan;
  if (!plan) {
    view_.selected_step = -1;
    view_.selected_tensor = kNoTensor;
    return;
  }
  select_step(view_, plan->program, step >= 0 ? step : first_look(plan->program));
  find_frames_ = kFindFrames;
  view_.timeline_begin_seconds = view_.timeline_end_seconds = 0;
}

/// An open part holds the selected step: whoever selects one elsewhere opens the part it stands in.
void Studio::follow_selection() {
  if (!followed_ || view_.open_section == kWholeModel || view_.selected_step < 0) return;
  view_.open_section = sections_of(followed_).of_step[static_cast<size_t>(view_.selected_step)];
}

/// Of what was clicked in this frame, before which `selected` was the step: one that the run has not reached
/// is gone to; a moment of a recording takes the selection along, unless a step was chosen with it.
void Studio::follow_clicks(const Context& context, StepId selected) {
  const bool seeks = std::any_of(
      replay_outbox_.begin(), replay_outbox_.end(),
      [](const ReplayCommand& command) { return std::holds_alternative<replay_command::Seek>(command); });
  const bool walks = std::any_of(outbox_.begin(), outbox_.end(), [](const Command& command) {
    return std::holds_alternative<command::Seek>(command);
  });
  const bool selects = view_.selected_step != selected;
  if (selects && !seeks && !walks) reach_selection(context);
  if (!replay_outbox_.empty() || !outbox_.empty()) sought_ = seeks && !selects;
}

/// Whoever comes back to the Stage finds the step that was selected meanwhile.
void Studio::find_on_stage() {
  if (view_.tab == Tab::Stage) {
    const std::pair place(followed_.get(), view_.selected_step);
    if (std::exchange(left_stage_, false) && place != stage_place_) find_frames_ = kFindFrames;
    stage_place_ = place;
  } else {
    left_stage_ = true;
  }
}

/// The newest of all. A recording takes the place of everything that ran here; else a frozen training step
/// that of the Session's run.
void Studio::take_snapshots() {
  std::shared_ptr<const Snapshot> newest = session_.snapshot();
  std::shared_ptr<const TrainSnapshot> trained = training_.snapshot();
  std::shared_ptr<const ComparisonSnapshot> compared = comparison_.snapshot();
  std::shared_ptr<const DiffSnapshot> differing = diff_.snapshot();
  std::shared_ptr<const ReplaySnapshot> replayed = replay_.snapshot();
  const bool replays = replayed->is_open();
  if (!replays && trained->frozen && trained->frozen != frozen_) {
    view_.tab = Tab::Stage;
    view_.focus_tab = true;
  }
  take_recording(newest->recording, trained->recording);
  frozen_ = trained->frozen;
  if (frozen_ && !replays) newest = frozen_->shown;
  beside_ = nullptr;
  if (replays) {
    if (view_.replay.beside) take_beside(newest, *replayed->recording);
    newest = replayed->shown;
    trained = replayed_training(*replayed);
  }
  std::shared_ptr<const BreakSnapshot> broken = breaks_.snapshot();
  std::shared_ptr<const ScalingSnapshot> scaled = scaling_.snapshot();
  std::shared_ptr<const HistorySnapshot> read = history_.snapshot();
  // Asking for GPUs loads their libraries: not before what is waited for at the start has run.
  watches_ = watches_ || !is_busy(*newest);
  if (watches_ && (view_.tab == Tab::Memory || !view_.setup_hidden)) machine_.look();
  watched_ = machine_.facts();
  // What a run somewhere else adds is drawn a few times a second, and takes no more of its cores than that.
  const bool grew = replayed->is_live() && replayed_->is_live() && !replayed->playing;
  const bool changed = newest != snapshot_ || trained != train_ || broken != broken_ || scaled != scaled_ ||
                       compared != compared_ || differing != differing_ || replayed != replayed_ ||
                       read != read_;
  if (has_input()) last_touch_ = Clock::now();
  if (changed && !grew) last_change_ = Clock::now();
  if (newest != snapshot_) released_.release(std::exchange(snapshot_, std::move(newest)));
  // What was said of a training before it failed is past: the strip says what happened.
  if (failed_curve(*trained) != nullptr && failed_curve(*train_) == nullptr && message_.files.empty())
    message_ = {};
  train_ = std::move(trained);
  broken_ = std::move(broken);
  compared_ = std::move(compared);
  if (differing->compared && differing->compared != differing_->compared)
    for (const ComparedRun* run : {&differing->compared->b, &differing->compared->a})
      if (!run->file.empty()) remember_recording(run->file);
  differing_ = std::move(differing);
  scaled_ = std::move(scaled);
  const std::shared_ptr<const ReplaySnapshot> before = std::move(replayed_);
  replayed_ = std::move(replayed);
  read_ = std::move(read);
  follow_recording(*before);
  follow_replay(*before);
  follow_calibration();
}

/// A machine measured just now prices the plan that is shown: it is planned anew, and run, at once.
void Studio::follow_calibration() {
  if (scaled_->calibrated == calibrated_ || scaled_->measures()) return;
  calibrated_ = scaled_->calibrated;
  view_.compare.asked.reset();  // its plans and its tournament are priced anew too
  view_.compare.asked_tournament.reset();
  const Settings& settings = view_.wanted.settings(*session_.snapshot());  // with a change on its way there
  if (settings.hardware == kThisMachine && session_asked_) session_.send(command::SetSettings{settings});
}

/// What the panels asked for in this frame. Who changes the plan or runs it leaves the frozen step; walking
/// through it moves nothing but the selection. What else computes gives up a measurement beside it, whose
/// times would be of both.
void Studio::send_commands() {
  const bool runs_here = std::exchange(view_.replay.run_here, false) && replayed_->is_open();
  if (runs_here) run_recorded_settings();
  const bool closes = std::any_of(
      replay_outbox_.begin(), replay_outbox_.end(),
      [](const ReplayCommand& command) { return std::holds_alternative<replay_command::Close>(command); });
  const bool replays = replayed_->is_open() && !closes;
  const bool trains =
      std::any_of(train_outbox_.begin(), train_outbox_.end(), [](const TrainCommand& command) {
        return std::holds_alternative<train_command::Start>(command) ||
               std::holds_alternative<train_command::Resume>(command);
      });
  const bool breaks = std::any_of(
      break_outbox_.begin(), break_outbox_.end(),
      [](const BreakCommand& command) { return std::holds_alternative<break_command::Start>(command); });
  const bool compares = std::any_of(comparison_outbox_.begin(), comparison_outbox_.end(), measures);
  const bool computing =
      runs_here || trains || breaks || std::any_of(outbox_.begin(), outbox_.end(), computes);
  if (scaled_->measures() && (computing || compares)) {
    view_.said = {fmt::format(
        "A run began, and two at once would share the cores: {} was given up. It begins anew where it was "
        "started.",
        scaled_->activity.substr(0, scaled_->activity.find(':')))};
    scaling_.send(scaling_command::Stop{view_.said.words});
  }
  if (compared_->measuring && computing) comparison_.send(comparison_command::Stop{});
  if (differing_->running && (computing || compares)) diff_.send(diff_command::Stop{});
  for (DiffCommand& command : diff_outbox_) diff_.send(std::move(command));
  for (ReplayCommand& command : replay_outbox_) replay_.send(std::move(command));
  for (HistoryCommand& command : history_outbox_) history_.send(std::move(command));
  for (Command& command : outbox_) {
    if (std::holds_alternative<command::Record>(command)) {
      session_.send(std::move(command));
      continue;
    }
    if (replays) {  // what is recorded can be walked through, and not changed
      if (const auto* seek = std::get_if<command::Seek>(&command))
        replay_.send(replay_command::ShowStep{seek->position});
      continue;
    }
    session_asked_ = true;
    const bool leaves = std::holds_alternative<command::SetSettings>(command) ||
                        std::holds_alternative<command::Run>(command);
    if (frozen_ && leaves) leave_frozen();
    if (const auto* change = std::get_if<command::SetSettings>(&command))
      run_settings(change->settings);
    else if (!frozen_ || leaves)
      session_.send(std::move(command));
  }
  for (TrainCommand& command : train_outbox_) training_.send(std::move(command));
  for (BreakCommand& command : break_outbox_) breaks_.send(std::move(command));
  for (ScalingCommand& command : scaling_outbox_) scaling_.send(std::move(command));
  for (ComparisonCommand& command : comparison_outbox_) comparison_.send(std::move(command));
  const bool asked = !outbox_.empty() || !train_outbox_.empty() || !break_outbox_.empty() ||
                     !replay_outbox_.empty() || !history_outbox_.empty();
  if (asked || !scaling_outbox_.empty() || !comparison_outbox_.empty() || !diff_outbox_.empty())
    last_touch_ = Clock::now();
  outbox_.clear();
  train_outbox_.clear();
  break_outbox_.clear();
  scaling_outbox_.clear();
  comparison_outbox_.clear();
  diff_outbox_.clear();
  replay_outbox_.clear();
  history_outbox_.clear();
}

void Studio::frame() {
  take_snapshots();
  follow_program();
  follow_diff_jump();
  find_on_stage();
  look_at_recording();
  prepare_style();

  const Context now = context();
  const StepId selected = view_.selected_step;
  // Escape closes what lies on top, then the message, and the notes last.
  const bool on_top = view_.covered() || ImGui::GetIO().WantTextInput ||
                      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  if (!on_top && ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
    if (message_.empty()) view_.replay.notes_open = false;
    message_ = {};
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!view_.picture.empty())
    ImGui::GetIO().MousePos = {-FLT_MAX, -FLT_MAX};  // what it lies over explains itself
  handle_keys(now);
  draw_palette(now);
  draw_sheet(now);
  draw_recording_chooser(now);
  player_.advance(now, ImGui::GetIO().DeltaTime);
  float below = std::floor(now.px(kBarHeight));
  draw_strip(now, "Bar", 0, below, draw_bar);
  if (replayed_->is_open()) {
    const float height = std::floor(now.px(kReplayBarHeight));
    draw_strip(now, "Replay", below, height, draw_replay_bar);
    below += height;
    draw_notes(now, below);
  }
  const auto draw_fault = [&](const char* name, bool is_there, void (*draw)(const Context&)) {
    if (!is_there) return;
    const float height = std::floor(now.px(kReplayBarHeight));
    draw_strip(now, name, below, height, draw);
    below += height;
  };
  draw_fault("Fault", has_run_fault(now), draw_run_fault);
  if (train_->is_active()) view_.fault.training_closed = false;
  draw_fault("Training fault strip", has_training_fault(now) && !view_.fault.training_closed,
             draw_training_fault);

  if (find_frames_ > 0) {
    --find_frames_;
    view_.scroll_to_selection = true;
  }
  if (view_.reset_layout) {
    layout_.reset();
    docked_from_ = ImGui::GetFrameCount() + kFirstFrames;
  }
  if (ImGui::GetFrameCount() <= docked_from_)
    view_.focus_tab = true;  // docked windows exist only after a frame
  // A wish that stands by now is granted to every panel in this frame; one that a panel makes below stands
  // until the next, so that the panels drawn before it see it too.
  bool* const wishes[] = {&view_.focus_tab, &view_.scroll_to_selection, &view_.fit_stage, &view_.fit_timeline,
                          &view_.reset_layout};
  bool granted[std::size(wishes)];
  for (size_t i = 0; i < std::size(wishes); ++i) granted[i] = *wishes[i];
  const SidePanels beside = side_panels(view_, ImGui::GetMainViewport()->Size);
  // What is hidden leaves an edge to be shown again by; a lecture is without Setup, and without its edge.
  const float fold = std::floor(now.px(24));
  const float bottom = !beside.timeline && beside.inspector ? fold : 0;
  const float left = !beside.setup && !view_.lecture ? fold : 0;
  layout_.begin(now, below, bottom, left);
  if (bottom > 0) draw_folded_timeline(now, bottom);
  if (left > 0) draw_folded_setup(now, below, bottom, left);
  if (beside.setup) draw_panel(now, "Setup", draw_setup, false);
  draw_tab(now, "Start", Tab::Start, draw_start);
  draw_tab(now, "Stage", Tab::Stage, draw_stage);
  draw_tab(now, "Memory", Tab::Memory, draw_memory);
  draw_tab(now, "Traffic", Tab::Traffic, draw_traffic);
  draw_tab(now, "Scaling", Tab::Scaling, draw_scaling);
  draw_tab(now, "Compare", Tab::Compare, draw_compare);
  draw_tab(now, "Train", Tab::Train, draw_train);
  draw_tab(now, "Program", Tab::Program, draw_program);
  draw_tab(now, "Break it", Tab::BreakIt, draw_break_it);
  if (beside.inspector) draw_panel(now, "Inspector", draw_inspector, true);
  if (beside.timeline) draw_panel(now, "Timeline", draw_timeline, true);
  layout_.end(now, centre_hint(now));
  draw_message(now);
  follow_clicks(now, selected);

  for (size_t i = 0; i < std::size(wishes); ++i) {
    if (granted[i]) *wishes[i] = false;
  }
  hide_tooltips_from_keys(view_);
  ImGui::GetIO().MousePos = mouse;
  heatmaps_.end_frame();
  send_commands();
  if (seconds_since(last_remembered_) > kRememberEverySeconds) remember();
}

double Studio::idle_seconds() const {
  const bool runs_beside = view_.replay.beside && is_busy(*session_.snapshot());
  if (view_.playing || replayed_->playing || read_->is_busy() || seconds_since(last_touch_) < kSettleSeconds)
    return kBusyFrameSeconds;
  if (is_busy(*snapshot_) || runs_beside || train_->is_active() || broken_->is_active() || compared_->busy ||
      differing_->busy || seconds_since(last_change_) < kSettleSeconds)
    return kComputingFrameSeconds;
  if (scaled_->measures()) return kMeasuringFrameSeconds;
  if (replayed_->is_live()) return kLiveFrameSeconds;
  return ImGui::GetIO().WantTextInput ? 0.2 : kIdleSeconds;  // a text cursor blinks
}

void Studio::remember() {
  last_remembered_ = Clock::now();
  if (state_path_.empty()) return;
  RememberedState now{view_.theme,
                      view_.scale,
                      view_.lecture,
                      view_.tab,
                      view_.memory.this_layer,
                      view_.program_filter,
                      layout_.remembered(),
                      view_.train.single,
                      view_.train.compared,
                      view_.traffic_times,
                      view_.scaling,
                      view_.compare.page,
                      view_.compare.splits,
                      view_.train.writing,
                      view_.recent};
  if (now == remembered_) return;
  remembered_ = std::move(now);
  try {
    write_state(remembered_, state_path_);
  } catch (const std::exception& error) {
    spdlog::warn("the layout is not remembered: {}", error.what());
  }
}

}  // namespace shardlens::ui
