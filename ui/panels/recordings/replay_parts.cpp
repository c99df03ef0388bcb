// Texts about a replay, and the commands that control it.
#include "ui/panels/recordings/replay_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "ui/commands/commands.h"
#include "ui/outbox.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/replay_view.h"
#include "ui/settings/model_path.h"
#include "ui/widgets/format.h"

namespace shardlens::ui {
namespace {

constexpr std::array<ReplaySpeed, 7> kSpeeds{{{0, "step by step"},
                                              {1e-3, "1/1000"},
                                              {1e-2, "1/100"},
                                              {1e-1, "1/10"},
                                              {1, "real time"},
                                              {10, "× 10"},
                                              {100, "× 100"}}};

/// "4.2 s", or minutes and seconds from 100 s on.
std::string moment_text(double seconds) {
  if (seconds < 100) return format_seconds(seconds);
  const auto whole = std::llround(seconds);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::vector<std::string> positions_at(const RecordingFacts& facts, int64_t pass_number, size_t steps_done,
                                      double seconds) {
  const std::string pass = "pass " + number_of(pass_number, static_cast<size_t>(facts.passes));
  const std::string step = fmt::format("{} of {} steps done", steps_done, facts.plan->program.steps.size());
  const std::string time = fmt::format("{} of {}", moment_text(seconds), moment_text(facts.seconds));
  return {pass + " · " + step + " · " + time, pass + " · " + time, pass, "pass " + grouped_text(pass_number)};
}

}  // namespace

std::span<const ReplaySpeed> replay_speeds() {
  return kSpeeds;
}

size_t speed_index(double seconds_a_second) {
  size_t at = 0;
  while (at + 1 < kSpeeds.size() && kSpeeds[at].seconds_a_second < seconds_a_second) ++at;
  return at;
}

void set_replay_speed(const Context& context, double seconds_a_second) {
  const bool plays = context.replay.playing;
  context.view.of<ReplayView>().speed = seconds_a_second;
  if (plays && seconds_a_second > 0) context.send(replay_command::Play{seconds_a_second});
  if (plays && seconds_a_second == 0) {
    context.send(replay_command::Pause{});
    context.view.playing = true;
  } else if (context.view.playing && seconds_a_second > 0) {
    context.view.playing = false;
    context.send(replay_command::Play{seconds_a_second});
  }
}

void choose_recording(const Context& context, ChosenFor purpose) {
  context.view.close_covers();
  context.view.chooser_open = true;
  context.view.of<ChooserView>().chosen_for = purpose;
  // The first folder is the one where the program was started or, if it has no recordings, that of this
  // studio's own recordings.
  if (context.replay.list)
    context.send(replay_command::List{context.replay.list->folder});
  else
    context.send(replay_command::List{.otherwise = context.view.recordings});
}

void take_chosen(const Context& context, const std::string& path) {
  const ChosenFor purpose = context.view.of<ChooserView>().chosen_for;
  std::error_code unknown;
  if (purpose == ChosenFor::Model) {
    if (names_a_model(path)) return take_model(context, path);
    return context.send(replay_command::List{path});
  }
  const bool is_replayed = purpose == ChosenFor::Replay || purpose == ChosenFor::Attach;
  if (is_replayed || std::filesystem::is_directory(path, unknown))  // a folder is listed
    return context.send(replay_command::Open{path});  // closes the list when a recording is open
  DiffView& diff = context.view.of<DiffView>();
  if (purpose == ChosenFor::CompareA) {
    diff.a = path;
  } else {
    diff.b = path;
    diff.b_here = false;
  }
  context.view.close_covers();
}

Note note_here(const Context& context, const std::string& text) {
  Note note;
  note.seconds = context.replay.seconds;
  note.rank = context.view.selected_rank;
  note.step = context.view.selected_step;
  note.text = text;
  return note;
}

void go_to(const Context& context, const ReplayNote& note) {
  context.view.playing = false;
  context.send(replay_command::Seek{note.note.seconds});
  if (note.note.step < 0) return;
  show_step(context.view, context.replay.recording->plan->program, note.note.step, note.note.rank);
}

void explain_fixed(const Context& context, ImVec2 min, ImVec2 max) {
  if (!context.replay.is_open() || !ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;
  if (!ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) || !ImGui::IsMouseHoveringRect(min, max))
    return;
  say_recording_stays(context);
}

void say_recording_stays(const Context& context) {
  context.view.said = fmt::format(
      "These are the settings of the recording. They cannot be changed. Close it ({}) to choose others; "
      "\"Run here too\" runs these on this machine.",
      key_text(find_command("replay.close").keys.front()));
}

std::string place_of(const ReplaySnapshot& replay, const ReplayNote& note) {
  std::string words = fmt::format("pass {}", grouped_text(note.pass));
  const Program& program = replay.recording->plan->program;
  if (note.note.step >= 0 && static_cast<size_t>(note.note.step) < program.steps.size())
    words += fmt::format(" · step {}, {}", note.note.step, program.step(note.note.step).name);
  if (note.note.rank >= 0) words += fmt::format(" · rank {}", note.note.rank);
  return words + " · " + moment_text(note.note.seconds);
}

std::string age_text(const ReplaySnapshot& replay, double now_seconds) {
  const double age = std::max(0.0, now_seconds - replay.committed_seconds);
  const std::string text = age < 10    ? fmt::format("{:.1f} s", age)
                           : age < 100 ? fmt::format("{:.0f} s", age)
                                       : moment_text(age);
  return replay.writer == WriterState::Silent ? "stands still: " + text : text + " ago";
}

const std::vector<std::string>& recent_there(const Context& context) {
  static std::vector<std::string> recent, there;
  if (!ImGui::IsWindowAppearing() && recent == context.view.recent) return there;
  recent = context.view.recent;
  there.clear();
  std::copy_if(recent.begin(), recent.end(), std::back_inserter(there), [](const std::string& path) {
    std::error_code unknown;
    return std::filesystem::exists(path, unknown);
  });
  return there;
}

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::vector<std::string> positions(const ReplaySnapshot& replay) {
  if (replay.recording->passes == 0)
    return {replay.is_live() ? "no pass yet" : "no pass was recorded", "no pass"};
  return positions_at(*replay.recording, replay.pass, replay.shown->position, replay.seconds);
}

std::vector<std::string> last_positions(const ReplaySnapshot& replay) {
  const RecordingFacts& facts = *replay.recording;
  if (facts.passes == 0) return positions(replay);
  return positions_at(facts, facts.passes - 1, facts.plan->program.steps.size(), facts.seconds);
}

}  // namespace shardlens::ui
