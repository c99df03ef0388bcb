#include "ui/lesson/save_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/input_file.h"
#include "engine/lesson/built_in.h"
#include "engine/lesson/lesson_session.h"
#include "engine/lesson/parse.h"
#include "engine/lesson/run_keys.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/lesson/lesson_view.h"
#include "ui/lesson/scene_of_view.h"

namespace shardlens::ui {
namespace {

namespace fs = std::filesystem;

/// The head of a new lesson. Its settings are those that are shown, so that its first scene states none.
std::string new_head(const Context& c) {
  std::string head = "+++\ntitle = \"Saved scenes\"\nasks = \"What is to be seen here?\"\nminutes = 5\n";
  const std::string run = c.replay.is_open() ? "" : difference_as_toml(lesson_defaults(), shown_settings(c));
  if (!run.empty()) head += "\n[run]\n" + run;
  return head + "+++\n";
}

/// A path in the folder that no file has yet.
std::string new_path(const std::string& folder) {
  for (int number = 1;; ++number) {
    const fs::path path = fs::path(folder) / fmt::format("saved-scenes-{}.md", number);
    if (!fs::exists(path)) return path.string();
  }
}

/// The lesson that the scene goes to; empty: a new one.
std::string file_to_continue(const Context& c) {
  if (c.lesson.is_open() && !c.lesson.path.empty()) return c.lesson.path;
  const std::string& begun = c.view.of<SavedScenes>().file;
  std::error_code unknown;
  return fs::exists(begun, unknown) ? begun : "";
}

/// The title, with a number if the lesson has a scene of this title.
std::string free_title(const Lesson& lesson, const std::string& title) {
  const auto is_taken = [&](const std::string& wanted) {
    return std::any_of(lesson.scenes.begin(), lesson.scenes.end(),
                       [&](const Scene& scene) { return scene.id == scene_id(wanted); });
  };
  std::string free = title;
  for (int number = 2; is_taken(free); ++number) free = fmt::format("{}, {}", title, number);
  return free;
}

/// Writes the scene at the end of `text`, which is the file's now. Returns its index in the lesson.
int write(const Context& c, const std::string& path, std::string text, const Lesson& before,
          const Settings& base) {
  const SceneState scene = scene_of_view(c, base);
  if (!text.ends_with('\n')) text += '\n';
  text += scene_as_markdown(free_title(before, title_of(scene)), scene);
  parse_lesson(text, path);                     // it may be too long now, or have too many scenes
  write_file_atomically(path, kOwnFile, text);  // a new one, or a lesson that was read just now
  return static_cast<int>(before.scenes.size());
}

}  // namespace

void save_scene(const Context& c) {
  const std::string begun = file_to_continue(c);
  std::string path = begun;
  try {
    if (path.empty()) {
      const std::string folder = lessons_folder();
      if (folder.empty()) throw request_error("the environment names no folder for it");
      make_folder(folder);
      path = new_path(folder);
      write(c, path, new_head(c), {}, shown_settings(c));
      c.view.of<SavedScenes>().file = path;
    } else {
      const std::string text = InputFile(path).text();
      const Lesson lesson = parse_lesson(text, path);
      const int scene = write(c, path, text, lesson, settings_of(lesson, draw(lesson, {})));
      // The changed file is read again. What it shows then is what is on the screen now.
      if (c.lesson.path == path) open_lesson(c, path, scene);
    }
    c.view.said = {begun.empty() ? "The scene is the first of a new lesson. Start lists it; the next scenes "
                                   "that you save go to its end"
                                 : "The scene is at the end of this lesson",
                   {path}};
  } catch (const std::exception& error) {
    const std::string remedy =
        begun.empty()
            ? "Make room or the folder writable, or start the studio with XDG_DATA_HOME set to another folder"
        : c.lesson.path == begun
            ? "Mend that, or close the lesson: the scene then goes into a file of your folder"
            : "Mend that, or move the file away: the scene then goes into a new one";
    c.view.said = {
        fmt::format("The scene is not saved, and no file was changed: {}. {}", message_of(error), remedy)};
  }
}

}  // namespace shardlens::ui
