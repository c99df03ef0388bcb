// Fills the command table and handles the keyboard.
#include "ui/commands/commands.h"

#include <fmt/format.h>
#include <icons_font_awesome_4.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "engine/runtime/recordings/history_reader.h"
#include "engine/train/train_snapshot.h"
#include "ui/collective/collective_view.h"
#include "ui/collective/inside.h"
#include "ui/commands/command_table.h"
#include "ui/commands/keys_of_controls.h"
#include "ui/commands/own_key.h"
#include "ui/commands/walk.h"
#include "ui/frame/side_panels.h"
#include "ui/frame/spotlight.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/link.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/program/by_hand_view.h"
#include "ui/panels/program/program_pages.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/setup/delays.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/panels/timeline/timeline.h"
#include "ui/panels/timeline/timeline_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/product/product_view.h"
#include "ui/settings/remedies.h"
#include "ui/stage/motion.h"
#include "ui/stage/stage_view.h"

namespace shardlens::ui {
namespace {

constexpr float kSmallestScale = 0.7f;
constexpr float kLargestScale = 2.5f;
constexpr float kScaleStep = 0.1f;
constexpr double kPanPerSecond = 0.8;   ///< share of the visible stretch
constexpr double kZoomPerSecond = 3.0;  ///< factor

void set_scale(const Context& context, float scale) {
  context.view.scale = std::clamp(std::round(scale / kScaleStep) * kScaleStep, kSmallestScale, kLargestScale);
}

double frame_seconds() {
  return ImGui::GetIO().DeltaTime;
}

/// Fits the rows of the Stage and the whole timeline into their panels, or goes back to where the Stage was.
void fit_or_go_back(const Context& context) {
  ViewState& view = context.view;
  StageView& stage = view.of<StageView>();
  stage.fitted = !stage.fitted;
  if (!stage.fitted) {
    view.stage_zoom = stage.zoom_before;
    stage.goes_back = true;
    return;
  }
  view.fit_timeline = true;
  view.of<TimelineView>().begin_seconds = view.of<TimelineView>().end_seconds = 0;
  view.of<HistoryView>().shown = {};
}

/// True if Ctrl+Z acts on the settings, and not on a text that is being edited.
bool changes_settings(const Context& context) {
  return context.view.palette_open || !ImGui::GetIO().WantTextInput;
}

/// True if the open page has settings of its own, which Ctrl+Z then acts on.
bool has_own_form(const Context& context) {
  return context.view.tab == Tab::Train || shows_by_hand(context.view);
}

/// Puts another state of Train's form in place, and says what that changed.
void change_form(const Context& context, const char* what, const TrainForm& form) {
  TrainView& train = context.view.of<TrainView>();
  const bool other_kind = form.comparison != train.comparison;
  const TrainChoices before = train.choices();
  train.take(form);
  context.view.told = fmt::format("{}: {}", what,
                                  other_kind ? (form.comparison ? "post-LN and pre-LN" : "one model")
                                             : difference(train.choices(), before));
}

void take_back_in_form(const Context& context) {
  if (shows_by_hand(context.view))
    return take_hand_form(context, "Undone", context.view.of<ByHandView>().changes.undo());
  change_form(context, "Undone", context.view.of<TrainView>().changes.undo());
}

void make_again_in_form(const Context& context) {
  if (shows_by_hand(context.view))
    return take_hand_form(context, "Done again", context.view.of<ByHandView>().changes.redo());
  change_form(context, "Done again", context.view.of<TrainView>().changes.redo());
}

bool can_take_back_in_form(const Context& context) {
  return shows_by_hand(context.view) ? context.view.of<ByHandView>().changes.can_undo()
                                     : context.view.of<TrainView>().changes.can_undo();
}

bool can_make_again_in_form(const Context& context) {
  return shows_by_hand(context.view) ? context.view.of<ByHandView>().changes.can_redo()
                                     : context.view.of<TrainView>().changes.can_redo();
}

bool is_running(const Context& context) {
  return context.snapshot.state == RunState::Running || context.snapshot.state == RunState::Planning;
}

bool has_plan(const Context& context) {
  return context.snapshot.plan != nullptr;
}

bool can_walk_or_hop(const Context& context) {
  return can_walk(context) || is_inside_collective(context);
}

void add_run_commands(std::vector<UiCommand>& table) {
  const auto group = CommandGroup::Run;
  table.push_back({.id = "run.play",
                   .title = "Play or stop",
                   .help = "Walk through the steps automatically, with a short stop at each",
                   .group = group,
                   .keys = {ImGuiKey_Space},
                   .run =
                       [](const Context& context) {
                         ViewState& view = context.view;
                         if (is_inside_collective(context)) return play_or_stop_hops(context);
                         if (plays_by_time(context)) return play_or_pause_replay(context);
                         view.playing = !view.playing;
                         if (view.playing && stands_at_the_end(context)) walk_to_first(context);
                       },
                   .enabled = can_walk_or_hop});
  table.push_back({.id = "run.run",
                   .title = "Run to the end",
                   .help = "Run the Program on all ranks; from the start if it is already at the end",
                   .group = group,
                   .keys = {ImGuiKey_R},
                   .run =
                       [](const Context& context) {
                         // Memory that was missing may be free by now.
                         if (context.snapshot.only_planned()) return context.want(context.wanted());
                         context.send(command::Run{});
                       },
                   .enabled = has_plan});
  table.push_back({.id = "run.pause",
                   .title = "Pause the run",
                   .help = "Stop all ranks before the next step",
                   .group = group,
                   .keys = {ImGuiKey_P},
                   .run = [](const Context& context) { context.send(command::Pause{}); },
                   .enabled = is_running});
  table.push_back({.id = "run.record",
                   .title = "Record, or stop recording",
                   .help = "Write every run and training step into a file that can be replayed",
                   .group = group,
                   .keys = {ImGuiMod_Ctrl | ImGuiKey_R},
                   .run = [](const Context& context) {
                     const bool on = context.recorded.runs.on || context.recorded.steps.on;
                     const std::string folder = on ? std::string() : context.view.recordings;
                     context.send(command::Record{folder});
                     context.send(train_command::Record{folder});
                   }});
  table.push_back({.id = "run.cancel",
                   .title = "Cancel the run",
                   .help = "End the run without a result",
                   .group = group,
                   .keys = {ImGuiMod_Ctrl | ImGuiKey_Period},
                   .run = [](const Context& context) { context.send(command::Cancel{}); },
                   .enabled = is_running});
  table.push_back({.id = "run.add_delay",
                   .title = "Make the selected rank late",
                   .help = "The rank waits before the selected step, so the other ranks wait for it",
                   .group = group,
                   .run = add_delay,
                   .enabled = can_add_delay});
  table.push_back({.id = "run.lose_rank",
                   .title = "Lose the selected rank",
                   .help =
                       "The rank hangs before the selected step, like a crashed one: after two seconds the "
                       "other ranks report it as lost",
                   .group = group,
                   .run = lose_rank,
                   .enabled = can_lose_rank});
  table.push_back({.id = "run.again",
                   .title = "Run again after a fault",
                   .help = "Start the failed run again; a rank that was lost on purpose takes part again",
                   .group = group,
                   .run = run_again,
                   .enabled = can_run_again});
  table.push_back({.id = "run.nobody_late",
                   .title = "Remove all delays",
                   .help = "No rank is late on purpose any more",
                   .group = group,
                   .run = [](const Context& context) { context.want(without_delays(context.wanted())); },
                   .enabled = [](const Context& context) { return !context.wanted().delays.empty(); }});
}

void add_walk_commands(std::vector<UiCommand>& table) {
  // Inside a collective the same key goes from hop to hop.
  using Go = void (*)(const Context&);
  const auto add = [&](const char* id, const char* title, const char* help, ImGuiKeyChord key, Go walk,
                       Go hop) {
    const auto run = [walk, hop](const Context& c) { is_inside_collective(c) ? hop(c) : walk(c); };
    adder(table, CommandGroup::Walk)(id, title, help, {key}, run, can_walk_or_hop);
  };
  add("walk.forward", "Step forward", "Execute and select the next step", ImGuiKey_RightArrow, walk_forward,
      hop_forward);
  add("walk.back", "Step back", "Go back to the step before", ImGuiKey_LeftArrow, walk_back, hop_back);
  add("walk.next_collective", "Next collective", "Go to the next collective of the ranks",
      ImGuiMod_Shift | ImGuiKey_RightArrow, walk_to_next_collective, show_next_collective);
  add("walk.previous_collective", "Previous collective", "Go back to the previous collective of the ranks",
      ImGuiMod_Shift | ImGuiKey_LeftArrow, walk_to_previous_collective, show_previous_collective);
  add("walk.first", "First step", "Go to the first step", ImGuiKey_Home, walk_to_first, hop_to_first);
  add("walk.last", "Last step", "Go to the last step", ImGuiKey_End, walk_to_last, hop_to_last);
}

void add_timeline_commands(std::vector<UiCommand>& table) {
  const auto add = [&](const char* id, const char* title, const char* help, ImGuiKey key,
                       std::function<void(const Context&)> run) {
    table.push_back({.id = id,
                     .title = title,
                     .help = help,
                     .group = CommandGroup::View,
                     .keys = {key},
                     .run = std::move(run),
                     .held = true});
  };
  // With an open recording these act on its whole timeline, else on that of the run.
  const auto zoom = [](const Context& c, double factor) {
    if (shows_history(c))
      zoom_history(c.view.of<HistoryView>(), c.history, factor);
    else
      zoom_timeline(c.view, c.snapshot, factor);
  };
  const auto pan = [](const Context& c, double share) {
    if (shows_history(c))
      pan_history(c.view.of<HistoryView>(), c.history, share);
    else
      pan_timeline(c.view, c.snapshot, share);
  };
  add("timeline.zoom_in", "Timeline: zoom in", "Show a shorter stretch of time", ImGuiKey_W,
      [zoom](const Context& c) { zoom(c, std::pow(kZoomPerSecond, -frame_seconds())); });
  add("timeline.zoom_out", "Timeline: zoom out", "Show a longer stretch of time", ImGuiKey_S,
      [zoom](const Context& c) { zoom(c, std::pow(kZoomPerSecond, frame_seconds())); });
  add("timeline.earlier", "Timeline: earlier", "Move to earlier times", ImGuiKey_A,
      [pan](const Context& c) { pan(c, -kPanPerSecond * frame_seconds()); });
  add("timeline.later", "Timeline: later", "Move to later times", ImGuiKey_D,
      [pan](const Context& c) { pan(c, kPanPerSecond * frame_seconds()); });
}

void add_view_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::View);
  add("view.palette", "Command palette", "Find any command by name", {ImGuiMod_Ctrl | ImGuiKey_P},
      [](const Context& c) { c.view.toggle_cover(c.view.palette_open); });
  add("view.sheet", "Shortcut sheet", "All keys at a glance", {ImGuiMod_Shift | ImGuiKey_Slash, ImGuiKey_F1},
      [](const Context& c) { c.view.toggle_cover(c.view.sheet_open); });
  add("view.copy_link", "Copy link",
      "Copies what opens this state again, for others: settings, page, selection, step, lesson or recording",
      {}, copy_link);
  add("view.controls", "Go through the controls",
      "Tab goes to the next control (in Setup if the Stage is in front), Enter presses it, arrows "
      "choose in a list, Esc leaves the controls",
      {ImGuiKey_Tab}, take_keys_to_controls);
  add("view.fit", "Fit, or back",
      "Fit the rows of the Stage and the whole timeline into their panels; again: back to where the Stage "
      "was",
      {ImGuiKey_F}, fit_or_go_back);
  add(
      "view.whole_model", "Back to the whole model",
      "Close the open layer and show every part of the model again. To run a whole model, choose Part in "
      "Setup",
      {ImGuiKey_Backspace}, [](const Context& c) { c.view.open_section = kWholeModel; },
      [](const Context& c) { return c.view.open_section != kWholeModel; });
  add("view.open_row", "Open the selected step, or close it",
      "Its matrices with every rank's part, or attention's heads, in place of the rows. Esc goes back",
      {ImGuiKey_O}, open_or_close_row, can_open_row);
  add("view.derivation", "Derivation of the step, or close it",
      "The selected step line by line, as on a slide: block matrices, backward formulas, this run's sizes",
      {ImGuiKey_M}, open_or_close_derivation, can_derive);
  add("view.one_number", "Show how one number is made",
      "One number of the selected product: each rank's row, column and term. Arrow keys go to its neighbours",
      {}, open_largest_number, can_open_number);
  add("view.lecture", "Lecture mode",
      "Everything up to 1.6 times larger, for a large room; the page has the whole window, and U, T and I "
      "bring "
      "Setup, the Timeline and the Inspector",
      {ImGuiKey_F11}, [](const Context& c) { c.view.set_lecture(!c.view.lecture); });
  table.push_back(
      {.id = "view.spotlight",
       .title = "Spotlight at the mouse",
       .help = "While the key is held, only what is around the mouse is bright. Chosen here: until a click",
       .group = CommandGroup::View,
       .keys = {ImGuiKey_L},
       .run =
           [](const Context& c) {
             c.view.of<SpotlightView>() = {.on = true, .stays = !ImGui::IsKeyDown(ImGuiKey_L)};
           },
       .held = true});
  add("view.setup", "Show or hide Setup", "Makes room for the Stage; the Bar keeps the settings used most",
      {ImGuiKey_U}, [](const Context& c) { show_or_hide_setup(c.view); });
  add("view.timeline", "Show or hide the Timeline", "Makes room above it if the window is low", {ImGuiKey_T},
      [](const Context& c) { show_or_hide_timeline(c.view); });
  add("view.theme", "Switch theme", "Dark, or the high-contrast light theme for projectors",
      {ImGuiMod_Ctrl | ImGuiKey_T}, [](const Context& c) {
        c.view.theme = c.view.theme == ThemeName::Dark ? ThemeName::Light : ThemeName::Dark;
      });
  add("view.motion", "Motion on the Stage: on or off",
      "From step to step, what a step reads moves to where its result stands; then all is still", {},
      [](const Context& c) {
        bool& on = c.view.of<MotionView>().on;
        on = !on;
        c.view.told = on ? "Pieces move from step to step" : "Nothing moves from step to step";
      });
  add("view.larger", "Larger", "Everything a tenth larger",
      {ImGuiMod_Ctrl | ImGuiKey_Equal, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Equal,
       ImGuiMod_Ctrl | ImGuiKey_KeypadAdd},
      [](const Context& c) { set_scale(c, c.view.scale + kScaleStep); });
  add("view.smaller", "Smaller", "Everything a tenth smaller",
      {ImGuiMod_Ctrl | ImGuiKey_Minus, ImGuiMod_Ctrl | ImGuiKey_KeypadSubtract},
      [](const Context& c) { set_scale(c, c.view.scale - kScaleStep); });
  add("view.scale_one", "Normal size", "Back to the normal size",
      {ImGuiMod_Ctrl | ImGuiKey_0, ImGuiMod_Ctrl | ImGuiKey_Keypad0},
      [](const Context& c) { set_scale(c, 1); });
  add("view.start", "Show the start page",
      "Things to try, the gallery, and the recordings that were made or opened last",
      {ImGuiMod_Ctrl | ImGuiKey_1, ImGuiKey_F2}, [](const Context& c) { show_tab(c, Tab::Start); });
  add("view.stage", "Show the Stage", "The tensors of every rank, step by step", {ImGuiMod_Ctrl | ImGuiKey_2},
      [](const Context& c) { show_tab(c, Tab::Stage); });
  add("view.memory", "Show Memory", "The memory wall, per rank and kind", {ImGuiMod_Ctrl | ImGuiKey_3},
      [](const Context& c) { show_tab(c, Tab::Memory); });
  add("view.traffic", "Show Traffic", "Every collective with its bytes and times",
      {ImGuiMod_Ctrl | ImGuiKey_4}, [](const Context& c) { show_tab(c, Tab::Traffic); });
  add("view.times", "Show predicted and measured times", "Every step's time on one axis, in Traffic", {},
      [](const Context& c) {
        show_tab(c, Tab::Traffic);
        c.view.of<TrafficView>().times = true;
      });
  add("view.train", "Show Train", "Training, live", {ImGuiMod_Ctrl | ImGuiKey_7},
      [](const Context& c) { show_tab(c, Tab::Train); });
  add("view.program", "Show the Program", "The steps as text", {ImGuiMod_Ctrl | ImGuiKey_8},
      [](const Context& c) {
        show_tab(c, Tab::Program);
        c.view.of<ProgramView>().page = ProgramPage::Steps;
      });
  add("view.algebra", "Show what a sum allows",
      "For every operation: may it act on a term of a sum, or on a piece? Run here on real numbers", {},
      [](const Context& c) {
        show_tab(c, Tab::Program);
        c.view.of<ProgramView>().page = ProgramPage::Algebra;
      });
  add("view.by_hand", "Show the example by hand",
      "Two ranks and matrices of 4 × 4 whose numbers you type: every number, forward and backward", {},
      [](const Context& c) {
        show_tab(c, Tab::Program);
        c.view.of<ProgramView>().page = ProgramPage::ByHand;
      });
  add("view.figures", "Show the texts' figures",
      "Figures that texts on tensor parallelism print, each beside the exact one and what proves it", {},
      [](const Context& c) {
        show_tab(c, Tab::Program);
        c.view.of<ProgramView>().page = ProgramPage::Figures;
      });
  add("view.compare", "Show Compare", "Splits side by side, the tournament of all splits, and the sweep of T",
      {ImGuiMod_Ctrl | ImGuiKey_6}, [](const Context& c) { show_tab(c, Tab::Compare); });
  add("view.tournament", "Show the tournament of splits", "Every legal split, ranked by predicted time", {},
      [](const Context& c) {
        c.view.of<CompareView>().page = ComparePage::Tournament;
        show_tab(c, Tab::Compare);
      });
  add("view.wide_inspector", "Wide Inspector",
      "Gives the Inspector half the window, or its normal width. Shows it beside a page that has none",
      {ImGuiKey_I}, [](const Context& c) { widen_inspector(c.view); });
  add("view.reset_layout", "Reset the layout", "Put every panel back to its first place", {},
      [](const Context& c) {
        c.view.reset_layout = true;
        c.view.setup_hidden = c.view.timeline_hidden = false;
        c.view.asked = {};
      });
}

void add_settings_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Settings);
  add(
      "settings.undo", "Undo",
      "Undo the last change of the settings, in Train and by hand of what was typed, or take a planted "
      "mistake back",
      {ImGuiMod_Ctrl | ImGuiKey_Z},
      [](const Context& c) {
        if (undo_takes_back(c)) return take_back(c);
        has_own_form(c) ? take_back_in_form(c) : c.undo();
      },
      [](const Context& c) {
        if (!changes_settings(c)) return false;
        if (are_settings_the_lessons(c) && !has_own_form(c)) return false;
        if (undo_takes_back(c)) return true;
        return has_own_form(c) ? can_take_back_in_form(c) : c.view.changes.can_undo();
      });
  add(
      "settings.redo", "Redo", "Make the undone change again",
      {ImGuiMod_Ctrl | ImGuiKey_Y, ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z},
      [](const Context& c) {
        if (redo_plants(c)) {
          const break_command::Start start = *c.view.of<BreakView>().taken_back;
          return plant(c, start.settings, start.fault);
        }
        has_own_form(c) ? make_again_in_form(c) : c.redo();
      },
      [](const Context& c) {
        if (!changes_settings(c)) return false;
        if (redo_plants(c)) return true;
        return has_own_form(c) ? can_make_again_in_form(c) : c.view.changes.can_redo();
      });
  add("settings.model_path", "Open a model's folder or weights …",
      "A checkpoint, or a folder with config.json and .safetensors, becomes the model and weights in Setup; "
      "or drop it on the window",
      {}, [](const Context& c) { choose_recording(c, ChosenFor::Model); });
}

std::vector<UiCommand> make_table() {
  std::vector<UiCommand> table;
  add_walk_commands(table);
  add_run_commands(table);
  add_speed_commands(table);
  add_compare_commands(table);
  add_train_commands(table);
  add_view_commands(table);
  add_collective_commands(table);
  add_break_commands(table);
  add_scaling_commands(table);
  add_timeline_commands(table);
  add_figure_commands(table);
  add_setup_commands(table);
  add_settings_commands(table);
  add_lesson_commands(table);
  add_replay_commands(table);
  add_glossary_commands(table);
  hold_back_while_replaying(table);
  for (UiCommand& command : table)
    for (ImGuiKeyChord& key : command.keys) key = own_key(key);
  return table;
}

/// True if the key was pressed in this frame with exactly these modifiers. `repeat`: also while it is held
/// down.
bool pressed(ImGuiKeyChord chord, bool repeat) {
  const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  return ImGui::GetIO().KeyMods == (chord & ImGuiMod_Mask_) && ImGui::IsKeyPressed(key, repeat);
}

bool down(ImGuiKeyChord chord) {
  const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  return ImGui::GetIO().KeyMods == (chord & ImGuiMod_Mask_) && ImGui::IsKeyDown(key);
}

bool is_typed_by_text(ImGuiKeyChord chord) {
  const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  const bool is_function_key = key >= ImGuiKey_F1 && key <= ImGuiKey_F12;
  return (chord & (ImGuiMod_Ctrl | ImGuiMod_Alt | ImGuiMod_Super)) == 0 && !is_function_key;
}

}  // namespace

void show_tab(const Context& context, Tab tab) {
  context.view.tab = tab;
  context.view.focus_tab = true;
  leave_collective(context);
}

std::string title_of(CommandGroup group) {
  switch (group) {
    case CommandGroup::Run:
      return "Run";
    case CommandGroup::Walk:
      return "Walk through the steps";
    case CommandGroup::Train:
      return "Train";
    case CommandGroup::Lesson:
      return "Lessons";
    case CommandGroup::Replay:
      return "Replay a recording";
    case CommandGroup::View:
      return "Look";
    case CommandGroup::Settings:
      return "Choose";
    case CommandGroup::Glossary:
      return "Glossary";
  }
  throw std::logic_error("unknown command group");
}

const std::vector<UiCommand>& commands() {
  static const std::vector<UiCommand> table = make_table();
  return table;
}

const UiCommand& find_command(std::string_view id) {
  for (const UiCommand& command : commands()) {
    if (command.id == id) return command;
  }
  throw std::out_of_range("no command is called " + std::string(id));
}

std::string key_text(ImGuiKeyChord chord) {
  if (chord == (ImGuiMod_Shift | ImGuiKey_Slash)) return "?";
  std::string text;
  if (chord & ImGuiMod_Ctrl) text += std::string(name_of_ctrl()) + "+";
  if (chord & ImGuiMod_Alt) text += "Alt+";
  if (chord & ImGuiMod_Shift) text += "Shift+";
  const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
  switch (key) {
    case ImGuiKey_LeftArrow:
      return (text.empty() ? text : text + " ") + ICON_FA_ARROW_LEFT;
    case ImGuiKey_RightArrow:
      return (text.empty() ? text : text + " ") + ICON_FA_ARROW_RIGHT;
    case ImGuiKey_Equal:
      return text + "+";
    case ImGuiKey_Minus:
      return text + "\u2212";
    case ImGuiKey_Period:
      return text + ".";
    case ImGuiKey_Comma:
      return text + ",";
    case ImGuiKey_PageUp:
      return text + "PgUp";
    case ImGuiKey_PageDown:
      return text + "PgDn";
    default:
      return text + ImGui::GetKeyName(key);
  }
}

std::string key_of(std::string_view id) {
  return key_text(find_command(id).keys.front());
}

std::string title_with_key(const UiCommand& command) {
  if (command.keys.empty()) return command.title;
  return command.title + "  (" + key_text(command.keys.front()) + ")";
}

/// Runs the command of the open lesson that has a key pressed in this frame. In a lesson its keys mean the
/// lesson, also those that mean something else without one; while a person types, only those that no text
/// takes. Returns true if there is such a command.
static bool take_keys_to_lesson(const Context& context, bool typing) {
  for (const UiCommand& command : commands()) {
    if (command.group != CommandGroup::Lesson) continue;
    for (const ImGuiKeyChord key : command.keys) {
      const bool is_typed = typing && key != ImGuiKey_PageUp && key != ImGuiKey_PageDown;
      if (is_typed || is_for_controls(key) || !pressed(key, false) || !command.is_enabled(context)) continue;
      command.run(context);
      return true;
    }
  }
  return false;
}

void handle_keys(const Context& context) {
  ViewState& view = context.view;
  const bool typing = ImGui::GetIO().WantTextInput;
  const bool is_free = !view.covered() && !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup);
  const bool may_take = is_free && !typing && !is_for_controls(ImGuiKey_LeftArrow);
  follow_keys_of_controls(view);
  if (may_take && (take_keys_to_row(context) || take_keys_to_laboratory(context) ||
                   take_keys_to_hand(context) || take_keys_to_number(context)))
    return;
  if (is_free && (typing || may_take) && take_keys_to_lesson(context, typing)) return;
  const bool covered = view.covered();
  for (const UiCommand& command : commands()) {
    const bool opens_or_closes =
        command.id == "view.palette" || command.id == "view.sheet" || command.id == "replay.open";
    if (command.group == CommandGroup::Lesson || (covered && !opens_or_closes)) continue;
    for (const ImGuiKeyChord key : command.keys) {
      if ((typing && is_typed_by_text(key)) || is_for_controls(key)) continue;
      const bool repeats = command.group == CommandGroup::Walk;
      if (!(command.held ? down(key) : pressed(key, repeats))) continue;
      if (!command.is_enabled(context)) {
        if (command.refuse) command.refuse(context);
        continue;
      }
      if (command.group == CommandGroup::Walk) view.playing = false;
      command.run(context);
      break;
    }
  }
  if (!ImGui::IsKeyPressed(ImGuiKey_Escape, false)) return;
  if (covered) return view.close_covers();
  ImGui::ClosePopupsExceptModals();  // closes menus, because Dear ImGui's own keys are off
}

}  // namespace shardlens::ui
