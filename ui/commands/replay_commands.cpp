// The commands of an open recording: its passes, its clock and its notes. Also disables the commands that
// must wait until it is closed.
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/commands/command_table.h"
#include "ui/commands/walk.h"
#include "ui/outbox.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/notes_view.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/panels/timeline/history.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/panels/timeline/timeline.h"

namespace shardlens::ui {
namespace {

bool replays(const Context& context) {
  return context.replay.is_open();
}

bool is_live(const Context& context) {
  return context.replay.is_live();
}

bool has_passes(const Context& context) {
  return replays(context) && context.replay.recording->passes > 0;
}

/// Of the walk from step to step. An open recording has faster speeds beyond the usual one: those of its
/// clock.
void change_speed(const Context& context, int by) {
  ViewState& view = context.view;
  const double by_clock = view.of<ReplayView>().speed;
  const bool walks = !replays(context) || (by_clock == 0 && (by < 0 || view.walk_speed < 1));
  if (walks) return change_walk_speed(view, by);
  const auto speeds = replay_speeds();
  const int now = static_cast<int>(speed_index(by_clock));
  const int wanted = std::clamp(now + by, 0, static_cast<int>(speeds.size()) - 1);
  set_replay_speed(context, speeds[static_cast<size_t>(wanted)].seconds_a_second);
}

/// True if the command runs, trains or changes the settings.
bool acts_on_the_run(const UiCommand& command) {
  if (command.id == "run.play" || command.id == "run.record") return false;
  return command.id.starts_with("run.") || command.id.starts_with("train.") ||
         command.group == CommandGroup::Settings;
}

}  // namespace

void add_speed_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Run);
  add("play.slower", "Play slower",
      "A quarter of the usual speed from step to step at least. An open recording that plays by the clock: "
      "down to a thousandth of real time",
      {ImGuiKey_Comma}, [](const Context& c) { change_speed(c, -1); });
  add("play.faster", "Play faster",
      "Eight times the usual speed from step to step at most. An open recording: up to a hundred times real "
      "time",
      {ImGuiKey_Period}, [](const Context& c) { change_speed(c, 1); });
}

void add_replay_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Replay);
  add("replay.open", "Open a recording …",
      "Show a .shardlens file instead of the run; or drop one on the window", {ImGuiMod_Ctrl | ImGuiKey_O},
      [](const Context& c) {
        if (c.view.chooser_open)
          c.view.close_covers();
        else
          choose_recording(c, ChosenFor::Replay);
      },
      {});
  add("replay.attach", "Attach to a running job …",
      "Watch a run that is being recorded: its passes appear as they are written. The run is not disturbed",
      {}, [](const Context& c) { choose_recording(c, ChosenFor::Attach); }, {});
  add(
      "replay.follow", "Follow the running job",
      "Always show its newest pass. Going to another pass ends this; the command starts it again",
      {ImGuiKey_J}, [](const Context& c) { c.send(replay_command::Follow{!c.replay.follows}); }, is_live);
  add(
      "replay.close", "Close the recording", "Show the run on this machine again",
      {ImGuiMod_Ctrl | ImGuiKey_W}, [](const Context& c) { c.send(replay_command::Close{}); }, replays);
  add(
      "replay.previous_pass", "Previous pass", "The recorded pass before this one", {ImGuiKey_PageUp},
      [](const Context& c) { c.send(replay_command::ShowPass{c.replay.pass - 1}); }, has_passes);
  add(
      "replay.next_pass", "Next pass", "The recorded pass after this one", {ImGuiKey_PageDown},
      [](const Context& c) { c.send(replay_command::ShowPass{c.replay.pass + 1}); }, has_passes);
  add(
      "replay.first_pass", "First pass", "Where the recording begins", {ImGuiMod_Ctrl | ImGuiKey_PageUp},
      [](const Context& c) { c.send(replay_command::ShowPass{0}); }, has_passes);
  add(
      "replay.last_pass", "Last pass", "Where the recording ends", {ImGuiMod_Ctrl | ImGuiKey_PageDown},
      [](const Context& c) { c.send(replay_command::ShowPass{c.replay.recording->passes - 1}); }, has_passes);
  add(
      "replay.bookmark", "Set a bookmark here", "Marks this moment and this step in the file", {ImGuiKey_B},
      [](const Context& c) { c.send(replay_command::AddNote{note_here(c, "")}); }, has_passes);
  add(
      "replay.note", "Write a note here", "Saves a sentence about this moment and this step in the file",
      {ImGuiKey_N},
      [](const Context& c) { c.view.of<NotesView>().open = c.view.of<NotesView>().focus_new = true; },
      has_passes);
  add(
      "replay.notes", "Show or hide the notes",
      "All bookmarks and notes of the recording; a click goes there", {ImGuiMod_Shift | ImGuiKey_N},
      [](const Context& c) { c.view.of<NotesView>().open = !c.view.of<NotesView>().open; }, replays);
  add(
      "replay.find_step", "Find a step in the recording",
      "Type part of a step's name or equation into the field above the timeline, then press Enter", {},
      [](const Context& c) { c.view.of<HistoryView>().search_focus = true; }, shows_history);
  const auto add_search = [&](const char* id, const char* title, const char* help, HistoryFind find) {
    add(
        id, title, help, {}, [find](const Context& c) { ask_for(c, find); }, shows_history);
  };
  add_search("replay.find_collective", "Go to the recording's next collective",
             "The next collective in its timeline", HistoryFind::Collective);
  add_search("replay.find_slow_pass", "Go to the recording's slowest pass",
             "Run it again for the second slowest, and so on", HistoryFind::SlowPass);
  add_search("replay.find_long_wait", "Go to the recording's longest wait",
             "Where a rank waited longest for others; run it again for the second longest, and so on",
             HistoryFind::LongWait);
  add(
      "replay.run_here", "Run the recording's settings here",
      "Shows this machine's times next to the recorded ones, in Traffic and the Timeline. A recording does "
      "not hold a training's text: it runs on other tokens here, so the loss differs",
      {}, [](const Context& c) { c.view.of<ReplayView>().run_here = true; }, replays);
  for (const GalleryPiece& piece : gallery())
    add("replay.gallery." + piece.name, "Gallery: " + piece.title, piece.shows, {},
        [path = "gallery:" + piece.name](const Context& c) { c.send(replay_command::Open{path}); }, {});
}

void hold_back_while_replaying(std::vector<UiCommand>& table) {
  for (UiCommand& command : table) {
    if (!acts_on_the_run(command)) continue;
    command.enabled = [own = std::move(command.enabled)](const Context& context) {
      return !context.replay.is_open() && (!own || own(context));
    };
    command.refuse = [own = std::move(command.refuse)](const Context& context) {
      if (context.replay.is_open()) {
        if (context.view.palette_open || !ImGui::GetIO().WantTextInput) say_recording_stays(context);
      } else if (own) {
        own(context);
      }
    };
  }
}

}  // namespace shardlens::ui
