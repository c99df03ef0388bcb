// What the strip of a replay, its notes and its commands have in common.
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
  double seconds_a_second;  ///< recorded; 0: step by step
  const char* words;
};
/// From the slowest to the fastest.
std::span<const ReplaySpeed> replay_speeds();
/// Its place among them.
size_t speed_index(double seconds_a_second);
/// From now on, also where it plays already.
void set_replay_speed(const Context& context, double seconds_a_second);

/// Opens the list of recordings: which one is to be replayed, or compared?
void choose_recording(const Context& context, ChosenFor purpose);
/// What was chosen there is replayed, or laid beside another.
void take_chosen(const Context& context, const std::string& path);

/// A note about the moment and the step that are looked at.
Note note_here(const Context& context, const std::string& text);

/// Stands where the note was written, and selects its step.
void go_to(const Context& context, const ReplayNote& note);

/// Its place in words: "pass 12 · step 37, mlp.fc · rank 2 · 4.2 s".
std::string place_of(const ReplaySnapshot& replay, const ReplayNote& note);

/// Of a recording that a run still writes: how long ago it grew, or that the run stands still; the longest
/// such text, for which there is always room.
std::string age_text(const ReplaySnapshot& replay, double now_seconds);
inline constexpr const char* kLongestAge = "stands still: 00:00 min";

/// After what a recording shows of its own settings, drawn from `min` to `max` in this window: a click on it
/// changes nothing, so it is answered by what would.
void explain_fixed(const Context& context, ImVec2 min, ImVec2 max);
/// The same answer to whoever wants other settings meanwhile.
void say_recording_stays(const Context& context);

/// The recordings made or opened last whose files are there, as was seen when the present window came up. The
/// others stay remembered: a disk that is not mounted brings them back with it.
const std::vector<std::string>& recent_there(const Context& context);

/// The file without its folder.
std::string file_name(const std::string& path);

/// Where the replay stands, from the fullest form to the shortest: "pass 12 of 400 · step 37 of 210 · 4.2 s
/// of 61 s".
std::vector<std::string> positions(const ReplaySnapshot& replay);

/// The same at the recording's end, where the words are longest: what stands beside them need not move then.
std::vector<std::string> last_positions(const ReplaySnapshot& replay);

}  // namespace shardlens::ui
