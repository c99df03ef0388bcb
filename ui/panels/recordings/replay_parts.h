// Shared by the strip of a replay, its notes and its commands.
#pragma once

#include <imgui.h>

#include <span>
#include <string>
#include <vector>

#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/context.h"
#include "ui/panels/recordings/chooser_view.h"

namespace shardlens::ui {

struct ReplaySpeed {
  double seconds_a_second;  ///< recorded seconds per second; 0: step by step
  const char* words;
};
/// From the slowest to the fastest.
std::span<const ReplaySpeed> replay_speeds();
/// The place of a speed among them.
size_t speed_index(double seconds_a_second);
/// Sets the speed, also while the replay plays.
void set_replay_speed(const Context& context, double seconds_a_second);

/// Opens the list of recordings, to choose one to replay or to compare.
void choose_recording(const Context& context, ChosenFor purpose);
/// Replays the chosen recording, or takes it as one of two to compare.
void take_chosen(const Context& context, const std::string& path);

/// A note about the shown moment and the selected step.
Note note_here(const Context& context, const std::string& text);

/// Goes to the note's moment and selects its step.
void go_to(const Context& context, const ReplayNote& note);

/// Its place in words: "pass 12 · step 37, mlp.fc · rank 2 · 4.2 s".
std::string place_of(const ReplaySnapshot& replay, const ReplayNote& note);

/// For a recording that a run still writes: how long ago it grew, or that the run stands still. kLongestAge
/// is the longest such text; there is always room for it.
std::string age_text(const ReplaySnapshot& replay, double now_seconds);
inline constexpr const char* kLongestAge = "stands still: 00:00 min";

/// Call this after drawing a recording's own settings from `min` to `max` in this window. A click there
/// cannot change them, so the answer says what can.
void explain_fixed(const Context& context, ImVec2 min, ImVec2 max);
/// Shows the same answer, for commands that would change the settings.
void say_recording_stays(const Context& context);

/// The recordings made or opened last whose files exist, checked when the present window appeared. The others
/// are not forgotten, because their disk may be mounted again.
const std::vector<std::string>& recent_there(const Context& context);

/// The file without its folder.
std::string file_name(const std::string& path);

/// The replay's position, from the fullest form to the shortest: "pass 12 of 400 · step 37 of 210 · 4.2 s
/// of 61 s".
std::vector<std::string> positions(const ReplaySnapshot& replay);

/// The position at the recording's end, where the text is longest. Its width is reserved, so nothing beside
/// it moves.
std::vector<std::string> last_positions(const ReplaySnapshot& replay);

}  // namespace shardlens::ui
