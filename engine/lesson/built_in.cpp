// Lessons that are embedded in the program, and those in the user's folder.
#include "engine/lesson/built_in.h"

#include <algorithm>
#include <filesystem>

#include "engine/base/suggest.h"
#include "engine/config/assets.h"
#include "engine/io/file_kind.h"
#include "engine/io/user_folder.h"
#include "engine/lesson/parse.h"

namespace shardlens {
namespace {

constexpr size_t kMostListed = 200;

// In teaching order. A lesson that is written gets a line here.
constexpr const char* kBuiltIn[] = {"the-memory-wall",
                                    "what-a-sum-allows",
                                    "column-then-row",
                                    "f-and-g",
                                    "heads",
                                    "inside-an-all-reduce",
                                    "a-loss-without-all-logits",
                                    "two-kinds-of-dropout",
                                    "where-the-norm-stands"};

std::vector<std::string> built_in_files() {
  std::vector<std::string> files;
  for (const char* name : kBuiltIn) files.push_back(std::string("lessons/") + name + ".md");
  return files;
}

LessonEntry entry_of(const Lesson& lesson) {
  LessonEntry entry{lesson.name,
                    lesson.title,
                    lesson.asks,
                    lesson.minutes,
                    static_cast<int>(lesson.scenes.size()),
                    lesson.question_count(),
                    "",
                    ""};
  for (const Scene& scene : lesson.scenes) entry.scene_titles.push_back(scene.title);
  return entry;
}

std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  if (folder.empty()) return files;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (ending_of(at->path().string()) == ".md" && files.size() < kMostListed) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

const std::vector<std::shared_ptr<const Lesson>>& built_in_lessons() {
  static const std::vector<std::shared_ptr<const Lesson>> lessons = [] {
    std::vector<std::shared_ptr<const Lesson>> all;
    for (const std::string& file : built_in_files())
      all.push_back(std::make_shared<const Lesson>(parse_lesson(std::string(asset(file)), file)));
    return all;
  }();
  return lessons;
}

std::vector<Lesson> built_in_heads() {
  std::vector<Lesson> heads;
  for (const std::string& file : built_in_files())
    heads.push_back(parse_lesson_head(std::string(asset(file)), file));
  return heads;
}

std::string lessons_folder() {
  const std::string folder = user_folder("XDG_DATA_HOME", ".local/share");
  return folder.empty() ? "" : folder + "/lessons";
}

std::vector<LessonEntry> list_lessons(const std::string& folder, const std::stop_token& stop) {
  std::vector<LessonEntry> entries;
  for (const auto& lesson : built_in_lessons()) entries.push_back(entry_of(*lesson));
  for (const std::filesystem::path& path : files_of(folder)) {
    LessonEntry entry;
    try {
      entry = entry_of(read_lesson(path.string(), stop));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      entry.problem = error.what();
    }
    entry.name = path.stem().string();
    entry.path = path.string();
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file, const std::stop_token& stop) {
  for (const auto& lesson : built_in_lessons())
    if (lesson->name == name_or_file) return lesson;
  if (name_or_file.find('/') != std::string::npos || ending_of(name_or_file) == ".md")
    return std::make_shared<const Lesson>(read_lesson(name_or_file, stop));
  std::vector<std::string> names;
  for (const auto& lesson : built_in_lessons()) names.push_back(lesson->name);
  for (const std::filesystem::path& path : files_of(lessons_folder())) {
    if (path.stem() == name_or_file) return std::make_shared<const Lesson>(read_lesson(path.string(), stop));
    names.push_back(path.stem().string());
  }
  throw unknown_name("lesson", name_or_file, names);
}

}  // namespace shardlens
