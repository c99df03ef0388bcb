// What the studio remembers between two starts: how a person likes to look, and where the panels stand. One
// small JSON file, written beside its place and renamed, so that it is whole or not there.
#pragma once

#include <filesystem>
#include <string>

#include "engine/train/train_snapshot.h"
#include "ui/context.h"
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
  WritingWish writing = writing_choices();  ///< of the Train tab
  std::vector<std::string> recent = {};     ///< paths of the recordings made or opened last

  bool operator==(const RememberedState&) const = default;
};

/// $XDG_CONFIG_HOME/shardlens/studio.json, or under ~/.config; empty when the environment names no home.
std::filesystem::path default_state_path();

/// Where the studio puts recordings: $XDG_DATA_HOME/shardlens/recordings, or under ~/.local/share; the folder
/// the studio was started in when the environment names no home.
std::filesystem::path default_recordings_folder();
/// The same of what is trained.
std::filesystem::path default_checkpoints_folder();

/// What `path` holds. The defaults when there is no such file, and also when it cannot be understood: then
/// `problem` says what was wrong in one sentence, else it is left empty.
RememberedState read_state(const std::filesystem::path& path, std::string& problem);

/// Throws a run Error naming the path when it cannot be written.
void write_state(const RememberedState& state, const std::filesystem::path& path);

}  // namespace shardlens::ui
