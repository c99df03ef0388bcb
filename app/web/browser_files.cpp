#include "app/web/browser_files.h"

#include <emscripten/emscripten.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/io/input_file.h"
#include "engine/io/json_text.h"
#include "engine/lesson/built_in.h"
#include "engine/runtime/snapshot.h"
#include "engine/train/train_snapshot.h"
#include "ui/remember/state_file.h"

// The page's own functions are in page.html.
EM_JS(void, keep_in_browser, (const char* text), { Module.keep(UTF8ToString(text)); });
EM_JS(void, hand_to_browser, (const char* name, const char* path),
      { Module.download(UTF8ToString(name), new Blob([FS.readFile(UTF8ToString(path))])); });
// `files`: a JSON array of names.
EM_JS(void, hand_folder_to_browser, (const char* name, const char* path, const char* files),
      { Module.download_folder(UTF8ToString(name), UTF8ToString(path), JSON.parse(UTF8ToString(files))); });

namespace shardlens {
namespace {

namespace fs = std::filesystem;

constexpr double kLookEverySeconds = 0.5;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_regular_file(none)) files.push_back(entry.path());
  return files;
}

void hand_over(const fs::path& path) {
  hand_to_browser(path.filename().c_str(), path.c_str());
}

/// The studio writes exports into the folder where it was started, whole and within a frame. They are the
/// browser's then.
void hand_over_exports() {
  std::error_code gone;
  for (const fs::path& path : files_in(fs::current_path(gone))) {
    hand_over(path);
    fs::remove(path, gone);
  }
}

/// A recording that has ended stays in the page too, where it can be opened.
void hand_over_recording(const RecordingState& now, RecordingState& before) {
  const bool same_file = now.path == before.path;
  const RecordingState& last = same_file ? now : before;
  if (before.on && !(now.on && same_file) && last.passes > 0) hand_over(last.path);
  before = now;
}

void hand_over_folder(const fs::path& folder) {
  nlohmann::json names = nlohmann::json::array();
  for (const fs::path& path : files_in(folder)) names.push_back(path.filename().string());
  hand_folder_to_browser(folder.filename().c_str(), folder.c_str(), json_text(names).c_str());
}

}  // namespace

void BrowserFiles::begin() {
  keep(false);
}

/// `saved`: a lesson that has changed was saved by the person, who gets it.
void BrowserFiles::keep(bool saved) {
  std::map<std::string, std::string> files;
  for (const fs::path& path : files_in(ui::default_state_path().parent_path()))
    files[path.string()] = InputFile(path.string()).text();
  for (const fs::path& path : files_in(lessons_folder())) {
    std::string& text = files[path.string()] = InputFile(path.string()).text();
    if (saved && (!kept_.contains(path.string()) || kept_[path.string()] != text)) hand_over(path);
  }
  if (files == kept_) return;
  keep_in_browser(json_text(nlohmann::json(files)).c_str());
  kept_ = std::move(files);
}

void BrowserFiles::follow(ui::Studio& studio) {
  hand_over_exports();
  hand_over_recording(studio.session().snapshot()->recording, runs_);
  const auto training = studio.training().snapshot();
  hand_over_recording(training->recording, steps_);
  hand_over_checkpoints(*training);
  if (now_seconds() - looked_seconds_ < kLookEverySeconds) return;
  looked_seconds_ = now_seconds();
  keep(true);
}

/// A training that comes to rest: what it has saved last is the person's, who did not ask for every save
/// before.
void BrowserFiles::hand_over_checkpoints(const TrainSnapshot& training) {
  if (training.is_active()) return;
  for (const std::shared_ptr<const TrainCurve>& curve : training.curves) {
    if (curve->checkpoint.empty() || curve->saved_step == 0) continue;
    if (std::exchange(handed_over_[curve->checkpoint], curve->saved_step) != curve->saved_step)
      hand_over_folder(curve->checkpoint);
  }
}

void BrowserFiles::keep_now(ui::Studio& studio) {
  studio.save_state();
  keep(true);
}

}  // namespace shardlens
