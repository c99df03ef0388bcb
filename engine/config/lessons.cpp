// Reads the list from embedded JSON: see lessons.h.
#include "engine/config/lessons.h"

#include "engine/config/assets.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

std::vector<LessonToCome> read_lessons() {
  std::vector<LessonToCome> lessons;
  for (const nlohmann::json& entry :
       parse_json(std::string(asset("lessons/to_come.json")), "lessons/to_come.json")) {
    ObjectReader reader(entry, "lessons/to_come.json");
    lessons.push_back({reader.string("title"), reader.string("asks")});
    reader.finish();
  }
  return lessons;
}

}  // namespace

const std::vector<LessonToCome>& lessons_to_come() {
  static const std::vector<LessonToCome> lessons = read_lessons();
  return lessons;
}

}  // namespace shardlens
