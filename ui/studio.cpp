// Draws one frame of the studio, and does the work between frames.
#include "ui/studio.h"

#include <fmt/format.h>
#include <imgui.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/worker.h"
#include "engine/config/hardware_file.h"
#include "engine/io/file_kind.h"
#include "ui/collective/collective_view.h"
#include "ui/collective/inside.h"
#include "ui/commands/commands.h"
#include "ui/commands/keys_of_controls.h"
#include "ui/frame/closing.h"
#include "ui/frame/narrow.h"
#include "ui/frame/spotlight.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/faults/fault_bar.h"
#include "ui/panels/faults/fault_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/panels.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/train/replayed_training.h"
#include "ui/panels/train/train_view.h"
#include "ui/plan/sections.h"
#include "ui/plan/shown_plan.h"
#include "ui/product/product_view.h"
#include "ui/remember/recent_recordings.h"
#include "ui/settings/model_path.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kBarHeight = 48;
constexpr float kReplayBarHeight = 44;
constexpr double kBusyFrameSeconds = 1.0 / 30;
constexpr double kTurnsSeconds = 0.012;              // of a frame, for workers that take turns in it
constexpr double kComputingFrameSeconds = 1.0 / 20;  ///< frames take time from cores that compute
constexpr double kIdleSeconds = 1;
constexpr double kLiveFrameSeconds = 0.2;        ///< for a followed run: new passes, and their age
constexpr double kMeasuringFrameSeconds = 0.25;  ///< frames take time from cores that are measured
constexpr double kTellingSeconds = 8;
constexpr double kSettleSeconds = 0.8;  ///< tooltips and hovers need frames after the last event

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

DrawPanel panel_of(Tab tab) {
  switch (tab) {
    case Tab::Start:
      return draw_start;
    case Tab::Stage:
      return draw_stage;
    case Tab::Memory:
      return draw_memory;
    case Tab::Traffic:
      return draw_traffic;
    case Tab::Scaling:
      return draw_scaling;
    case Tab::Compare:
      return draw_compare;
    case Tab::Train:
      return draw_train;
    case Tab::Program:
      return draw_program;
    case Tab::BreakIt:
      return draw_break_it;
  }
  return nullptr;
}

bool is_busy(const Snapshot& snapshot) {
  return snapshot.state == RunState::Planning || snapshot.state == RunState::Running ||
         !snapshot.activity.empty();
}

/// True if this frame has input from a person.
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

void send_all(auto& commands, auto& engine) {
  for (auto& command : commands) engine.send(std::move(command));
}

/// True if the command computes on every core, which would disturb a measurement of this machine.
bool computes(const Command& command) {
  return std::holds_alternative<command::SetSettings>(command) ||
         std::holds_alternative<command::Run>(command) ||
         std::holds_alternative<command::CompareLosses>(command);
}

/// Returns "I Inspector · T Timeline": the keys of the panels that the page needs and that a window all of
/// its own leaves out.
std::string keys_of_absent_panels(const ViewState& view) {
  const SidePanels needed = needs_of(view), own = own_panels(view, ImGui::GetMainViewport()->Size),
                   shown = side_panels(view);
  std::string keys;
  const auto add = [&](const char* words, bool is_needed, bool is_own, bool is_shown) {
    if (is_needed && !is_own && !is_shown) keys += (keys.empty() ? "" : " \u00B7 ") + std::string(words);
  };
  add("I Inspector", needed.inspector, own.inspector, shown.inspector);
  add("T Timeline", needed.timeline, own.timeline, shown.timeline);
  add("U Setup", needed.setup, own.setup, shown.setup);
  return keys;
}

/// Returns the hint at the right of the centre's tab strip: the keys of absent panels, else the place of the
/// selected step in the model.
std::string centre_hint(const Context& context) {
  if (shows_open_row(context)) return where_in_open_row(context);
  if (std::string keys = keys_of_absent_panels(context.view); !keys.empty()) return keys;
  const Plan* plan = shown_plan(context.snapshot);
  if (plan == nullptr || !needs_of(context.view).inspector) return {};
  const Program& program = plan->program;
  const StepId selected = context.view.selected_step;
  if (selected < 0 || static_cast<size_t>(selected) >= program.steps.size()) return {};
  const std::string part = sections_of(shared_shown_plan(context.snapshot)).of(selected).title;
  const std::string block = to_string(program.step(selected).part);
  const std::string where = part == block ? part : part + ", " + block + " block";
  if (context.view.tab == Tab::Stage && is_whole_model(program) && context.view.open_section == kWholeModel)
    return "click a part to open it";
  return context.view.tab == Tab::Stage ? where + " \u00B7 drag to pan, Ctrl+wheel to zoom, F fits" : where;
}

}  // namespace

Studio::Studio(const Settings& settings, const Fonts& fonts, std::filesystem::path state_path,
               Session::Begin begin)
    : fonts_(fonts),
      remembered_(std::move(state_path)),
      last_change_(Clock::now()),
      last_touch_(Clock::now() - std::chrono::hours(1)),
      sessions_(settings, begin),
      own_run_(sessions_.run, settings, begin),
      replay_follower_(sessions_, own_run_, view_, message_, outbox_),
      held_(sessions_.newest()) {
  view_.changes.chose(settings, 0);
  view_.recordings = default_recordings_folder().string();
  view_.of<TrainView>().checkpoints = default_checkpoints_folder().string();
  ImGuiIO& io = ImGui::GetIO();
  io.ConfigDockingAlwaysTabBar = false;
  io.ConfigWindowsMoveFromTitleBarOnly = true;
  const std::string problem = remembered_.restore(view_, layout_);
  if (problem.empty()) return;
  spdlog::warn("{}", problem);
  message_.say({problem});
}

Studio::~Studio() {
  end();
}

void Studio::end() {
  if (std::exchange(ended_, true)) return;
  unsaved_state_ = remembered_.save(view_, layout_);
  const bool drops = !view_.of<ClosingView>().saves.value_or(true);
  sessions_.end(drops ? TrainingSession::Others::Dropped : TrainingSession::Others::Saved);
}

std::string Studio::not_saved() {
  std::string text;
  const auto add = [&](const std::string& problem) {
    if (!problem.empty()) text += (text.empty() ? "" : "; ") + problem;
  };
  const auto train = sessions_.training.snapshot();
  const bool dropped = view_.of<ClosingView>().saves == false;
  for (const auto& curve : train->curves)
    if (!dropped && !curve->save_problem.empty())
      add(fmt::format("{} is not saved: {}", curve->name, curve->save_problem));
  // What went wrong with a recording before was said in the window.
  const BeingRecorded& said = recording_.recorded();
  if (train->recording.problem != said.steps.problem) add(train->recording.problem);
  const auto run = sessions_.run.snapshot();
  if (run->recording.problem != said.runs.problem) add(run->recording.problem);
  add(unsaved_state_);
  return text;
}

bool Studio::ends() const {
  return view_.of<ClosingView>().saves.has_value();
}

bool Studio::may_close() {
  if (ends()) return true;
  // What another part could not write down is said once; a second wish closes all the same.
  if (std::string problem = remembered_.save(view_, layout_); !problem.empty()) {
    message_.say({problem + " Close the window again to end the studio all the same."});
    return stays_open();
  }
  const auto train = sessions_.training.snapshot();
  auto& closing = view_.of<ClosingView>();
  closing.lost = lost_steps(*train);
  const bool saves = closing.lost.empty() && has_unsaved_steps(*train);
  if (closing.lost.empty() && !saves) return true;
  if (!view_.closing_open) {
    view_.close_covers();
    closing.problem.clear();
    closing.wants_save = saves;
    view_.closing_open = true;
  }
  return stays_open();
}

bool Studio::stays_open() {
  last_touch_ = Clock::now();
  return false;
}

void Studio::recover(const std::string& problem) {
  message_.say({"The last picture could not be drawn: " + problem});
  view_.close_covers();
  select_nothing(view_);
  view_.playing = false;
  if (++failed_frames_ == 1) return;
  view_.tab = Tab::Start;
  view_.focus_tab = true;
  view_.of<CollectiveView>().open = false;
  view_.picture.clear();
  outbox_.clear();  // one of its commands may be the reason
}

Context Studio::context() {
  return {held_.references(recording_.recorded()),
          *held_.shown,
          held_.beside.get(),
          view_,
          theme(view_.theme),
          fonts_,
          heatmaps_,
          outbox_};
}

void Studio::prepare_style() {
  const ImVec2 window = ImGui::GetMainViewport()->Size;
  view_.lecture_scale = lecture_scale_at(window.x / view_.screen_scale, window.y / view_.screen_scale);
  if (view_.theme == styled_theme_ && view_.ui_scale() == styled_scale_) return;
  apply(theme(view_.theme), view_.ui_scale());
  if (view_.ui_scale() != styled_scale_) selection_.bring_into_view();
  styled_theme_ = view_.theme;
  styled_scale_ = view_.ui_scale();
}

/// Takes the newest snapshots. An open recording replaces everything that ran here; otherwise a frozen
/// training step replaces the Session's run.
void Studio::take_snapshots() {
  HeldSnapshots next = sessions_.newest();
  if (next.shown->state == RunState::Refused && !next.shown->plan)
    view_.changes.refused(next.shown->settings);
  const bool replays = next.replay->is_open();
  if (!replays && next.train->frozen && next.train->frozen != held_.frozen) {
    view_.tab = Tab::Stage;
    view_.focus_tab = true;
  }
  recording_.take(next.shown->recording, next.train->recording, view_, message_);
  next.frozen = next.train->frozen;
  if (replays) {
    if (view_.of<ReplayView>().beside)
      next.beside = replay_follower_.beside(next.shown, *next.replay->recording);
    next.shown = next.replay->shown;
    next.train = replayed_training(*next.replay);
  } else if (auto broken = broken_run_.shown(*next.breaks, next.shown, view_)) {
    next.shown = std::move(broken);
    next.shows_break = true;
  } else if (next.frozen) {
    next.shown = next.frozen->shown;
  }
  // Looking for GPUs loads their libraries, so it waits until the first run has ended.
  watches_machine_ = watches_machine_ || !is_busy(*next.shown);
  if (watches_machine_ && (view_.tab == Tab::Memory || side_panels(view_).setup)) sessions_.machine.look();
  // A run in another process is drawn only a few times a second, to leave the cores to it.
  const bool grew = next.replay->is_live() && held_.replay->is_live() && !next.replay->playing;
  if (has_input()) last_touch_ = Clock::now();
  if (!next.same_as(held_) && !grew) last_change_ = Clock::now();
  // If a training has just failed, the strip shows it, and an older message is out of date.
  if (failed_curve(*next.train) != nullptr && failed_curve(*held_.train) == nullptr && !message_.has_files())
    message_.close();
  if (next.diff->compared && next.diff->compared != held_.diff->compared)
    for (const ComparedRun* run : {&next.diff->compared->b, &next.diff->compared->a})
      if (!run->file.empty()) add_recent(view_.recent, run->file);
  HeldSnapshots before = std::exchange(held_, std::move(next));
  if (before.shown != held_.shown) released_.release(std::move(before.shown));
  replay_follower_.follow(*held_.replay, *before.replay);
  follow_calibration();
}

/// After a new calibration of this machine, plans and runs the shown settings again with its times.
void Studio::follow_calibration() {
  if (held_.scaling->calibrated == calibrated_ || held_.scaling->measures()) return;
  calibrated_ = held_.scaling->calibrated;
  auto& compare = view_.of<CompareView>();
  compare.asked.reset();  // the times of its plans and its tournament are predicted again too
  compare.asked_tournament.reset();
  const Settings& settings =
      view_.wanted.settings(*sessions_.run.snapshot());  // includes changes on their way
  if (settings.hardware == kThisMachine && own_run_.begun())
    sessions_.run.send(command::SetSettings{settings});
}

/// Sends the commands of this frame's panels. A command that changes or runs the plan leaves the frozen step;
/// walking through a frozen step moves only the selection. A command that computes stops a running
/// measurement, because its times would be wrong.
void Studio::send_commands() {
  const bool runs_here = std::exchange(view_.of<ReplayView>().run_here, false) && held_.replay->is_open();
  if (runs_here) {
    view_.of<ReplayView>().beside = true;
    own_run_.run(held_.replay->recording->plan->program.settings, view_);
  }
  const bool closes = contains<replay_command::Close>(outbox_.of<ReplayCommand>());
  const bool replays = held_.replay->is_open() && !closes;
  const std::vector<TrainCommand>& training = outbox_.of<TrainCommand>();
  const bool trains = contains<train_command::Start>(training) || contains<train_command::Resume>(training);
  const bool breaks = contains<break_command::Start>(outbox_.of<BreakCommand>());
  const std::vector<Command>& runs = outbox_.of<Command>();
  const std::vector<ComparisonCommand>& comparisons = outbox_.of<ComparisonCommand>();
  const bool compares = std::any_of(comparisons.begin(), comparisons.end(), measures);
  const bool computing = runs_here || trains || breaks || std::any_of(runs.begin(), runs.end(), computes);
  if (held_.scaling->measures() && (computing || compares)) {
    view_.said = {
        fmt::format("{} was stopped because a run began, and both would share the cores. Start it again "
                    "where you started "
                    "it before.",
                    held_.scaling->activity.substr(0, held_.scaling->activity.find(':')))};
    sessions_.scaling.send(scaling_command::Stop{view_.said.words});
  }
  if (held_.comparison->measuring && computing) sessions_.comparison.send(comparison_command::Stop{});
  if (held_.diff->running && (computing || compares)) sessions_.diff.send(diff_command::Stop{});
  send_all(outbox_.of<DiffCommand>(), sessions_.diff);
  send_all(outbox_.of<ReplayCommand>(), sessions_.replay);
  send_all(outbox_.of<HistoryCommand>(), sessions_.history);
  for (Command& command : outbox_.of<Command>()) {
    if (std::holds_alternative<command::Record>(command)) {
      sessions_.run.send(std::move(command));
      continue;
    }
    if (replays) {  // a recorded run can be walked through, but not changed
      if (const auto* seek = std::get_if<command::Seek>(&command))
        sessions_.replay.send(replay_command::ShowStep{seek->position});
      continue;
    }
    own_run_.set_begun();
    const bool leaves = std::holds_alternative<command::SetSettings>(command) ||
                        std::holds_alternative<command::Run>(command);
    if (held_.frozen && leaves) leave_frozen();
    if (held_.shows_break && leaves) view_.of<BreakView>().left = view_.tab != Tab::BreakIt;
    if (const auto* change = std::get_if<command::SetSettings>(&command))
      own_run_.run(change->settings, view_);
    else if ((!held_.frozen && !held_.shows_break) || leaves)
      sessions_.run.send(std::move(command));
  }
  send_all(outbox_.of<TrainCommand>(), sessions_.training);
  send_all(outbox_.of<BreakCommand>(), sessions_.breaks);
  send_all(outbox_.of<ScalingCommand>(), sessions_.scaling);
  send_all(outbox_.of<ComparisonCommand>(), sessions_.comparison);
  send_all(outbox_.of<LessonCommand>(), sessions_.lesson);
  if (!outbox_.empty()) last_touch_ = Clock::now();
  outbox_.clear();
}

/// Leaves the frozen training step after a change of the plan, and shows a message about it.
void Studio::leave_frozen() {
  sessions_.training.send(train_command::LetGo{});
  const bool held = sessions_.training.snapshot()->state == TrainState::Paused;
  view_.said = fmt::format("The panels show the plan again. Training step {} is no longer shown{}.",
                           grouped_text(held_.frozen->step),
                           held ? ". Training is paused; Freeze in Train shows its step again" : "");
}

void Studio::open_recording(const std::string& path) {
  sessions_.replay.send(replay_command::Open{path});
  last_change_ = Clock::now();
}

void Studio::open_lesson(const std::string& name_or_file, int scene, std::optional<uint64_t> seed) {
  ui::open_lesson(context(), name_or_file, scene, seed);
  lesson_is_settled_ = false;
  last_change_ = Clock::now();
}

void Studio::show_scene(int scene) {
  ui::show_scene(context(), scene);
  lesson_is_settled_ = false;
}

void Studio::open_state(SceneState state, const Settings& settings) {
  state_opener_.open(std::move(state), settings);
  lesson_is_settled_ = false;
  last_change_ = Clock::now();
}

void Studio::open_dropped(const std::string& path) {
  last_change_ = Clock::now();
  if (names_a_model(path)) {
    message_.close();
    return take_model(context(), path);
  }
  if (ending_of(path) == ".md") {
    view_.close_covers();
    return open_lesson(path, 0);
  }
  if (view_.chooser_open) return take_chosen(context(), path);
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    view_.of<ChooserView>().chosen_for = ChosenFor::Replay;
    view_.close_covers();
    view_.chooser_open = true;
  }
  open_recording(path);
}

void Studio::write_figure(const FigureWish& wish, const std::filesystem::path& path) {
  ui::write_figure(context(), wish, path);
}

Figure Studio::draw_figure(const FigureWish& wish) {
  return ui::draw_figure(context(), wish);
}

void Studio::write_picture(Platform& platform) {
  if (view_.picture.empty()) return;
  message_.close();
  last_touch_ = Clock::now();
  window_picture_.write(platform, view_);
}

void Studio::draw_notes_window(Platform& platform) {
  notes_window_.follow(context(), platform);
}

void Studio::frame() {
  take_turns(kTurnsSeconds);
  take_snapshots();
  selection_.follow(shared_shown_plan(*held_.shown), view_);
  if (!keeps_findings_back(context())) broken_run_.select_start(*held_.breaks, *held_.shown, view_);
  replay_follower_.jump(*held_.replay);
  selection_.follow_to_stage(view_);
  replay_follower_.read_samples(*held_.replay);
  prepare_style();

  const Context now = context();
  const StepId selected = view_.selected_step;
  // Escape closes the top cover first, then the message, then the notes, and then switches a mistake off.
  const bool on_top = view_.covered() || ImGui::GetIO().WantTextInput ||
                      ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  if (!on_top && ImGui::IsKeyPressed(ImGuiKey_Escape, false)) {
    const bool notes = view_.of<NotesView>().open;
    if (!message_.is_open() && !leave_collective(now)) {
      if (!notes && !keys_are_for_controls() && is_switched_on(now)) take_back(now);
      view_.of<NotesView>().open = false;
    }
    message_.close();
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!view_.picture.empty()) ImGui::GetIO().MousePos = {-FLT_MAX, -FLT_MAX};  // no tooltip in the picture
  handle_keys(now);
  draw_palette(now);
  draw_sheet(now);
  draw_recording_chooser(now);
  follow_closing(now, *sessions_.training.snapshot());
  draw_closing(now);
  player_.advance(now, ImGui::GetIO().DeltaTime);
  lesson_.follow(now);
  state_opener_.follow(now);
  lesson_is_settled_ = lesson_.is_settled(now) && state_opener_.is_done();
  draw_blank(now);
  const LessonRoom card = lesson_room(view_);
  const float bar = std::floor(now.px(kBarHeight));
  if (is_inside_collective(now)) {  // it takes the whole window, but for a lesson
    const float top = is_class(view_) ? bar : 0;
    if (top > 0) draw_strip_window(now, "Bar", 0, bar, draw_class_bar);
    if (card.is_there()) draw_lesson_card(now, top);
    draw_inside_collective(now, card.left, top + card.above);
    message_.draw(now, [this](const std::string& path) { open_recording(path); });
    draw_spotlight(now);
    return end_frame(mouse);
  }
  view_.of<CollectiveView>().open = false;  // what it showed may be gone
  float below = bar;
  draw_strip_window(now, "Bar", 0, below, is_class(view_) ? draw_class_bar : draw_bar);
  if (held_.replay->is_open()) {
    const float height = std::floor(now.px(kReplayBarHeight));
    draw_strip_window(now, "Replay", below, height, draw_replay_bar);
    below += height;
    draw_notes(now, below);
  }
  const auto draw_fault = [&](const char* name, bool is_there, void (*draw)(const Context&)) {
    if (!is_there) return;
    const float height = std::floor(now.px(kReplayBarHeight));
    draw_strip_window(now, name, below, height, draw);
    below += height;
  };
  draw_fault("Fault", has_run_fault(now), draw_run_fault);
  if (held_.train->is_active()) view_.of<FaultView>().training_closed = false;
  draw_fault("Training fault strip", has_training_fault(now) && !view_.of<FaultView>().training_closed,
             draw_training_fault);

  selection_.begin_panels(view_);
  if (view_.reset_layout) {
    layout_.reset();
    docked_from_ = ImGui::GetFrameCount() + kFirstFrames;
  }
  if (ImGui::GetFrameCount() <= docked_from_)
    view_.focus_tab = true;  // docked windows exist only after a frame
  // A wish made before this point holds for every panel in this frame. A wish that a panel makes below holds
  // until the end of the next frame, so that panels drawn earlier see it too.
  bool* const wishes[] = {&view_.focus_tab, &view_.scroll_to_selection, &view_.fit_timeline,
                          &view_.reset_layout};
  bool granted[std::size(wishes)];
  for (size_t i = 0; i < std::size(wishes); ++i) granted[i] = *wishes[i];
  if (view_.focus_tab) view_.front = Front::Page;
  const SidePanels beside = side_panels(view_);
  // A panel that a key has hidden leaves an edge; a click on it shows the panel again.
  const SidePanels own = own_panels(view_, ImGui::GetMainViewport()->Size);
  const float fold = std::floor(now.px(24));
  const float bottom = own.timeline && !beside.timeline ? fold : 0;
  const float left = own.setup && !beside.setup ? fold : 0;
  const float row = panel_row_height(view_);
  layout_.begin(now, below + card.above, bottom + row, card.left + left);
  if (card.is_there()) draw_lesson_card(now, below);
  if (row > 0) draw_panel_row_window(now);
  if (bottom > 0) draw_folded_timeline(now, bottom);
  if (left > 0) draw_folded_setup(now, below, bottom, left);
  if (beside.setup) draw_panel_window(now, "Setup", draw_setup, false);
  for (const TabNames& names : kTabs) draw_tab_window(now, names.window, names.tab, panel_of(names.tab));
  if (beside.inspector) draw_panel_window(now, "Inspector", draw_inspector, true);
  if (beside.timeline) draw_panel_window(now, "Timeline", draw_timeline, true);
  draw_words_beside_tabs(now);
  message_.draw(now, [this](const std::string& path) { open_recording(path); });
  replay_follower_.follow_clicks(now, selected);

  for (size_t i = 0; i < std::size(wishes); ++i) {
    if (granted[i]) *wishes[i] = false;
  }
  draw_spotlight(now);
  end_frame(mouse);
}

void Studio::end_frame(ImVec2 mouse) {
  hide_tooltips_from_keys(view_);
  ImGui::GetIO().MousePos = mouse;
  heatmaps_.end_frame();
  send_commands();
  if (const std::string problem = remembered_.save_now_and_then(view_, layout_); !problem.empty())
    message_.say({problem});
  failed_frames_ = 0;
}

/// Writes what was told last, for some seconds, else a hint. Without room beside the tabs it becomes a
/// message.
void Studio::draw_words_beside_tabs(const Context& context) {
  if (std::exchange(told_, view_.told) != view_.told) told_since_ = ImGui::GetTime();
  if (ImGui::GetTime() > told_since_ + kTellingSeconds) view_.told.clear();
  const bool is_news = !view_.told.empty();
  if (layout_.end(context, is_news ? view_.told : centre_hint(context), is_news) || !is_news) return;
  view_.said = std::exchange(view_.told, {});
}

double Studio::idle_seconds() const {
  return std::min(seconds_between_frames(), seconds_to_next_turn());
}

double Studio::seconds_between_frames() const {
  const bool runs_beside = view_.of<ReplayView>().beside && is_busy(*sessions_.run.snapshot());
  if (view_.playing || view_.of<CollectiveView>().playing || held_.replay->playing ||
      held_.history->is_busy() || view_.of<ClosingView>().awaited ||
      seconds_since(last_touch_) < kSettleSeconds)
    return kBusyFrameSeconds;
  if (is_busy(*held_.shown) || runs_beside || held_.train->is_active() || held_.breaks->is_active() ||
      held_.comparison->busy || held_.diff->busy || held_.lesson->busy || !lesson_is_settled_ ||
      seconds_since(last_change_) < kSettleSeconds)
    return kComputingFrameSeconds;
  if (held_.scaling->measures()) return kMeasuringFrameSeconds;
  if (held_.replay->is_live()) return kLiveFrameSeconds;
  return ImGui::GetIO().WantTextInput ? 0.2 : kIdleSeconds;  // a text cursor blinks
}

}  // namespace shardlens::ui
