// The state that the studio remembers between two starts: the look, and the places of the panels. It is one
// small JSON file, written under another name and then renamed, so that it is whole or missing.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/train/train_snapshot.h"
#include "ui/context.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/train/train_choices.h"

namespace shardlens::ui {

struct RememberedState {
  ThemeName theme = ThemeName::Dark;
  float scale = 1;
  bool lecture = false;
  Tab tab = Tab::Start;
  bool memory_this_layer = false;  ///< the Memory tab's page
  std::string program_filter;
  std::string layout;                                   ///< Dear ImGui's own text; empty: the first layout
  TrainChoices train, compared = comparison_choices();  ///< of the Train tab
  bool traffic_times = false;                           ///< the Traffic tab's page
  ScalingView scaling = {};
  ComparePage compare_page = ComparePage::Splits;
  std::array<std::string, 3> compare_splits = CompareView().splits;
  WritingWish writing = writing_choices();             ///< of the Train tab
  std::vector<std::string> recent = {};                ///< paths of the recordings made or opened last
  std::map<std::string, LessonProgress> lessons = {};  ///< by lesson_key()
  std::string last_lesson = {};                        ///< the one that was open last

  bool operator==(const RememberedState&) const = default;
};

/// Returns $XDG_CONFIG_HOME/shardlens/studio.json, or under ~/.config; empty if the environment names no
/// home.
std::filesystem::path default_state_path();

/// Returns the folder for recordings: $XDG_DATA_HOME/shardlens/recordings, or under ~/.local/share. If the
/// environment names no home, the folder in which the studio was started.
std::filesystem::path default_recordings_folder();
/// The same for checkpoints of trainings.
std::filesystem::path default_checkpoints_folder();

/// Returns the state in `path`, or the defaults if there is no such file or it cannot be read. In the last
/// case `problem` says in one sentence what was wrong; otherwise it is empty.
RememberedState read_state(const std::filesystem::path& path, std::string& problem);

/// Throws an Error with the path if it cannot be written. The old file then stays, and nothing beside it.
void write_state(const RememberedState& state, const std::filesystem::path& path);

}  // namespace shardlens::ui
