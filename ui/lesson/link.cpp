#include "ui/lesson/link.h"

#include <fmt/format.h>
#include <imgui.h>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/lesson/lesson_session.h"
#include "engine/lesson/run_keys.h"
#include "engine/lesson/state_words.h"
#include "engine/record/gallery.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/scene_of_view.h"
#include "ui/platform/address.h"

namespace shardlens::ui {
namespace {

bool is_file(const std::string& recording) {
  return !recording.empty() && !recording.starts_with("gallery:");
}

std::vector<std::string> words_of_lesson(const Context& c) {
  const std::string& path = c.lesson.path;
  std::vector<std::string> words = {
      "--lesson=" + (path.empty() ? c.lesson.lesson->name : address_of_file(path)),
      fmt::format("--scene={}", c.view.of<LessonView>().scene + 1)};
  if (c.lesson.seed) words.push_back(fmt::format("--seed={}", *c.lesson.seed));
  return words;
}

/// What the words of the state leave out of the settings; empty: nothing.
std::string not_said(const Context& c, const SceneState& state) {
  if (c.view.of<LessonView>().open || !state.recording.empty()) return {};
  Settings said = first_settings();
  apply(state.run, "the link", said);
  return said == shown_settings(c) ? ""
                                   : ". It leaves out files of weights and inputs, devices, threads and the "
                                     "time after which a rank is lost";
}

}  // namespace

Settings first_settings() {
  Settings settings;
  settings.tp = 4;
  return settings;
}

std::vector<std::string> words_of_link(const Context& c) {
  if (c.view.of<LessonView>().open && c.lesson.is_open()) return words_of_lesson(c);
  SceneState state = scene_of_view(c, first_settings());
  if (is_file(state.recording)) state.recording = address_of_file(state.recording);
  if (state.compare && is_file(state.compare->recording))
    throw request_error(
        "it compares a recording of this machine. Compare one of the gallery, or show another page");
  std::vector<std::string> words = state_as_words(state);
  state_of_words(words);  // throws if nobody could open it
  words.insert(words.begin(), "--show");
  return words;
}

void copy_link(const Context& c) {
  try {
    const std::string address = address_of(words_of_link(c));
    ImGui::SetClipboardText(address.c_str());
    c.view.said = {fmt::format("{} copied{}: {}", name_of_addresses(),
                               not_said(c, scene_of_view(c, first_settings())), address)};
  } catch (const std::exception& error) {
    c.view.said = {fmt::format("There is no {} to this: {}",
                               std::string(name_of_addresses()) == "Link" ? "link" : "command",
                               message_of(error))};
  }
}

}  // namespace shardlens::ui
