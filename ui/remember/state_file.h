// The state that the studio remembers between two starts: the look, and the places of the panels. It is one
// small JSON file, written under another name and then renamed, so that it is whole or missing. Several
// studios may have it open: each writes only the values that it has changed.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/train/train_snapshot.h"
#include "ui/context.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/program/by_hand_view.h"
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
  HandForm by_hand = {};                               ///< what was typed on the page "by hand"

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

/// Returns the state in `path`, or the defaults if there is no such file. A value that is not right is left
/// at its default, and so is everything if the file cannot be read at all or has a newer format. `problem`
/// then says in one sentence what was wrong; otherwise it is empty.
RememberedState read_state(const std::filesystem::path& path, std::string& problem);

/// Writes into `path` what this studio has changed from `before` to `now`. What another studio has changed
/// meanwhile stays, and so do keys of newer versions. If the file, or a value in it, cannot be read, it is
/// first copied to kept_aside(path). Throws an Error with the path if it cannot be written; the old file then
/// stays, and nothing beside it.
void write_state(const RememberedState& now, const std::filesystem::path& path,
                 const RememberedState& before = {});
/// Writes all of `now`, after copying the file to kept_aside(path), whether it can be read or not.
void replace_state(const RememberedState& now, const std::filesystem::path& path);

/// True if the file can be read, but for some of its values.
bool has_wrong_values(const std::filesystem::path& path);

/// Where the file is kept that cannot be read: "studio.json.kept", or "studio.json.kept-2" if there is
/// already another one.
std::filesystem::path kept_aside(const std::filesystem::path& path);

}  // namespace shardlens::ui
