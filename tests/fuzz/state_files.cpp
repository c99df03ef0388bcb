// The state that the studio remembers: it is read, shown, and written again by a studio that has changed it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/base/error.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/sound_files.h"
#include "tests/ui/frame/saved_layout.h"
#include "ui/remember/state_file.h"

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "studio.json";

SoundFiles as_file(const ui::RememberedState& state, const fs::path& path) {
  fs::remove(path);
  ui::write_state(state, path);
  std::ifstream file(path, std::ios::binary);
  return {{kName, FileKind::State, {std::istreambuf_iterator<char>(file), {}}}};
}

}  // namespace

std::vector<SoundFiles> sound_states(const std::string& scratch) {
  const fs::path path = fs::path(scratch) / kName;
  ui::RememberedState used;
  used.theme = ui::ThemeName::Light;
  used.tab = ui::Tab::Compare;
  used.layout = ui::saved_layout();
  used.compare_page = ui::ComparePage::Tournament;
  used.recent = {"/home/me/a.shardlens", "/home/me/b\xff.shardlens"};
  used.lessons["a-layer"] = {.scene = 2, .seen = {0, 1, 2}, .right = {"a/1", "b/2"}, .wrong = {"a/2"}};
  used.last_lesson = "a-layer";
  return {as_file({}, path), as_file(used, path)};
}

void read_state_file(const std::string& folder) {
  const fs::path path = fs::path(folder) / kName;
  std::error_code unknown;
  const bool has_bytes = fs::is_regular_file(path, unknown);
  std::string problem;
  const ui::RememberedState state = ui::read_state(path, problem);
  ui::has_wrong_values(path);
  if (!state.layout.empty()) ui::draw_with_layout(state.layout);

  ui::RememberedState now = state;
  now.lecture = !now.lecture;
  bool is_written = false;
  try {
    ui::write_state(now, path, state);
    is_written = true;
  } catch (const Error&) {
    if (problem.empty()) throw;
  }
  std::string after;
  if (is_written && ui::read_state(path, after) != now)
    throw std::logic_error("what was written is not what is read: " + after);
  if (is_written && !after.empty()) throw std::logic_error("what was written cannot be read: " + after);
  if (is_written && has_bytes && !problem.empty() && !fs::exists(path.string() + ".kept", unknown))
    throw std::logic_error("what could not be read is not kept: " + problem);
  if (!problem.empty()) throw request_error(problem);
}

}  // namespace shardlens::fuzz
