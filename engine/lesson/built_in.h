// Finds lessons: those in the program, and the user's own in $XDG_DATA_HOME/shardlens/lessons.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/lesson/lesson.h"

namespace shardlens {

/// A lesson in a list.
struct LessonEntry {
  std::string name;
  std::string title;
  std::string asks;
  int minutes = 0;
  int scenes = 0;
  int questions = 0;
  std::string path;     ///< of a file; empty: built in
  std::string problem;  ///< why the file cannot be read; the other fields but name and path are then empty
  std::vector<std::string> scene_titles = {};
};

/// The built-in lessons, in teaching order.
const std::vector<std::shared_ptr<const Lesson>>& built_in_lessons();

/// Their heads, without scenes: for names and titles where there is no time to parse all of them.
std::vector<Lesson> built_in_heads();

/// The folder of the user's own lessons; empty if the environment names none.
std::string lessons_folder();

/// The built-in lessons, then the files of `folder` by name. Throws a Cancelled Error if `stop` is requested.
std::vector<LessonEntry> list_lessons(const std::string& folder = lessons_folder(),
                                      const std::stop_token& stop = {});

/// A built-in lesson by name, a file (a text that ends in .md or has a slash), or a lesson of the user's
/// folder. Throws a request Error that names the nearest, and a Cancelled Error if `stop` is requested.
std::shared_ptr<const Lesson> find_lesson(const std::string& name_or_file, const std::stop_token& stop = {});

}  // namespace shardlens
